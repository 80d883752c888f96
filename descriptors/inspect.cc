// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See inspect.h.
#include "descriptors/inspect.h"

#include "descriptors/words.h"
#include "rdbtool/base/visible_text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <tuple>

namespace rdb::descriptors {

namespace {

std::string hex(uint64_t value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(value));
  return buffer;
}

std::string at_offset(Register reg, int64_t offset) {
  std::string text(register_name(reg));
  return text + (offset < 0 ? "-" : "+") + std::to_string(offset < 0 ? -offset : offset);
}

std::string describe_steps(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    if (!text.empty()) text += ' ';
    for (const OpWord& op : op_words()) {
      if (op.value != step.op) continue;
      if (op.operand == Operand::dwarf_register)
        text += register_name(static_cast<Register>(step.operand));
      else if (op.operand == Operand::address)
        text += hex(step.address.value);
      else if (step.op == Op::push_constant)
        text += std::to_string(static_cast<int64_t>(step.operand));
      else
        text += std::string(op.word) + (op.operand == Operand::number ? std::to_string(step.operand) : "");
    }
  }
  return text;
}

// Small constants as the number they are, others as bytes in memory order.
std::string describe_constant(const std::string& bytes) {
  uint64_t value = 0;
  if (bytes.size() <= 8) {
    for (size_t i = 0; i < bytes.size(); ++i)
      value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value < 10 ? std::to_string(value) : hex(value);
  }
  std::string text;
  for (char c : bytes) {
    char buffer[4];
    std::snprintf(buffer, sizeof buffer, "%02x", static_cast<unsigned char>(c));
    text += buffer;
  }
  return text;
}

std::string describe_part(const Part& part) {
  switch (part.cls) {
  case Class::in_register:
    return "register " + std::string(register_name(part.reg));
  case Class::stack:
    return "stack " + at_offset(part.reg, part.reg_offset);
  case Class::global:
    return "global " + hex(part.address.value);
  case Class::tls:
    return "thread-local " + hex(part.address.value);
  case Class::constant:
    return "constant " + describe_constant(part.bytes);
  case Class::address:
    return "memory at [" + describe_steps(part.steps) + "]";
  case Class::value:
    return "computed [" + describe_steps(part.steps) + "]";
  case Class::activation:
    return "debug variable of this call";
  case Class::unread:
    return "not read";
  case Class::unavailable:
    return "unavailable: " + part.reason;
  }
  return "";
}

// Columns padded to the widest cell.
class Table {
public:
  void row(std::vector<std::string> cells) {
    for (std::string& cell : cells)
      cell = visible_text(cell);
    rows_.push_back(std::move(cells));
  }
  std::string text(const std::string& indent) const {
    std::vector<size_t> widths;
    for (const auto& row : rows_)
      for (size_t i = 0; i + 1 < row.size(); ++i) {
        if (widths.size() <= i) widths.push_back(0);
        if (row[i].size() <= kWidest) widths[i] = std::max(widths[i], row[i].size());
      }
    std::string out;
    for (const auto& row : rows_) {
      std::string line = indent;
      for (size_t i = 0; i < row.size(); ++i) {
        line += row[i];
        if (i + 1 < row.size()) line.append(std::max(widths[i], row[i].size()) - row[i].size() + 2, ' ');
      }
      while (!line.empty() && line.back() == ' ')
        line.pop_back();
      out += line + "\n";
    }
    return out;
  }

private:
  // What is wider, the name of a template for example, does not move the columns of all other rows.
  static constexpr size_t kWidest = 40;
  std::vector<std::vector<std::string>> rows_;
};

// One function may be given as a symbol here and as in source there; compilers space template brackets
// differently.
bool same_name(const std::string& symbol, const std::string& host) {
  auto squeezed = [](std::string name) {
    std::erase(name, ' ');
    return name;
  };
  std::string name = squeezed(readable_name(symbol)), other = squeezed(host);
  // A C++ symbol names its parameters, the host may or may not.
  return name == other || name.starts_with(other + "(");
}

std::string count(size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

class Inspector {
public:
  Inspector(const Descriptors& d, const TwinTexts& twins) : d_(d), twins_(twins) {
    for (const Source& source : d.sources)
      sources_[source.id] = &source;
    for (const Location& location : d.locations)
      locations_[location.region].push_back(&location);
    for (const Argument& argument : d.arguments)
      arguments_[{argument.region, argument.instance}].push_back(&argument);
  }

  std::string run() {
    heading();
    std::vector<const Region*> regions;
    regions.reserve(d_.regions.size());
    for (const Region& region : d_.regions)
      regions.push_back(&region);
    std::ranges::sort(regions, {}, [&](const Region* region) {
      return std::tuple(std::string_view(sources_[region->source]->path), region->begin_line, region->id);
    });
    for (const Region* region : regions)
      show(*region);
    symbols();
    return std::move(out_);
  }

private:
  void heading() {
    for (const Program& program : d_.program) {
      out_ += "program " + visible_text(program.name);
      if (!program.build_id.empty()) out_ += ", build-id " + visible_text(program.build_id);
      out_ += "\n";
    }
    out_ += count(d_.regions.size(), "region") + ", " + count(d_.locations.size(), "location") + "\n";
    if (!twins_.empty()) show_twins();
  }

  void show_twins() {
    size_t functions = 0;
    size_t regions = 0;
    for (const auto& [name, text] : twins_)
      for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.starts_with("function ")) ++functions;
        if (line.starts_with("region ")) ++regions;
      }
    out_ += "twins of " + count(functions, "function") + " of " + count(twins_.size(), "file") + ", with " +
            count(regions, "region") + "\n";
  }

  void show(const Region& region) {
    out_ += "\n" + visible_text(sources_[region.source]->path) + ":" + std::to_string(region.begin_line) +
            "-" + std::to_string(region.end_line);
    if (!region.host.empty()) out_ += " in " + visible_text(region.host);
    out_ += ": " + std::string(word_of(status_words(), region.status));
    if (!region.reason.empty()) out_ += ", " + visible_text(region.reason);
    out_ += "\n";
    for (const Location* location : locations_[region.id]) {
      out_ += "  " + std::string(word_of(side_words(), location->side)) + " " + hex(location->address.value);
      if (!location->function.empty() && !same_name(location->function, region.host))
        out_ += ", inlined into " + readable_name(location->function);
      out_ += "\n";
      Table table;
      for (const Argument* argument : arguments_[{region.id, location->instance}])
        table.row({argument->name, argument->type, describe(*argument)});
      out_ += table.text("    ");
    }
  }

  void symbols() {
    if (d_.symbols.empty()) return;
    out_ += "\nsymbols\n";
    Table table;
    for (const Symbol& symbol : d_.symbols) {
      std::string place(word_of(owner_words(), symbol.owner));
      if (symbol.owner == Owner::program)
        place += (symbol.thread_local_ ? " thread-local " : " ") + hex(symbol.address.value);
      table.row({readable_name(symbol.name), place, symbol.where});
    }
    out_ += table.text("  ");
  }

  const Descriptors& d_;
  const TwinTexts& twins_;
  std::map<uint32_t, const Source*> sources_;
  std::map<uint32_t, std::vector<const Location*>> locations_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Argument*>> arguments_;
  std::string out_;
};

} // namespace

std::string readable_name(const std::string& symbol) {
  int status = 0;
  char* name = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && symbol.starts_with("_Z") ? name : symbol;
  std::free(name);
  return visible_text(result);
}

std::string describe(const Argument& argument) {
  if (argument.parts.size() == 1) return describe_part(argument.parts[0]);
  std::string text;
  for (const Part& part : argument.parts) {
    if (!text.empty()) text += "; ";
    text += "bytes " + std::to_string(part.offset) + "-" + std::to_string(part.offset + part.size - 1) + " " +
            describe_part(part);
  }
  return text;
}

std::string inspection(const Descriptors& descriptors, const TwinTexts& twins) {
  return Inspector(descriptors, twins).run();
}

} // namespace rdb::descriptors
