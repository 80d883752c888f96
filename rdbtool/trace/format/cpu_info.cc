// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which CPU a recording was made on, and whether this one can replay it. Instructions that approximate
// (rcpps, rsqrtps, x87 transcendentals) differ between vendors; instructions that are missing cannot be
// replayed at all.
#include "rdbtool/base/error.h"
#include "rdbtool/trace/format/metadata.h"

#include <algorithm>
#include <cpuid.h>
#include <cstring>

namespace rdb::trace {
namespace {

enum Register : uint8_t { kEax, kEbx, kEcx, kEdx };
// What the kernel must switch on before a feature can be used: bits of XCR0.
enum EnabledState : uint8_t { kNothing = 0, kAvx = 0x06, kAvx512 = 0xe6 };

struct Feature {
  const char* name;
  uint32_t leaf;
  uint32_t subleaf;
  Register where;
  uint8_t bit;
  uint8_t needs = kNothing;
};

// The features that decide which instructions a program may use.
constexpr Feature kFeatures[] = {
    {"pni", 1, 0, kEcx, 0},
    {"pclmulqdq", 1, 0, kEcx, 1},
    {"ssse3", 1, 0, kEcx, 9},
    {"fma", 1, 0, kEcx, 12, kAvx},
    {"cx16", 1, 0, kEcx, 13},
    {"sse4_1", 1, 0, kEcx, 19},
    {"sse4_2", 1, 0, kEcx, 20},
    {"movbe", 1, 0, kEcx, 22},
    {"popcnt", 1, 0, kEcx, 23},
    {"aes", 1, 0, kEcx, 25},
    {"xsave", 1, 0, kEcx, 26},
    {"avx", 1, 0, kEcx, 28, kAvx},
    {"f16c", 1, 0, kEcx, 29, kAvx},
    {"rdrand", 1, 0, kEcx, 30},
    {"fsgsbase", 7, 0, kEbx, 0},
    {"bmi1", 7, 0, kEbx, 3},
    {"avx2", 7, 0, kEbx, 5, kAvx},
    {"bmi2", 7, 0, kEbx, 8},
    {"erms", 7, 0, kEbx, 9},
    {"avx512f", 7, 0, kEbx, 16, kAvx512},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512},
    {"rdseed", 7, 0, kEbx, 18},
    {"adx", 7, 0, kEbx, 19},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512},
    {"clflushopt", 7, 0, kEbx, 23},
    {"clwb", 7, 0, kEbx, 24},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512},
    {"sha_ni", 7, 0, kEbx, 29},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512},
    {"avx512_vbmi2", 7, 0, kEcx, 6, kAvx512},
    {"gfni", 7, 0, kEcx, 8},
    {"vaes", 7, 0, kEcx, 9, kAvx},
    {"vpclmulqdq", 7, 0, kEcx, 10, kAvx},
    {"avx512_vnni", 7, 0, kEcx, 11, kAvx512},
    {"avx512_bitalg", 7, 0, kEcx, 12, kAvx512},
    {"avx512_vpopcntdq", 7, 0, kEcx, 14, kAvx512},
    {"movdiri", 7, 0, kEcx, 27},
    {"movdir64b", 7, 0, kEcx, 28},
    {"avx512_fp16", 7, 0, kEdx, 23, kAvx512},
    {"avx_vnni", 7, 1, kEax, 4, kAvx},
    {"avx512_bf16", 7, 1, kEax, 5, kAvx512},
    {"lahf_lm", 0x80000001, 0, kEcx, 0},
    {"abm", 0x80000001, 0, kEcx, 5},
    {"sse4a", 0x80000001, 0, kEcx, 6},
    {"3dnowprefetch", 0x80000001, 0, kEcx, 8},
    {"xop", 0x80000001, 0, kEcx, 11, kAvx},
    {"fma4", 0x80000001, 0, kEcx, 16, kAvx},
    {"tbm", 0x80000001, 0, kEcx, 21},
    {"clzero", 0x80000008, 0, kEbx, 0},
};

uint64_t enabled_state(uint32_t leaf1_ecx) {
  constexpr uint32_t kOsxsave = 1u << 27;
  if ((leaf1_ecx & kOsxsave) == 0) return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

} // namespace

CpuInfo CpuInfo::of_this_machine() {
  CpuInfo cpu;
  uint32_t regs[4] = {};
  __get_cpuid(0, &regs[kEax], &regs[kEbx], &regs[kEcx], &regs[kEdx]);
  char vendor[13] = {};
  std::memcpy(vendor, &regs[kEbx], 4);
  std::memcpy(vendor + 4, &regs[kEdx], 4);
  std::memcpy(vendor + 8, &regs[kEcx], 4);
  cpu.vendor = vendor;

  __get_cpuid(1, &regs[kEax], &regs[kEbx], &regs[kEcx], &regs[kEdx]);
  uint32_t signature = regs[kEax];
  uint64_t state = enabled_state(regs[kEcx]);
  uint32_t base_family = signature >> 8 & 15;
  cpu.family = base_family == 15 ? base_family + (signature >> 20 & 255) : base_family;
  cpu.model = signature >> 4 & 15;
  if (base_family == 6 || base_family == 15) cpu.model |= (signature >> 16 & 15) << 4;
  cpu.stepping = signature & 15;

  for (const Feature& feature : kFeatures) {
    uint32_t out[4] = {};
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &out[kEax], &out[kEbx], &out[kEcx], &out[kEdx]))
      continue;
    if ((out[feature.where] >> feature.bit & 1) != 0 && (state & feature.needs) == feature.needs)
      cpu.features.push_back(feature.name);
  }
  std::sort(cpu.features.begin(), cpu.features.end());
  return cpu;
}

void check_cpu(const CpuInfo& recorded, const CpuInfo& here, const std::string& trace) {
  if (recorded.vendor != here.vendor)
    user_error("{}: recorded on a CPU of vendor {}, this one is of {}: results of approximating instructions "
               "differ, "
               "replay it on a machine of that vendor",
               trace, recorded.vendor, here.vendor);
  std::string missing;
  for (const std::string& feature : recorded.features)
    if (!std::binary_search(here.features.begin(), here.features.end(), feature)) missing += " " + feature;
  if (!missing.empty())
    user_error(
        "{}: recorded on a CPU with features that this one lacks:{}; replay it on a machine that has them",
        trace, missing);
}

} // namespace rdb::trace
