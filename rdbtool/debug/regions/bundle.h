// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bundle (prog.rdb/) in memory: its descriptors and its module, loaded into the host.
#pragma once

#include "descriptors/descriptor.h"
#include "rdbtool/debug/regions/module_thread_locals.h"
#include "rdbtool/debug/regions/program_file.h"

#include <cstdint>
#include <span>
#include <string>

struct rdb_module_host;

namespace rdb::debug {

class DebugSession;

using DebugFunction = void (*)(void** arguments);

class Bundle {
public:
  // Reads the descriptors; the module is loaded by load(). Throws UserError naming what is wrong, also if
  // others than the user and root can change the bundle: its code is run.
  explicit Bundle(const std::string& path);
  // Empty if only the user and root can change the bundle; else why not.
  static std::string why_not_trusted(const std::string& path);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  const std::string& path() const { return path_; }
  const descriptors::Descriptors& descriptors() const { return descriptors_; }
  // File name of the program or shared library that it belongs to.
  const std::string& program() const { return descriptors_.program.front().name; }

  // Nobody has asked for it by name: it need not belong to what is replayed.
  void set_found_by_itself() { found_by_itself_ = true; }
  bool found_by_itself() const { return found_by_itself_; }

  // Is this the program that the bundle was made for, whatever its name?
  bool fits(const ProgramFile& file) const;
  // Empty if it does, else why not.
  std::string mismatch(const ProgramFile& file) const;

  // Loads the module; its static constructors run. `bias` is what was added to the program's addresses.
  void load(DebugSession& session, uint64_t bias);
  bool loaded() const { return handle_ != nullptr; }
  // The program is somewhere else by now.
  void move(uint64_t bias);
  // Its static destructors run. Nothing of it may be used any more.
  void unload();
  uint64_t bias() const { return bias_; }
  // Its thread-local variables are this thread's from now on.
  void use_thread(uint64_t thread) { thread_locals_.use(thread); }

  // Of the region with this index in descriptors().regions; null if it has none.
  DebugFunction function(size_t region) const { return functions_[region]; }
  // The function that its code calls before it uses libc where it can do without at times.
  const void* needs_libc() const { return needs_libc_; }
  // What it finds in the slot at this address, if that stays as the module was loaded; else 0.
  uint64_t constant_slot(uint64_t address) const;
  // Where debug code finds the address of the symbol with this index.
  void*& slot(size_t symbol) const { return slots_[symbol]; }

  // Fills what the module finds there: the host, and the addresses of the program's symbols.
  void start(const rdb_module_host** host, void** slots);

private:
  void bind_program() const;

  std::string path_;
  descriptors::Descriptors descriptors_;
  bool found_by_itself_ = false;
  DebugSession* session_ = nullptr; // that it is loaded into
  void* handle_ = nullptr;
  uint64_t bias_ = 0;
  DebugFunction* functions_ = nullptr;
  void** slots_ = nullptr;
  const void* needs_libc_ = nullptr;
  std::span<const uint8_t> code_;
  ModuleThreadLocals thread_locals_;
};

} // namespace rdb::debug
