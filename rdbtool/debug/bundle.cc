// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/bundle.h"

#include "descriptors/compare_programs.h"
#include "descriptors/identity.h"
#include "rdbtool/base/error.h"
#include "rdbtool/debug/refusal.h"
#include "runtime-libs/module/module_host.h"

#include <dlfcn.h>
#include <fstream>
#include <sstream>

namespace rdb::debug {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) user_error("{}: cannot be read (is it a bundle made by rdb-clang?)", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class T>
T symbol(void* handle, const char* name, const std::string& path) {
  void* address = dlsym(handle, name);
  if (address == nullptr)
    user_error("{}: no {} in it (was it made by this version of rdb-clang?)", path, name);
  return reinterpret_cast<T>(address);
}

} // namespace

Bundle::Bundle(const std::string& path) : path_(path) {
  std::string name = path + "/descriptors";
  try {
    descriptors_ = descriptors::read(read_file(name), name);
  } catch (const descriptors::FormatError& error) {
    user_error("{}", error.what());
  }
  if (descriptors_.program.size() != 1) user_error("{}: does not say which program it belongs to", name);
}

Bundle::~Bundle() {
  if (handle_ != nullptr) dlclose(handle_);
}

std::string Bundle::mismatch(const ProgramFile& file) const {
  const descriptors::Program& expected = descriptors_.program.front();
  if (descriptors::program_identity(file.elf()).hash == expected.hash) return "";
  std::string text = fmt::format("{} was made for another build of {}", path_, expected.name);
  // The program that the bundle belongs to is beside it, as a rule: it shows where they part.
  try {
    std::string suffix = ".rdb";
    if (path_.ends_with(suffix)) {
      ProgramFile built(path_.substr(0, path_.size() - suffix.size()));
      if (descriptors::program_identity(built.elf()).hash == expected.hash) {
        descriptors::Comparison difference = descriptors::compare_programs(file.elf(), built.elf());
        text += ": " + difference.first_difference;
        for (const std::string& reason : difference.reasons)
          text += "\n  likely reason: " + reason;
      }
    }
  } catch (const elf::Error&) {
    // Then only that it differs can be said.
  }
  return text + "\n  Regions need the recorded program, built by rdb-clang or clang-22 from the same source "
                "with the "
                "same options; record, gdb, and the options --watch, --trace-calls and --trace-syscalls need "
                "none of that.";
}

void Bundle::load(uint64_t bias) {
  bias_ = bias;
  std::string name = path_ + "/module.so";
  // Its own symbols first: nothing of the host may stand in for them.
  handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle_ == nullptr) user_error("cannot load {}: {}", name, dlerror());
  functions_ = symbol<DebugFunction*>(handle_, "__rdb_module_functions", name);
  slots_ = symbol<void**>(handle_, "__rdb_module_slots", name);
  if (auto** host = static_cast<const rdb_module_host**>(dlsym(handle_, "__rdb_module_host")))
    *host = module_host();
  flush_ = reinterpret_cast<void (*)()>(dlsym(handle_, "__rdb_module_flush"));
  for (size_t i = 0; i < descriptors_.symbols.size(); ++i) {
    const descriptors::Symbol& s = descriptors_.symbols[i];
    if (s.owner == descriptors::Owner::kProgram && !s.thread_local_)
      slot(i) = reinterpret_cast<void*>(s.address.value + bias);
  }
}

} // namespace rdb::debug
