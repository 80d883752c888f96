// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads descriptor text: every line is a record of the format or an error, every reference must be to
// something that an earlier line defined, every value must make sense for its class. Whoever has a
// Descriptors value need not check it again.
#include "descriptors/fields.h"
#include "descriptors/sha256.h"

#include <algorithm>
#include <map>
#include <set>

namespace rdb::descriptors {

namespace {

constexpr uint64_t kMaxSize = uint64_t{1} << 40; // of a variable: what x86-64 programs can have, generously
constexpr unsigned kMaxStack = 64;               // depth of an expression

class Reader {
public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Descriptors run() {
    const std::string_view whole = text_;
    check_first_line();
    check_end(whole);
    std::string_view line;
    while (next_line(line))
      record(line);
    return std::move(result_);
  }

private:
  bool next_line(std::string_view& line) {
    if (text_.empty()) return false;
    ++number_;
    size_t newline = text_.find('\n');
    if (newline == std::string_view::npos) throw FormatError(name_, number_, "the last line is cut off");
    line = text_.substr(0, newline);
    text_.remove_prefix(newline + 1);
    return true;
  }

  void check_first_line() {
    std::string_view line;
    if (!next_line(line) || !line.starts_with(kFirstLine))
      throw FormatError(name_, 1, "not a descriptor file");
    Fields fields(line.substr(kFirstLine.size()), name_, 1);
    uint64_t version = fields.number("version");
    fields.end();
    if (version != kVersion)
      fields.fail("descriptor version " + std::to_string(version) + ", this rdb reads version " +
                  std::to_string(kVersion) + "; rebuild with the rdb-clang of this rdb");
  }

  // A bundle's file ends with the hash of everything before: a value that was damaged must not be shown. What
  // an object file carries has no such line.
  void check_end(std::string_view whole) {
    if (!text_.starts_with("program ")) return;
    size_t begin = whole.substr(0, whole.size() - 1).rfind('\n') + 1;
    auto last = static_cast<unsigned>(std::count(whole.begin(), whole.end(), '\n'));
    if (whole.back() != '\n') throw FormatError(name_, last + 1, "the last line is cut off");
    if (whole.substr(begin) != "end \"" + hash_of(whole.substr(0, begin)) + "\"\n")
      throw FormatError(
          name_, last,
          "the file is damaged or cut off: its checksum is not that of its lines; link the program again");
    text_.remove_suffix(whole.size() - begin);
  }

  void record(std::string_view line) {
    Fields f(line, name_, number_);
    std::string_view keyword = f.word("record");
    if (keyword == "program")
      program(f);
    else if (keyword == "unit")
      unit(f);
    else if (keyword == "source")
      source(f);
    else if (keyword == "region")
      region(f);
    else if (keyword == "activation")
      activation(f);
    else if (keyword == "entry")
      entry(f);
    else if (keyword == "location")
      location(f);
    else if (keyword == "argument")
      argument(f);
    else if (keyword == "symbol")
      symbol(f);
    else
      f.fail("unknown record '" + std::string(keyword.substr(0, 40)) + "'");
    f.end();
  }

  // An object's addresses are entries of its table, a bundle's are the program's.
  Address address(Fields& f, const char* what) {
    Address found = f.address(what);
    Address::Kind wanted = result_.program.empty() ? Address::Kind::entry : Address::Kind::absolute;
    if (found.kind != wanted) f.fail(std::string(what) + " is of the wrong kind here");
    return found;
  }

  template <class Set>
  void define(Fields& f, Set& set, const typename Set::value_type& id, const char* what) {
    if (!set.insert(id).second) f.fail(std::string(what) + " is defined twice");
  }
  template <class Set>
  void refer(Fields& f, const Set& set, const typename Set::value_type& id, const char* what) {
    if (!set.contains(id)) f.fail(std::string("no such ") + what);
  }

  void program(Fields& f) {
    if (number_ != 2) f.fail("'program' must be the second line");
    Program p;
    p.name = f.string("name");
    p.build_id = f.string("build-id");
    p.hash = f.string("hash");
    result_.program.push_back(p);
  }

  void unit(Fields& f) {
    Unit u;
    u.id = f.id("unit");
    define(f, units_, u.id, "this unit");
    u.key = f.string("key");
    u.source = f.string("source");
    u.directory = f.string("directory");
    u.command = f.string("command");
    result_.units.push_back(u);
  }

  void source(Fields& f) {
    Source s;
    s.id = f.id("source");
    define(f, sources_, s.id, "this source");
    s.path = f.string("path");
    s.copy = f.string("copy");
    // Read relative to the bundle: it must not lead out of it.
    if (s.copy.starts_with("/") || ("/" + s.copy + "/").find("/../") != std::string::npos)
      f.fail("the copy's path leads out of the bundle");
    s.removed = f.ranges();
    result_.sources.push_back(s);
  }

  void region(Fields& f) {
    Region r;
    r.id = f.id("region");
    r.unit = f.id("unit");
    refer(f, units_, r.unit, "unit");
    r.source = f.id("source");
    refer(f, sources_, r.source, "source");
    r.begin_line = static_cast<unsigned>(f.number("first line", INT32_MAX));
    r.end_line = static_cast<unsigned>(f.number("last line", INT32_MAX));
    if (r.end_line < r.begin_line) f.fail("the region ends before it begins");
    r.status = f.one_of(status_words(), "status");
    r.reason = f.string("reason");
    r.function = f.string("debug function");
    r.host = f.string("host function");
    r.arguments = static_cast<uint32_t>(f.number("number of arguments", 65535));
    define(f, regions_, r.id, "this region");
    argument_counts_[r.id] = r.arguments;
    result_.regions.push_back(r);
  }

  void activation(Fields& f) {
    Activation a;
    a.id = f.id("activation");
    define(f, activations_, a.id, "this activation variable");
    a.name = f.string("name");
    a.type = f.string("type");
    a.size = f.number("size", kMaxSize);
    a.align = alignment(f);
    result_.activations.push_back(a);
  }

  uint64_t alignment(Fields& f) {
    uint64_t align = f.number("alignment", 4096);
    if (align == 0 || (align & (align - 1)) != 0) f.fail("the alignment is no power of two");
    return align;
  }

  void entry(Fields& f) {
    Entry e;
    e.activation = f.id("activation");
    refer(f, activations_, e.activation, "activation variable");
    e.side = f.one_of(side_words(), "side");
    e.address = address(f, "address");
    result_.entries.push_back(e);
  }

  void location(Fields& f) {
    Location l;
    l.region = f.id("region");
    refer(f, regions_, l.region, "region");
    l.instance = f.id("instance");
    define(f, instances_, {l.region, l.instance}, "this instance");
    l.side = f.one_of(side_words(), "side");
    l.address = address(f, "address");
    l.function = f.string("function");
    result_.locations.push_back(l);
  }

  void argument(Fields& f) {
    Argument a;
    a.region = f.id("region");
    a.instance = f.id("instance");
    refer(f, instances_, {a.region, a.instance}, "instance");
    a.position = f.id("position");
    if (a.position >= argument_counts_[a.region]) f.fail("the position is beyond the region's arguments");
    define(f, positions_, {{a.region, a.instance}, a.position}, "this argument");
    a.name = f.string("name");
    a.type = f.string("type");
    a.size = f.number("size", kMaxSize);
    a.align = alignment(f);
    uint64_t parts = f.number("number of parts", 4096);
    uint64_t covered = 0;
    for (uint64_t i = 0; i < parts; ++i) {
      Part p = part(f);
      if (p.offset != covered) f.fail("the parts leave a gap or overlap");
      if (parts > 1 ? p.cls == Class::unavailable || p.cls == Class::activation : p.cls == Class::unread)
        f.fail(parts > 1 ? "this class must be the only part" : "this class must not be the only part");
      covered += p.size;
      a.parts.push_back(std::move(p));
    }
    if (parts == 0 || covered != a.size) f.fail("the parts do not cover the variable");
    result_.arguments.push_back(std::move(a));
  }

  Part part(Fields& f) {
    Part p;
    p.offset = f.number("offset", kMaxSize);
    p.size = f.number("size", kMaxSize);
    p.cls = f.one_of(class_words(), "class");
    switch (p.cls) {
    case Class::in_register:
      p.reg = f.reg();
      if (p.size > register_size(p.reg)) f.fail("the value is larger than its register");
      break;
    case Class::stack:
      p.reg = general_register(f);
      p.reg_offset = f.signed_number("offset");
      break;
    case Class::global:
    case Class::tls:
      p.address = address(f, "address");
      break;
    case Class::constant:
      p.bytes = f.bytes("constant");
      if (p.bytes.size() != p.size) f.fail("the constant is not as long as its size says");
      break;
    case Class::value:
      if (p.size > 8) f.fail("a computed value has at most 8 bytes");
      [[fallthrough]];
    case Class::address:
      p.steps = steps(f);
      break;
    case Class::activation:
      p.activation = f.id("activation");
      refer(f, activations_, p.activation, "activation variable");
      p.reg = general_register(f);
      p.reg_offset = f.signed_number("offset");
      break;
    case Class::unavailable:
      p.reason = f.string("reason");
      break;
    case Class::unread:
      break;
    }
    return p;
  }

  Register general_register(Fields& f) {
    Register found = f.reg();
    if (register_size(found) != 8) f.fail("not a general register");
    return found;
  }

  // Reads up to `end`, and checks that the expression takes nothing from an empty stack and leaves one value.
  std::vector<Step> steps(Fields& f) {
    std::vector<Step> result;
    unsigned depth = 0;
    while (true) {
      std::string_view word = f.word("operator");
      if (word == "end") break;
      const OpWord* op = nullptr;
      for (const OpWord& known : op_words())
        if (known.word == word) op = &known;
      if (op == nullptr) f.fail("'" + std::string(word) + "' is no operator");
      Step step{op->value, 0, {}};
      if (op->operand == Operand::dwarf_register) step.operand = general_register(f);
      if (op->operand == Operand::number) step.operand = f.hex("operand");
      if (op->operand == Operand::address) step.address = address(f, "operand");
      unsigned taken = operands_taken(step.op);
      if (depth < taken) f.fail("the expression takes more values than it has");
      depth = depth - taken + 1;
      if (depth > kMaxStack) f.fail("the expression is too deep");
      check_operand(f, step);
      result.push_back(step);
    }
    if (depth != 1) f.fail("the expression must leave one value");
    return result;
  }

  static unsigned operands_taken(Op op) {
    switch (op) {
    case Op::push_register:
    case Op::push_constant:
    case Op::push_address:
      return 0;
    case Op::neg:
    case Op::bit_not:
    case Op::load:
    case Op::sign_extend:
    case Op::zero_extend:
      return 1;
    default:
      return 2;
    }
  }

  static void check_operand(Fields& f, const Step& step) {
    uint64_t n = step.operand;
    if (step.op == Op::load && n != 1 && n != 2 && n != 4 && n != 8) f.fail("a load has 1, 2, 4 or 8 bytes");
    if ((step.op == Op::sign_extend || step.op == Op::zero_extend) && (n == 0 || n > 64))
      f.fail("a value has 1 to 64 bits");
  }

  void symbol(Fields& f) {
    Symbol s;
    s.name = f.string("name");
    s.owner = f.one_of(owner_words(), "owner");
    s.slot = f.string("slot");
    define(f, slots_, s.slot, "this slot");
    std::string_view kind = f.word("kind of address");
    if (kind != "address" && kind != "tls") f.fail("the kind of address must be 'address' or 'tls'");
    s.thread_local_ = kind == "tls";
    if (s.owner == Owner::program)
      s.address = address(f, "address");
    else if (f.address("address").kind != Address::Kind::none)
      f.fail("only the program's symbols have addresses");
    s.where = f.string("origin");
    result_.symbols.push_back(s);
  }

  std::string_view text_;
  std::string_view name_;
  unsigned number_ = 0;
  Descriptors result_;
  std::set<uint32_t> units_, sources_, regions_, activations_;
  std::map<uint32_t, uint32_t> argument_counts_; // by region
  std::set<std::pair<uint32_t, uint32_t>> instances_;
  std::set<std::pair<std::pair<uint32_t, uint32_t>, uint32_t>> positions_;
  std::set<std::string> slots_;
};

} // namespace

Descriptors read(std::string_view text, std::string_view name) {
  return Reader(text, name).run();
}

} // namespace rdb::descriptors
