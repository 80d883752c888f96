// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions and variables of the source in programs by several compilers.
#include "rdbtool/debug/twins/direct_calls.h"
#include "rdbtool/debug/twins/program_symbols.h"
#include "twin_build.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <random>

namespace rdb::debug {
namespace {

using Kind = ProgramSymbols::Place::Kind;

class ProgramSymbolsTest : public testing::Test {
protected:
  ProgramSymbols& program(const std::string& compiler, const std::vector<std::string>& sources) {
    std::string path = build_.program("program", compiler + " -w", sources);
    file_ = std::make_unique<ProgramFile>(path);
    symbols_ = std::make_unique<ProgramSymbols>(*file_, path);
    return *symbols_;
  }
  static TwinFacts facts_of(const std::string& source) {
    TwinFacts facts;
    facts.unit = {"k", TwinBuild::source(source), "/"};
    return facts;
  }
  static TwinFacts::Function local(const std::string& name, unsigned line = 0) {
    TwinFacts::Function function;
    function.symbol = function.name = name;
    function.line = line;
    function.linkage = TwinLinkage::local;
    return function;
  }
  // "twice.calls", or "count" that is in no function.
  static TwinFacts::Static variable(const std::string& source, const std::string& name, uint64_t size = 4) {
    size_t dot = name.find('.');
    bool is_local = dot != std::string::npos;
    return {name,
            is_local ? name.substr(dot + 1) : name,
            is_local ? name.substr(0, dot) : "",
            TwinBuild::source(source),
            marked_line(TwinBuild::source(source), name),
            size,
            false};
  }
  // A symbol that there is once, or the one with this prefix.
  uint64_t address(const std::string& name) const {
    for (const elf::Symbol& symbol : file_->elf().symbols())
      if (symbol.name == name || (name.ends_with('.') && symbol.name.starts_with(name)))
        return symbol.raw.st_value;
    return 0;
  }

  TwinBuild build_;
  std::unique_ptr<ProgramFile> file_;
  std::unique_ptr<ProgramSymbols> symbols_;
};

std::vector<std::string> units() {
  return {"unit.c", "other.c", "main.c"};
}

TEST_F(ProgramSymbolsTest, LocalNamesAreTheUnits) {
  for (std::string compiler :
       {"gcc -O0", "gcc -O2", "clang-22 -O0", "clang-22 -O2", "gcc -O2 -g", "clang-22 -O2 -g"}) {
    SCOPED_TRACE(compiler);
    ProgramSymbols& symbols = program(compiler, units());
    auto in_unit = symbols.function(facts_of("unit.c").unit, local("twice"));
    auto in_other = symbols.function(facts_of("other.c").unit, local("twice"));
    ASSERT_TRUE(in_unit && in_other);
    EXPECT_NE(in_unit.address, in_other.address);
    EXPECT_NE(in_unit.size, 0u);
    auto nowhere = symbols.function(facts_of("main.c").unit, local("twice"));
    EXPECT_FALSE(nowhere);
    EXPECT_EQ(nowhere.why, "the program has no 'twice'");
    TwinFacts unit = facts_of("unit.c"), other = facts_of("other.c");
    auto count = symbols.static_variable(unit, variable("unit.c", "count"));
    auto count_too = symbols.static_variable(other, variable("other.c", "count"));
    EXPECT_EQ(count.kind, Kind::data);
    EXPECT_EQ(count_too.kind, Kind::data);
    EXPECT_NE(count.address, count_too.address);
  }
}

TEST_F(ProgramSymbolsTest, VariablesOfFunctions) {
  for (std::string compiler : {"gcc -O0", "gcc -O2", "clang-22 -O0", "clang-22 -O2"})
    for (std::string debug : {"", " -g", " -gdwarf-4"}) {
      SCOPED_TRACE(compiler + debug);
      ProgramSymbols& symbols = program(compiler + debug, units());
      TwinFacts facts = facts_of("unit.c");
      facts.statics = {variable("unit.c", "twice.calls"), variable("unit.c", "thrice.calls")};
      auto first = symbols.static_variable(facts, facts.statics[0]);
      auto second = symbols.static_variable(facts, facts.statics[1]);
      if (compiler.starts_with("gcc") && debug.empty()) {
        EXPECT_EQ(first.why, "the unit has several 'calls', and nothing says which one the program's is");
        EXPECT_FALSE(second);
        // One of that name is the one.
        facts.statics.pop_back();
        TwinFacts other = facts_of("other.c");
        other.statics = {variable("other.c", "twice.calls")};
        EXPECT_TRUE(symbols.static_variable(other, other.statics[0]));
      } else {
        EXPECT_EQ(first.kind, Kind::data);
        EXPECT_EQ(second.kind, Kind::data);
        EXPECT_NE(first.address, second.address);
        if (compiler.starts_with("clang")) {
          EXPECT_EQ(second.address, address("thrice.calls"));
        }
      }
      // Lines may be others by now.
      if (!debug.empty()) {
        facts = facts_of("unit.c");
        facts.statics = {variable("unit.c", "twice.calls"), variable("unit.c", "thrice.calls")};
        facts.statics[0].line = 1;
        EXPECT_EQ(symbols.static_variable(facts, facts.statics[0]).address, first.address);
        facts.statics[1].function = "twice"; // in another block of it, say
        EXPECT_FALSE(symbols.static_variable(facts, facts.statics[0]));
      }
      facts.statics[0].size = 8;
      facts.statics.resize(1);
      if (first) {
        EXPECT_EQ(symbols.static_variable(facts, facts.statics[0]).why,
                  "'calls' has 4 bytes in the program, and 8 in the source");
      }
    }
}

TEST_F(ProgramSymbolsTest, RemovedAndThreadLocalVariables) {
  for (std::string compiler : {"gcc -O2", "gcc -O2 -g", "clang-22 -O2", "clang-22 -O2 -g", "gcc -O0 -g"}) {
    SCOPED_TRACE(compiler);
    ProgramSymbols& symbols = program(compiler, units());
    TwinFacts facts = facts_of("unit.c");
    EXPECT_EQ(static_cast<bool>(symbols.static_variable(facts, variable("unit.c", "never_read"))),
              compiler.find("-O0") != std::string::npos);
    auto hidden = symbols.static_variable(facts, variable("unit.c", "hidden_in_thread"));
    EXPECT_EQ(hidden.kind, Kind::thread_local_data);
    EXPECT_EQ(hidden.address, address("hidden_in_thread"));
    EXPECT_EQ(symbols.global("in_thread").kind, Kind::thread_local_data);
    EXPECT_EQ(symbols.global("shared_state").kind, Kind::data);
    EXPECT_EQ(symbols.global("entry_ifunc").kind, Kind::indirect);
    EXPECT_EQ(symbols.global("entry_statics").kind, Kind::function);
  }
}

// Two sources of one name: only debug information says which is which.
TEST_F(ProgramSymbolsTest, SourcesOfOneName) {
  std::filesystem::create_directories(build_.path("a"));
  std::filesystem::create_directories(build_.path("b"));
  for (std::string folder : {"a", "b"}) {
    std::filesystem::copy_file(TwinBuild::source("other.c"), build_.path(folder + "/other.c"));
    std::filesystem::copy_file(TwinBuild::source("unit.h"), build_.path(folder + "/unit.h"));
  }
  const std::vector<std::string> sources = {build_.path("a/other.c"), build_.path("b/other.c")};
  for (std::string debug : {"", " -g"}) {
    SCOPED_TRACE(debug);
    ProgramSymbols& symbols =
        program("gcc -O1 -shared -fPIC -Wl,--allow-multiple-definition" + debug, sources);
    TwinFacts facts;
    facts.unit = {"k", build_.path("b/other.c"), "/"};
    auto found = symbols.function(facts.unit, local("twice", 5));
    TwinFacts::Static count = variable("other.c", "count");
    count.line = 4;
    count.file = build_.path("b/other.c");
    auto data = symbols.static_variable(facts, count);
    if (debug.empty()) {
      EXPECT_FALSE(found);
      EXPECT_FALSE(data);
      continue;
    }
    ASSERT_TRUE(found) << found.why;
    ASSERT_TRUE(data) << data.why;
    facts.unit.source = build_.path("a/other.c");
    auto other = symbols.function(facts.unit, local("twice", 5));
    ASSERT_TRUE(other);
    EXPECT_NE(other.address, found.address);
  }
}

// Linkers turn hidden symbols into local ones, each in its way; they are no other file's local functions.
TEST_F(ProgramSymbolsTest, HiddenNames) {
  for (std::string linker : {"bfd", "gold", "lld"}) {
    SCOPED_TRACE(linker);
    ProgramSymbols& symbols = program("clang-22 -O1 -fvisibility=hidden -fuse-ld=" + linker, units());
    EXPECT_EQ(symbols.global("entry_goto").kind, Kind::function);
    EXPECT_EQ(symbols.global("shared_state").kind, Kind::data);
    EXPECT_EQ(symbols.global("twice").why, "the program has no 'twice'"); // but local ones
    TwinFacts::Function global = local("twice");
    global.linkage = TwinLinkage::global;
    EXPECT_FALSE(symbols.function(facts_of("unit.c").unit, global));
    EXPECT_TRUE(symbols.function(facts_of("unit.c").unit, local("twice")));
    EXPECT_FALSE(symbols.function(facts_of("unit.c").unit, local("entry_goto")));
  }
}

TEST_F(ProgramSymbolsTest, ClonesAndPieces) {
  ProgramSymbols& symbols = program("gcc -O2 -fipa-cp-clone", {"shapes.c", "other.c", "-shared", "-fPIC"});
  auto names = [](const std::vector<ProgramSymbols::Function>& pieces) {
    std::vector<std::string_view> all;
    for (const auto& piece : pieces)
      all.push_back(piece.name);
    return all;
  };
  auto caller = symbols.global("caller");
  EXPECT_EQ(names(symbols.pieces("caller", caller.address)), std::vector<std::string_view>{"caller.cold"});
  auto specialised = symbols.function(facts_of("shapes.c").unit, local("specialised"));
  auto copies = symbols.pieces("specialised", specialised.address);
  EXPECT_EQ(copies.size() + (specialised ? 1 : 0), 1u);
  if (!copies.empty()) {
    EXPECT_FALSE(specialised);
    EXPECT_NE(copies[0].name, "specialised");
  }
  auto around = symbols.function_around(caller.address + 3);
  ASSERT_TRUE(around);
  EXPECT_EQ(around->name, "caller");
  EXPECT_EQ(around->address, caller.address);
  EXPECT_FALSE(symbols.function_around(0));
}

TEST_F(ProgramSymbolsTest, FunctionsAtOneAddress) {
  ProgramSymbols& symbols = program("gcc -O2", units());
  EXPECT_EQ(symbols.functions_at(symbols.global("entry_alias").address),
            (std::vector<std::string_view>{"entry_alias", "entry_statics"}));
  EXPECT_TRUE(are_same_constructor("_ZN1AC1Ev", "_ZN1AC2Ev"));
  EXPECT_TRUE(are_same_constructor("_ZN1AD0Ev", "_ZN1AD2Ev"));
  EXPECT_FALSE(are_same_constructor("_ZN1AC1Ev", "_ZN1BC1Ev"));
  EXPECT_FALSE(are_same_constructor("_ZN1AC1Ev", "_ZN1AD1Ev"));
  EXPECT_FALSE(are_same_constructor("C1", "C2"));
  EXPECT_EQ(plain_name("x.12"), "x");
  EXPECT_EQ(plain_name("f.lto_priv.0"), "f");
  EXPECT_EQ(plain_name("f.llvm.123"), "f");
  EXPECT_EQ(plain_name("f.cold"), "f.cold");
  EXPECT_EQ(plain_name("f."), "f.");
}

TEST_F(ProgramSymbolsTest, CountsDirectCalls) {
  for (std::string flags : {"-shared -fPIC", "-shared -fPIC -fno-plt", "-shared -fPIC -Wl,-Bsymbolic",
                            "-shared -fPIC -fcf-protection -Wl,-z,ibtplt"})
    for (std::string compiler : {"gcc -O0", "gcc -O2", "clang-22 -O0", "clang-22 -O2"}) {
      SCOPED_TRACE(compiler + " " + flags);
      // Calls through registers are not counted.
      if (compiler == "clang-22 -O2" && flags.ends_with("-fno-plt")) continue;
      ProgramSymbols& symbols = program(compiler + " " + flags, {"shapes.c", "other.c"});
      DirectCalls calls(symbols);
      auto count = [&](const char* from, const char* to) {
        auto place = symbols.global(from);
        return calls.count({from, place.address, place.size}, symbols.global(to).address);
      };
      EXPECT_EQ(count("caller", "other_unit"), 2u);
      EXPECT_EQ(count("caller", "recursive"), 0u);
      EXPECT_EQ(count("loop", "other_unit"), 1u);
      EXPECT_EQ(count("loop", "loop"), 0u);
      if (compiler.ends_with("0")) {
        EXPECT_EQ(count("recursive", "recursive"), 2u);
      }
      EXPECT_EQ(count("shapes", "loop"), 1u);
    }
}

TEST_F(ProgramSymbolsTest, WhatWasInlined) {
  for (std::string compiler :
       {"gcc -O2 -g", "clang-22 -O2 -g", "gcc -O1 -gdwarf-4", "clang-22 -O1 -gdwarf-4"}) {
    SCOPED_TRACE(compiler);
    ProgramSymbols& symbols = program(compiler, {"shapes.c", "other.c", "-shared", "-fPIC"});
    const UnitDebugInfo* info = symbols.debug_info_of(facts_of("shapes.c").unit);
    ASSERT_NE(info, nullptr);
    auto is_in = [&](const char* function, const char* into) {
      return std::ranges::any_of(info->inlined, [&](const UnitDebugInfo::Inlined& each) {
        return each.function == function && each.into == symbols.global(into).address && each.count > 0;
      });
    };
    EXPECT_TRUE(is_in("inlined", "caller"));
    EXPECT_TRUE(is_in("inlined", "recursive"));
    EXPECT_FALSE(is_in("inlined", "loop"));
    EXPECT_FALSE(is_in("recursive", "caller"));
  }
  EXPECT_EQ(program("gcc -O2", units()).debug_info_of(facts_of("unit.c").unit), nullptr);
}

// Whatever the file is, it is read or refused.
TEST_F(ProgramSymbolsTest, DamagedPrograms) {
  program("gcc -O2 -g", units());
  const std::string whole = read_whole(build_.path("program"));
  std::mt19937 random(11); // NOLINT(bugprone-random-generator-seed)
  TwinFacts facts = facts_of("unit.c");
  unsigned refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    if (round % 10 == 0) bytes.resize(random() % bytes.size());
    for (unsigned i = 0; i < 1 + random() % 8 && bytes.size() > 4096; ++i)
      bytes[bytes.size() - 1 - random() % (bytes.size() - (round % 2 != 0 ? 0 : 4096))] =
          static_cast<char>(random() % 2 != 0 ? random() : 0xFF);
    std::ofstream(build_.path("damaged"), std::ios::binary) << bytes;
    try {
      ProgramFile file(build_.path("damaged"));
      ProgramSymbols symbols(file, build_.path("damaged"));
      symbols.function(facts.unit, local("twice"));
      symbols.static_variable(facts, variable("unit.c", "count"));
      auto place = symbols.global("entry_statics");
      symbols.pieces("entry_statics", place.address);
      DirectCalls(symbols).of("entry_statics", place.address, place.size);
      symbols.read_only().find_string(std::string_view("length\0", 7));
      symbols.read_only().find_bytes("0123456789abcdef", 4);
    } catch (const elf::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 30u);
}

TEST(UnitDebugInfoTest, CommonTails) {
  EXPECT_EQ(common_tail("/a/b/c.c", "/x/b/c.c"), 2u);
  EXPECT_EQ(common_tail("/a/b/c.c", "c.c"), 1u);
  EXPECT_EQ(common_tail("/a/b/c.c", "cc.c"), 0u);
  EXPECT_EQ(common_tail("/a/b/xc.c", "/a/b/c.c"), 0u);
  EXPECT_EQ(common_tail("/a/b", "/a/b"), 2u);
  EXPECT_EQ(common_tail("", "a"), 0u);
  EXPECT_EQ(common_tail("b", "b"), 1u);
}

// A file with one section of read-only data.
std::string file_with(const std::string& data) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_type = ET_DYN;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shoff = sizeof header;
  Elf64_Shdr sections[2] = {};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_flags = SHF_ALLOC;
  sections[1].sh_addr = 0x1000;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = data.size();
  return std::string(reinterpret_cast<char*>(&header), sizeof header) +
         std::string(reinterpret_cast<char*>(sections), sizeof sections) + data;
}

TEST(ReadOnlyDataTest, Strings) {
  using namespace std::string_literals;
  const std::string bytes =
      file_with("one\0twenty one\0a longer text\0dup\0dup\0x\0another longer text\0end"s);
  const elf::File file(bytes);
  ReadOnlyData data(file);
  auto find = [&](const std::string& text) { return data.find_string(text + "\0"s).value_or(0); };
  EXPECT_EQ(find("one"), 0x1000u); // begins there, though another ends with it
  EXPECT_EQ(find("twenty one"), 0x1004u);
  EXPECT_EQ(find("enty one"), 0x1006u); // an end, of one
  EXPECT_EQ(find("y one"), 0x1009u);
  EXPECT_EQ(find("longer text"), 0u); // of two
  EXPECT_EQ(find("a longer text"), 0x100fu);
  EXPECT_EQ(find("dup"), 0u);
  EXPECT_EQ(find("x"), 0x1000u + 37);
  EXPECT_EQ(find(""), 0u);
  EXPECT_EQ(find("end"), 0u); // has no end
  EXPECT_FALSE(data.find_string("one"));
}

TEST(ReadOnlyDataTest, Bytes) {
  std::string text(64, '\0');
  auto put = [&](size_t at, uint64_t value) { std::memcpy(text.data() + at, &value, sizeof value); };
  put(12, 0x1122334455667788);
  put(20, 0x99);
  put(32, 0x4242424242424242);
  put(48, 0x4242424242424242);
  put(56, 5);
  const std::string bytes = file_with(text);
  const elf::File file(bytes);
  ReadOnlyData data(file);
  EXPECT_EQ(data.find_bytes(std::string_view(text).substr(12, 16), 4), 0x100cu);
  EXPECT_FALSE(data.find_bytes(std::string_view(text).substr(12, 16), 8));
  EXPECT_EQ(data.find_bytes(std::string_view(text).substr(12, 8), 1),
            std::nullopt); // no whole word for all places
  EXPECT_FALSE(data.find_bytes(std::string_view(text).substr(32, 8), 8));
  EXPECT_EQ(data.find_bytes(std::string_view(text).substr(40, 24), 8), 0x1028u);
  EXPECT_FALSE(data.find_bytes(std::string_view(text).substr(0, 8), 8));
  EXPECT_FALSE(data.find_bytes("short", 1));
}

// The same as a search from the beginning, with random texts of few letters.
TEST(ReadOnlyDataTest, LikeALinearSearch) {
  std::mt19937 random(3); // NOLINT(bugprone-random-generator-seed)
  for (int round = 0; round < 50; ++round) {
    std::string text;
    for (int i = 0; i < 400; ++i)
      text += "ab\0"[random() % 3];
    text += '\0';
    const std::string bytes = file_with(text);
    const elf::File file(bytes);
    ReadOnlyData data(file);
    for (int i = 0; i < 100; ++i) {
      size_t at = random() % text.size();
      std::string wanted = text.substr(at, text.find('\0', at) + 1 - at);
      size_t beginning = 0, ending = 0, begins = 0, ends = 0;
      for (size_t found = text.find(wanted); found != std::string::npos; found = text.find(wanted, found + 1))
        if (found == 0 || text[found - 1] == 0)
          ++beginning, begins = found;
        else
          ++ending, ends = found;
      std::optional<uint64_t> expected;
      if (wanted.size() > 1 && beginning <= 1 && (beginning == 1 || ending == 1))
        expected = 0x1000 + (beginning == 1 ? begins : ends);
      EXPECT_EQ(data.find_string(wanted), expected);
    }
  }
}

} // namespace
} // namespace rdb::debug
