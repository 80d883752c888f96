// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/twin_facts.h"

#include "descriptors/words.h"
#include "llvm-passes/extractor/abi_registers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/StructuralHash.h"
#include "llvm/Transforms/Utils/FunctionComparator.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace rdb::extractor {

using namespace llvm;
using descriptors::quoted;

namespace {

std::string name_of(const GlobalValue& global) {
  return GlobalValue::dropLLVMManglingEscape(global.getName()).str();
}

// Functions whose bodies are equal get one number; the linker may make one function of them. A number is
// given only to what has a double.
class Folds {
public:
  explicit Folds(const Module& module) {
    auto before = [this](const Entry& left, const Entry& right) {
      if (left.first != right.first) return left.first < right.first;
      return FunctionComparator(left.second, right.second, &numbers_).compare() < 0;
    };
    std::map<Entry, std::vector<const Function*>, decltype(before)> groups(before);
    for (const Function& function : module)
      if (!function.isDeclaration()) groups[{StructuralHash(function), &function}].push_back(&function);
    // In the order of the module, so that every compile of the same text yields the same numbers.
    std::map<const Function*, const std::vector<const Function*>*> group_of;
    for (const auto& [first, members] : groups)
      if (members.size() > 1) group_of[members.front()] = &members;
    for (const Function& function : module) {
      auto group = group_of.find(&function);
      if (group == group_of.end()) continue;
      ++last_;
      for (const Function* member : *group->second)
        number_of_[member] = last_;
    }
  }
  // 0: it has no double.
  unsigned of(const Function& function) const {
    auto found = number_of_.find(&function);
    return found == number_of_.end() ? 0 : found->second;
  }

private:
  using Entry = std::pair<stable_hash, const Function*>;
  GlobalNumberState numbers_;
  unsigned last_ = 0;
  std::map<const Function*, unsigned> number_of_;
};

// Functions that run before main, on behalf of nobody.
std::set<const Function*> constructors_of(const Module& module) {
  std::set<const Function*> result;
  const GlobalVariable* list = module.getNamedGlobal("llvm.global_ctors");
  const auto* entries =
      list && list->hasInitializer() ? dyn_cast<ConstantArray>(list->getInitializer()) : nullptr;
  if (!entries) return result;
  for (const Use& element : entries->operands())
    if (const auto* entry = dyn_cast<ConstantStruct>(element.get()))
      if (const auto* function = dyn_cast<Function>(entry->getOperand(1)->stripPointerCastsAndAliases()))
        result.insert(function);
  return result;
}

std::string linkage_of(const GlobalValue& global) {
  if (global.hasLocalLinkage()) return "local";
  return global.isWeakForLinker() || global.hasAvailableExternallyLinkage() ? "weak" : "global";
}

// A list of the compiler's own.
bool is_list(const GlobalVariable& variable) {
  return variable.getName().starts_with("llvm.");
}

class Writer {
public:
  Writer(const Module& module, const SourceNames& names, const CompiledFunctions& compiled)
      : module_(module), names_(names), compiled_(compiled), folds_(module),
        constructors_(constructors_of(module)) {
    for (const Function& function : module)
      if (!function.isDeclaration()) calls_.emplace(&function, calls_in(function));
    for (const GlobalIFunc& indirect : module.ifuncs())
      resolvers_.insert(indirect.getResolverFunction());
  }

  std::string write(const TwinUnit& unit, const std::vector<TwinRegion>& regions) {
    text_ = "rdb-twin 1\n";
    add("unit {} {} {}", quoted(unit.key), quoted(unit.source), quoted(unit.directory));
    for (const Function& function : module_)
      if (!function.isDeclaration()) write_function(function);
    for (const GlobalIFunc& indirect : module_.ifuncs())
      write_ifunc(indirect);
    for (const GlobalAlias& alias : module_.aliases())
      if (const auto* function = dyn_cast<Function>(alias.getAliaseeObject()))
        add("alias {} {}", quoted(name_of(alias)), quoted(name_of(*function)));
    for (const Function& function : module_)
      if (!function.isDeclaration()) write_calls(function);
    for (const Function& function : module_)
      if (!function.isDeclaration() && has_address_taken(function))
        add("address {}", quoted(name_of(function)));
    for (const TwinRegion& region : regions) {
      add("region {} {} {} {}", quoted(region.symbol), quoted(region.host), region.line, region.reads);
      for (const SharedVariable& variable : region.shared)
        add("shared {} {} {} {} {}", quoted(region.symbol), variable.position, quoted(variable.key),
            variable.size, variable.align);
    }
    for (const GlobalVariable& variable : module_.globals())
      write_static(variable);
    return text_ + "end\n";
  }

private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void write_function(const Function& function) {
    std::string name = name_of(function);
    SourcePlace place = names_.function(function.getName());
    std::vector<ResultRegister> result = result_registers(function);
    Arguments arguments = arguments_of(function);
    std::vector<std::string> flags = flags_of(function, arguments);
    add("function {} {} {} {} {} {} {} {}", quoted(name), quoted(demangle(name)), quoted(place.file),
        place.line, linkage_of(function), result_text(result), arguments_text(arguments),
        flags.empty() ? "-" : fmt::format("{}", fmt::join(flags, ",")));
    if (!function.hasStructRetAttr()) write_padding(function, name, result);
  }

  // Bits of the result's registers that mean nothing.
  void write_padding(const Function& function, const std::string& name,
                     const std::vector<ResultRegister>& result) {
    std::vector<bool> bits = names_.result_bits(function.getName());
    uint64_t begin = 0;
    for (const ResultRegister& one : result) {
      uint64_t padding = 0;
      for (uint64_t i = 0; i < std::min<uint64_t>(8 * one.size, 64) && begin + i < bits.size(); ++i)
        if (!bits[begin + i]) padding |= uint64_t{1} << i;
      if (padding != 0) add("padding {} {} {:#x}", quoted(name), one.name, padding);
      begin += 8 * std::max<uint64_t>(8, one.size == 0 ? 16 : one.size);
    }
  }

  // A name for what its resolver chooses: nobody enters it.
  void write_ifunc(const GlobalIFunc& indirect) {
    std::string name = name_of(indirect);
    SourcePlace place = names_.function(indirect.getName());
    add("function {} {} {} {} {} none - ifunc", quoted(name), quoted(demangle(name)), quoted(place.file),
        place.line, linkage_of(indirect));
  }

  std::vector<std::string> flags_of(const Function& function, const Arguments& arguments) const {
    std::vector<std::string> flags;
    if (function.hasFnAttribute(Attribute::Naked)) flags.emplace_back("naked");
    if (function.isPresplitCoroutine()) flags.emplace_back("coroutine");
    if (function.doesNotReturn()) flags.emplace_back("noreturn");
    if (resolvers_.contains(&function)) flags.emplace_back("ifunc");
    if (constructors_.contains(&function)) flags.emplace_back("constructor");
    if (function.hasFnAttribute(Attribute::AlwaysInline)) flags.emplace_back("alwaysinline");
    if (has_foreign_convention(function)) flags.emplace_back("convention");
    if (calls_.at(&function).any_assembly) flags.emplace_back("asm");
    if (unsigned fold = folds_.of(function)) flags.push_back(fmt::format("fold={}", fold));
    if (auto found = compiled_.find(name_of(function)); found != compiled_.end()) {
      if (found->second.changed) flags.emplace_back("changed");
      if (found->second.noresult) flags.emplace_back("noresult");
      std::set<size_t> poison;
      for (unsigned argument : found->second.poison)
        if (argument < arguments.words_of.size())
          poison.insert(arguments.words_of[argument].begin(), arguments.words_of[argument].end());
      // Otherwise the numbers are of arguments that the source does not know.
      if (!found->second.changed && !poison.empty())
        flags.push_back(fmt::format("poison={}", fmt::join(poison, ";")));
    }
    return flags;
  }

  // What a function calls.
  struct Calls {
    MapVector<const Function*, unsigned> counts; // of those in the module
    bool any_assembly = false;
  };

  static Calls calls_in(const Function& function) {
    Calls calls;
    for (const Instruction& instruction : instructions(function)) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      if (!call) continue;
      calls.any_assembly |= call->isInlineAsm();
      const auto* callee = dyn_cast<Function>(call->getCalledOperand()->stripPointerCastsAndAliases());
      if (callee && !callee->isDeclaration()) ++calls.counts[callee];
    }
    return calls;
  }

  void write_calls(const Function& caller) {
    for (const auto& [callee, count] : calls_.at(&caller).counts)
      add("calls {} {} {}", quoted(name_of(caller)), quoted(name_of(*callee)), count);
  }

  // By an instruction that is no call of it, or by the first value of a variable.
  static bool has_address_taken(const Constant& address) {
    return any_of(address.uses(), [&](const Use& use) {
      const User* user = use.getUser();
      if (const auto* call = dyn_cast<CallBase>(user)) return !call->isCallee(&use);
      if (isa<Instruction>(user)) return true;
      // Labels in it; its part as somebody's routine for exceptions, or as a resolver.
      if (isa<BlockAddress>(user) || isa<Function>(user) || isa<GlobalIFunc>(user)) return false;
      if (const auto* variable = dyn_cast<GlobalVariable>(user); variable && is_list(*variable)) return false;
      return isa<GlobalVariable>(user) || has_address_taken(*cast<Constant>(user));
    });
  }

  void write_static(const GlobalVariable& variable) {
    if (!variable.hasLocalLinkage() || variable.isDeclaration() || is_list(variable)) return;
    StaticVariable found = names_.variable(variable);
    // A string, or something else that only the compiler names.
    if (found.name.empty() && (variable.isConstant() || variable.hasPrivateLinkage())) return;
    add("static {} {} {} {} {} {} {}", quoted(name_of(variable)), quoted(found.name), quoted(found.function),
        quoted(found.place.file), found.place.line,
        module_.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue(),
        variable.isConstant() ? "const" : "mutable");
  }

  const Module& module_;
  const SourceNames& names_;
  const CompiledFunctions& compiled_;
  Folds folds_;
  std::map<const Function*, Calls> calls_;
  std::set<const Function*> constructors_;
  std::set<const Function*> resolvers_;
  std::string text_;
};

} // namespace

std::string twin_facts(const Module& module, const TwinUnit& unit, const std::vector<TwinRegion>& regions,
                       const SourceNames& names, const CompiledFunctions& compiled) {
  return Writer(module, names, compiled).write(unit, regions);
}

} // namespace rdb::extractor
