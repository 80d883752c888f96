// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The link stage with plain clang's objects and payloads made by hand: addresses are the linked program's for
// every linker and kind of output, symbols have the right owners, and the module loads and runs.
#include "llvm-passes/link/link.h"

#include "descriptors/descriptor.h"
#include "descriptors/identity.h"
#include "descriptors/payload.h"
#include "rdbtool/base/error.h"
#include "tests/compiler/toolbox.h"

#include <dlfcn.h>
#include <map>

namespace {

using namespace rdb;
using namespace rdb::descriptors;

constexpr std::string_view kLinkers[] = {"/usr/bin/ld.bfd", "/usr/bin/ld.gold", "/usr/bin/ld.lld-22"};

class LinkTest : public test::Toolbox {
protected:
  // The words of the linker command that clang would run.
  std::vector<std::string> linker_command(const std::string& arguments) {
    must("/usr/bin/clang++-22 -### " + arguments);
    std::string text = output();
    text = text.substr(text.rfind("\n \"") + 1);
    std::vector<std::string> words;
    bool inside = false;
    for (char c : text) {
      if (c == '"') {
        if (!inside) words.emplace_back();
        inside = !inside;
      } else if (inside) {
        words.back() += c;
      }
    }
    return words;
  }

  // Links with clang, then does what rdb-clang does.
  void link(const std::string& arguments, const std::string& name = "prog") {
    std::filesystem::current_path(folder_);
    must("/usr/bin/clang++-22 -fuse-ld=" + linker_ + " " + arguments + " -o " + name);
    std::vector<std::string> command =
        linker_command("-fuse-ld=" + linker_ + " " + arguments + " -o " + name);
    std::string before = get(name);
    LinkOptions options = options_;
    options.support_library = RDB_MODULE_LIBRARY;
    EXPECT_EQ(after_link(command, name, options), 0);
    EXPECT_EQ(get(name), before) << "the program was touched";
  }

  std::string link_error(const std::string& arguments) {
    try {
      link(arguments);
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  }

  // Gives NAME.o a payload: a region at the start of each function named, an argument for each variable.
  void add_payload(const std::string& name, const std::vector<std::string>& functions,
                   const std::vector<std::string>& variables = {}, const std::string& debug_code = "",
                   const std::vector<Symbol>& symbols = {}) {
    std::string bytes = get(name + ".o");
    elf::File object(bytes);
    Payload payload;
    payload.unit = name;
    Descriptors d;
    d.units.push_back({1, name, name + ".cc", folder_, "clang"});
    d.sources.push_back({1, name + ".cc", "", {{2, 4}}});
    payload.sources.push_back({1, "stripped " + name});
    uint32_t id = 0;
    auto entry = [&](AddressEntry e) {
      payload.addresses.push_back(e);
      return Address::entry(payload.addresses.size() - 1);
    };
    auto find = [&](const std::string& wanted) {
      for (const elf::Symbol& symbol : object.symbols())
        if (symbol.name == wanted && symbol.defined()) return symbol;
      throw std::runtime_error("no symbol " + wanted);
    };
    for (const std::string& function : functions) {
      ++id;
      uint32_t arguments = static_cast<uint32_t>(variables.size());
      std::string debug_function = debug_code.empty() ? "" : "__rdb_fn_" + name + "_" + std::to_string(id);
      d.regions.push_back(
          {id, 1, 1, 10 * id, 10 * id + 2, Status::complete, "", debug_function, function, arguments});
      elf::Symbol symbol = find(function);
      Address address =
          entry({AddressEntry::Kind::section, symbol.section, "", static_cast<int64_t>(symbol.raw.st_value)});
      d.locations.push_back({id, 0, Side::before, address, function});
      uint32_t position = 0;
      for (const std::string& variable : variables) {
        bool tls = find(variable).type() == STT_TLS;
        Part part{0, 4, tls ? Class::tls : Class::global};
        part.address = entry({tls ? AddressEntry::Kind::tls : AddressEntry::Kind::symbol, 0, variable, 0});
        d.arguments.push_back({id, 0, position++, variable, "int", 4, 4, {part}});
      }
    }
    for (Symbol symbol : symbols) {
      symbol.address = entry({AddressEntry::Kind::symbol, 0, symbol.name, 0});
      d.symbols.push_back(symbol);
    }
    if (!debug_code.empty()) {
      put("debug.c", debug_code);
      must("/usr/bin/clang-22 -O1 -fPIC -w -c debug.c -o debug.o");
      payload.debug_object = get("debug.o");
    }
    payload.descriptors = write(d);
    append_payload(path(name + ".o"), payload);
  }

  Descriptors bundle(const std::string& name = "prog") {
    return read(get(name + ".rdb/descriptors"), name + ".rdb/descriptors");
  }

  // What nm says of a program's symbol.
  uint64_t address_of(const std::string& symbol, const std::string& name = "prog") {
    std::string bytes = get(name);
    elf::File file(bytes);
    for (const elf::Symbol& candidate : file.symbols())
      if (candidate.name == symbol && candidate.defined()) return candidate.raw.st_value;
    ADD_FAILURE() << "no " << symbol << " in " << name;
    return 0;
  }

  static std::map<std::string, uint64_t> locations(const Descriptors& d) {
    std::map<std::string, uint64_t> result;
    for (const Location& location : d.locations)
      result[location.function] = location.address.value;
    return result;
  }
  static const Symbol* symbol(const Descriptors& d, std::string_view name) {
    for (const Symbol& candidate : d.symbols)
      if (candidate.name == name) return &candidate;
    return nullptr;
  }

  std::string linker_ = "/usr/bin/ld.bfd";
  LinkOptions options_;
};

constexpr std::string_view kProgram = R"(
int counter = 5;
static int quiet = 6;
thread_local int per_thread = 7;
thread_local int per_thread_zero;
static __attribute__((noinline)) int inner(int x) { asm(""); return x + quiet++; }
__attribute__((noinline)) int work(int x) { asm(""); return inner(x) + counter + per_thread++ + per_thread_zero; }
int main(int n, char **) { return work(n) == 0; }
)";

TEST_F(LinkTest, AddressesAreTheProgramsForEveryLinkerAndOutput) {
  for (std::string_view linker : kLinkers) {
    for (const char* flags : {"", "-no-pie", "-static", "-Wl,--gc-sections -ffunction-sections", "-g",
                              "-shared -fPIC -Wl,-soname,a.so", "-rdynamic -Wl,--build-id=sha1"}) {
      SCOPED_TRACE(std::string(linker) + " " + flags);
      linker_ = linker;
      compile("a", kProgram,
              std::string("-O1 ") + flags + (std::string(flags) == "-no-pie" ? " -fno-pic" : ""));
      add_payload("a", {"_ZL5inneri", "_Z4worki"}, {"counter", "_ZL5quiet", "per_thread", "per_thread_zero"});
      link(std::string("a.o ") + flags);
      Descriptors d = bundle();
      ASSERT_EQ(d.regions.size(), 2u);
      EXPECT_EQ(d.regions[0].status, Status::complete);
      EXPECT_EQ(locations(d)["_ZL5inneri"], address_of("_ZL5inneri"));
      EXPECT_EQ(locations(d)["_Z4worki"], address_of("_Z4worki"));
      ASSERT_EQ(d.arguments.size(), 8u);
      for (const Argument& argument : d.arguments)
        EXPECT_EQ(argument.parts[0].address.value, address_of(argument.name)) << argument.name;
      std::string bytes = get("prog");
      EXPECT_EQ(d.program[0].hash, program_identity(elf::File(bytes)).hash);
      EXPECT_EQ(get("prog.rdb/" + d.sources[0].copy), "stripped a");
      EXPECT_TRUE(std::filesystem::exists(path("prog.rdb/module.so")));
    }
  }
}

TEST_F(LinkTest, StrippedProgramsHaveAddressesToo) {
  for (std::string_view linker : kLinkers) {
    linker_ = linker;
    compile("a", kProgram);
    add_payload("a", {"_ZL5inneri"}, {"_ZL5quiet"});
    link("a.o", "whole");
    link("a.o -s -Wl,-Map=prog.map");
    EXPECT_EQ(locations(bundle())["_ZL5inneri"], address_of("_ZL5inneri", "whole"));
    EXPECT_EQ(get("prog.map").find("debug_rdb"), std::string::npos);
    EXPECT_NE(get("prog.map"), "");
  }
}

TEST_F(LinkTest, ArchiveMembersCountOnlyIfTaken) {
  for (std::string_view linker : kLinkers) {
    for (const char* ar : {"ar rcs", "ar rcsT"}) {
      SCOPED_TRACE(std::string(linker) + " " + ar);
      linker_ = linker;
      must("rm -f libx.a");
      compile("used", "int used(int x) { return x + 1; }");
      compile("spare", "int spare(int x) { return x + 2; }");
      compile("main", "int used(int); int main(int n, char **) { return used(n); }");
      add_payload("used", {"_Z4usedi"});
      add_payload("spare", {"_Z5sparei"});
      must(std::string(ar) + " libx.a spare.o used.o");
      link("main.o -L. -lx");
      Descriptors d = bundle();
      ASSERT_EQ(d.regions.size(), 1u);
      EXPECT_EQ(locations(d)["_Z4usedi"], address_of("_Z4usedi"));
    }
  }
}

constexpr std::string_view kInline = "__attribute__((noinline)) inline int twice(int x) { return 2 * x; }\n";

TEST_F(LinkTest, OnlyTheWinningCopyOfAnInlineFunctionIsDescribed) {
  for (std::string_view linker : kLinkers) {
    SCOPED_TRACE(linker);
    linker_ = linker;
    compile("a", std::string(kInline) + "int a(int x) { return twice(x); }", "-O0");
    compile("b", std::string(kInline) + "int b(int x) { return twice(x); }", "-O2");
    compile("c",
            std::string(kInline) +
                "int a(int), b(int); int main(int n, char **) { return a(n) + b(n) + twice(n); }",
            "-O1");
    add_payload("a", {"_Z5twicei", "_Z1ai"});
    add_payload("b", {"_Z5twicei", "_Z1bi"});
    link("a.o b.o c.o");
    Descriptors d = bundle();
    ASSERT_EQ(d.locations.size(), 3u);
    ASSERT_EQ(d.regions.size(), 4u);
    EXPECT_EQ(d.regions[0].status, Status::complete);
    EXPECT_EQ(d.regions[2].status, Status::unused);
    EXPECT_EQ(locations(d)["_Z5twicei"], address_of("_Z5twicei"));
    link("c.o b.o a.o"); // the plain object's copy wins: nobody describes it
    d = bundle();
    EXPECT_EQ(d.locations.size(), 2u);
    EXPECT_EQ(d.regions[0].status, Status::unused);
    EXPECT_EQ(d.regions[1].status, Status::complete);
    EXPECT_EQ(d.regions[2].status, Status::unused);
  }
}

TEST_F(LinkTest, RelocatableLinksInBetween) {
  for (std::string_view linker : kLinkers) {
    SCOPED_TRACE(linker);
    linker_ = linker;
    compile("a", std::string(kInline) + "int a(int x) { return twice(x); }");
    compile("b", std::string(kInline) + "int b(int x) { return twice(x); }");
    compile("c", "int a(int), b(int); int main(int n, char **) { return a(n) + b(n); }");
    add_payload("a", {"_Z1ai", "_Z5twicei"});
    add_payload("b", {"_Z1bi", "_Z5twicei"});
    must(std::string(linker) + " -r a.o b.o -o both.o");
    link("both.o c.o");
    Descriptors d = bundle();
    EXPECT_EQ(d.units.size(), 2u);
    EXPECT_EQ(locations(d)["_Z1bi"], address_of("_Z1bi"));
    EXPECT_EQ(locations(d)["_Z5twicei"], address_of("_Z5twicei"));
    // Both objects have the same source line there, but they are different files.
    EXPECT_EQ(d.locations.size(), 4u);
  }
}

TEST_F(LinkTest, DroppedCodeHasNoLocation) {
  for (std::string_view linker : kLinkers) {
    SCOPED_TRACE(linker);
    linker_ = linker;
    compile(
        "a",
        "int keep(int x) { return x; } int dropped_value = 3; int drop(int x) { return x + dropped_value; }"
        "int main(int n, char **) { return keep(n); }",
        "-O0 -ffunction-sections -fdata-sections");
    add_payload("a", {"_Z4dropi", "_Z4keepi"}, {"dropped_value"});
    link("a.o -Wl,--gc-sections");
    Descriptors d = bundle();
    EXPECT_EQ(d.regions[0].status, Status::unused);
    EXPECT_EQ(d.locations.size(), 1u);
    EXPECT_EQ(locations(d)["_Z4keepi"], address_of("_Z4keepi"));
    ASSERT_EQ(d.arguments.size(), 1u);
    EXPECT_EQ(d.arguments[0].parts[0].reason, "the linker left the variable out of the program");
  }
}

TEST_F(LinkTest, SymbolsHaveOwners) {
  put("lib.c", "int library_value = 9; int library_function(void) { return library_value; }");
  must("/usr/bin/clang-22 -shared -fPIC lib.c -o libown.so");
  const char* debug_code =
      "#define SLOT(n) extern void *__rdb_slot_##n __attribute__((visibility(\"hidden\")));\n"
      "SLOT(printf) SLOT(malloc) SLOT(counter) SLOT(per_thread) SLOT(library_function) SLOT(strlen) "
      "SLOT(a_statics)\n"
      "SLOT(exit) SLOT(__rdb_shared) SLOT(singleton) SLOT(common_one) SLOT(sqrt) SLOT(hidden_one) "
      "SLOT(atoi)\n"
      "extern void *__rdb_guest_slot_malloc __attribute__((visibility(\"hidden\")));\n"
      "int __rdb_shared = 42;\n"
      "__attribute__((weak)) int singleton = 1;\n"
      "int __rdb_fn_a_1(void **args) { return (long)__rdb_slot_printf + (long)__rdb_slot_malloc + *(int "
      "*)__rdb_slot_counter\n"
      " + (long)__rdb_slot_per_thread + (long)__rdb_slot_library_function + (long)__rdb_slot_strlen + "
      "(long)__rdb_slot_a_statics\n"
      " + (long)__rdb_slot_exit + (long)__rdb_slot___rdb_shared + (long)__rdb_slot_singleton + "
      "(long)__rdb_slot_common_one\n"
      " + (long)__rdb_slot_sqrt + (long)__rdb_guest_slot_malloc + (long)__rdb_slot_hidden_one + "
      "(long)__rdb_slot_atoi; }\n"
      "int __rdb_fn_a_2(void **args) { return *(int *)args[0] + *(int *)__rdb_slot___rdb_shared; }\n";
  for (std::string_view linker : kLinkers) {
    SCOPED_TRACE(linker);
    linker_ = linker;
    put("common.c", "int common_one; __attribute__((visibility(\"hidden\"))) int hidden_one = 3;");
    must("/usr/bin/clang-22 -fcommon -c common.c");
    compile("a", std::string(kProgram) +
                     "extern \"C\" void *malloc(unsigned long) { return 0; }"
                     "extern \"C\" int library_function(); int (*use)() = library_function;");
    Symbol quiet{"_ZL5quiet", Owner::program, "__rdb_slot_a_statics", false, {}, "a.o"};
    add_payload("a", {"_Z4worki", "_ZL5inneri"}, {"counter"}, debug_code, {quiet});
    link("a.o common.o -L. -lown -lm");
    Descriptors d = bundle();
    EXPECT_EQ(symbol(d, "printf")->owner, Owner::host);
    EXPECT_EQ(symbol(d, "printf")->where, "rdb");
    EXPECT_EQ(symbol(d, "atoi")->owner, Owner::host);
    EXPECT_EQ(symbol(d, "atoi")->where, "libc.so.6");
    EXPECT_EQ(symbol(d, "strlen")->owner, Owner::host);
    EXPECT_EQ(symbol(d, "sqrt")->where, "libm.so.6");
    EXPECT_EQ(symbol(d, "exit")->where, "rdb");
    EXPECT_EQ(symbol(d, "counter")->owner, Owner::program);
    EXPECT_EQ(symbol(d, "counter")->address.value, address_of("counter"));
    EXPECT_EQ(symbol(d, "hidden_one")->address.value, address_of("hidden_one"));
    EXPECT_EQ(symbol(d, "common_one")->address.value, address_of("common_one"));
    EXPECT_EQ(symbol(d, "_ZL5quiet")->address.value, address_of("_ZL5quiet"));
    EXPECT_TRUE(symbol(d, "per_thread")->thread_local_);
    EXPECT_EQ(symbol(d, "per_thread")->address.value, address_of("per_thread"));
    EXPECT_EQ(symbol(d, "library_function")->owner, Owner::library);
    EXPECT_EQ(symbol(d, "library_function")->where, "libown.so");
    EXPECT_EQ(symbol(d, "__rdb_shared")->owner, Owner::module);
    EXPECT_EQ(symbol(d, "singleton")->owner, Owner::module);
    int mallocs = 0;
    for (const Symbol& s : d.symbols) {
      if (s.name != "malloc") continue;
      ++mallocs;
      if (s.slot == "__rdb_guest_slot_malloc") {
        EXPECT_EQ(s.owner, Owner::program);
        EXPECT_EQ(s.address.value, address_of("malloc"));
      } else {
        EXPECT_EQ(s.owner, Owner::host);
      }
    }
    EXPECT_EQ(mallocs, 2);

    // The module itself: private slots are filled, the program's wait, and the code runs.
    void* module = dlopen(path("prog.rdb/module.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(module, nullptr) << dlerror();
    auto slots = static_cast<void**>(dlsym(module, "__rdb_module_slots"));
    auto functions = static_cast<int (**)(void**)>(dlsym(module, "__rdb_module_functions"));
    ASSERT_NE(slots, nullptr);
    ASSERT_NE(functions, nullptr);
    for (size_t i = 0; i < d.symbols.size(); ++i) {
      bool filled = d.symbols[i].owner == Owner::host || d.symbols[i].owner == Owner::module;
      EXPECT_EQ(slots[i] != nullptr, filled) << d.symbols[i].name;
      EXPECT_TRUE(d.symbols[i].name != "atoi" || slots[i] == reinterpret_cast<void*>(&atoi));
      EXPECT_TRUE(d.symbols[i].name != "exit" || slots[i] != reinterpret_cast<void*>(&exit));
    }
    int value = 8;
    void* arguments[] = {&value};
    EXPECT_EQ(functions[1](arguments), 50);
    EXPECT_EQ(dlsym(module, "__rdb_shared"), nullptr) << "modules export nothing else";
    dlclose(module);
    must("rm -rf prog.rdb");
  }
}

TEST_F(LinkTest, UnknownSymbolsAreErrorsThatSayWhatToDo) {
  auto uses = [](const std::string& name) {
    return "extern void *__rdb_slot_" + name + "; long __rdb_fn_a_1(void **a) { return (long)__rdb_slot_" +
           name + "; }";
  };
  compile("a", kProgram, "-O1 -ffunction-sections");
  must("cp a.o plain.o");
  add_payload("a", {"_Z4worki"}, {}, uses("nowhere"));
  EXPECT_NE(link_error("a.o").find("a.o: 'nowhere' is defined neither in the program"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("prog.rdb")));
  must("cp plain.o a.o");
  put("spare.c", "int spare_part(void) { return 1; }");
  must("/usr/bin/clang-22 -c spare.c && ar rcs libspare.a spare.o");
  add_payload("a", {"_Z4worki"}, {}, uses("spare_part"));
  std::string message = link_error("a.o libspare.a");
  EXPECT_NE(message.find("'spare_part' is defined in libspare.a(spare.o), but the linker left it out"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("-Wl,--undefined=spare_part"), std::string::npos);
  link("a.o -Wl,--undefined=spare_part libspare.a");
  EXPECT_EQ(symbol(bundle(), "spare_part")->address.value, address_of("spare_part"));
  link("a.o -Wl,--undefined=spare_part libspare.a");
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_EQ(entry.path().filename().string().find(".new-"), std::string::npos)
        << "left over: " << entry.path();
}

// A static that the optimiser removed takes the regions that use it along, and no others.
TEST_F(LinkTest, RemovedStaticsWithdrawTheirRegions) {
  compile("a", kProgram);
  add_payload(
      "a", {"_Z4worki", "_ZL5inneri"}, {},
      "extern void *__rdb_slot_a_gone; long __rdb_fn_a_1(void **a) { return *(int *)__rdb_slot_a_gone; }"
      "long __rdb_fn_a_2(void **a) { return 2; }");
  link("a.o");
  Descriptors d = bundle();
  EXPECT_EQ(d.regions[0].status, Status::lost);
  EXPECT_EQ(d.regions[0].reason, "the optimiser removed or changed the static 'gone'");
  EXPECT_EQ(d.regions[1].status, Status::complete);
  ASSERT_EQ(d.locations.size(), 1u);
  EXPECT_EQ(d.locations[0].function, "_ZL5inneri");
  EXPECT_TRUE(d.symbols.empty());
}

TEST_F(LinkTest, DebugSourcesArePartOfTheModuleOnly) {
  compile("a", kProgram);
  must("cp a.o before.o");
  add_payload("a", {"_Z4worki"}, {},
              "extern void *__rdb_slot_helper; int __rdb_fn_a_1(void **a) { return ((int "
              "(*)(void))__rdb_slot_helper)(); }");
  put("empty.c", "static int nothing __attribute__((used));");
  must("/usr/bin/clang-22 -c empty.c -o extra.o");
  add_payload("extra", {}, {}, "int helper(void) { return 77; }");
  options_.debug_objects = {"extra.o"};
  link("a.o");
  EXPECT_EQ(symbol(bundle(), "helper")->owner, Owner::module);
  void* module = dlopen(path("prog.rdb/module.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  EXPECT_EQ(static_cast<int (**)(void**)>(dlsym(module, "__rdb_module_functions"))[0](nullptr), 77);
  dlclose(module);
}

TEST_F(LinkTest, ProgramsWithoutDebugCodeHaveNoBundle) {
  compile("a", kProgram);
  must("cp a.o plain.o");
  add_payload("a", {"_Z4worki"});
  link("a.o");
  EXPECT_TRUE(std::filesystem::exists(path("prog.rdb")));
  link("plain.o");
  EXPECT_FALSE(std::filesystem::exists(path("prog.rdb"))) << "a stale bundle stayed";
}

// Two functions with equal code may become one: then the folded one's region has no place of its own.
TEST_F(LinkTest, FoldedFunctionsAreNotMistaken) {
  linker_ = "/usr/bin/ld.lld-22";
  compile("a",
          "int one(int x) { return x * 7; } int two(int x) { return x * 7; }"
          "int main(int n, char **) { return one(n) + two(n); }",
          "-O1 -ffunction-sections -fno-inline");
  add_payload("a", {"_Z3onei", "_Z3twoi"});
  link("a.o -Wl,--icf=all");
  Descriptors d = bundle();
  ASSERT_EQ(address_of("_Z3onei"), address_of("_Z3twoi"));
  ASSERT_EQ(d.locations.size(), 1u);
  EXPECT_EQ(d.locations[0].address.value, address_of("_Z3onei"));
  EXPECT_EQ(d.regions[1].status, Status::unused);
}

TEST_F(LinkTest, ResponseFilesAreRead) {
  std::filesystem::current_path(folder_);
  compile("a", kProgram);
  add_payload("a", {"_Z4worki"});
  put("args", "a.o -g \"-L.\"");
  link("-Wl,@args");
  EXPECT_EQ(locations(bundle())["_Z4worki"], address_of("_Z4worki"));
}

} // namespace
