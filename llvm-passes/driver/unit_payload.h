// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes down what the three compiles of a unit found: descriptors with their address table, and what the
// user is to be told about regions that did not find a place.
#pragma once

#include "codegen-patch/placement.h"
#include "descriptors/payload.h"
#include "llvm-passes/driver/object_check.h"
#include "llvm-passes/driver/unit.h"
#include "llvm-passes/extractor/region_files.h"

namespace clang {
class DiagnosticOptions;
} // namespace clang

namespace rdb::driver {

struct UnitDescription {
  const extractor::RegionFiles& files;
  const extractor::Extraction& extraction;
  const codegen::Placement& placement;
  const ObjectFile& program;
  const ObjectCheck& check;
  std::string source;
  std::string directory;
  std::string command;
};

// Everything but the debug object.
descriptors::Payload make_payload(const UnitDescription& unit);

// Warns about regions that are lost or refused. True if that is an error.
bool report_regions(const UnitDescription& unit, LostRegions lost_regions, clang::DiagnosticOptions& options);

} // namespace rdb::driver
