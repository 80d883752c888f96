// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows regions through an ordinary compile of the program without them. Where a region stood there is a
// marker; before optimisation it becomes a debug label, and the variables that the region uses get debug
// records, neither of which may change the code. After the last pass over machine code the labels tell where
// the regions went and the records tell where their variables are.
#pragma once

#include "codegen-patch/astray.h"
#include "codegen-patch/bypassed.h"
#include "codegen-patch/call_marks.h"
#include "codegen-patch/code_order.h"
#include "codegen-patch/declared_slots.h"
#include "codegen-patch/dropped_records.h"
#include "codegen-patch/inlining.h"
#include "codegen-patch/inverted.h"
#include "codegen-patch/kept_scopes.h"
#include "codegen-patch/loop_exits.h"
#include "codegen-patch/lost_marks.h"
#include "codegen-patch/pass_traits.h"
#include "codegen-patch/region_code.h"
#include "codegen-patch/returned_values.h"
#include "codegen-patch/snapshots.h"
#include "codegen-patch/spots.h"
#include "codegen-patch/switch_arms.h"
#include "codegen-patch/value_check.h"
#include "codegen-patch/write_tags.h"
#include "descriptors/descriptor.h"
#include "llvm-passes/extractor/extraction.h"

#include "llvm/IR/ValueHandle.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class Any;
class DIBuilder;
class DILabel;
class DILocation;
class DILocalVariable;
class DISubprogram;
class Loop;
class MachineFunction;
class MachineInstr;
class Module;
class PassBuilder;
class RegisterTargetPassConfigCallback;
} // namespace llvm

namespace rdb::codegen {

// One place in the machine code at which a region's function is to be called.
struct Instance {
  size_t function;   // index in Extraction::functions
  std::string label; // local symbol of the object that the compile writes
  descriptors::Side side = descriptors::Side::before;
  std::string code;                                      // linkage name of the function whose code this is
  std::vector<std::vector<descriptors::Part>> arguments; // by position
};

// A place that got lost, and why.
struct Lost {
  size_t function;
  std::string reason;
};

class Placement {
public:
  // `records`: kNone places regions only, without their variables. `expected`: what the optimiser did with
  // the same code before, and not to look at all of it; null otherwise.
  enum class Records { kVariables, kNone };
  Placement(const extractor::Extraction& extraction, bool optimised, Records records,
            const Inlining* expected);
  ~Placement();

  // Hooks itself into the pipelines of the compile that follows in this process.
  void attach(llvm::PassBuilder& builder);

  // Did the optimiser what was expected? If not, what was found is worth nothing.
  bool is_as_expected() const { return !expected_ || inlining_ == *expected_; }

  const std::vector<Instance>& instances() const { return instances_; }
  const std::vector<Lost>& lost() const { return lost_; }
  bool was_seen(size_t function) const { return seen_[function]; }

private:
  friend class MachinePlacement;
  friend class RecordCheck;
  friend class LastRecordCheck;
  // An instance between the end of optimisation and machine code.
  struct Frozen {
    size_t function;
    // What is known of its arguments already, by position; no parts: to be found in the machine code.
    std::vector<std::vector<descriptors::Part>> known;
    // The function around the region in the source, and where its code was inlined; for stack slots.
    const llvm::DISubprogram* scope = nullptr;
    const llvm::DILocation* inlined_at = nullptr;
    llvm::WeakVH block; // null once code generation has removed it
    llvm::DILabel* label = nullptr;
    llvm::DILocation* at = nullptr;
    std::vector<Target> stale;
    std::vector<bool> is_value; // by argument: it is not in memory of the program's own
    // By argument: where a pointer is known to come from.
    struct Origin {
      bool is_loaded = false;  // from memory: others know of what it leads to
      bool is_local = false;   // an object of this call of the function
      int parameter = kNobody; // this parameter of the function that the code is in
      int home = kNobody;      // no pointer: the object itself is what this parameter leads to
    };
    static constexpr int kNobody = -1;
    std::vector<Origin> origins;
    std::string lost; // why it has no place, if that is known already
    bool is_reached = true;
    bool placed = false;
  };

  void before_optimisation(llvm::Module& module);
  // Around a pass over the function that is running, if that matters. Of a loop nothing is left, sometimes.
  void before_pass(llvm::StringRef pass, const llvm::Any& unit);
  void after_pass(llvm::StringRef pass, bool has_changed);
  // What can a pass drop, or leave behind?
  enum class Watch { kNothing, kMarks, kLabelsAndMarks };
  static Watch watch_of_loop(const PassTraits& traits, const llvm::Loop& loop);
  void before_dropping(const PassTraits& traits);
  void after_dropping(llvm::StringRef pass, const PassTraits& traits);
  // Code without a label needs none of the records any more but those of calls: they would only cost time.
  static void after_inlining(llvm::Module& module);
  void after_optimisation(llvm::Module& module);
  class Freezer;
  void freeze(llvm::Function& function, llvm::DIBuilder& builder);
  void on_prepared_function(llvm::Function& function);
  void on_machine_function(llvm::MachineFunction& function);
  // Without optimisation.
  void put_labels_in_order(llvm::MachineFunction& function);
  class MachineCode;
  void place(llvm::MachineInstr& label, const MachineCode& code, const std::vector<Spot>& spots);
  void drop_what_callers_leave_out(const llvm::MachineInstr& label, const Frozen& frozen, Instance& instance,
                                   std::vector<Target>& stale) const;
  bool apply_staleness(const llvm::MachineInstr& label, const MachineCode& code, const Frozen& frozen,
                       Instance& instance, std::vector<Target> stale) const;

  const extractor::Extraction& extraction_;
  bool optimised_;
  Records records_;
  const Inlining* expected_;
  Inlining inlining_; // as it was this time
  std::optional<RegionCode> code_;
  llvm::Function* running_ = nullptr; // a pass runs over it, or a loop of it
  Watch watch_ = Watch::kNothing;
  std::vector<bool> seen_;
  std::vector<Frozen> frozen_;
  std::vector<Instance> instances_;
  std::vector<Lost> lost_;
  DeclaredSlots declared_slots_;
  WriteTags tags_;
  CallMarks calls_;
  LostMarks lost_marks_{LostMarks::Marks::kAll};
  LostMarks left_marks_{LostMarks::Marks::kWithoutWrite};
  DroppedRecords labels_;
  Bypassed bypassed_;
  Inverted inverted_;
  unsigned code_version_ = 0; // that passes have made
  KeptScopes scopes_;
  std::set<size_t> dropped_; // debug functions with a label that is missing on some path
  Snapshots snapshots_;
  Astray astray_;
  SwitchArms arms_;
  LoopExits loop_exits_;
  ReturnedValues returned_;
  ValueCheck value_check_;
  std::map<const llvm::Function*, ValueCheck> prepared_; // in code generation
  CodeOrder order_;
  std::map<const llvm::Function*, std::pair<size_t, size_t>> frozen_in_; // first and behind the last
  // Instructions, by ordinal, that compute something else from a variable: if a record of the variable names
  // one, the compiler got it wrong (it does when it moves an operation into a phi).
  std::map<std::pair<const llvm::DISubprogram*, std::string>, std::set<unsigned>> derived_;
  std::unique_ptr<llvm::RegisterTargetPassConfigCallback> callback_;
};

} // namespace rdb::codegen
