// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/partial_work_log.h"

#include "rdbtool/engine/instructions/partial_work.h"
#include "rdbtool/engine/translate/code_path.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace rdb::record {
namespace {

// Faults of accesses to memory, as the kernel numbers them: stack segment, protection, page, alignment.
bool is_access(uint64_t trap_number) {
  return trap_number == 12 || trap_number == 13 || trap_number == 14 || trap_number == 17;
}

// Exceptions of x87 and SSE: the instruction has set bits in the status word or in MXCSR.
bool is_arithmetic(uint64_t trap_number) {
  return trap_number == 16 || trap_number == 19;
}

} // namespace

// What the guest may have written there. Of pages that it cannot write there is nothing to keep.
void PartialWorkLog::keep(guest::Machine& machine, uint64_t begin, uint64_t end) {
  while (begin < end) {
    uint64_t page_end = std::min(end, guest::page_down(begin) + guest::kPage);
    const guest::Mapping* mapping = machine.space().find(begin);
    std::vector<uint8_t> bytes(page_end - begin);
    if (mapping != nullptr && mapping->protection & PROT_WRITE &&
        machine.space().read(GuestAddr(begin), bytes.data(), bytes.size()) == bytes.size()) {
      writes_.push_back({GuestAddr(begin), bytes.data(), bytes.size()});
      bytes_.push_back(std::move(bytes));
    }
    begin = page_end;
  }
}

bool PartialWorkLog::find(guest::Machine& machine, const guest::PendingSignal& signal) {
  bool arithmetic = is_arithmetic(signal.trap_number);
  if (!is_access(signal.trap_number) && !arithmetic) return false;
  std::optional<engine::Instruction> instruction =
      engine::instruction_at(machine.space(), machine.registers().rip);
  if (!instruction) return false;
  engine::PartialWork work;
  if (arithmetic)
    work.changes_vectors = true;
  else
    work = engine::partial_work(*instruction, machine.engine());
  bytes_.clear();
  writes_.clear();
  // A store within one page has not been done if that page is the one that it faulted for.
  uint64_t page = guest::page_down(signal.fault_address);
  for (const engine::MemoryAccess& access : work.written) {
    uint64_t end = access.address + access.size;
    bool is_fault_alone = signal.trap_number == 14 && guest::page_down(access.address) == page &&
                          guest::page_down(end - 1) == page;
    if (!is_fault_alone) keep(machine, access.address, end);
  }
  if (!work.repeats && !work.changes_vectors && writes_.empty()) return false;
  const engine::Registers& registers = machine.registers();
  std::ranges::copy(registers.gpr, input_.gpr);
  input_.rflags = registers.flags();
  vectors_.resize(work.changes_vectors ? machine.engine().vector_size() : 0);
  if (work.changes_vectors) machine.engine().read_vectors(vectors_);
  input_.vectors = {reinterpret_cast<const uint8_t*>(vectors_.data()), vectors_.size()};
  return true;
}

} // namespace rdb::record
