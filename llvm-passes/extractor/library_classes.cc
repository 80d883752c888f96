// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/library_classes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

using llvm::StringRef;

namespace rdb::extractor {
namespace {

// Without the arguments of templates.
struct Class {
  std::string_view name;
  std::optional<Look> look;
};
constexpr Class kClasses[] = {
    {"std::ostream", Look::kStream},
    {"std::istream", Look::kStream},
    {"std::iostream", Look::kStream},
    {"std::basic_ostream", Look::kStream},
    {"std::basic_istream", Look::kStream},
    {"std::basic_iostream", Look::kStream},
    {"std::basic_ofstream", Look::kStream},
    {"std::basic_ifstream", Look::kStream},
    {"std::basic_fstream", Look::kStream},
    {"std::basic_ostringstream", Look::kStream},
    {"std::basic_istringstream", Look::kStream},
    {"std::basic_stringstream", Look::kStream},
    {"std::ostrstream", Look::kStream},
    {"std::istrstream", Look::kStream},
    {"std::strstream", Look::kStream},
    {"std::basic_ios", Look::kIos},
    {"std::basic_streambuf", Look::kBuffer},
    {"std::basic_filebuf", Look::kBuffer},
    {"std::basic_stringbuf", Look::kBuffer},
    {"std::strstreambuf", Look::kBuffer},
    {"std::locale", Look::kShared},
    {"std::__exception_ptr::exception_ptr", Look::kShared},
    // Strings as they were before C++11.
    {"std::string", Look::kShared},
    {"std::basic_string", Look::kShared},
    {"std::__cxx11::basic_string", std::nullopt},
    {"std::__cxx11::basic_string::_Alloc_hider", std::nullopt},
    {"std::__cxx11::basic_string::__sv_wrapper", std::nullopt},
    {"std::__detail::_List_node_base", std::nullopt},
    {"std::__detail::_Prime_rehash_policy", std::nullopt},
    {"std::allocator", std::nullopt},
    {"std::bad_alloc", std::nullopt},
    {"std::bad_cast", std::nullopt},
    {"std::basic_istream::sentry", std::nullopt},
    {"std::basic_ostream::sentry", std::nullopt},
    {"std::istream::sentry", std::nullopt},
    {"std::ostream::sentry", std::nullopt},
    {"std::char_traits", std::nullopt},
    {"std::exception", std::nullopt},
    {"std::ios_base", std::nullopt},
    {"std::locale::id", std::nullopt},
    {"std::type_info", std::nullopt},
};

// Functions of namespace std.
constexpr std::string_view kFunctions[] = {"_Fnv_hash_bytes", "_Hash_bytes", "from_chars",
                                           "has_facet",       "to_chars",    "use_facet"};

// They leave the buffer of a stream alone, which may not be set yet or be gone.
constexpr std::string_view kLeaveBuffer[] = {"_M_cache_locale", "_M_setstate", "clear", "copyfmt",
                                             "exceptions",      "fill",        "init",  "move",
                                             "rdbuf",           "set_rdbuf",   "swap",  "tie"};

bool is_one_of(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

std::string without_arguments(StringRef type) {
  std::string result;
  int depth = 0;
  for (char c : type) {
    if (c == '<') ++depth;
    if (depth == 0) result += c;
    if (c == '>') --depth;
  }
  return result;
}

const Class* class_named(StringRef type) {
  std::string name = without_arguments(type);
  auto known = [&] { return std::ranges::find(kClasses, std::string_view(name), &Class::name); };
  if (known() == std::end(kClasses))
    if (size_t inner = name.find("__cxx11::"); inner != std::string::npos)
      name.erase(inner, std::string_view("__cxx11::").size());
  return known() == std::end(kClasses) ? nullptr : known();
}

} // namespace

bool is_known_cxx(StringRef scope, StringRef name) {
  // What the program's library may have made of it is found by every stream that is made later.
  if (scope == "std::locale" && name == "global") return false;
  if (scope == "std")
    return name.starts_with("__throw_") || name.starts_with("_Rb_tree_") || is_one_of(kFunctions, name);
  return class_named(scope) != nullptr;
}

bool is_sharer(StringRef scope) {
  const Class* known = class_named(scope);
  return known && known->look == Look::kShared;
}

std::optional<Look> look_at_member(StringRef scope, StringRef name, Member member) {
  const Class* known = class_named(scope);
  if (!known || !known->look) return std::nullopt;
  if (*known->look != Look::kShared && (member == Member::kMakerOrBreaker || is_one_of(kLeaveBuffer, name)))
    return std::nullopt;
  return known->look;
}

std::optional<Look> look_at_parameter(StringRef type) {
  if (!type.consume_back("&&") && !type.consume_back("&")) type.consume_back("*");
  bool is_const = type.consume_back(" const");
  // Its text may have been the program's.
  if (type.starts_with("std::__cxx11::basic_string<"))
    return is_const ? std::nullopt : std::optional(Look::kShared);
  const Class* known = class_named(type);
  if (!known || (is_const && known->look != Look::kShared)) return std::nullopt;
  return known->look;
}

unsigned character_size_of_string(StringRef scope) {
  if (!scope.consume_front("std::__cxx11::basic_string<") || scope.contains(">::")) return 0;
  return scope.starts_with("char,") ? sizeof(char) : scope.starts_with("wchar_t,") ? sizeof(wchar_t) : 0;
}

} // namespace rdb::extractor
