// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/loaded_program.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/privileges.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_options.h"
#include "rdbtool/guest/signals/signal_frame.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <random>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

std::array<uint8_t, 16> random_bytes(uint64_t seed) {
  std::array<uint8_t, 16> result;
  std::mt19937_64 generator(seed);
  for (size_t i = 0; i < result.size(); i += 8) {
    uint64_t word = generator();
    std::memcpy(result.data() + i, &word, 8);
  }
  return result;
}

void tell_lost_privileges(const std::string& path) {
  std::string lost = lost_privileges(path);
  if (lost.empty()) return;
  std::string line = fmt::format("rdb: {} {}: under rdb it runs without\n", path, lost);
  raw_syscall(SYS_write, own_error_stream(), reinterpret_cast<int64_t>(line.data()),
              static_cast<int64_t>(line.size()));
}

// As the program sees itself: the path in /proc/self/exe, its process id, and the name of its first thread.
void name_process(Machine& machine, const std::string& file, const std::string& path) {
  char real[PATH_MAX];
  machine.set_identity({realpath(file.c_str(), real) != nullptr ? real : file, getpid()});
  size_t slash = path.rfind('/');
  prctl(PR_SET_NAME, path.c_str() + (slash == std::string::npos ? 0 : slash + 1));
}

} // namespace

LoadedProgram load_program(Machine& machine, const Program& file, const ProcessOptions& options,
                           const GuestLimits& limits) {
  tell_lost_privileges(file.path);
  AddressSpace& space = machine.space();
  LoadedProgram program;
  program.file = file;
  program.image = load_image(space, file.path);
  const Image& image = program.image;
  bool is_static = image.interpreter.empty();
  Image interpreter;
  if (!is_static) interpreter = load_image(space, image.interpreter);
  space.set_brk(image.position_independent ? space.layout().brk : page_up(image.end));
  InitialStack stack{file.argv,
                     options.environment,
                     options.path,
                     image,
                     is_static ? nullptr : &interpreter,
                     random_bytes(machine.options().seed)};
  engine::Registers& regs = machine.registers();
  regs = {};
  program.stack = build_stack(space, stack, limits.get(RLIMIT_STACK).rlim_cur);
  regs.gpr[engine::RSP] = program.stack.pointer;
  regs.rip = is_static ? image.entry : interpreter.entry;
  reset_vectors(machine.engine());
  name_process(machine, file.path, options.path);
  return program;
}

} // namespace rdb::guest
