// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/bundle.h"

#include "descriptors/compare_programs.h"
#include "descriptors/identity.h"
#include "descriptors/text_size.h"
#include "rdbtool/base/bounded_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/trusted_file.h"
#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/isolation/module_host.h"
#include "rdbtool/debug/regions/plain_code.h"
#include "runtime-libs/module/module_host.h"

#include <dlfcn.h>
#include <system_error>
#include <utility>

extern "C" void __cxa_finalize(void* module);

namespace rdb::debug {
namespace {

std::string read_descriptors(const std::string& bundle) {
  std::string path = bundle + "/descriptors";
  try {
    open_trusted_folder(bundle);
    return read_bounded(open_trusted_file(path).get(), path, descriptors::kMaxText);
  } catch (const std::system_error&) {
    user_error("{}: cannot be read (is it a bundle made by rdb-clang?)", path);
  }
}

template <class T>
T symbol(void* handle, const char* name, const std::string& path) {
  void* address = dlsym(handle, name);
  if (address == nullptr)
    user_error("{}: no {} in it (was it made by this version of rdb-clang?)", path, name);
  return reinterpret_cast<T>(address);
}

// dlopen() does not notice that a file ends too early, and crashes.
void check_whole(const std::string& path) {
  bool is_whole = false;
  try {
    is_whole = ProgramFile(path).is_whole();
  } catch (const elf::Error&) {
    // Not even its beginning is.
  }
  if (!is_whole) user_error("cannot load {}: it is not there, or damaged; build the program again", path);
}

} // namespace

Bundle::Bundle(const std::string& path) : path_(path) {
  std::string name = path + "/descriptors";
  try {
    descriptors_ = descriptors::read(read_descriptors(path), name);
  } catch (const descriptors::FormatError& error) {
    user_error("{}", error.what());
  }
  if (descriptors_.program.size() != 1) user_error("{}: does not say which program it belongs to", name);
}

std::string Bundle::why_not_trusted(const std::string& path) {
  try {
    open_trusted_folder(path);
    open_trusted_file(path + "/descriptors");
    open_trusted_file(path + "/module.so");
    return "";
  } catch (const UserError& error) {
    return error.what();
  } catch (const std::system_error&) {
    return ""; // what is missing is told when it is loaded
  }
}

Bundle::~Bundle() {
  unload();
}

void Bundle::unload() {
  void* handle = std::exchange(handle_, nullptr);
  if (handle == nullptr) return;
  thread_locals_.end();
  if (void* finish = dlsym(handle, "__rdb_module_finish")) reinterpret_cast<void (*)()>(finish)();
  // dlclose() does not run the destructors of every module, and debug code registers them under the
  // program's name.
  for (size_t i = 0; i < descriptors_.symbols.size(); ++i)
    if (descriptors_.symbols[i].name == "__dso_handle" && slot(i) != nullptr) __cxa_finalize(slot(i));
  dlclose(handle);
  session_->modules.remove(code_);
}

bool Bundle::fits(const ProgramFile& file) const {
  return descriptors::program_identity(file.elf()).hash == descriptors_.program.front().hash;
}

std::string Bundle::mismatch(const ProgramFile& file) const {
  if (fits(file)) return "";
  const descriptors::Program& expected = descriptors_.program.front();
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

void Bundle::start(const rdb_module_host** host, void** slots) {
  *host = module_host(*session_);
  slots_ = slots;
  thread_locals_.attach(*session_, slots);
  bind_program();
}

void Bundle::move(uint64_t bias) {
  bias_ = bias;
  bind_program();
}

void Bundle::bind_program() const {
  for (size_t i = 0; i < descriptors_.symbols.size(); ++i) {
    const descriptors::Symbol& s = descriptors_.symbols[i];
    if (s.owner == descriptors::Owner::program && !s.thread_local_)
      slot(i) = reinterpret_cast<void*>(s.address.value + bias_);
  }
}

uint64_t Bundle::constant_slot(uint64_t address) const {
  uint64_t offset = address - reinterpret_cast<uint64_t>(slots_);
  uint64_t index = offset / sizeof(void*);
  if (offset % sizeof(void*) != 0 || index >= descriptors_.symbols.size()) return 0;
  descriptors::Owner owner = descriptors_.symbols[index].owner;
  if (owner != descriptors::Owner::host && owner != descriptors::Owner::module) return 0;
  return reinterpret_cast<uint64_t>(slots_[index]);
}

void Bundle::load(DebugSession& session, uint64_t bias) {
  session_ = &session;
  bias_ = bias;
  std::string name = path_ + "/module.so";
  // After this nobody but the user and root can put another file there: it may be opened by its name again.
  if (std::string why = why_not_trusted(path_); !why.empty()) user_error("cannot load {}", why);
  check_whole(name);
  session.loading = this;
  // Its own symbols first: nothing of the host may stand in for them.
  handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  session.loading = nullptr;
  if (handle_ == nullptr) user_error("cannot load {}: {}", name, dlerror());
  needs_libc_ = dlsym(handle_, "__rdb_module_needs_libc");
  code_ = code_around(needs_libc_);
  session.modules.add(code_);
  functions_ = symbol<DebugFunction*>(handle_, "__rdb_module_functions", name);
  start(symbol<const rdb_module_host**>(handle_, "__rdb_module_host", name),
        symbol<void**>(handle_, "__rdb_module_slots", name));
}

} // namespace rdb::debug

// Called by the module's first constructor, so that the others find everything in place.
extern "C" void rdb_module_starting(const rdb_module_host** host, void** slots) {
  const rdb::debug::DebugSession* session = rdb::debug::DebugSession::current();
  if (session != nullptr && session->loading != nullptr) session->loading->start(host, slots);
}
