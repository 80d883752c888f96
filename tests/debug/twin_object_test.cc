// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Twin objects loaded beside a shared library of the same source, in this process, and run: each function
// must do to the library's variables what the library's own does, whatever compiler and level made the
// library.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/twins/twin_object.h"
#include "twin_build.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <link.h>
#include <map>
#include <random>
#include <set>

extern "C" void __register_frame(void* frames);
extern "C" void __deregister_frame(void* frames);

namespace rdb::debug {
namespace {

bool read_directly(uint64_t address, void* to, size_t size) {
  std::memcpy(to, reinterpret_cast<const void*>(address), size);
  return true;
}

class DirectWorld : public TwinWorld {
public:
  std::optional<uint64_t> run_resolver(uint64_t resolver) override {
    return reinterpret_cast<uint64_t (*)()>(resolver)();
  }
};

// Everything that is loaded in this process, and room for twins near one of the libraries.
class Here {
public:
  explicit Here(const std::string& library) {
    handle_ = dlopen(library.c_str(), RTLD_NOW);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* argument) {
          auto& here = *static_cast<Here*>(argument);
          std::string path = *info->dlpi_name != '\0' ? info->dlpi_name
                             : here.found_.empty()    ? "/proc/self/exe"
                                                      : "";
          if (!path.starts_with('/')) return 0;
          auto& file = here.files_.emplace_back(std::make_unique<ProgramFile>(path));
          here.found_.push_back({file.get(), info->dlpi_addr, path});
          return 0;
        },
        this);
    images_ = std::make_unique<LoadedImages>(found_, read_directly);
    while (found_[image_].path != library)
      ++image_;
    symbols_ = std::make_unique<ProgramSymbols>(*found_[image_].file, library);
    constexpr uint64_t kStep = 1 << 20, kSize = 16 * kStep;
    for (uint64_t end = (bias() & ~(kStep - 1)) - kStep; !memory_; end -= kSize)
      try {
        memory_ = std::make_unique<TwinMemory>(end - kSize, end, TwinMemory::Use::run_directly);
      } catch (const Limit&) {
      }
  }
  ~Here() { dlclose(handle_); }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

  uint64_t bias() const { return found_[image_].bias; }
  ProgramSymbols& symbols() { return *symbols_; }
  TwinMemory& memory() { return *memory_; }
  TwinSurroundings surroundings() { return {*images_, image_, *symbols_, *memory_, world_}; }
  template <class T>
  T* find(const char* name) {
    return reinterpret_cast<T*>(dlsym(handle_, name));
  }

  // The library's variables.
  std::vector<std::string> variables() const {
    std::vector<std::string> all;
    for (const elf::Section& section : found_[image_].file->elf().sections())
      if (section.name == ".data" || section.name == ".bss")
        all.emplace_back(reinterpret_cast<const char*>(section.header.sh_addr + bias()),
                         section.header.sh_size);
    return all;
  }
  void restore(const std::vector<std::string>& all) {
    size_t next = 0;
    for (const elf::Section& section : found_[image_].file->elf().sections())
      if (section.name == ".data" || section.name == ".bss") {
        std::memcpy(reinterpret_cast<char*>(section.header.sh_addr + bias()), all[next].data(),
                    all[next].size());
        ++next;
      }
  }

private:
  void* handle_ = nullptr;
  std::vector<std::unique_ptr<ProgramFile>> files_;
  std::vector<LoadedImage> found_;
  std::unique_ptr<LoadedImages> images_;
  std::unique_ptr<ProgramSymbols> symbols_;
  std::unique_ptr<TwinMemory> memory_;
  DirectWorld world_;
  size_t image_ = 0;
};

const TwinFunction& function(const TwinObject& object, const std::string& name) {
  return object.functions().at(object.facts().function_index.at(name));
}

// What the code of a twin refers to that is poison.
std::set<std::string> poison_in(const TwinMemory& memory, const TwinFunction& function) {
  std::set<std::string> reasons;
  for (uint64_t at = function.code; at + 4 <= function.code + function.size; ++at) {
    int32_t distance = 0;
    std::memcpy(&distance, reinterpret_cast<const void*>(at), sizeof distance);
    uint64_t target = at + 4 + static_cast<uint64_t>(int64_t{distance});
    if (memory.stub(target) == nullptr)
      if (const std::string* why = memory.why_refused(target)) reasons.insert(*why);
  }
  return reasons;
}

// A description of an object in which gcc has numbered the variables of functions: "calls.3" is
// "twice.calls".
std::string with_names_of(std::string facts, const std::string& path) {
  const std::string bytes = read_whole(path);
  const elf::File object(bytes);
  std::map<std::string, std::vector<std::string>> by_name; // in their order, which is that of the functions
  std::map<unsigned, std::string> numbered;
  for (const elf::Symbol& symbol : object.symbols()) {
    std::string_view plain = plain_name(symbol.name);
    if (symbol.type() == STT_OBJECT && plain.size() != symbol.name.size() && !symbol.global())
      numbered.emplace(std::stoul(std::string(symbol.name.substr(plain.size() + 1))), symbol.name);
  }
  for (const auto& [number, name] : numbered)
    by_name[std::string(plain_name(name))].push_back(name);
  std::map<std::string, size_t> next;
  std::string result;
  for (size_t begin = 0, end; (end = facts.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string line = facts.substr(begin, end - begin);
    size_t dot = line.starts_with("static ") ? line.find('.') : std::string::npos;
    size_t quote = line.find('"', 8);
    if (dot < quote) {
      const std::vector<std::string>& names = by_name[line.substr(dot + 1, quote - dot - 1)];
      size_t& at = next[line.substr(dot + 1, quote - dot - 1)];
      if (at == names.size()) continue;
      line = "static \"" + names[at++] + line.substr(quote);
    }
    result += line + "\n";
  }
  return result;
}

struct Variant {
  const char* compiler;
  bool has_debug_info;
};

class TwinObjectTest : public testing::TestWithParam<Variant> {
protected:
  static const std::vector<std::string>& more() {
    static const std::vector<std::string> lines = {"region \"__rdb_fn_unit_0\" \"entry_region\" 3 memory"};
    return lines;
  }
  std::string library(const std::vector<std::string>& sources) {
    std::string flags = std::string(GetParam().compiler) + (GetParam().has_debug_info ? " -g" : "");
    return build_.program("library.so", flags + " -w -shared -fPIC", sources);
  }
  TwinBuild build_;
};

// Calls the library's function, then the twin's, from the same state.
template <class F, class... Arguments>
void compare(Here& here, const TwinObject& object, const char* name, Arguments... arguments) {
  SCOPED_TRACE(name);
  const TwinFunction& known = function(object, name);
  ASSERT_EQ(known.refused, "");
  auto* original = here.find<F>(name);
  ASSERT_EQ(reinterpret_cast<uint64_t>(original), known.entry);
  auto before = here.variables();
  auto result = original(arguments...);
  auto after = here.variables();
  here.restore(before);
  EXPECT_EQ(reinterpret_cast<F*>(known.code)(arguments...), result);
  EXPECT_EQ(here.variables(), after);
}

TEST_P(TwinObjectTest, DoesWhatTheProgramDoes) {
  Here here(library({"unit.c", "other.c"}));
  TwinObject object("unit.o",
                    read_whole(build_.twin("unit", "unit.c", "-fPIC -ftls-model=global-dynamic", more())));
  object.load(here.surroundings());
  EXPECT_EQ(object.missing(), (std::vector<std::string>{"missing_function", "missing_variable"}));
  EXPECT_EQ(object.other_constants(), std::vector<std::string>());
  const bool by_gcc = std::string(GetParam().compiler).starts_with("gcc");
  const unsigned char code[] = {0, 1, 0, 0, 1, 2};
  char text[100] = "";
  for (auto callee : {TwinObject::Callee::program, TwinObject::Callee::twin}) {
    for (uint32_t i = 0; i < object.functions().size(); ++i)
      object.set_callee(i, callee);
    using OfInt = int(int);
    // gcc's names do not say which static variable is which.
    const bool has_statics = !by_gcc || GetParam().has_debug_info || callee == TwinObject::Callee::program;
    for (int x = 0; x < 8; ++x) {
      if (has_statics && function(object, "twice").entry != 0) {
        compare<OfInt>(here, object, "entry_statics", x);
        compare<OfInt>(here, object, "entry_pointers", x);
        compare<OfInt>(here, object, "entry_calls", x);
      }
      compare<OfInt>(here, object, "entry_switch", x);
      compare<OfInt>(here, object, "entry_weak", x);
      compare<OfInt>(here, object, "entry_goto_too", x);
    }
    compare<int(const unsigned char*)>(here, object, "entry_goto", code);
    auto* original = here.find<int(char*, const char*, ...)>("entry_text");
    auto* twin = reinterpret_cast<decltype(original)>(function(object, "entry_text").code);
    auto before = here.variables();
    int size = original(text, "%d %s %g", 5, "five", 5.5);
    here.restore(before);
    EXPECT_EQ(twin(text, "%d %s %g", 5, "five", 5.5), size);
  }
}

TEST_P(TwinObjectTest, ThreadLocalVariables) {
  Here here(library({"unit.c", "other.c"}));
  TwinObject object("unit.o",
                    read_whole(build_.twin("unit", "unit.c", "-fPIC -ftls-model=global-dynamic", more())));
  object.load(here.surroundings());
  ASSERT_EQ(function(object, "entry_threads").refused, "");
  auto* original = here.find<int(int)>("entry_threads");
  auto* twin = reinterpret_cast<int (*)(int)>(function(object, "entry_threads").code);
  EXPECT_EQ(original(1), 810);
  EXPECT_EQ(twin(1), 912);
  EXPECT_EQ(original(1), 1014);
}

TEST_P(TwinObjectTest, WhatIsNotThereIsPoison) {
  Here here(library({"unit.c", "other.c"}));
  TwinObject object("unit.o", read_whole(build_.twin("unit", "unit.c", "-fPIC", more())));
  object.load(here.surroundings());
  const TwinMemory& memory = here.memory();
  std::vector<std::string> reasons;
  size_t regions = 0, frames = 0;
  for (uint64_t at = memory.stubs().begin; at < memory.stubs().end; at += TwinMemory::kStubSize) {
    const TwinStub* stub = memory.stub(at);
    ASSERT_NE(stub, nullptr);
    EXPECT_EQ(memory.stub(at + 1), nullptr);
    EXPECT_EQ(*reinterpret_cast<const uint16_t*>(at), 0x0B0F);
    regions += stub->kind == TwinStub::Kind::region;
    frames += stub->kind == TwinStub::Kind::twin_call;
    if (stub->kind == TwinStub::Kind::refused) reasons.push_back(stub->why);
  }
  const bool is_optimised = std::string(GetParam().compiler).ends_with("2");
  const bool by_gcc = std::string(GetParam().compiler).starts_with("gcc");
  EXPECT_EQ(poison_in(memory, function(object, "entry_removed")).size(), is_optimised ? 1u : 0u);
  // Nothing says which of two variables is which.
  const bool is_ambiguous = by_gcc && !GetParam().has_debug_info;
  EXPECT_EQ(poison_in(memory, function(object, "twice")),
            is_ambiguous
                ? std::set<std::string>{"it uses variable 'twice.calls', which is not known in the program: "
                                        "the unit has several 'calls', and nothing says which one the "
                                        "program's is"}
                : std::set<std::string>());
  EXPECT_EQ(poison_in(memory, function(object, "entry_statics")), std::set<std::string>());
  EXPECT_NE(function(object, "twice").entry, 0u);
  EXPECT_EQ(function(object, "nameless").entry,
            reinterpret_cast<uint64_t>(here.find<int(int)>("entry_other_name")));
  EXPECT_EQ(function(object, "nameless").folded_with, std::vector<std::string>());
  EXPECT_EQ(function(object, "small").entry != 0, !is_optimised);
  EXPECT_EQ(function(object, "entry_statics").folded_with, std::vector<std::string>());
  EXPECT_EQ(regions, 1u);
  EXPECT_EQ(frames, 1u);
  EXPECT_EQ(reasons, std::vector<std::string>{"it calls missing_function, which the program does not have"});
}

// The table by which the program's unwinder finds how a frame is left: sorted, and of all functions.
void check_frames(const TwinObject& object) {
  const TwinObject::Frames& frames = object.frames();
  ASSERT_NE(frames.header, 0u);
  auto word = [&](uint64_t at) {
    int32_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(frames.header + at), sizeof value);
    return static_cast<uint64_t>(int64_t{value});
  };
  const uint8_t* encodings = reinterpret_cast<const uint8_t*>(frames.header);
  EXPECT_EQ(std::vector<uint8_t>(encodings, encodings + 4), (std::vector<uint8_t>{1, 0x1b, 0x03, 0x3b}));
  EXPECT_EQ(frames.header + 4 + word(4), frames.frames);
  std::set<uint64_t> begins;
  for (uint64_t i = 0; i < word(8); ++i) {
    uint64_t begin = frames.header + word(12 + 8 * i);
    EXPECT_TRUE(begins.empty() || begin > *begins.rbegin());
    EXPECT_TRUE(begin >= frames.code.begin && begin < frames.code.end);
    begins.insert(begin);
  }
  for (size_t i = 0; i < object.functions().size(); ++i)
    if (!object.facts().functions[i].ifunc) {
      EXPECT_TRUE(begins.contains(object.functions()[i].code)) << object.facts().functions[i].symbol;
    }
}

struct Shape;

TEST_P(TwinObjectTest, Exceptions) {
  // A library with variables that are unique in the process stays loaded.
  std::string compiler = GetParam().compiler;
  compiler = (compiler.starts_with("gcc") ? "g++ -fno-gnu-unique" : "clang++-22") +
             compiler.substr(compiler.find(' '));
  Here here(build_.program(
      "library.so", compiler + (GetParam().has_debug_info ? " -g" : "") + " -w -shared -fPIC", {"unit.cc"}));
  TwinObject object("unit.o", read_whole(build_.twin("unit", "unit.cc", "-fPIC")));
  object.load(here.surroundings());
  EXPECT_EQ(object.missing(), std::vector<std::string>());
  check_frames(object);
  auto* frames = reinterpret_cast<void*>(object.frames().frames);
  __register_frame(frames);
  for (auto callee : {TwinObject::Callee::program, TwinObject::Callee::twin}) {
    for (uint32_t i = 0; i < object.functions().size(); ++i)
      object.set_callee(i, callee);
    for (int x = 0; x < 4; ++x)
      compare<int(int)>(here, object, "entry_catch", x);
  }
  // One makes the object, the other uses it: they have the same table of virtual functions.
  using Make = Shape*(int);
  using Area = int(Shape*);
  using Drop = void(Shape*);
  auto* twin_make = reinterpret_cast<Make*>(function(object, "entry_make").code);
  auto* twin_area = reinterpret_cast<Area*>(function(object, "entry_area").code);
  Shape* shape = twin_make(5);
  Shape* original = here.find<Make>("entry_make")(5);
  EXPECT_EQ(*reinterpret_cast<void**>(shape), *reinterpret_cast<void**>(original));
  EXPECT_EQ(here.find<Area>("entry_area")(shape), 26);
  EXPECT_EQ(twin_area(original), 26);
  here.find<Drop>("entry_drop")(shape);
  reinterpret_cast<Drop*>(function(object, "entry_drop").code)(original);
  __deregister_frame(frames);
}

// Objects of a compiler that refers to local variables by where they are in their section.
TEST_P(TwinObjectTest, WithoutNamesOfLocalVariables) {
  if (!GetParam().has_debug_info) return;
  Here here(library({"unit.c", "other.c"}));
  build_.twin("unit", "unit.c", "-fPIC", more());
  for (std::string compiler : {"gcc", "clang-22"}) {
    std::string path = build_.program(
        "local.o", compiler + " -O0 -fmerge-constants -w -DTWIN -fPIC -c -ffunction-sections", {"unit.c"});
    std::string text = read_whole(build_.path("unit.facts"));
    if (compiler == "gcc") text = with_names_of(text, path);
    std::ofstream(build_.path("local.facts")) << text;
    TwinBuild::run({"/usr/bin/objcopy", "--add-section", ".rdbtwin=" + build_.path("local.facts"), path});
    TwinObject object("local.o", read_whole(path));
    object.load(here.surroundings());
    const unsigned char code[] = {0, 1, 0, 0, 1, 2};
    for (int x = 0; x < 8; ++x) {
      compare<int(int)>(here, object, "entry_statics", x);
      compare<int(int)>(here, object, "entry_pointers", x);
      compare<int(int)>(here, object, "entry_calls", x);
      compare<int(int)>(here, object, "entry_switch", x);
    }
    compare<int(const unsigned char*)>(here, object, "entry_goto", code);
  }
}

// Four bytes somewhere in the code of a twin, and words that it refers to.
bool has_constant(const TwinFunction& function, uint64_t value) {
  auto low = static_cast<uint32_t>(value);
  for (uint64_t at = function.code; at + 4 <= function.code + function.size; ++at)
    if (std::memcmp(reinterpret_cast<const void*>(at), &low, sizeof low) == 0) return true;
  return false;
}
bool refers_to(const TwinObject& object, const TwinFunction& function, uint64_t address) {
  for (uint64_t at = function.code; at + 4 <= function.code + function.size; ++at) {
    int32_t distance = 0;
    std::memcpy(&distance, reinterpret_cast<const void*>(at), sizeof distance);
    uint64_t target = at + 4 + static_cast<uint64_t>(int64_t{distance});
    if (target == address) return true;
    uint64_t word = 0;
    if (target < object.memory().begin || target + sizeof word > object.memory().end) continue;
    std::memcpy(&word, reinterpret_cast<const void*>(target), sizeof word);
    if (word == address) return true;
  }
  return false;
}

// A twin for a program that is not here: only looked at.
TEST(TwinOfExecutableTest, RefersToTheProgram) {
  TwinBuild build;
  build.twin("unit", "unit.c", "-fPIE");
  for (std::string flags : {"gcc -O2 -no-pie", "gcc -O2 -pie", "clang-22 -O2 -no-pie", "clang-22 -O2 -pie"}) {
    SCOPED_TRACE(flags);
    std::string path = build.program("program", flags + " -w", {"unit.c", "other.c", "main.c"});
    ProgramFile file(path);
    ProgramSymbols symbols(file, path);
    const uint64_t bias = flags.ends_with("-pie") && !flags.ends_with("no-pie") ? 0x10000000 : 0;
    // Nothing of the program can be read, and its resolver cannot be run.
    LoadedImages images({{&file, bias, path}}, [](uint64_t, void*, size_t) { return false; });
    struct : TwinWorld {
      std::optional<uint64_t> run_resolver(uint64_t) override { return std::nullopt; }
    } nobody;
    TwinMemory memory(0x70000000, 0x70000000 + (uint64_t{16} << 20));
    TwinObject object("unit.o", read_whole(build.path("unit.o")));
    object.load({images, 0, symbols, memory, nobody});

    auto address = [&](const char* name) { return symbols.global(name).address + bias; };
    EXPECT_EQ(function(object, "entry_goto").entry, address("entry_goto"));
    EXPECT_EQ(function(object, "entry_ifunc").why_no_entry,
              "it is not known which function 'entry_ifunc' is");
    const TwinFunction& threads = function(object, "entry_threads");
    EXPECT_EQ(threads.refused, "");
    uint64_t below = file.thread_block_rule().below;
    EXPECT_TRUE(has_constant(threads, symbols.global("in_thread").address - below));
    EXPECT_TRUE(refers_to(object, function(object, "entry_switch"), address("shared_state")));
    EXPECT_FALSE(refers_to(object, function(object, "entry_switch"), address("last_text")));
    EXPECT_TRUE(refers_to(object, function(object, "entry_pointers"), address("entry_switch")));
    // A variable of a library is the program's, if that has a copy of it.
    bool has_copy = symbols.global("stdout").kind == ProgramSymbols::Place::Kind::data;
    EXPECT_EQ(std::ranges::count(object.missing(), "stdout"), has_copy ? 0 : 1);
    if (has_copy) {
      EXPECT_TRUE(refers_to(object, function(object, "entry_stream"), address("stdout")));
    }
    EXPECT_TRUE(has_copy || flags.ends_with("-pie"));
    EXPECT_EQ(std::ranges::count(object.missing(), "vsnprintf"), 1);
    check_frames(object);
  }
}

// A library that is further away than instructions reach: functions can be called, variables cannot be used.
TEST(FarTwinTest, UsesFunctionsOnly) {
  TwinBuild build;
  Here here(build.program("library.so", "gcc -O2 -g -w -shared -fPIC", {"unit.c", "other.c"}));
  TwinSurroundings to = here.surroundings();
  TwinMemory memory(0x70000000, 0x70000000 + (uint64_t{16} << 20), TwinMemory::Use::run_directly);
  TwinObject object("unit.o", read_whole(build.twin("unit", "unit.c", "-fPIE")));
  object.load({to.images, to.image, to.program, memory, to.world});
  EXPECT_EQ(function(object, "entry_statics").refused, "count is too far away");
  EXPECT_EQ(function(object, "entry_removed").refused, "");
  compare<int(int)>(here, object, "entry_weak", 7);
  // Calls of the refused ones lead to the reason.
  const TwinFunction& refused = function(object, "entry_statics");
  int32_t distance = 0;
  std::memcpy(&distance, reinterpret_cast<const void*>(refused.code + 1), sizeof distance);
  const std::string* why = memory.why_refused(refused.code + 5 + static_cast<uint64_t>(int64_t{distance}));
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(*why, refused.refused);
}

// Damaged objects are refused with one line, or loaded; what is loaded is not run.
TEST(DamagedTwinObjectTest, IsRefused) {
  TwinBuild build;
  Here here(build.program("library.so", "gcc -O2 -g -w -shared -fPIC", {"unit.c", "other.c"}));
  const std::string whole = read_whole(
      build.twin("unit", "unit.c", "-fPIC", {"region \"__rdb_fn_unit_0\" \"entry_region\" 3 memory"}));
  auto failure = [&](std::string bytes) -> std::string {
    try {
      TwinObject object("unit.o", std::move(bytes));
      TwinSurroundings to = here.surroundings();
      // Far away from the library: nothing is run.
      TwinMemory memory(0x70000000, 0x70000000 + (uint64_t{16} << 20));
      object.load({to.images, to.image, to.program, memory, to.world});
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("unit.o"));
      return error.what();
    } catch (const Limit& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(failure(""), "unit.o: not an ELF file");
  EXPECT_EQ(failure(read_whole(build.path("library.so"))), "unit.o: not an object file");
  EXPECT_EQ(failure(read_whole(build.program("plain.o", "gcc -c", {"other.c"}))),
            "unit.o: not a twin object: it has no section .rdbtwin");
  std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed)
  const elf::File file(whole);
  // Where fields are that mean something: headers of sections, symbols, relocations.
  std::vector<std::pair<uint64_t, uint64_t>> tables = {
      {file.header().e_shoff, file.sections().size() * sizeof(Elf64_Shdr)}};
  for (const elf::Section& section : file.sections())
    if (section.header.sh_type == SHT_SYMTAB || section.header.sh_type == SHT_RELA)
      tables.emplace_back(section.header.sh_offset, section.header.sh_size);
  auto damage_field = [&](std::string& bytes) {
    auto [begin, size] = tables[random() % tables.size()];
    size_t width = size_t{1} << random() % 4;
    size_t at = begin + random() % (size / width) * width;
    const uint64_t values[] = {
        0, 1, random() % 64, random(), UINT64_MAX - random() % 64, 1ull << (random() % 64)};
    std::memcpy(bytes.data() + at, &values[random() % std::size(values)], width);
  };
  unsigned refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      if (random() % 4 != 0)
        damage_field(bytes);
      else
        bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (round % 20 == 0) bytes.resize(random() % bytes.size());
    refused += !failure(std::move(bytes)).empty();
  }
  EXPECT_GT(refused, 300u);
}

constexpr Variant kVariants[] = {{"gcc -O0", false},      {"gcc -O0", true},       {"gcc -O2", false},
                                 {"gcc -O2", true},       {"clang-22 -O0", false}, {"clang-22 -O0", true},
                                 {"clang-22 -O2", false}, {"clang-22 -O2", true}};
std::string name_of(const testing::TestParamInfo<Variant>& info) {
  std::string name = info.param.compiler + std::string(info.param.has_debug_info ? "g" : "");
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}
INSTANTIATE_TEST_SUITE_P(Compilers, TwinObjectTest, testing::ValuesIn(kVariants), name_of);

} // namespace
} // namespace rdb::debug
