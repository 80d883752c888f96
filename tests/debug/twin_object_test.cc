// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Twin objects loaded beside a shared library of the same source, in this process, and run: each function must
// do to the library's variables what the library's own does, whatever compiler and level made the library.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/twins/twin_object.h"
#include "twin_build.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <random>

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
          std::string path = *info->dlpi_name != '\0' ? info->dlpi_name : here.found_.empty() ? "/proc/self/exe" : "";
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
        all.emplace_back(reinterpret_cast<const char*>(section.header.sh_addr + bias()), section.header.sh_size);
    return all;
  }
  void restore(const std::vector<std::string>& all) {
    size_t next = 0;
    for (const elf::Section& section : found_[image_].file->elf().sections())
      if (section.name == ".data" || section.name == ".bss") {
        std::memcpy(reinterpret_cast<char*>(section.header.sh_addr + bias()), all[next].data(), all[next].size());
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

struct Variant {
  const char* compiler;
  bool has_debug_info;
};

class TwinObjectTest : public testing::TestWithParam<Variant> {
protected:
  static const std::vector<std::string>& more() {
    static const std::vector<std::string> lines = {"region \"__rdb_fn_unit_0\" \"entry_region\" 3"};
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
  TwinObject object("unit.o", read_whole(build_.twin("unit", "unit.c", "-fPIC -ftls-model=global-dynamic", more())));
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
        compare<OfInt>(here, object, "entry_alias", x);
        compare<OfInt>(here, object, "entry_pointers", x);
        compare<OfInt>(here, object, "entry_calls", x);
      }
      compare<OfInt>(here, object, "entry_switch", x);
      compare<OfInt>(here, object, "entry_weak", x);
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
  TwinObject object("unit.o", read_whole(build_.twin("unit", "unit.c", "-fPIC -ftls-model=global-dynamic", more())));
  object.load(here.surroundings());
  if (!function(object, "entry_threads").refused.empty()) {
    // Optimised code that knows the linker does not ask for the number of the block.
    EXPECT_NE(function(object, "entry_threads").refused.find("thread-local"), std::string::npos);
    return;
  }
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
  EXPECT_EQ(regions, 1u);
  EXPECT_EQ(frames, 1u);
  EXPECT_EQ(reasons, std::vector<std::string>{"it calls missing_function, which the program does not have"});
}

constexpr Variant kVariants[] = {{"gcc -O0", false},      {"gcc -O0", true},      {"gcc -O2", false},
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
