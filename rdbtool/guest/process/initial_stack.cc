// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/initial_stack.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/memory/stack_limit.h"

#include <cstring>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace rdb::guest {

namespace {

// Returns its upper end.
uint64_t map_stack(AddressSpace& space, uint64_t size) {
  uint64_t top = space.layout().stack_top;
  int64_t mapped =
      space.mmap(top - size, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE | MAP_GROWSDOWN, -1, 0);
  if (mapped < 0) bug("cannot map the guest's stack at {:#x}", top - size);
  space.name(top - size, top, "[stack]");
  return top;
}

size_t size_of_strings(const InitialStack& content) {
  size_t total = content.exec_name.size() + 1;
  for (const std::string& s : content.argv)
    total += s.size() + 1;
  for (const std::string& s : content.environment)
    total += s.size() + 1;
  return total;
}

// Puts one thing after the other onto the stack, downwards.
struct StackWriter {
  uint64_t at;

  uint64_t put(const void* bytes, size_t size) {
    at -= size;
    std::memcpy(reinterpret_cast<void*>(at), bytes, size);
    return at;
  }
  uint64_t put(const std::string& s) { return put(s.c_str(), s.size() + 1); }
  // Ascending in memory. Returns their addresses.
  std::vector<uint64_t> put_list(const std::vector<std::string>& strings) {
    std::vector<uint64_t> addresses(strings.size());
    for (size_t i = strings.size(); i-- > 0;)
      addresses[i] = put(strings[i]);
    return addresses;
  }
};

using AuxiliaryVector = std::array<std::pair<uint64_t, uint64_t>, 20>;

// No vdso: time must come through system calls. No rseq: it writes to guest memory at any moment.
AuxiliaryVector make_auxiliary_vector(const InitialStack& content, uint64_t random, uint64_t exec_name,
                                      uint64_t platform) {
  return {{
      {AT_MINSIGSTKSZ, getauxval(AT_MINSIGSTKSZ)},
      {AT_HWCAP, getauxval(AT_HWCAP)},
      {AT_PAGESZ, kPage},
      {AT_CLKTCK, getauxval(AT_CLKTCK)},
      {AT_PHDR, content.program.headers},
      {AT_PHENT, content.program.header_size},
      {AT_PHNUM, content.program.header_count},
      {AT_BASE, content.interpreter ? content.interpreter->begin : 0},
      {AT_FLAGS, 0},
      {AT_ENTRY, content.program.entry},
      {AT_UID, getuid()},
      {AT_EUID, geteuid()},
      {AT_GID, getgid()},
      {AT_EGID, getegid()},
      {AT_SECURE, 0},
      {AT_RANDOM, random},
      {AT_HWCAP2, getauxval(AT_HWCAP2)},
      {AT_EXECFN, exec_name},
      {AT_PLATFORM, platform},
      {AT_NULL, 0},
  }};
}

} // namespace

StackImage build_stack(AddressSpace& space, const InitialStack& content, uint64_t size_limit) {
  StackImage image;
  uint64_t size = stack_size(size_limit);
  StackWriter stack{map_stack(space, size) - 8}; // the kernel leaves a null word at the very end
  if (size_of_strings(content) > size / 4) user_error("arguments and environment are too long for the stack");
  // From the top down: name of the program, environment, arguments.
  uint64_t exec_name = stack.put(content.exec_name);
  image.environment_end = stack.at;
  std::vector<uint64_t> environment = stack.put_list(content.environment);
  image.environment = image.arguments_end = stack.at;
  std::vector<uint64_t> argv = stack.put_list(content.argv);
  image.arguments = stack.at;
  stack.at &= ~15ull;
  uint64_t platform = stack.put("x86_64");
  uint64_t random = stack.put(content.random.data(), content.random.size());
  AuxiliaryVector vector = make_auxiliary_vector(content, random, exec_name, platform);

  size_t words = 1 + argv.size() + 1 + environment.size() + 1 + 2 * vector.size();
  image.pointer = (stack.at - words * 8) & ~15ull;
  auto* word = reinterpret_cast<uint64_t*>(image.pointer);
  *word++ = argv.size();
  for (uint64_t address : argv)
    *word++ = address;
  *word++ = 0;
  for (uint64_t address : environment)
    *word++ = address;
  *word++ = 0;
  image.auxv = reinterpret_cast<uint64_t>(word);
  image.auxv_size = sizeof vector;
  for (auto [key, value] : vector) {
    *word++ = key;
    *word++ = value;
  }
  return image;
}

} // namespace rdb::guest
