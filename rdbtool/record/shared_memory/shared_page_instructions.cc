// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that need shared memory which another process has. Most begin again when they have all of it.
// A string instruction that repeats goes on where it was, as some vector instructions do, and replay does it
// in one go with what the log has at its begin: pages that it has used must stay as they are until it is
// done.
#include "rdbtool/engine/instructions/string_instruction.h"
#include "rdbtool/engine/translate/code_path.h"
#include "rdbtool/record/shared_memory/shared_pages.h"

#include <algorithm>
#include <csignal>
#include <optional>

namespace rdb::record {
namespace {

using guest::kPage;

constexpr uint64_t kDirection = 1 << 10; // in the flags

// The string instruction that the guest is about to execute, or to go on with.
std::optional<engine::StringInstruction> repeated(guest::Machine& machine) {
  std::optional<engine::Instruction> next = engine::instruction_at(machine.space(), machine.registers().rip);
  return next ? engine::repeated_string(*next) : std::nullopt;
}

// Vector instructions that go on where they were: gathers, scatters, loads and stores of tiles.
bool continues(guest::Machine& machine) {
  constexpr uint8_t kVex = 0xC4, kEvex = 0x62;
  uint8_t bytes[16] = {};
  machine.space().read(GuestAddr(machine.registers().rip), bytes, sizeof bytes - 1);
  const uint8_t* at = bytes;
  while (*at == 0x67 || *at == 0x64 || *at == 0x65)
    ++at;
  bool vex = at[0] == kVex && (at[1] & 0x1F) == 2; // opcodes that begin with 0F 38
  bool evex = at[0] == kEvex && (at[1] & 7) == 2;
  if (!vex && !evex) return false;
  uint8_t opcode = vex ? at[3] : at[4];
  return (opcode >= 0x90 && opcode <= 0x93) || (opcode >= 0xA0 && opcode <= 0xA3) || opcode == 0x4B;
}

} // namespace

std::vector<GuestAddr> SharedPages::code_pages(guest::Machine& machine) const {
  constexpr uint64_t kLongestInstruction = 15;
  std::vector<GuestAddr> result;
  uint64_t pc = machine.registers().rip;
  if (find(pc) == nullptr && find(pc + kLongestInstruction - 1) == nullptr) return result;
  std::optional<engine::Instruction> next = engine::instruction_at(machine.space(), pc);
  uint64_t last = next ? next->end() - 1 : pc;
  if (find(pc) != nullptr) result.emplace_back(pc);
  if (guest::page_down(last) != guest::page_down(pc) && find(last) != nullptr) result.emplace_back(last);
  return result;
}

std::vector<SharedPages::Held> SharedPages::touched(guest::Machine& machine) const {
  if (continues(machine)) return held_;
  std::optional<engine::StringInstruction> next = repeated(machine);
  if (!next) return {};
  if (next->segment != 0) return held_;
  bool down = machine.registers().rflags & kDirection;
  std::vector<Held> result;
  // From where the step before has ended. False if it cannot have been made.
  auto look_back = [&](uint64_t at) {
    at = down ? at + next->size : at - 1;
    if (find(at) != nullptr && !has(GuestAddr(at), false)) return false;
    for (const Area* area = find(at); area != nullptr && has(GuestAddr(at), false); area = find(at)) {
      result.push_back({static_cast<size_t>(area - areas_.data()), area->page(at)});
      at = down ? at + kPage : at - kPage;
    }
    return true;
  };
  if (next->has_source() && !look_back(machine.registers().gpr[engine::RSI])) return {};
  if (next->has_destination() && !look_back(machine.registers().gpr[engine::RDI])) return {};
  if (result.empty()) return {};
  for (GuestAddr code : code_pages(machine))
    if (has(code, false)) {
      const Area& area = *find(code.value);
      result.push_back({static_cast<size_t>(&area - areas_.data()), area.page(code.value)});
    }
  return result;
}

// One that repeats, and has not begun, gets all that it will need: in the middle it could give nothing back.
void SharedPages::add_all_needs(guest::Machine& machine) {
  std::optional<engine::StringInstruction> next = repeated(machine);
  if (!next || !next->runs_to_the_end() || next->segment != 0) return;
  const engine::Registers& regs = machine.registers();
  bool down = regs.rflags & kDirection;
  auto add = [&](uint64_t at, bool write) {
    const Area* area = find(at);
    if (area == nullptr) return;
    uint64_t room = down ? at + next->size - area->begin : area->end - at;
    uint64_t size = std::min(regs.gpr[engine::RCX], room / next->size) * next->size;
    uint64_t begin = down ? at + next->size - size : at;
    for (uint64_t page = guest::page_down(begin); page < begin + size; page += kPage)
      needs_.push_back({GuestAddr(page), write});
  };
  if (next->has_source()) add(regs.gpr[engine::RSI], false);
  if (next->has_destination()) add(regs.gpr[engine::RDI], true);
}

bool SharedPages::take_for_instruction(guest::Machine& machine, const engine::Fault& fault) {
  constexpr int kPageFault = 14;
  constexpr uint64_t kWrite = 2;
  if (areas_.empty() || fault.signal != SIGSEGV || fault.trap_number != kPageFault) return false;
  GuestAddr address(reinterpret_cast<uint64_t>(fault.info.si_addr));
  bool write = fault.error_code & kWrite;
  if (!may_take(machine, address, write) || has(address, write)) return false;
  if (taken_at_ != machine.now().value) needs_.clear();
  taken_at_ = machine.now().value;
  needs_.push_back({address, write});
  for (GuestAddr code : code_pages(machine))
    needs_.push_back({code, false});
  if (!touched(machine).empty()) {
    // What it has used must stay; the rest of it comes page by page.
    keep_ = Keep::touched;
    take(machine, address, write);
    keep_ = Keep::nothing;
  } else {
    add_all_needs(machine);
    take_together(machine, takable(machine, needs_));
  }
  return true;
}

} // namespace rdb::record
