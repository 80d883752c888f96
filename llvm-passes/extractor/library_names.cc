// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Most of the C library's functions are known from the list that the link uses.
#include "llvm-passes/extractor/library_names.h"

#include "llvm-passes/link/private_names.h"

#include <algorithm>
#include <array>

namespace rdb::extractor {

using llvm::StringRef;

namespace {

// new and delete, of every kind
constexpr std::array<std::string_view, 4> kAllocation = {"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv"};

constexpr std::array<std::string_view, 13> kRuntime = {
    "_ZNSt",         "_ZNKSt",         "_ZSt",   "_ZNSo", "_ZNSi",   "_ZNKSo",      "_ZNSs",
    "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "__cxa_", "__gxx", "_Unwind", "__clang_call"};

// Only look at strings and memory.
constexpr std::array<std::string_view, 19> kReaders = {
    "memcmp",     "bcmp",        "memchr",  "memrchr", "strlen", "strnlen", "strcmp",
    "strncmp",    "strchr",      "strrchr", "strstr",  "strspn", "strcspn", "strpbrk",
    "strcasecmp", "strncasecmp", "wcslen",  "wmemcmp", "wmemchr"};

constexpr std::array<std::string_view, 13> kPrinters = {"printf", "fprintf", "dprintf", "snprintf", "sprintf",
                                                        "puts",   "fputs",   "fwrite",  "write",    "putchar",
                                                        "atoi",   "atol",    "atof"};

constexpr std::array<std::string_view, 5> kOwnMemory = {"abs", "labs", "malloc", "calloc", "free"};

// Functions of the module in front of libc's, besides the printers.
constexpr std::array<std::string_view, 36> kKeepers = {
    "memcpy",    "memmove", "mempcpy", "memccpy", "memset", "bzero",   "bcopy",   "wmemcpy",  "wmemset",
    "strcpy",    "stpcpy",  "strncpy", "stpncpy", "strcat", "strncat", "strtok",  "strtok_r", "strsep",
    "qsort",     "read",    "pread",   "readv",   "fread",  "fgets",   "vprintf", "vfprintf", "vsprintf",
    "vsnprintf", "fputc",   "putc",    "fflush",  "fclose", "realloc", "strdup",  "strndup",  "getenv"};

// What _FORTIFY_SOURCE makes of those.
constexpr std::array<std::string_view, 19> kCheckedKeepers = {
    "__memcpy_chk",   "__memmove_chk",   "__mempcpy_chk",  "__memset_chk",  "__strcpy_chk",
    "__stpcpy_chk",   "__strncpy_chk",   "__strcat_chk",   "__strncat_chk", "__printf_chk",
    "__fprintf_chk",  "__sprintf_chk",   "__snprintf_chk", "__vprintf_chk", "__vfprintf_chk",
    "__vsprintf_chk", "__vsnprintf_chk", "__fgets_chk",    "__fread_chk"};

template <typename Names>
bool is_one_of(const Names& names, StringRef name) {
  return std::ranges::find(names, std::string_view(name)) != std::end(names);
}

template <typename Prefixes>
bool begins_with_one_of(const Prefixes& prefixes, StringRef name) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

} // namespace

bool is_library(StringRef name) {
  return begins_with_one_of(kAllocation, name) || begins_with_one_of(kRuntime, name) ||
         name.starts_with("__rdb_show_") || is_one_of(link::kPrivateNames, name);
}

bool reads_bytes(StringRef name) {
  if (is_one_of(kPrinters, name)) return true;
  return (name.starts_with("str") || name.starts_with("mem") || name.starts_with("wcs")) && is_library(name);
}

bool leaves_memory_alone(StringRef name) {
  return begins_with_one_of(kAllocation, name) || is_one_of(kReaders, name) || is_one_of(kOwnMemory, name);
}

bool keeps_what_it_writes(StringRef name) {
  if (is_one_of(kCheckedKeepers, name)) return true;
  return leaves_memory_alone(name) || name.starts_with("__rdb_") || is_one_of(kPrinters, name) ||
         is_one_of(kKeepers, name);
}

} // namespace rdb::extractor
