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

namespace rdb::engine {
namespace {

constexpr uint64_t kTrapFlag = 1 << 8;
// What popf can change in user mode: CF PF AF ZF SF TF DF OF NT AC ID.
constexpr uint64_t kUserFlags = 0x244DD5;

constexpr uint8_t kBreakpointVector = 3;
constexpr uint8_t kOverflowVector = 4;

// What fnstenv stores of the x87 unit, or fnsave, which adds the registers and resets the unit.
struct X87Environment {
  X87Environment(bool all, bool narrow) : all_(all), narrow_(narrow) {
    if (all_ && narrow_)
      asm volatile("data16 fnsave %0" : "=m"(bytes_));
    else if (all_)
      asm volatile("fnsave %0" : "=m"(bytes_));
    else if (narrow_)
      asm volatile("data16 fnstenv %0" : "=m"(bytes_));
    else
      asm volatile("fnstenv %0" : "=m"(bytes_));
    // The last instruction comes after control, status and tag word.
    const size_t last = narrow_ ? 6 : 12;
    std::memset(bytes_ + last, 0, environment_size() - last);
  }
  // The unit was neither reset nor its exceptions masked.
  void put_back() const {
    if (all_ && narrow_)
      asm volatile("data16 frstor %0" : : "m"(bytes_));
    else if (all_)
      asm volatile("frstor %0" : : "m"(bytes_));
    else if (narrow_)
      asm volatile("data16 fldenv %0" : : "m"(bytes_));
    else
      asm volatile("fldenv %0" : : "m"(bytes_));
  }
  const void* bytes() const { return bytes_; }
  size_t size() const { return all_ ? environment_size() + 80 : environment_size(); }

private:
  size_t environment_size() const { return narrow_ ? 14 : 28; }

  bool all_;
  bool narrow_;
  uint8_t bytes_[108] = {};
};

} // namespace

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
  return state_.exit_number == kExitFault ? handle_exit(stop) : Next::go_on;
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

Translator::Next Translator::emulate_popf(Stop& stop, const Instruction& instruction) {
  Registers& regs = state_.registers;
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
  return Next::go_on;
}

Translator::Next Translator::emulate_pushf(Stop& stop, const Instruction& instruction) {
  Registers& regs = state_.registers;
  uint64_t value = regs.flags();
  size_t size = instruction.operand16 ? 2 : 8;
  Next next = store_emulated(stop, instruction, regs.gpr[RSP] - size, &value, size);
  if (next == Next::go_on) regs.gpr[RSP] -= size;
  return next;
}

Translator::Next Translator::emulate_fxsave(Stop& stop, const Instruction& instruction) {
  constexpr size_t kStored = 416; // the last bytes are the program's own: only they must be writable, too
  std::vector<std::byte> image(vector_size());
  read_vectors(image);
  uint64_t address = operand_address(instruction, state_.registers);
  if ((address & 15 || !can_store(address, kLegacySize)) && execute_itself(stop, instruction) == Next::stop)
    return Next::stop;
  return store_emulated(stop, instruction, address, image.data(), kStored);
}

Translator::Next Translator::emulate_x87_store(Stop& stop, const Instruction& instruction) {
  const X87Environment environment(instruction.emulated == Emulated::fnsave, instruction.operand16);
  uint64_t address = operand_address(instruction, state_.registers);
  Next next = store_emulated(stop, instruction, address, environment.bytes(), environment.size());
  if (next == Next::stop) environment.put_back();
  return next;
}

// The trap is reported after the instruction, which counts as executed.
Translator::Next Translator::trap_after(Stop& stop, const Instruction& instruction, uint8_t vector) {
  pass_emulated(instruction.end());
  return raise(stop, vector == kBreakpointVector ? SIGTRAP : SIGSEGV, SI_KERNEL, 0, vector, 0);
}

// Vectors 3 and 4 are open to programs; the others are a protection fault.
Translator::Next Translator::emulate_interrupt(Stop& stop, const Instruction& instruction) {
  uint8_t vector = instruction.opcode;
  if (vector != kBreakpointVector && vector != kOverflowVector)
    return raise(stop, SIGSEGV, SI_KERNEL, 0, kProtectionFault, vector * 8u + 2);
  return trap_after(stop, instruction, vector);
}

// The instruction is done, and counted.
void Translator::pass_emulated(uint64_t next_pc) {
  state_.registers.rip = next_pc;
  ++executed_;
}

Translator::Next Translator::emulate(Stop& stop, const Instruction& exit_instruction) {
  const Instruction instruction = exit_instruction; // the cache may go away under the original
  Next next = Next::go_on;
  switch (instruction.emulated) {
  case Emulated::popf:
    next = emulate_popf(stop, instruction);
    break;
  case Emulated::pushf:
    next = emulate_pushf(stop, instruction);
    break;
  case Emulated::xsave:
  case Emulated::xsavec:
  case Emulated::xsaveopt:
    next = emulate_xsave(stop, instruction);
    break;
  case Emulated::fxsave:
    next = emulate_fxsave(stop, instruction);
    break;
  case Emulated::fnstenv:
  case Emulated::fnsave:
    next = emulate_x87_store(stop, instruction);
    break;
  case Emulated::breakpoint:
    return trap_after(stop, instruction, kBreakpointVector);
  case Emulated::software_interrupt:
    return emulate_interrupt(stop, instruction);
  case Emulated::xbegin: // every transaction aborts at once
    state_.registers.gpr[RAX] = 0;
    pass_emulated(instruction.target);
    return Next::go_on;
  case Emulated::none:
    bug("nothing to emulate at {:#x}", instruction.pc);
  }
  if (next == Next::go_on) pass_emulated(instruction.end());
  return next;
}

} // namespace rdb::engine
