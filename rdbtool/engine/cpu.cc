// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/cpu.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cpuid.h>
#include <sys/auxv.h>

namespace rdb::engine {
namespace {

constexpr unsigned long kHwcap2Fsgsbase = 2;

// The flags after `test` with AF set and clear before: the translator counts on the old AF not surviving.
bool logic_clobbers_af() {
  uint64_t with_af;
  uint64_t without_af;
  asm volatile("lea -128(%%rsp), %%rsp\n\t"
               "pushfq\n\t"
               "pushfq\n\t"
               "orq $0x10, (%%rsp)\n\t"
               "popfq\n\t"
               "test %%eax, %%eax\n\t"
               "pushfq\n\t"
               "pop %0\n\t"
               "pushfq\n\t"
               "andq $~0x10, (%%rsp)\n\t"
               "popfq\n\t"
               "test %%eax, %%eax\n\t"
               "pushfq\n\t"
               "pop %1\n\t"
               "popfq\n\t"
               "lea 128(%%rsp), %%rsp\n\t"
               : "=&r"(with_af), "=&r"(without_af)
               : "a"(1)
               : "cc", "memory");
  return with_af == without_af;
}

Cpu detect() {
  Cpu result;
  uint32_t a, b, c, d;
  if (!(getauxval(AT_HWCAP2) & kHwcap2Fsgsbase))
    limit("this kernel or CPU does not let programs set the FS base (FSGSBASE; Linux 5.9 and Ivy Bridge or "
          "newer)");
  __cpuid(1, a, b, c, d);
  if (!(c & bit_SSE4_2) || !(c & bit_OSXSAVE)) limit("the CPU has no SSE4.2 or no XSAVE");
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  // The kernel gives AMX only to programs that ask for it, and here none gets it.
  constexpr uint64_t kAmx = 3 << 17;
  result.xcr0 = (static_cast<uint64_t>(high) << 32 | low) & ~kAmx;
  result.avx = result.xcr0 & 4;
  result.avx512 = (result.xcr0 & 0xE0) != 0;
  __cpuid_count(7, 0, a, b, c, d);
  result.bmi2 = result.avx && (b & bit_BMI2);
  result.wide_masks = b & bit_AVX512BW;
  for (uint32_t i = 2; i < 32; ++i) {
    if (!(result.xcr0 >> i & 1)) continue;
    __cpuid_count(13, i, a, b, c, d);
    result.component_size[i] = a;
    result.component_offset[i] = b;
    result.xsave_size = std::max<size_t>(result.xsave_size, a + b);
  }
  if (!logic_clobbers_af()) limit("this CPU keeps AF across logic instructions");
  return result;
}

} // namespace

const Cpu& cpu() {
  static const Cpu instance = detect();
  return instance;
}

} // namespace rdb::engine
