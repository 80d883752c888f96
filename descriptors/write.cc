// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes descriptors as text: kinds of records in a fixed order, each kind in the order given.
#include "descriptors/sha256.h"
#include "descriptors/words.h"

#include <cinttypes>
#include <cstdio>

namespace rdb::descriptors {

namespace {

std::string hex(uint64_t value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%" PRIx64, value);
  return buffer;
}

// One record: fields joined by single spaces.
class Record {
public:
  explicit Record(std::string_view keyword) : text_(keyword) {}
  Record& word(std::string_view word) {
    text_ += ' ';
    text_ += word;
    return *this;
  }
  Record& number(uint64_t value) { return word(std::to_string(value)); }
  Record& signed_number(int64_t value) { return word(std::to_string(value)); }
  Record& string(std::string_view text) { return word(quoted(text)); }
  Record& address(const Address& address) {
    switch (address.kind) {
    case Address::Kind::none:
      return word("-");
    case Address::Kind::entry:
      return word("@" + std::to_string(address.value));
    case Address::Kind::absolute:
      break;
    }
    return word(hex(address.value));
  }
  void end(std::string& out) const { out += text_ + '\n'; }

private:
  std::string text_;
};

std::string ranges(const std::vector<Source::Range>& removed) {
  std::string result;
  for (const Source::Range& range : removed) {
    if (!result.empty()) result += ',';
    result += std::to_string(range.first) + "-" + std::to_string(range.last);
  }
  return result.empty() ? "-" : result;
}

std::string bytes_in_hex(std::string_view bytes) {
  std::string result;
  for (char c : bytes) {
    char buffer[4];
    std::snprintf(buffer, sizeof buffer, "%02x", static_cast<unsigned char>(c));
    result += buffer;
  }
  return result.empty() ? "-" : result;
}

void write_steps(Record& record, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    for (const OpWord& op : op_words()) {
      if (op.value != step.op) continue;
      record.word(op.word);
      if (op.operand == Operand::dwarf_register)
        record.word(register_name(static_cast<Register>(step.operand)));
      if (op.operand == Operand::number) record.word(hex(step.operand));
      if (op.operand == Operand::address) record.address(step.address);
    }
  }
  record.word("end");
}

void write_part(Record& record, const Part& part) {
  record.number(part.offset).number(part.size).word(word_of(class_words(), part.cls));
  switch (part.cls) {
  case Class::in_register:
    record.word(register_name(part.reg));
    break;
  case Class::stack:
    record.word(register_name(part.reg)).signed_number(part.reg_offset);
    break;
  case Class::global:
  case Class::tls:
    record.address(part.address);
    break;
  case Class::constant:
    record.word(bytes_in_hex(part.bytes));
    break;
  case Class::address:
  case Class::value:
    write_steps(record, part.steps);
    break;
  case Class::activation:
    record.number(part.activation).word(register_name(part.reg)).signed_number(part.reg_offset);
    break;
  case Class::unread:
    break;
  case Class::unavailable:
    record.string(part.reason);
    break;
  }
}

} // namespace

std::string write(const Descriptors& descriptors) {
  std::string out;
  out += std::string(kFirstLine) + std::to_string(kVersion) + "\n";
  for (const Program& p : descriptors.program)
    Record("program").string(p.name).string(p.build_id).string(p.hash).end(out);
  for (const Unit& u : descriptors.units)
    Record("unit").number(u.id).string(u.key).string(u.source).string(u.directory).string(u.command).end(out);
  for (const Source& s : descriptors.sources)
    Record("source").number(s.id).string(s.path).string(s.copy).word(ranges(s.removed)).end(out);
  for (const Region& r : descriptors.regions) {
    Record record("region");
    record.number(r.id).number(r.unit).number(r.source).number(r.begin_line).number(r.end_line);
    record.word(word_of(status_words(), r.status)).string(r.reason).string(r.function).string(r.host);
    record.number(r.arguments).end(out);
  }
  for (const Activation& a : descriptors.activations)
    Record("activation").number(a.id).string(a.name).string(a.type).number(a.size).number(a.align).end(out);
  for (const Entry& e : descriptors.entries)
    Record("entry").number(e.activation).word(word_of(side_words(), e.side)).address(e.address).end(out);
  for (const Location& l : descriptors.locations) {
    Record record("location");
    record.number(l.region).number(l.instance).word(word_of(side_words(), l.side));
    record.address(l.address).string(l.function).end(out);
  }
  for (const Argument& a : descriptors.arguments) {
    Record record("argument");
    record.number(a.region).number(a.instance).number(a.position).string(a.name).string(a.type);
    record.number(a.size).number(a.align).number(a.parts.size());
    for (const Part& part : a.parts)
      write_part(record, part);
    record.end(out);
  }
  for (const Symbol& s : descriptors.symbols) {
    Record record("symbol");
    record.string(s.name).word(word_of(owner_words(), s.owner)).string(s.slot);
    record.word(s.thread_local_ ? "tls" : "address").address(s.address).string(s.where).end(out);
  }
  if (!descriptors.program.empty()) Record("end").string(hash_of(out)).end(out);
  return out;
}

} // namespace rdb::descriptors
