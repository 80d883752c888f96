// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/initial_stack.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/memory/stack_limit.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace rdb::guest {

StackImage build_stack(AddressSpace& space, const InitialStack& content, uint64_t size_limit) {
  StackImage image;
  uint64_t size = stack_size(size_limit);
  uint64_t top = space.layout().stack_top;
  int64_t mapped =
      space.mmap(top - size, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE | MAP_GROWSDOWN, -1, 0);
  if (mapped < 0) bug("cannot map the guest's stack at {:#x}", top - size);
  space.name(top - size, top, "[stack]");

  uint64_t at = top - 8; // the kernel leaves a null word at the very end
  size_t total = content.exec_name.size() + 1;
  for (const std::string& s : content.argv)
    total += s.size() + 1;
  for (const std::string& s : content.environment)
    total += s.size() + 1;
  if (total > size / 4) user_error("arguments and environment are too long for the stack");
  auto put_string = [&](const std::string& s) {
    at -= s.size() + 1;
    std::memcpy(reinterpret_cast<void*>(at), s.c_str(), s.size() + 1);
    return at;
  };
  // From the top down: name of the program, environment, arguments; each list ascending in memory.
  uint64_t exec_name = put_string(content.exec_name);
  image.environment_end = at;
  std::vector<uint64_t> environment(content.environment.size());
  for (size_t i = environment.size(); i-- > 0;)
    environment[i] = put_string(content.environment[i]);
  image.environment = image.arguments_end = at;
  std::vector<uint64_t> argv(content.argv.size());
  for (size_t i = argv.size(); i-- > 0;)
    argv[i] = put_string(content.argv[i]);
  image.arguments = at;
  at = (at & ~15ull);
  uint64_t platform = put_string("x86_64");
  at -= content.random.size();
  uint64_t random = at;
  std::memcpy(reinterpret_cast<void*>(at), content.random.data(), content.random.size());

  // No vdso: time must come through system calls. No rseq: it writes to guest memory at any moment.
  const std::pair<uint64_t, uint64_t> vector[] = {
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
  };
  size_t words = 1 + argv.size() + 1 + environment.size() + 1 + 2 * std::size(vector);
  at = (at - words * 8) & ~15ull;
  auto* word = reinterpret_cast<uint64_t*>(at);
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
  image.pointer = at;
  return image;
}

} // namespace rdb::guest
