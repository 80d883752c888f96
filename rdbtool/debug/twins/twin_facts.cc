// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/twin_facts.h"

#include "descriptors/fields.h"
#include "rdbtool/base/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

namespace rdb::debug {
namespace {

constexpr std::string_view kFirstLine = "rdb-twin ";
constexpr uint64_t kVersion = 1;
constexpr size_t kMostText = size_t{256} << 20;
constexpr uint64_t kLargestVariable = uint64_t{1} << 40;
constexpr uint64_t kMostShared = 1 << 16;              // arguments of a region
constexpr uint64_t kLargestShared = uint64_t{1} << 30; // bytes

template <class Value>
struct Word {
  std::string_view word;
  Value value;
};

constexpr std::array<Word<TwinLinkage>, 3> kLinkages = {
    {{"global", TwinLinkage::global}, {"weak", TwinLinkage::weak}, {"local", TwinLinkage::local}}};
constexpr std::array<Word<bool>, 2> kConstness = {{{"const", true}, {"mutable", false}}};
using RegionReads = TwinFacts::Region::Reads;
constexpr std::array<Word<RegionReads>, 3> kRegionReads = {{{"variables", RegionReads::variables},
                                                            {"memory", RegionReads::memory},
                                                            {"statics", RegionReads::statics}}};

struct ResultWord {
  std::string_view word;
  ResultRegister value;
  unsigned most; // bytes; 0: the word stands alone
};
constexpr std::array<ResultWord, 6> kResults = {{{"rax", ResultRegister::rax, 8},
                                                 {"rdx", ResultRegister::rdx, 8},
                                                 {"xmm0", ResultRegister::xmm0, 64},
                                                 {"xmm1", ResultRegister::xmm1, 64},
                                                 {"st0", ResultRegister::st0, 0},
                                                 {"st1", ResultRegister::st1, 0}}};
constexpr unsigned kX87Bytes = 10;

constexpr std::array<std::string_view, 6> kIntegerArguments = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};

using Flag = bool TwinFacts::Function::*;
constexpr std::array<Word<Flag>, 10> kFlags = {{{"naked", &TwinFacts::Function::naked},
                                                {"coroutine", &TwinFacts::Function::coroutine},
                                                {"noreturn", &TwinFacts::Function::noreturn},
                                                {"ifunc", &TwinFacts::Function::ifunc},
                                                {"constructor", &TwinFacts::Function::constructor},
                                                {"asm", &TwinFacts::Function::assembly},
                                                {"alwaysinline", &TwinFacts::Function::always_inline},
                                                {"convention", &TwinFacts::Function::foreign_convention},
                                                {"changed", &TwinFacts::Function::changed},
                                                {"noresult", &TwinFacts::Function::result_removed}}};

// Calls `each` with the parts of a list.
template <class F>
void for_each_part(std::string_view list, char separator, F&& each) {
  while (true) {
    size_t size = std::min(list.find(separator), list.size());
    each(list.substr(0, size));
    if (size == list.size()) return;
    list.remove_prefix(size + 1);
  }
}

class Reader {
public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  TwinFacts run() {
    if (text_.size() > kMostText) fail("it is larger than any compiler makes it");
    read_first_line();
    std::string_view line;
    while (next_line(line))
      read(line);
    if (!has_end_) fail("it is cut off: the line 'end' is missing");
    refer();
    return std::move(facts_);
  }

private:
  using Fields = descriptors::Fields;
  // A line that names functions; whether they exist is known at the end.
  struct Reference {
    unsigned line;
    std::string first, second;
    uint64_t number;
    RegionReads reads = RegionReads::variables;
    std::vector<TwinFacts::Region::Shared> shared = {};
  };

  [[noreturn]] void fail(const std::string& why) const {
    throw descriptors::FormatError(name_, number_, why);
  }

  bool next_line(std::string_view& line) {
    if (text_.empty()) return false;
    ++number_;
    size_t newline = text_.find('\n');
    if (newline == std::string_view::npos) fail("the last line is cut off");
    line = text_.substr(0, newline);
    text_.remove_prefix(newline + 1);
    return true;
  }

  void read_first_line() {
    std::string_view line;
    if (!text_.starts_with(kFirstLine) || !next_line(line)) {
      number_ = 1;
      fail("it is not the description of a twin");
    }
    Fields fields(line.substr(kFirstLine.size()), name_, number_);
    uint64_t version = fields.number("version");
    fields.end();
    if (version != kVersion)
      fields.fail("version " + std::to_string(version) + ", this rdb reads version " +
                  std::to_string(kVersion) + "; rebuild with the rdb-clang of this rdb");
  }

  void read(std::string_view line) {
    if (has_end_) fail("there is something behind the line 'end'");
    Fields f(line, name_, number_);
    std::string_view keyword = f.word("record");
    if (keyword == "unit")
      read_unit(f);
    else if (keyword == "function")
      read_function(f);
    else if (keyword == "padding")
      read_padding(f);
    else if (keyword == "alias")
      read_alias(f);
    else if (keyword == "calls")
      read_calls(f);
    else if (keyword == "address")
      addresses_.push_back({number_, f.string("function"), {}, 0});
    else if (keyword == "region")
      read_region(f);
    else if (keyword == "shared")
      read_shared(f);
    else if (keyword == "static")
      read_static(f);
    else if (keyword == "end")
      has_end_ = true;
    else
      f.fail("unknown record '" + std::string(keyword.substr(0, 40)) + "'");
    f.end();
  }

  void read_unit(Fields& f) {
    if (has_unit_) f.fail("there is a second unit");
    has_unit_ = true;
    facts_.unit.key = f.string("key");
    facts_.unit.source = f.string("source");
    facts_.unit.directory = f.string("directory");
  }

  void read_function(Fields& f) {
    TwinFacts::Function function;
    function.symbol = f.string("symbol");
    function.name = f.string("name");
    function.file = f.string("file");
    function.line = line(f);
    function.linkage = f.one_of(kLinkages, "linkage");
    read_result(f, function);
    std::vector<std::string_view> arguments = read_arguments(f, function);
    read_flags(f, function, arguments);
    auto index = static_cast<uint32_t>(facts_.functions.size());
    if (!facts_.function_index.emplace(function.symbol, index).second)
      f.fail("function '" + function.symbol + "' is defined twice");
    facts_.functions.push_back(std::move(function));
  }

  static void read_result(Fields& f, TwinFacts::Function& function) {
    std::string_view list = f.word("result");
    if (list == "none") return;
    unsigned seen = 0;
    for_each_part(list, ',', [&](std::string_view part) {
      size_t colon = std::min(part.find(':'), part.size());
      for (const ResultWord& known : kResults) {
        if (part.substr(0, colon) != known.word || (colon == part.size()) != (known.most == 0)) continue;
        unsigned bytes = kX87Bytes;
        if (known.most != 0) bytes = static_cast<unsigned>(decimal(f, part.substr(colon + 1), known.most));
        unsigned bit = 1u << static_cast<unsigned>(known.value);
        if (bytes == 0 || (seen & bit) != 0) break;
        seen |= bit;
        function.result.push_back({known.value, bytes});
        return;
      }
      f.fail("'" + shown(part) + "' is no place of a result");
    });
  }

  // Parts of the list of arguments, which flags count from 0.
  static std::vector<std::string_view> read_arguments(Fields& f, TwinFacts::Function& function) {
    std::string_view list = f.word("arguments");
    std::vector<std::string_view> parts;
    if (list != "-") for_each_part(list, ',', [&](std::string_view part) { parts.push_back(part); });
    for (std::string_view part : parts)
      if (!add_argument(part, function.arguments)) f.fail("'" + shown(part) + "' is no place of an argument");
    return parts;
  }

  static bool add_argument(std::string_view part, ArgumentRegisters& arguments) {
    auto integer = std::ranges::find(kIntegerArguments, part);
    if (integer != kIntegerArguments.end())
      arguments.integer |= static_cast<uint8_t>(1u << (integer - kIntegerArguments.begin()));
    else if (part.size() == 4 && part.starts_with("xmm") && part[3] >= '0' && part[3] <= '7')
      arguments.vector |= static_cast<uint8_t>(1u << (part[3] - '0'));
    else if (part == "stack")
      arguments.on_stack = true;
    else if (part == "...")
      arguments.variable = true;
    else
      return false;
    return true;
  }

  static void read_flags(Fields& f, TwinFacts::Function& function,
                         const std::vector<std::string_view>& arguments) {
    std::string_view list = f.word("flags");
    if (list == "-") return;
    for_each_part(list, ',', [&](std::string_view part) {
      for (const auto& known : kFlags)
        if (part == known.word) {
          function.*known.value = true;
          return;
        }
      if (part.starts_with("fold=")) {
        function.fold = static_cast<uint32_t>(decimal(f, part.substr(5), UINT32_MAX));
      } else if (part.starts_with("poison=")) {
        for_each_part(part.substr(7), ';', [&](std::string_view position) {
          uint64_t at = decimal(f, position, UINT32_MAX);
          if (at >= arguments.size()) f.fail("there is no argument " + shown(position));
          add_argument(arguments[at], function.poisoned);
        });
      } else {
        f.fail("'" + shown(part) + "' is no flag");
      }
    });
  }

  // Of the result of a function that was described already.
  void read_padding(Fields& f) {
    TwinFacts::Function& function = facts_.functions[index_of(f.string("function"), number_)];
    std::string_view name = f.word("register");
    uint64_t bits = f.hex("bits");
    auto known = std::ranges::find(kResults, name, &ResultWord::word);
    for (ResultPart& part : function.result)
      if (known != kResults.end() && part.where == known->value) {
        part.padding = bits;
        return;
      }
    f.fail("the function has no result in '" + shown(name) + "'");
  }

  void read_alias(Fields& f) {
    Reference reference{number_, f.string("alias"), f.string("function"), 0};
    if (!aliases_seen_.insert(reference.first).second)
      f.fail("alias '" + reference.first + "' is there twice");
    aliases_.push_back(std::move(reference));
  }

  void read_calls(Fields& f) {
    Reference reference{number_, f.string("caller"), f.string("callee"), 0};
    reference.number = f.number("count");
    calls_.push_back(std::move(reference));
  }

  void read_region(Fields& f) {
    Reference reference{number_, f.string("debug function"), f.string("function"), 0};
    reference.number = line(f);
    reference.reads = f.one_of(kRegionReads, "'variables', 'memory' or 'statics'");
    if (!regions_seen_.insert(reference.first).second)
      f.fail("debug function '" + reference.first + "' is there twice");
    regions_.push_back(std::move(reference));
  }

  // It follows its region.
  void read_shared(Fields& f) {
    if (regions_.empty() || f.string("debug function") != regions_.back().first)
      f.fail("it does not follow its region");
    TwinFacts::Region::Shared shared;
    shared.position = static_cast<uint32_t>(f.number("position", kMostShared));
    shared.name = f.string("name");
    shared.size = f.number("size", kLargestShared);
    (void)f.number("alignment", kLargestShared);
    regions_.back().shared.push_back(std::move(shared));
  }

  void read_static(Fields& f) {
    TwinFacts::Static variable;
    variable.symbol = f.string("symbol");
    variable.name = f.string("name");
    variable.function = f.string("function");
    variable.file = f.string("file");
    variable.line = line(f);
    variable.size = f.number("size", kLargestVariable);
    variable.is_constant = f.one_of(kConstness, "'const' or 'mutable'");
    if (!statics_seen_.insert(variable.symbol).second)
      f.fail("variable '" + variable.symbol + "' is defined twice");
    facts_.statics.push_back(std::move(variable));
  }

  // Lines may speak of functions that come later.
  void refer() {
    if (!has_unit_) fail("no line says which unit it is");
    for (const Reference& each : addresses_)
      facts_.functions[index_of(each.first, each.line)].address_taken = true;
    for (const Reference& each : calls_)
      facts_.calls.push_back(
          {index_of(each.first, each.line), index_of(each.second, each.line), each.number});
    for (Reference& each : aliases_) {
      uint32_t function = index_of(each.second, each.line);
      if (facts_.function_index.contains(each.first))
        fail("'" + shown(each.first) + "' is a function itself");
      facts_.aliases.push_back({std::move(each.first), function});
    }
    for (Reference& each : regions_)
      facts_.regions.push_back({std::move(each.first), index_of(each.second, each.line),
                                static_cast<unsigned>(each.number), each.reads, std::move(each.shared)});
  }

  uint32_t index_of(const std::string& symbol, unsigned at_line) {
    auto found = facts_.function_index.find(symbol);
    number_ = at_line;
    if (found == facts_.function_index.end()) fail("no function '" + shown(symbol) + "' is defined");
    return found->second;
  }

  static unsigned line(Fields& f) { return static_cast<unsigned>(f.number("line", INT32_MAX)); }
  static uint64_t decimal(Fields& f, std::string_view digits, uint64_t most) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value > most)
      f.fail("'" + shown(digits) + "' is no number here");
    return value;
  }
  static std::string shown(std::string_view text) { return std::string(text.substr(0, 40)); }

  std::string_view text_, name_;
  unsigned number_ = 0; // of the line
  bool has_unit_ = false, has_end_ = false;
  TwinFacts facts_;
  std::vector<Reference> calls_, addresses_, regions_, aliases_;
  std::unordered_set<std::string> regions_seen_, statics_seen_, aliases_seen_;
};

} // namespace

const TwinFacts::Function* TwinFacts::function(std::string_view symbol) const {
  auto found = function_index.find(std::string(symbol));
  return found == function_index.end() ? nullptr : &functions[found->second];
}

TwinFacts read_twin_facts(std::string_view text, const std::string& object) {
  try {
    return Reader(text, object + "(" + std::string(kTwinFactsSection) + ")").run();
  } catch (const descriptors::FormatError& error) {
    throw UserError(error.what());
  }
}

} // namespace rdb::debug
