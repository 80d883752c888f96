// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a region may not do: leave itself other than at its end, be entered other than at its begin, stand
// where a single statement is expected, write to a program variable. Each breach is an error at its place.
#pragma once

#include "llvm-passes/extractor/captures.h"
#include "llvm-passes/extractor/region_files.h"

#include "clang/Basic/SourceLocation.h"

#include <set>

namespace clang {
class DiagnosticsEngine;
class FunctionDecl;
class SourceManager;
} // namespace clang

namespace rdb::extractor {

// A place in the edited source. `region` is the region around it by its number in the unit, 0 outside.
struct Place {
  const RegionFile* file = nullptr;
  unsigned line = 0;
  unsigned column = 0;
  unsigned region = 0;

  // In a region between markers; otherwise in a declaration that is debug code by itself.
  bool is_marked() const { return region != 0 && file->scan.regions[region - file->first_region].marked; }
};

// From clang's locations in a view to places.
class Places {
public:
  Places(const RegionFiles& files, const clang::SourceManager& sources, ViewKind kind)
      : files_(files), sources_(sources), kind_(kind) {}
  Place find(clang::SourceLocation location) const;

private:
  const RegionFiles& files_;
  const clang::SourceManager& sources_;
  ViewKind kind_;
};

// `captures`: of the program's lambdas, as far as that is known. `refused`: captures that were refused
// already, in another instance of the same template.
void check_region_rules(clang::FunctionDecl& function, const Places& places,
                        clang::DiagnosticsEngine& diagnostics, Captures& captures,
                        std::set<clang::SourceLocation>& refused);

} // namespace rdb::extractor
