// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lambdas with a default (`[&]`, `[=]`) capture. A closure has its members in the order in which the
// variables are first used, and debug code must find them where the program's code has them. If a region is
// the first to use a variable, the front end would put its member first. So the compile without regions is
// asked what each lambda captures, and the lambda of the debug code begins with uses in that order.
#pragma once

#include "llvm-passes/extractor/region_files.h"

#include "clang/AST/ASTConsumer.h"

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace clang {
class CompilerInstance;
class LambdaExpr;
} // namespace clang

namespace rdb::extractor {

class Places;

// The opening brace of a lambda's body, in the edited source.
struct LambdaPlace {
  unsigned file; // id
  unsigned line;
  unsigned column;
  auto operator<=>(const LambdaPlace&) const = default;
};

// Nothing if it comes from a macro.
std::optional<LambdaPlace> place_of(const clang::LambdaExpr& lambda, const Places& places);

// The names of what it captures by default, in the order of the closure's members; "this" is one.
std::vector<std::string> default_captures(const clang::LambdaExpr& lambda);

class Captures {
public:
  using Names = std::vector<std::string>;

  // A region is the first to use a variable here.
  void want(const LambdaPlace& place) { wanted_.insert(place); }
  bool are_known() const { return known_ == wanted_; }

  // What the compile without regions says, for every instance of a lambda in a template.
  void note(const clang::LambdaExpr& lambda, const Places& places);
  void set_known() { known_ = wanted_; }
  // Does some instance capture it?
  bool has(const LambdaPlace& place, const std::string& name) const;
  // Null: it was not wanted, or its instances do not agree, or it cannot be said by names.
  const Names* find(const LambdaPlace& place) const;

  // The text that makes the wanted lambdas capture the same, by file.
  std::map<unsigned, source::Insertions> insertions() const;

private:
  struct Lambda {
    std::set<Names> lists; // of its instances
    bool is_nameable = true;
  };
  std::set<LambdaPlace> wanted_;
  std::set<LambdaPlace> known_;
  std::map<LambdaPlace, Lambda> lambdas_;
};

// Tells `captures` of the lambdas in files with regions. For the compile without them.
std::unique_ptr<clang::ASTConsumer> make_capture_consumer(clang::CompilerInstance& compiler,
                                                          const RegionFiles& files, Captures& captures);

} // namespace rdb::extractor
