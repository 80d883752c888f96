// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/signals/signal_frame.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/cpu.h"

#include <cstring>
#include <vector>

namespace rdb::guest {
namespace {

using engine::RAX;
using engine::RDI;
using engine::RDX;
using engine::RSI;
using engine::RSP;

// arch/x86/include/uapi/asm/sigcontext.h and ucontext.h
struct SigContext {
  uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
  uint64_t di, si, bp, bx, dx, ax, cx, sp, ip, flags;
  uint16_t cs, gs, fs, ss;
  uint64_t err, trapno, oldmask, cr2;
  uint64_t fpstate;
  uint64_t reserved[8];
};
struct UContext {
  uint64_t flags;
  uint64_t link;
  struct {
    uint64_t sp;
    int32_t flags;
    int32_t pad;
    uint64_t size;
  } stack;
  SigContext context;
  uint64_t mask;
};
struct Frame {
  uint64_t return_address;
  UContext ucontext;
  uint8_t info[128];
};
static_assert(sizeof(SigContext) == 256);
static_assert(sizeof(Frame) == 440);

struct XsaveTrailer { // in the bytes that fxsave leaves to software, at 464
  uint32_t magic1;
  uint32_t extended_size;
  uint64_t features;
  uint32_t xstate_size;
  uint32_t padding[7];
};
constexpr uint32_t kMagic1 = 0x46505853;
constexpr uint32_t kMagic2 = 0x46505845;
constexpr size_t kTrailerOffset = 464;
constexpr uint64_t kRedZone = 128;
// UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
constexpr uint64_t kContextFlags = 7;
constexpr uint64_t kClearedFlags = 0x10500; // DF, TF, RF
constexpr uint64_t kTrapFlag = 0x100;
constexpr uint32_t kMxcsrBits = 0xFFFF; // those that a CPU with SSE2 has; the others fault
constexpr size_t kMxcsrOffset = 24;
constexpr size_t kHeaderOffset = 512; // of the XSAVE area
constexpr size_t kSmallestXstate = 576;
constexpr uint64_t kRestoredFlags = 0x50DD5; // AC, OF, DF, TF, SF, ZF, AF, PF, CF, RF

// Pairs of (field in the frame, register): one list for both directions.
template <class F>
void each_register(SigContext& context, engine::Registers& regs, F&& f) {
  using namespace engine;
  uint64_t* gpr = regs.gpr;
  f(context.r8, gpr[R8]);
  f(context.r9, gpr[R9]);
  f(context.r10, gpr[R10]);
  f(context.r11, gpr[R11]);
  f(context.r12, gpr[R12]);
  f(context.r13, gpr[R13]);
  f(context.r14, gpr[R14]);
  f(context.r15, gpr[R15]);
  f(context.di, gpr[RDI]);
  f(context.si, gpr[RSI]);
  f(context.bp, gpr[RBP]);
  f(context.bx, gpr[RBX]);
  f(context.dx, gpr[RDX]);
  f(context.ax, gpr[RAX]);
  f(context.cx, gpr[RCX]);
  f(context.sp, gpr[RSP]);
  f(context.ip, regs.rip);
}

bool lies_in(const AlternateStack& stack, uint64_t sp) {
  return !(stack.flags & SS_DISABLE) && sp > stack.base && sp - stack.base <= stack.size;
}

// Whether the frame's state can be loaded: the CPU faults for bits that it does not know.
bool is_loadable(const std::vector<std::byte>& vectors, bool extended) {
  uint32_t mxcsr;
  std::memcpy(&mxcsr, vectors.data() + kMxcsrOffset, sizeof mxcsr);
  if (mxcsr & ~kMxcsrBits) return false;
  if (!extended) return true;
  uint64_t header[3]; // which components are there, how they are compacted, nothing
  std::memcpy(header, vectors.data() + kHeaderOffset, sizeof header);
  return (header[0] & ~engine::cpu().xcr0) == 0 && header[1] == 0 && header[2] == 0;
}

// Whether each page of it can be written.
bool can_store(engine::GuestMemory& memory, uint64_t begin, size_t size) {
  constexpr uint64_t kPage = 4096;
  for (uint64_t at = begin; at < begin + size; at = (at | (kPage - 1)) + 1) {
    std::byte byte;
    if (memory.read(GuestAddr(at), &byte, 1) != 1 || memory.write(GuestAddr(at), &byte, 1) != 1) return false;
  }
  return true;
}

// As the kernel does it, where there is not room for all: it clears the header, has the CPU store everything
// or nothing, and marks the end. `vectors` has the mark after the image.
bool store_vectors(engine::GuestMemory& memory, uint64_t to, const std::vector<std::byte>& vectors) {
  const std::byte header[64] = {};
  size_t size = vectors.size() - sizeof kMagic2;
  if (memory.write(GuestAddr(to + kHeaderOffset), header, sizeof header) != sizeof header) return false;
  return can_store(memory, to, size) &&
         memory.write(GuestAddr(to), vectors.data(), vectors.size()) == vectors.size();
}

} // namespace

void reset_vectors(engine::Engine& engine) {
  std::vector<std::byte> vectors(engine.vector_size());
  const uint32_t mxcsr = 0x1F80;
  std::memcpy(vectors.data() + kMxcsrOffset, &mxcsr, 4);
  engine.write_vectors(vectors);
}

bool on_alternate_stack(const AlternateStack& stack, uint64_t sp) {
  return !(stack.flags & kAutoDisarm) && lies_in(stack, sp);
}

FramePlace place_of_frame(const engine::Registers& regs, size_t vector_size, const SignalAction& action,
                          const AlternateStack& stack) {
  uint64_t sp = regs.gpr[RSP] - kRedZone;
  bool alternate = on_alternate_stack(stack, regs.gpr[RSP]);
  if (action.flags & SA_ONSTACK && !(stack.flags & SS_DISABLE) && !on_alternate_stack(stack, sp)) {
    sp = stack.base + stack.size;
    alternate = true;
  }
  FramePlace place;
  place.vectors = (sp - vector_size - 4) & ~63ull;
  place.end = place.vectors + vector_size + 4;
  place.begin = ((place.vectors - sizeof(Frame)) & ~15ull) - 8;
  // A handler that would overflow its alternate stack gets no frame.
  place.fits = !alternate || lies_in(stack, place.begin);
  return place;
}

FramePlace frame_to_return_from(engine::Engine& engine, engine::GuestMemory& memory) {
  uint64_t begin = engine.registers().gpr[RSP] - 8;
  FramePlace place{.begin = begin, .vectors = 0, .end = begin + sizeof(Frame)};
  uint64_t vectors;
  GuestAddr where(begin + offsetof(Frame, ucontext.context.fpstate));
  if (memory.read(where, &vectors, sizeof vectors) == sizeof vectors) place.vectors = vectors;
  return place;
}

bool push_signal_frame(engine::Engine& engine, engine::GuestMemory& memory, const SignalAction& action,
                       const AlternateStack& stack, uint64_t mask, const PendingSignal& signal) {
  engine::Registers& regs = engine.registers();
  size_t vector_size = engine.vector_size();
  FramePlace place = place_of_frame(regs, vector_size, action, stack);
  if (!place.fits) return false;
  uint64_t fpstate = place.vectors;
  uint64_t at = place.begin;

  std::vector<std::byte> vectors(vector_size + 4);
  engine.read_vectors({vectors.data(), vector_size});
  const engine::Cpu& cpu = engine::cpu();
  XsaveTrailer trailer = {};
  trailer.magic1 = kMagic1;
  trailer.extended_size = static_cast<uint32_t>(vector_size + 4);
  trailer.features = cpu.xcr0;
  trailer.xstate_size = static_cast<uint32_t>(vector_size);
  std::memcpy(vectors.data() + kTrailerOffset, &trailer, sizeof trailer);
  uint64_t used;
  std::memcpy(&used, vectors.data() + kHeaderOffset, 8);
  used |= 3; // the kernel always marks the legacy parts
  std::memcpy(vectors.data() + kHeaderOffset, &used, 8);
  std::memcpy(vectors.data() + vector_size, &kMagic2, 4);

  Frame frame = {};
  frame.return_address = action.restorer;
  frame.ucontext.flags = kContextFlags;
  frame.ucontext.stack.sp = stack.base;
  frame.ucontext.stack.flags = stack.flags;
  frame.ucontext.stack.size = stack.size;
  SigContext& context = frame.ucontext.context;
  each_register(context, regs, [](uint64_t& field, uint64_t& reg) { field = reg; });
  context.flags = regs.flags() | (signal.resumes ? engine::Registers::kResume : 0);
  context.cs = 0x33;
  context.ss = 0x2B;
  context.err = signal.error_code;
  context.trapno = signal.trap_number;
  context.oldmask = mask;
  context.cr2 = signal.fault_address;
  context.fpstate = fpstate;
  frame.ucontext.mask = mask;
  std::memcpy(frame.info, &signal.info, sizeof frame.info);

  if (!store_vectors(memory, fpstate, vectors)) return false;
  if (memory.write(GuestAddr(at), &frame, sizeof frame) != sizeof frame) return false;

  regs.gpr[RSP] = at;
  regs.gpr[RDI] = static_cast<uint64_t>(signal.number);
  regs.gpr[RSI] = at + offsetof(Frame, info);
  regs.gpr[RDX] = at + offsetof(Frame, ucontext);
  regs.gpr[RAX] = 0;
  regs.rip = action.handler;
  regs.rflags &= ~kClearedFlags;
  reset_vectors(engine);
  return true;
}

namespace {

// False if it cannot be read or loaded.
bool load_vectors(engine::Engine& engine, engine::GuestMemory& memory, uint64_t fpstate) {
  size_t vector_size = engine.vector_size();
  std::vector<std::byte> vectors(vector_size);
  if (memory.read(GuestAddr(fpstate), vectors.data(), kHeaderOffset) != kHeaderOffset) return false;
  XsaveTrailer trailer;
  std::memcpy(&trailer, vectors.data() + kTrailerOffset, sizeof trailer);
  // Without both marks there is nothing but the legacy part.
  uint32_t magic2 = 0;
  bool extended = trailer.magic1 == kMagic1 && trailer.xstate_size <= vector_size &&
                  trailer.xstate_size >= kSmallestXstate && trailer.xstate_size <= trailer.extended_size;
  if (extended && memory.read(GuestAddr(fpstate + trailer.xstate_size), &magic2, 4) != 4) return false;
  extended = extended && magic2 == kMagic2;
  uint64_t used = 3;
  if (extended && memory.read(GuestAddr(fpstate), vectors.data(), trailer.xstate_size) != trailer.xstate_size)
    return false;
  if (!is_loadable(vectors, extended)) return false;
  if (extended) {
    std::memcpy(&used, vectors.data() + kHeaderOffset, 8);
    used &= trailer.features;
  }
  std::memcpy(vectors.data() + kHeaderOffset, &used, 8);
  engine.write_vectors(vectors);
  return true;
}

template <class T>
bool read_field(engine::GuestMemory& memory, uint64_t at, T& field, size_t size = sizeof(T)) {
  return memory.read(GuestAddr(at), &field, size) == size;
}

} // namespace

bool read_returned(engine::Engine& engine, engine::GuestMemory& memory, ReturnedFrame& frame) {
  // The handler's return has taken the return address off the stack.
  uint64_t at = engine.registers().gpr[RSP] - 8 + offsetof(Frame, ucontext);
  decltype(UContext::stack) stack;
  uint64_t mask;
  uint64_t flags;
  if (!read_field(memory, at + offsetof(UContext, mask), mask) || !read_field(memory, at, flags))
    return false;
  frame.mask = mask;
  if (!read_field(memory, at + offsetof(UContext, stack), stack)) return false;
  frame.stack = AlternateStack{stack.sp, stack.flags, stack.size};
  return true;
}

bool pop_signal_frame(engine::Engine& engine, engine::GuestMemory& memory) {
  engine::Registers& regs = engine.registers();
  uint64_t at = regs.gpr[RSP] - 8 + offsetof(Frame, ucontext) + offsetof(UContext, context);
  SigContext context;
  if (!read_field(memory, at, context, offsetof(SigContext, reserved))) return false;
  each_register(context, regs, [](uint64_t& field, uint64_t& reg) { reg = field; });
  if (context.flags & kTrapFlag) limit("a return from a signal handler that sets the trap flag");
  regs.set_flags((regs.flags() & ~kRestoredFlags) | (context.flags & kRestoredFlags));
  if (context.fpstate != 0 && load_vectors(engine, memory, context.fpstate)) return true;
  reset_vectors(engine);
  return context.fpstate == 0;
}

} // namespace rdb::guest
