// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The descriptor text: what is written is read back, what is not exactly the format is refused by line, and
// no text, however broken, does worse than that.
#include "descriptors/descriptor.h"

#include <gtest/gtest.h>

namespace {

using namespace rdb::descriptors;

Part register_part(uint64_t offset, uint64_t size, const char* name) {
  Part p{offset, size, Class::in_register};
  p.reg = register_number(name);
  return p;
}

// An object's descriptors with every class of argument.
Descriptors everything() {
  Descriptors d;
  d.units.push_back({1, "u1f", "dir/a.c", "/src", "clang -O2 \"x y\"\n"});
  d.sources.push_back({1, "dir/a.c", "", {{1, 1}, {4, 9}}});
  d.regions.push_back(
      {7, 1, 1, 4, 9, Status::incomplete, "one of 2 instances lost", "__rdb_fn_u1f_7", "f(int)", 10});
  d.regions.push_back({8, 1, 1, 20, 22, Status::refused, "it returns", "", "g", 0});
  d.activations.push_back({3, "count", "int", 4, 4});
  d.entries.push_back({3, Side::before, Address::entry(5)});
  d.locations.push_back({7, 0, Side::before, Address::entry(0), "f(int)"});
  d.locations.push_back({7, 1, Side::after, Address::entry(1), "main"});
  auto add = [&](std::vector<Part> parts, uint64_t size) {
    uint32_t position = static_cast<uint32_t>(d.arguments.size());
    d.arguments.push_back(
        {7, 0, position, "v" + std::to_string(position), "char \"\\\xc3\xa4", size, 8, parts});
  };
  add({register_part(0, 16, "xmm31")}, 16);
  Part stack{0, 400, Class::stack};
  stack.reg = register_number("rbp");
  stack.reg_offset = -24;
  add({stack}, 400);
  Part global{0, 4, Class::global};
  global.address = Address::entry(2);
  add({global}, 4);
  global.cls = Class::tls;
  add({global}, 4);
  Part constant{0, 3, Class::constant};
  constant.bytes = std::string("\0\xff\x10", 3);
  add({constant}, 3);
  Part value{0, 8, Class::value};
  value.steps = {{Op::push_register, register_number("rax")},
                 {Op::push_constant, 0xfffffffffffffff8},
                 {Op::add},
                 {Op::load, 4},
                 {Op::sign_extend, 32},
                 {Op::push_address, 0, Address::entry(4)},
                 {Op::sub}};
  add({value}, 8);
  value.cls = Class::address;
  add({value}, 8);
  Part activation{0, 4, Class::activation};
  activation.activation = 3;
  activation.reg = register_number("rsp");
  activation.reg_offset = 16;
  add({activation}, 4);
  Part first = register_part(0, 8, "r8");
  Part second = constant;
  second.offset = 8;
  add({first, second}, 11);
  add({first, {8, 40, Class::unread}}, 48);
  Part unavailable{0, 8, Class::unavailable};
  unavailable.reason = "stale: the store at line 5 moved below";
  d.arguments.push_back({7, 1, 0, "p", "int *", 8, 8, {unavailable}});
  d.symbols.push_back({"counter", Owner::program, "__rdb_slot_u1f_s0", false, Address::entry(3), "a.o"});
  d.symbols.push_back({"t", Owner::program, "__rdb_slot_t", true, Address::entry(6), ""});
  d.symbols.push_back({"printf", Owner::host, "__rdb_slot_printf", false, {}, "libc.so.6"});
  return d;
}

std::string fault(std::string_view text) {
  try {
    read(text, "d");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "none";
}

TEST(Descriptors, WhatIsWrittenIsReadBack) {
  Descriptors d = everything();
  std::string text = write(d);
  EXPECT_EQ(read(text, "d"), d) << text;
  EXPECT_EQ(write(read(text, "d")), text);
}

TEST(Descriptors, BundleHasAProgramAndAbsoluteAddresses) {
  Descriptors d;
  d.program.push_back({"prog", "ab01", "0123"});
  d.units.push_back({1, "u", "a.c", "/", ""});
  d.sources.push_back({1, "a.c", "sources/1/a.c", {}});
  d.regions.push_back({1, 1, 1, 4, 9, Status::complete, "", "f", "f", 0});
  d.locations.push_back({1, 0, Side::before, Address::absolute(0x401136), "f"});
  std::string text = write(d);
  EXPECT_NE(text.find("location 1 0 before 0x401136 \"f\"\n"), std::string::npos) << text;
  EXPECT_EQ(read(text, "d"), d);
  d.locations[0].address = Address::entry(1);
  EXPECT_EQ(fault(write(d)), "d:6: address is of the wrong kind here");
}

// One byte of a bundle's file, whichever it is: no value of it is used.
TEST(Descriptors, ABundleHasAChecksum) {
  Descriptors d = everything();
  d.program.push_back({"prog", "ab01", "0123"});
  d.entries.clear();
  d.locations.clear();
  d.arguments.clear();
  d.symbols.clear();
  const std::string good = write(d);
  EXPECT_EQ(read(good, "d"), d) << good;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string text = good;
    text[i] = static_cast<char>(text[i] ^ 1);
    EXPECT_NE(fault(text), "none") << i;
    // The first line alone is an object file that describes nothing. It has no program, so it is no bundle.
    bool is_first_line = i == good.find('\n') + 1;
    EXPECT_EQ(fault(good.substr(0, i)) == "none", is_first_line) << i;
  }
  std::string longer = good;
  longer.insert(longer.rfind("end "), "unit 9 \"u\" \"a.c\" \"/\" \"\"\n");
  EXPECT_NE(fault(longer).find("the file is damaged"), std::string::npos);
}

TEST(Descriptors, RegistersHaveNamesAndSizes) {
  EXPECT_EQ(register_name(1), "rdx");
  EXPECT_EQ(register_number("r15"), 15);
  EXPECT_EQ(register_number("xmm16"), 67);
  EXPECT_EQ(register_number("rip"), 16);
  EXPECT_EQ(register_number("eax"), kNoRegister);
  EXPECT_EQ(register_name(42), "");
  EXPECT_EQ(register_size(register_number("st0")), 10u);
  EXPECT_EQ(register_size(register_number("rax")), 8u);
  for (Register r = 0; r < 200; ++r)
    EXPECT_TRUE(register_name(r).empty() || register_number(register_name(r)) == r) << r;
}

TEST(Descriptors, FaultsAreNamedByLine) {
  const std::string head = "rdb-descriptors 2\n";
  const std::string base = head +
                           "unit 1 \"u\" \"a.c\" \"/\" \"\"\nsource 1 \"a.c\" \"\" -\n"
                           "region 1 1 1 4 9 complete \"\" \"f\" \"f\" 1\nlocation 1 0 before @0 \"f\"\n";
  EXPECT_EQ(fault(base), "none");
  EXPECT_EQ(fault(""), "d:1: not a descriptor file");
  EXPECT_EQ(fault("rdb-descriptors 3\n"),
            "d:1: descriptor version 3, this rdb reads version 2; rebuild with the rdb-clang of this rdb");
  EXPECT_EQ(fault("rdb-descriptors 2"), "d:1: the last line is cut off");
  EXPECT_EQ(fault(head + "\n"), "d:2: record is missing");
  EXPECT_EQ(fault(head + "nonsense 1\n"), "d:2: unknown record 'nonsense'");
  EXPECT_EQ(fault(head + "unit 1 \"u\n"), "d:2: key has no closing quote");
  EXPECT_EQ(fault(head + "unit 01 \"u\"\n"), "d:2: unit '01' is no number");
  EXPECT_EQ(fault(head + "unit 4294967296 \"u\"\n"), "d:2: unit is too large");
  EXPECT_EQ(fault(head + "source 1 \"a\" \"../x\" -\n"), "d:2: the copy's path leads out of the bundle");
  EXPECT_EQ(fault(head + "source 1 \"a\" \"\" 4-3\n"), "d:2: removed lines are out of order");
  EXPECT_EQ(fault(head + "location 1 0 before @0 \"f\"\n"), "d:2: no such region");
  EXPECT_EQ(fault(base + "location 1 0 before @1 \"f\"\n"), "d:6: this instance is defined twice");
  EXPECT_EQ(fault(base + "location 1 1 beside @1 \"f\"\n"), "d:6: 'beside' is no side");
  EXPECT_EQ(fault(base + "location 1 1 before @1 \"f\" x\n"), "d:6: unexpected text after the record: ' x'");
  EXPECT_EQ(fault(base + "location 1 1  before @1 \"f\"\n"), "d:6: side is missing");
  const std::string argument = base + "argument 1 0 0 \"v\" \"int\" 4 4 ";
  EXPECT_EQ(fault(argument + "1 0 4 register rax\n"), "none");
  EXPECT_EQ(fault(argument + "1 0 4 register eax\n"), "d:6: 'eax' is no register");
  EXPECT_EQ(fault(argument + "1 0 2 register rax\n"), "d:6: the parts do not cover the variable");
  EXPECT_EQ(fault(argument + "2 0 2 register rax 3 1 register rax\n"),
            "d:6: the parts leave a gap or overlap");
  EXPECT_EQ(fault(argument + "2 0 2 register rax 2 2 unread\n"), "none");
  EXPECT_EQ(fault(argument + "1 0 4 unread\n"), "d:6: this class must not be the only part");
  EXPECT_EQ(fault(argument + "1 0 4 constant 0102\n"), "d:6: the constant is not as long as its size says");
  EXPECT_EQ(fault(argument + "1 0 4 value reg rax add end\n"),
            "d:6: the expression takes more values than it has");
  EXPECT_EQ(fault(argument + "1 0 4 value reg rax reg rbx end\n"),
            "d:6: the expression must leave one value");
  EXPECT_EQ(fault(argument + "1 0 4 value reg xmm0 end\n"), "d:6: not a general register");
  EXPECT_EQ(fault(base + "argument 1 0 1 \"v\" \"int\" 4 4 1 0 4 register rax\n"),
            "d:6: the position is beyond the region's arguments");
}

// Random damage to a good file: either it still reads, or a FormatError says where.
TEST(Descriptors, DamageNeverDoesMoreThanAnError) {
  const std::string good = write(everything());
  uint32_t state = 99;
  auto random = [&](size_t limit) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % std::max<size_t>(limit, 1);
  };
  unsigned refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (size_t n = random(3) + 1; n > 0; --n) {
      size_t at = random(text.size());
      if (text.empty()) break;
      switch (random(4)) {
      case 0:
        text[at] = static_cast<char>(random(256));
        break;
      case 1:
        text.erase(at, random(20));
        break;
      case 2:
        text.insert(at, text.substr(random(text.size()), random(30)));
        break;
      case 3:
        text.resize(at + 1);
        break;
      }
    }
    try {
      write(read(text, "d"));
    } catch (const FormatError& error) {
      ++refused;
      ASSERT_GE(error.line, 1u);
    }
  }
  EXPECT_GT(refused, 10000u);
}

} // namespace
