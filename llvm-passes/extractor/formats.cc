// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A format that is not a constant, or not understood to its end, may do anything with its arguments.
#include "llvm-passes/extractor/formats.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"

#include <vector>

namespace rdb::extractor {

using namespace llvm;

namespace {

std::optional<unsigned> position_of_format(StringRef name) {
  if (name == "printf") return 0;
  if (name == "fprintf" || name == "dprintf" || name == "sprintf") return 1;
  if (name == "snprintf") return 2;
  return std::nullopt;
}

// Which of a format's arguments are numbers, in their order.
std::optional<std::vector<bool>> numbers_of(StringRef format) {
  std::vector<bool> numbers;
  while (!format.empty()) {
    size_t percent = format.find('%');
    if (percent == StringRef::npos) break;
    format = format.substr(percent + 1);
    if (format.consume_front("%")) continue;
    format = format.ltrim("-+ #0'I");
    auto skip_width = [&] {
      if (format.consume_front("*"))
        numbers.push_back(true);
      else
        format = format.ltrim("0123456789");
    };
    skip_width();
    if (format.consume_front(".")) skip_width();
    format = format.ltrim("hlLqjzt");
    if (format.empty()) return std::nullopt;
    char conversion = format.front();
    format = format.drop_front();
    if (conversion == 'm') continue;
    if (StringRef("diouxXcCeEfFgGaAp").contains(conversion))
      numbers.push_back(true);
    else if (StringRef("sSn").contains(conversion))
      numbers.push_back(false);
    else
      return std::nullopt;
  }
  return numbers;
}

} // namespace

bool uses_as_number(const CallBase& call, unsigned operand) {
  const Function* callee = call.getCalledFunction();
  if (!callee) return false;
  if (callee->getName() == "_ZNSolsEPKv") return operand == 1; // std::ostream << const void*
  auto position = position_of_format(callee->getName());
  StringRef format;
  if (!position || operand <= *position || *position >= call.arg_size() ||
      !getConstantStringInfo(call.getArgOperand(*position), format))
    return false;
  auto numbers = numbers_of(format);
  // More arguments than the format knows: some may be in two parts.
  if (!numbers || numbers->size() != call.arg_size() - *position - 1) return false;
  return (*numbers)[operand - *position - 1];
}

std::optional<unsigned> depth_of_show(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  if (!callee || !callee->getName().starts_with("__rdb_show_")) return std::nullopt;
  if (callee->getName() == "__rdb_show_readable") return 0;
  const auto* text = dyn_cast<GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
  const auto* bytes =
      text && text->hasInitializer() ? dyn_cast<ConstantDataArray>(text->getInitializer()) : nullptr;
  if (!bytes || !bytes->isString() || bytes->getNumElements() == 0) return std::nullopt;
  return bytes->getAsString()[0] - '0';
}

} // namespace rdb::extractor
