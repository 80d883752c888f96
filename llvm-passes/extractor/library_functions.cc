// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mangled name of a C++ function tells the types of its parameters, so "const" is known of each. Of C
// functions LLVM knows many; a list has more. What is not known may write through every pointer, and to what
// it finds elsewhere.
#include "llvm-passes/extractor/library_functions.h"

#include "llvm-passes/extractor/direct_writers.h"
#include "llvm-passes/extractor/library_classes.h"
#include "llvm-passes/extractor/library_names.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Function.h>
#include <llvm/Transforms/Utils/BuildLibCalls.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace llvm;

namespace rdb::extractor {
namespace {

bool begins_with_one_of(StringRef name, const auto& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Of the C++ library.
constexpr std::array<std::string_view, 17> kNamespaces = {
    "_ZNSt", "_ZNKSt", "_ZSt",  "_ZNSo",  "_ZNKSo", "_ZNSi",  "_ZNKSi",        "_ZNSs",         "_ZNKSs",
    "_ZNSd", "_ZNKSd", "_ZNSb", "_ZNKSb", "_ZNSa",  "_ZNKSa", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"};

// Members that may change their object, by their type, and do not.
constexpr std::array<std::string_view, 12> kReadingMembers = {"begin",
                                                              "end",
                                                              "rbegin",
                                                              "rend",
                                                              "data",
                                                              "front",
                                                              "back",
                                                              "at",
                                                              "operator[]",
                                                              "c_str",
                                                              "_Rb_tree_increment",
                                                              "_Rb_tree_decrement"};

// Members that are const and change their object nevertheless.
constexpr std::array<std::string_view, 2> kWritingConstMembers = {"_M_next_bkt", "_M_need_rehash"};

// Objects that threads share. Who has a lock, only the program's own library knows.
constexpr std::array<std::string_view, 9> kLocks = {"pthread_mutex_",
                                                    "pthread_rwlock_",
                                                    "pthread_cond_",
                                                    "pthread_spin_",
                                                    "pthread_barrier_",
                                                    "pthread_once",
                                                    "sem_",
                                                    "mtx_",
                                                    "cnd_"};
// These begin so, too, and are given names.
constexpr std::array<std::string_view, 2> kNoLocks = {"sem_open", "sem_unlink"};

// Of std::string's own functions some make its parts while there is no string yet.
bool changes_made_string(std::string_view base) {
  constexpr std::array<std::string_view, 6> kChanges = {"_M_append", "_M_replace", "_M_replace_aux",
                                                        "_M_mutate", "_M_erase",   "_M_assign"};
  return !(base.starts_with("_M_") || base.starts_with("_S_")) || std::ranges::count(kChanges, base) != 0;
}

// The parameters in "(char const*, std::allocator<char>&)".
std::vector<StringRef> split_parameters(StringRef text) {
  std::vector<StringRef> result;
  text.consume_front("(");
  text.consume_back(")");
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (StringRef one = text.slice(begin, i).trim(); !one.empty() && one != "void") result.push_back(one);
    begin = i + 1;
  }
  return result;
}

bool may_be_written_through(StringRef parameter) {
  if (!parameter.consume_back("&&") && !parameter.consume_back("&") && !parameter.consume_back("*"))
    return false;
  return !parameter.rtrim().ends_with("const");
}

bool is_text(StringRef parameter) {
  return parameter == "char*" || parameter == "signed char*" || parameter == "unsigned char*" ||
         parameter == "wchar_t*";
}

LibraryFunction describe_cxx(const Function& function) {
  LibraryFunction result;
  std::string mangled = function.getName().str(); // the demangler points into it
  ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(mangled.c_str()) || !demangler.isFunction()) return result;
  auto text = [](char* made) {
    std::string words = made ? made : "";
    std::free(made);
    return words;
  };
  std::string base = text(demangler.getFunctionBaseName(nullptr, nullptr));
  std::string scope = text(demangler.getFunctionDeclContextName(nullptr, nullptr));
  result.is_known = is_known_cxx(scope, base);
  if (std::ranges::count(kReadingMembers, base) != 0 && !is_sharer(scope)) {
    result.only_reads.assign(function.arg_size(), true);
    result.is_known = true;
    return result;
  }
  std::string words = text(demangler.getFunctionParameters(nullptr, nullptr));
  std::vector<StringRef> parameters = split_parameters(words);
  unsigned first = function.arg_size() > 0 && function.hasParamAttribute(0, Attribute::StructRet) ? 1 : 0;
  bool is_member = function.arg_size() == first + parameters.size() + 1;
  // Else a parameter is passed in several parts, and which is which is not known.
  bool all_known = is_member || function.arg_size() == first + parameters.size();
  if (is_member &&
      (!demangler.hasFunctionQualifiers() || std::ranges::count(kWritingConstMembers, base) != 0))
    result.changed.push_back(first);
  result.only_reads.assign(function.arg_size(), all_known);
  for (unsigned i = 0; all_known && i < parameters.size(); ++i) {
    unsigned argument = first + i + (is_member ? 1 : 0);
    if (!may_be_written_through(parameters[i])) continue;
    // Who tells of errors so asks the kernel, which the program's functions cannot. And an object that is
    // made for debug code around a text of the program's is debug code's.
    if (parameters[i].contains("std::error_code") || (demangler.isCtorOrDtor() && is_text(parameters[i])))
      result.only_reads[argument] = false;
    else
      result.changed.push_back(argument);
  }
  auto is_pointer = [&](unsigned i) { return function.getFunctionType()->getParamType(i)->isPointerTy(); };
  std::erase_if(result.changed, [&](unsigned i) { return !is_pointer(i); });
  bool is_made_or_broken = demangler.isCtorOrDtor();
  bool changes_itself = is_member && !result.changed.empty() && result.changed.front() == first;
  if (first == 0 && changes_itself && !is_made_or_broken && changes_made_string(base))
    result.changes_string = character_size_of_string(scope);
  if (changes_itself)
    if (auto look =
            look_at_member(scope, base, is_made_or_broken ? Member::kMakerOrBreaker : Member::kOrdinary))
      result.looks.emplace_back(first, *look);
  for (unsigned i = 0; all_known && i < parameters.size(); ++i)
    if (auto look = look_at_parameter(parameters[i]))
      result.looks.emplace_back(first + i + (is_member ? 1 : 0), *look);
  std::erase_if(result.looks, [&](const auto& look) { return !is_pointer(look.first); });
  // Operators of streams, and what has nothing to follow.
  result.is_known |= (scope == "std" && !result.looks.empty()) ||
                     none_of(seq(first, unsigned(function.arg_size())), is_pointer);
  // A locale that is put together has parts of others.
  if (is_sharer(scope) && parameters.size() > 1) result.is_known = scope != "std::locale";
  return result;
}

// Those of the C++ runtime look at frames and types, but for guards of static variables and names.
bool is_runtime(StringRef name) {
  constexpr std::array<std::string_view, 6> kRuntime = {"__cxa_", "_Unwind_",       "__gxx_",
                                                        "_Znw",   "__dynamic_cast", "_Zna"};
  return begins_with_one_of(name, kRuntime) && !name.starts_with("__cxa_guard_") && name != "__cxa_demangle";
}

LibraryFunction describe_c(Function& function, const TargetLibraryInfo& library) {
  LibraryFunction result;
  StringRef name = function.getName();
  if (begins_with_one_of(name, kLocks) && !begins_with_one_of(name, kNoLocks) && function.arg_size() > 0)
    result.changed.push_back(0);
  bool reads_all = keeps_what_it_writes(name) || is_runtime(name);
  LibFunc known;
  result.is_known = reads_all || writes_where_told(name) || library.getLibFunc(function, known) ||
                    (!function.isVarArg() && none_of(function.args(), [](const Argument& argument) {
                      return argument.getType()->isPointerTy();
                    }));
  inferNonMandatoryLibFuncAttrs(function, library);
  for (const Argument& argument : function.args())
    result.only_reads.push_back(reads_all || !argument.getType()->isPointerTy() ||
                                function.onlyReadsMemory() || argument.onlyReadsMemory());
  result.others_only_read = reads_all;
  result.own_serves = true;
  return result;
}

} // namespace

LibraryFunction describe(Function& function, const TargetLibraryInfo& library) {
  return begins_with_one_of(function.getName(), kNamespaces) ? describe_cxx(function)
                                                             : describe_c(function, library);
}

} // namespace rdb::extractor
