// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// elfutils does the unwinding; it is given the trace's copies of the mapped files and reads memory and
// registers through callbacks.
#include "rdbtool/replay/backtrace.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/path.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/engine/instructions/dwarf_registers.h"
#include "rdbtool/replay/debug_info_size.h"

#include <cxxabi.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <memory>
#include <unistd.h>

namespace rdb::replay {
namespace {

// elfutils finds debug information beside a file by itself; the trace's copies have none but their own.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
  return -1;
}

const Dwfl_Callbacks kCallbacks = {
    .find_elf = nullptr,
    .find_debuginfo = no_debug_file,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

struct Unwinder {
  const engine::Registers& registers;
  std::function<bool(uint64_t, uint64_t*)> read;
  pid_t thread;
  size_t most;
  Dwfl* dwfl = nullptr;
  bool attached = false;
  std::vector<BacktraceFrame> frames = {};
};

pid_t next_thread(Dwfl*, void* argument, void** thread) {
  if (*thread != nullptr) return 0;
  *thread = argument;
  return static_cast<Unwinder*>(argument)->thread;
}

bool read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
  return static_cast<Unwinder*>(argument)->read(address, result);
}

bool initial_registers(Dwfl_Thread* thread, void* argument) {
  const engine::Registers& regs = static_cast<Unwinder*>(argument)->registers;
  Dwarf_Word words[17];
  for (int i = 0; i < 16; ++i)
    words[i] = regs.gpr[engine::kDwarfOrder[i]];
  words[16] = regs.rip;
  return dwfl_thread_state_registers(thread, 0, 17, words);
}

const Dwfl_Thread_Callbacks kThreadCallbacks = {
    .next_thread = next_thread,
    .get_thread = nullptr,
    .memory_read = read_word,
    .set_initial_registers = initial_registers,
    .detach = nullptr,
    .thread_detach = nullptr,
};

std::string demangled(const char* name) {
  if (!std::string_view(name).starts_with("_Z")) return name; // a function `f` would be called "float"
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                              std::free);
  return text ? text.get() : name;
}

// Looks through the units one by one: clang writes no table of their addresses.
std::string source_line(Dwfl_Module* module, Dwarf_Addr pc) {
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
    if (dwarf_haspc(unit, pc - bias) != 1) continue;
    Dwarf_Line* line = dwarf_getsrc_die(unit, pc - bias);
    int number = 0;
    if (line == nullptr || dwarf_lineno(line, &number) != 0) return "";
    const char* file = dwarf_linesrc(line, nullptr, nullptr);
    return file != nullptr ? fmt::format("{}:{}", base_name(file), number) : "";
  }
  return "";
}

// The frame of an instruction at `pc`; `look_at` is within it.
BacktraceFrame frame_of(Dwfl* dwfl, Dwarf_Addr pc, Dwarf_Addr look_at) {
  BacktraceFrame frame;
  frame.pc = GuestAddr(pc);
  if (Dwfl_Module* module = dwfl_addrmodule(dwfl, look_at)) {
    if (const char* name = dwfl_module_addrname(module, look_at)) frame.function = demangled(name);
    frame.place = source_line(module, look_at);
    if (frame.place.empty())
      if (const char* name =
              dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr))
        frame.place = base_name(name);
  }
  return frame;
}

int on_frame(Dwfl_Frame* state, void* argument) {
  auto& unwinder = *static_cast<Unwinder*>(argument);
  Dwarf_Addr pc;
  bool exact; // false: a return address, so the call is before it
  if (!dwfl_frame_pc(state, &pc, &exact)) return DWARF_CB_ABORT;
  unwinder.frames.push_back(frame_of(unwinder.dwfl, pc, exact ? pc : pc - 1));
  return unwinder.frames.size() < unwinder.most ? DWARF_CB_OK : DWARF_CB_ABORT;
}

std::vector<BacktraceFrame> unwind(Unwinder& unwinder) {
  unwinder.frames.clear();
  // The process's number is no thread's: threads are asked for by their own.
  if (unwinder.attached || dwfl_attach_state(unwinder.dwfl, nullptr, 1, &kThreadCallbacks, &unwinder)) {
    unwinder.attached = true;
    dwfl_getthread_frames(unwinder.dwfl, unwinder.thread, on_frame, &unwinder);
  }
  if (unwinder.frames.empty()) unwinder.frames.push_back({GuestAddr(unwinder.registers.rip), "", ""});
  return unwinder.frames;
}

} // namespace

struct Backtracer::Files {
  std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl{dwfl_begin(&kCallbacks), dwfl_end};
  std::vector<uint64_t> begins; // of what is mapped
  std::unique_ptr<Unwinder> unwinder;
};

Backtracer::Backtracer(Replayer& replayer) : replayer_(replayer) {}

Backtracer::~Backtracer() = default;

Backtracer::Files& Backtracer::files() {
  std::vector<uint64_t> begins;
  std::vector<LoadedFile> mapped = replayer_.mapped_files();
  begins.reserve(mapped.size());
  for (const LoadedFile& file : mapped)
    begins.push_back(file.begin.value);
  if (files_ && files_->begins == begins) return *files_;
  known_.clear();
  files_ = std::make_unique<Files>();
  files_->begins = std::move(begins);
  Dwfl* dwfl = files_->dwfl.get();
  dwfl_report_begin(dwfl);
  for (const LoadedFile& file : mapped) {
    // Before this one, there were perhaps others of the same files.
    auto [known, fresh] = too_large_.try_emplace(file.copy);
    if (fresh) {
      known->second = why_too_large(file.copy);
      if (!known->second.empty())
        print_error("rdb: {}: its debug information is not used: {}\n", file.path, known->second);
    }
    if (known->second.empty())
      dwfl_report_elf(dwfl, file.path.c_str(), file.copy.c_str(), -1, file.begin.value, true);
  }
  dwfl_report_end(dwfl, nullptr, nullptr);
  return *files_;
}

std::vector<BacktraceFrame> Backtracer::frames(size_t most) {
  Files& known = files();
  auto read = [this](uint64_t address, uint64_t* word) {
    return replayer_.space().read(GuestAddr(address), word, 8) == 8;
  };
  if (!known.unwinder) {
    known.unwinder.reset(
        new Unwinder{replayer_.registers(), read, replayer_.thread().value, most, known.dwfl.get()});
  }
  known.unwinder->thread = replayer_.thread().value;
  known.unwinder->most = most;
  std::vector<BacktraceFrame> result = unwind(*known.unwinder);
  for (BacktraceFrame& frame : result)
    map_line(frame);
  return result;
}

void Backtracer::map_line(BacktraceFrame& frame) const {
  size_t colon = frame.place.rfind(':');
  if (!line_map_ || colon == std::string::npos) return;
  std::string file = frame.place.substr(0, colon);
  auto line = static_cast<unsigned>(std::strtoul(frame.place.c_str() + colon + 1, nullptr, 10));
  frame.place = fmt::format("{}:{}", file, line_map_(file, line));
}

const BacktraceFrame& Backtracer::at(GuestAddr pc) {
  Files& known = files();
  auto [place, fresh] = known_.try_emplace(pc.value);
  if (fresh) {
    place->second = frame_of(known.dwfl.get(), pc.value, pc.value);
    map_line(place->second);
  }
  return place->second;
}

std::vector<BacktraceFrame> host_backtrace(const engine::Registers& registers,
                                           const std::function<bool(uint64_t, uint64_t*)>& read,
                                           size_t most) {
  static const Dwfl_Callbacks callbacks = {
      .find_elf = dwfl_linux_proc_find_elf,
      .find_debuginfo = dwfl_standard_find_debuginfo,
      .section_address = dwfl_offline_section_address,
      .debuginfo_path = nullptr,
  };
  std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl(dwfl_begin(&callbacks), dwfl_end);
  if (!dwfl) return {};
  dwfl_report_begin(dwfl.get());
  dwfl_linux_proc_report(dwfl.get(), getpid());
  dwfl_report_end(dwfl.get(), nullptr, nullptr);
  Unwinder unwinder{registers, read, getpid(), most, dwfl.get()};
  return unwind(unwinder);
}

std::string describe(const std::vector<BacktraceFrame>& frames) {
  std::string text;
  for (size_t i = 0; i < frames.size(); ++i) {
    const BacktraceFrame& frame = frames[i];
    text += fmt::format("  #{:<2} {:#014x} {}{}{}\n", i, frame.pc.value,
                        frame.function.empty() ? "??" : visible_text(frame.function),
                        frame.place.empty() ? "" : " at ", visible_text(frame.place));
  }
  return text;
}

} // namespace rdb::replay
