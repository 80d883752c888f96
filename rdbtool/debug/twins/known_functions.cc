// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/known_functions.h"

#include "rdbtool/debug/twins/x86_decoder.h"

#include <algorithm>
#include <array>

namespace rdb::debug {
namespace {

// Sorted. Functions of C and C++ that gcc and clang have as builtins, and those of glibc that it declares as
// reading no memory.
constexpr auto kKnown = std::to_array<std::string_view>({
    "_Exit",
    "_ZdaPv",
    "_ZdaPvm",
    "_ZdlPv",
    "_ZdlPvm",
    "_Znam",
    "_Znwm",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__errno_location",
    "__fprintf_chk",
    "__memcpy_chk",
    "__memmove_chk",
    "__memset_chk",
    "__printf_chk",
    "__snprintf_chk",
    "__sprintf_chk",
    "__stpcpy_chk",
    "__strcat_chk",
    "__strcpy_chk",
    "__strncpy_chk",
    "__vfprintf_chk",
    "__vprintf_chk",
    "__vsnprintf_chk",
    "__vsprintf_chk",
    "_exit",
    "abort",
    "abs",
    "acos",
    "acosf",
    "aligned_alloc",
    "asin",
    "asinf",
    "atan",
    "atan2",
    "atan2f",
    "atanf",
    "atof",
    "atoi",
    "atol",
    "atoll",
    "bcmp",
    "bcopy",
    "bzero",
    "cabs",
    "calloc",
    "cbrt",
    "ceil",
    "ceilf",
    "ceill",
    "copysign",
    "copysignf",
    "cos",
    "cosf",
    "cosh",
    "exit",
    "exp",
    "exp2",
    "exp2f",
    "expf",
    "expm1",
    "fabs",
    "fabsf",
    "fabsl",
    "ffs",
    "ffsl",
    "ffsll",
    "floor",
    "floorf",
    "floorl",
    "fma",
    "fmaf",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "fmod",
    "fmodf",
    "fprintf",
    "fputc",
    "fputs",
    "free",
    "frexp",
    "fscanf",
    "fwrite",
    "hypot",
    "imaxabs",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isblank",
    "iscntrl",
    "isdigit",
    "isgraph",
    "isinf",
    "islower",
    "isnan",
    "isprint",
    "ispunct",
    "isspace",
    "isupper",
    "isxdigit",
    "labs",
    "ldexp",
    "lgamma",
    "llabs",
    "llrint",
    "llround",
    "log",
    "log10",
    "log10f",
    "log1p",
    "log2",
    "log2f",
    "logf",
    "lrint",
    "lround",
    "malloc",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "modf",
    "nearbyint",
    "posix_memalign",
    "pow",
    "powf",
    "printf",
    "putc",
    "putchar",
    "puts",
    "realloc",
    "remainder",
    "rindex",
    "rint",
    "rintf",
    "round",
    "roundf",
    "scalbn",
    "scanf",
    "sin",
    "sinf",
    "sinh",
    "snprintf",
    "sprintf",
    "sqrt",
    "sqrtf",
    "sqrtl",
    "sscanf",
    "stpcpy",
    "stpncpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strcmp",
    "strcpy",
    "strcspn",
    "strdup",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strndup",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "tan",
    "tanf",
    "tanh",
    "toascii",
    "tolower",
    "toupper",
    "trunc",
    "truncf",
    "vfprintf",
    "vprintf",
    "vscanf",
    "vsnprintf",
    "vsprintf",
    "vsscanf",
});
static_assert(std::ranges::is_sorted(kKnown));

} // namespace

bool is_known_to_compilers(std::string_view name) {
  return std::ranges::binary_search(kKnown, name);
}

bool ends_in_indirect_call(std::span<const uint8_t, kLongestCall> code) {
  constexpr uint8_t kDirectCall = 0xE8;
  constexpr size_t kDirectSize = 5;
  // It may be either: then it counts as the one that says less.
  if (code[kLongestCall - kDirectSize] == kDirectCall) return false;
  for (size_t size = 2; size <= code.size(); ++size) {
    ZydisDecodedInstruction instruction;
    if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&x86_decoder(), nullptr, &code[code.size() - size], size,
                                                   &instruction)) &&
        instruction.length == size && instruction.meta.category == ZYDIS_CATEGORY_CALL &&
        !instruction.raw.imm[0].is_relative)
      return true;
  }
  return false;
}

bool loops_to_entry(const ProgramFile& file, uint64_t begin, uint64_t size) {
  std::string_view bytes = file.elf().loaded_at(begin, size);
  uint64_t at = begin;
  while (!bytes.empty()) {
    ZydisDecodedInstruction instruction;
    size_t length = 1; // of data in the code
    if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&x86_decoder(), nullptr, bytes.data(), bytes.size(),
                                                   &instruction))) {
      length = instruction.length;
      bool jumps = instruction.meta.category == ZYDIS_CATEGORY_COND_BR ||
                   instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
      if (jumps && instruction.raw.imm[0].is_relative &&
          at + length + static_cast<uint64_t>(instruction.raw.imm[0].value.s) == begin)
        return true;
    }
    bytes.remove_prefix(length);
    at += length;
  }
  return false;
}

} // namespace rdb::debug
