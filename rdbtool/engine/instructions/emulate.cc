// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that the host carries out for the guest. The x87 unit remembers where its last instruction
// was: in the code cache; and some CPUs forget it at every task switch. So it is always stored as zero, which
// is what native programs see at times, too. And XSAVE's header tells which components were touched at some
// time, not which hold something: that differs between two runs that are otherwise equal. Both would reach
// guest memory, so what is stored is made here, from values alone.
#include "rdbtool/base/error.h"
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/translator.h"

#include <algorithm>
#include <cstring>
#include <ucontext.h>

namespace rdb::engine {
namespace {

constexpr uint64_t kTrapFlag = 1 << 8;
// What popf can change in user mode: CF PF AF ZF SF TF DF OF NT AC ID.
constexpr uint64_t kUserFlags = 0x244DD5;

constexpr size_t kLegacySize = 512;
constexpr size_t kHeaderSize = 64;
constexpr size_t kX87LastOffset = 6; // opcode, instruction pointer and data pointer of the last instruction
constexpr size_t kMxcsrOffset = 24;
constexpr size_t kX87RegistersOffset = 32;
constexpr uint16_t kInitialControl = 0x37F;

bool all_zero(const std::byte* bytes, size_t size) {
  // At every switch of threads, over kilobytes: each byte compared with the one before, many at a time.
  return bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Calls `take` with each part of the vector registers: where it is, its size, its component, and its place in
// XSAVE's layout. Takes no memory: signal handlers come here too.
template <class Take>
void for_vector_parts(State& state, Take take) {
  const Cpu& c = cpu();
  for (size_t i = 0; i < 16; ++i) {
    take(state.vectors[i], 16, kXmm, kXmmOffset + 16 * i);
    if (c.avx) take(state.vectors[i] + 16, 16, kYmmUpper, c.component_offset[kYmmUpper] + 16 * i);
    if (c.avx512) take(state.vectors[i] + 32, 32, kZmmUpper, c.component_offset[kZmmUpper] + 32 * i);
  }
  if (!c.avx512) return;
  take(state.vectors[16], 16 * sizeof state.vectors[0], kZmmHigh, c.component_offset[kZmmHigh]);
  take(reinterpret_cast<std::byte*>(state.masks), sizeof state.masks, kMasks, c.component_offset[kMasks]);
}

} // namespace

void Translator::read_vectors(VectorImage image) {
  RDB_CHECK(image.size() >= vector_size());
  alignas(64) std::byte legacy[kLegacySize];
  std::fill(image.begin(), image.end(), std::byte{0});
  asm volatile("fxsave64 %0" : "=m"(legacy));
  if (!uses_x87_) { // it holds what the host has left there
    std::memset(legacy, 0, kMxcsrOffset);
    std::memset(legacy + kX87RegistersOffset, 0, kXmmOffset - kX87RegistersOffset);
    std::memcpy(legacy, &kInitialControl, sizeof kInitialControl);
  }
  std::memcpy(image.data(), legacy, kXmmOffset);
  std::memset(image.data() + kX87LastOffset, 0, kMxcsrOffset - kX87LastOffset);
  std::memcpy(image.data() + kMxcsrOffset, &state_.mxcsr_guest, 4);
  const Cpu& c = cpu();
  for_vector_parts(state_, [&](const std::byte* bytes, size_t size, Component, size_t offset) {
    std::memcpy(image.data() + offset, bytes, size);
  });
  // Which components hold something, by value.
  uint64_t used = 0;
  uint16_t control, status;
  std::memcpy(&control, image.data(), 2);
  std::memcpy(&status, image.data() + 2, 2);
  bool x87_initial = control == kInitialControl && status == 0 && image[4] == std::byte{0} &&
                     all_zero(image.data() + 6, 18) && all_zero(image.data() + kX87RegistersOffset, 128);
  if (!x87_initial) used |= 1;
  if (!all_zero(image.data() + kXmmOffset, 256) || state_.mxcsr_guest != 0x1F80) used |= 2;
  for (uint32_t i = 2; i < 32; ++i)
    if (c.component_size[i] && !all_zero(image.data() + c.component_offset[i], c.component_size[i]))
      used |= 1ull << i;
  std::memcpy(image.data() + kLegacySize, &used, 8);
}

void Translator::write_vectors(std::span<const std::byte> image) {
  RDB_CHECK(image.size() >= kLegacySize + kHeaderSize);
  uint64_t used;
  std::memcpy(&used, image.data() + kLegacySize, 8);
  if (used & 1) uses_x87_ = true;
  put_x87(image, used);
  put_vectors(image, used);
}

// Into the CPU, where it stays. `used`: the components that the image holds; others get their initial state.
void Translator::put_x87(std::span<const std::byte> image, uint64_t used) {
  alignas(64) std::byte legacy[kLegacySize] = {};
  std::memcpy(legacy, &kInitialControl, 2);
  std::memcpy(legacy + kMxcsrOffset, &state_.mxcsr_host, 4);
  if (used & 1) {
    std::memcpy(legacy, image.data(), kMxcsrOffset);
    std::memcpy(legacy + kX87RegistersOffset, image.data() + kX87RegistersOffset, 128);
  }
  asm volatile("fxrstor64 %0" : : "m"(legacy) : "memory");
}

// All of it but x87, which is in the CPU. `used`: the components that the image holds.
void Translator::put_vectors(std::span<const std::byte> image, uint64_t used) {
  std::memcpy(&state_.mxcsr_guest, image.data() + kMxcsrOffset, 4);
  state_.mxcsr_guest &= 0xFFFF;
  for_vector_parts(state_, [&](std::byte* bytes, size_t size, Component component, size_t offset) {
    if ((used >> component & 1) && image.size() >= offset + size)
      std::memcpy(bytes, image.data() + offset, size);
    else
      std::memset(bytes, 0, size);
  });
}

// The kernel's frame holds what the guest had: the handler's own vector registers are others.
void Translator::leave_fast_hook(void* ucontext) {
  constexpr size_t kMagicOffset = 464, kSizeOffset = 480;
  constexpr uint32_t kExtended = 0x46505853; // FP_XSTATE_MAGIC1
  constexpr uint64_t kLegacyOnly = 3;
  if (!in_fast_hook()) return;
  const auto* frame =
      reinterpret_cast<const std::byte*>(static_cast<ucontext_t*>(ucontext)->uc_mcontext.fpregs);
  uint32_t magic, size = kLegacySize;
  uint64_t used = kLegacyOnly;
  std::memcpy(&magic, frame + kMagicOffset, sizeof magic);
  if (magic == kExtended) {
    std::memcpy(&size, frame + kSizeOffset, sizeof size);
    std::memcpy(&used, frame + kLegacySize, sizeof used);
  }
  put_vectors({frame, size}, used);
  if (uses_x87_) put_x87({frame, size}, used); // the handler began with the initial state
  state_.in_fast_call = 0;
  asm volatile("rdgsbase %0" : "=r"(state_.registers.gs_base));
}

void Translator::read_vector(size_t index, std::byte* to) const {
  std::memcpy(to, state_.vectors[index], 32);
}

void Translator::write_vector(size_t index, const std::byte* from) {
  std::memcpy(state_.vectors[index], from, cpu().avx ? 32 : 16);
}

// Whether the guest's instruction can store to all of this.
bool Translator::can_store(uint64_t address, size_t size) {
  constexpr uint64_t kPage = 4096;
  if (address + size < address) return false;
  for (uint64_t at = address; at < address + size; at = (at | (kPage - 1)) + 1) {
    uint8_t byte;
    if (memory_.read(GuestAddr(at), &byte, 1) != 1 || memory_.write(GuestAddr(at), &byte, 1) != 1)
      return false;
  }
  return true;
}

// The instruction cannot do its access. Which fault that is, only the CPU knows: which of the bytes it names,
// whether it looks at the alignment or at the page first, whether the stack is concerned. So it is executed
// after all. CPUs look at both ends of what they store to first, so that nothing is stored if there is a
// fault. If there is none, because the CPU asks for less than was looked at, emulation goes on.
Translator::Next Translator::execute_itself(Stop& stop, const Instruction& instruction) {
  PathStep alone{instruction, instruction.end()};
  alone.instruction.kind = Kind::plain;
  cache_.make_room();
  Block& block = make(Flavour::step, {&alone, 1}, PathEnd::goes_on, CodeTrust::watched);
  enter(block.begin, 0, 0);
  cache_.kill(block); // the next one is emulated again
  return state_.exit_number == kExitFault ? take_exit(stop, kExitFault) : Next::go_on;
}

// Puts bytes that the guest's instruction stores.
Translator::Next Translator::store_emulated(Stop& stop, const Instruction& instruction, uint64_t address,
                                            const void* bytes, size_t size) {
  if (!can_store(address, size) && execute_itself(stop, instruction) == Next::stop) return Next::stop;
  RDB_CHECK(memory_.write(GuestAddr(address), bytes, size) == size);
  return Next::go_on;
}

Translator::Next Translator::emulate_xsave(Stop& stop, const Instruction& instruction) {
  const Registers& regs = state_.registers;
  const Cpu& c = cpu();
  uint64_t address = operand_address(instruction, regs);
  uint64_t requested = ((regs.gpr[RDX] & 0xFFFFFFFF) << 32 | (regs.gpr[RAX] & 0xFFFFFFFF)) & c.xcr0;
  std::vector<std::byte> image(c.xsave_size);
  read_vectors(image);
  uint64_t used;
  std::memcpy(&used, image.data() + kLegacySize, 8);
  bool compact = instruction.emulated == Emulated::xsavec;
  // XSAVE stores every requested component; the others leave out those in their initial state.
  uint64_t stored = instruction.emulated == Emulated::xsave ? requested : requested & used;

  uint64_t end = kLegacySize + kHeaderSize;
  for (uint32_t i = 2; i < 32; ++i)
    if (requested >> i & 1)
      end = compact ? end + c.component_size[i]
                    : std::max<uint64_t>(end, c.component_offset[i] + c.component_size[i]);
  if ((address & 63 || !can_store(address, end)) && execute_itself(stop, instruction) == Next::stop)
    return Next::stop;
  auto put = [&](uint64_t offset, const void* bytes, size_t size) {
    RDB_CHECK(memory_.write(GuestAddr(address + offset), bytes, size) == size);
  };
  std::byte header[kHeaderSize] = {};
  if (!compact) RDB_CHECK(memory_.read(GuestAddr(address + kLegacySize), header, 16) == 16);
  uint64_t old_used;
  std::memcpy(&old_used, header, 8);
  uint64_t new_used = compact ? requested & used : (old_used & ~requested) | (requested & used);
  std::memcpy(header, &new_used, 8);
  if (compact) {
    uint64_t layout = requested | 1ull << 63;
    std::memcpy(header + 8, &layout, 8);
  }
  put(kLegacySize, header, compact ? kHeaderSize : 8);
  if (stored & 1) {
    put(0, image.data(), kMxcsrOffset);
    put(kX87RegistersOffset, image.data() + kX87RegistersOffset, 128);
  }
  if (requested & 6) put(kMxcsrOffset, image.data() + kMxcsrOffset, 8);
  if (stored & 2) put(kXmmOffset, image.data() + kXmmOffset, 256);
  uint64_t compact_offset = kLegacySize + kHeaderSize;
  for (uint32_t i = 2; i < 32; ++i) {
    if (!(requested >> i & 1) || !c.component_size[i]) continue;
    uint64_t offset = compact ? compact_offset : c.component_offset[i];
    if (stored >> i & 1) put(offset, image.data() + c.component_offset[i], c.component_size[i]);
    compact_offset += c.component_size[i];
  }
  return Next::go_on;
}

Translator::Next Translator::emulate(Stop& stop, const Instruction& exit_instruction) {
  const Instruction instruction = exit_instruction; // the cache may go away under the original
  Registers& regs = state_.registers;
  Next next = Next::go_on;
  switch (instruction.emulated) {
  case Emulated::popf: {
    uint64_t value = 0;
    size_t size = instruction.operand16 ? 2 : 8;
    if (memory_.read(GuestAddr(regs.gpr[RSP]), &value, size) != size) {
      RDB_CHECK(execute_itself(stop, instruction) == Next::stop);
      return Next::stop;
    }
    if (value & kTrapFlag) limit("popf that sets the trap flag at {:#x}", instruction.pc);
    uint64_t changeable = size == 2 ? kUserFlags & 0xFFFF : kUserFlags;
    regs.set_flags((regs.flags() & ~changeable) | (value & changeable) | 2);
    regs.gpr[RSP] += size;
    break;
  }
  case Emulated::pushf: {
    uint64_t value = regs.flags();
    size_t size = instruction.operand16 ? 2 : 8;
    next = store_emulated(stop, instruction, regs.gpr[RSP] - size, &value, size);
    if (next == Next::go_on) regs.gpr[RSP] -= size;
    break;
  }
  case Emulated::xsave:
  case Emulated::xsavec:
  case Emulated::xsaveopt:
    next = emulate_xsave(stop, instruction);
    break;
  case Emulated::fxsave: {
    std::vector<std::byte> image(vector_size());
    read_vectors(image);
    // The last bytes are the program's own: they are not written, but must be writable.
    uint64_t address = operand_address(instruction, regs);
    if (address & 15 || !can_store(address, kLegacySize)) next = execute_itself(stop, instruction);
    if (next == Next::go_on) next = store_emulated(stop, instruction, address, image.data(), 416);
    break;
  }
  case Emulated::fnstenv:
  case Emulated::fnsave: {
    uint8_t environment[108] = {};
    const bool all = instruction.emulated == Emulated::fnsave;
    const bool narrow = instruction.operand16;
    if (all && narrow)
      asm volatile("data16 fnsave %0" : "=m"(environment));
    else if (all)
      asm volatile("fnsave %0" : "=m"(environment));
    else if (narrow)
      asm volatile("data16 fnstenv %0" : "=m"(environment));
    else
      asm volatile("fnstenv %0" : "=m"(environment));
    const size_t size = narrow ? 14 : 28;
    const size_t last = narrow ? 6 : 12; // behind control, status and tag word: the last instruction
    std::memset(environment + last, 0, size - last);
    uint64_t address = operand_address(instruction, regs);
    next = store_emulated(stop, instruction, address, environment, all ? size + 80 : size);
    if (next == Next::go_on) break;
    // Not stored: so the unit was neither reset nor its exceptions masked.
    if (all && narrow)
      asm volatile("data16 frstor %0" : : "m"(environment));
    else if (all)
      asm volatile("frstor %0" : : "m"(environment));
    else if (narrow)
      asm volatile("data16 fldenv %0" : : "m"(environment));
    else
      asm volatile("fldenv %0" : : "m"(environment));
    break;
  }
  case Emulated::breakpoint:
    // The trap is reported behind the instruction, which counts as executed.
    regs.rip = instruction.end();
    ++executed_;
    return raise(stop, SIGTRAP, SI_KERNEL, 0, 3, 0);
  case Emulated::software_interrupt:
    // Vectors 3 and 4 are open to programs and trap behind the instruction; the others are a protection
    // fault.
    if (instruction.opcode != 3 && instruction.opcode != 4)
      return raise(stop, SIGSEGV, SI_KERNEL, 0, 13, instruction.opcode * 8u + 2);
    regs.rip = instruction.end();
    ++executed_;
    return raise(stop, instruction.opcode == 3 ? SIGTRAP : SIGSEGV, SI_KERNEL, 0, instruction.opcode, 0);
  case Emulated::xbegin:
    // Every transaction aborts at once.
    regs.gpr[RAX] = 0;
    regs.rip = instruction.target;
    ++executed_;
    return Next::go_on;
  case Emulated::none:
    bug("nothing to emulate at {:#x}", instruction.pc);
  }
  if (next == Next::stop) return next;
  regs.rip = instruction.end();
  ++executed_;
  return Next::go_on;
}

} // namespace rdb::engine
