// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/handover.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/own_executable.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

using nlohmann::json;

// Arguments are bytes, JSON is UTF-8: hex keeps them whole.
std::string to_hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (unsigned char c : bytes) {
    result += kDigits[c >> 4];
    result += kDigits[c & 15];
  }
  return result;
}

std::string from_hex(const std::string& text) {
  auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string result;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    result += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  return result;
}

json words(const std::vector<std::string>& list) {
  json result = json::array();
  for (const std::string& s : list)
    result.push_back(to_hex(s));
  return result;
}

std::vector<std::string> words(const json& list) {
  std::vector<std::string> result;
  for (const json& s : list)
    result.push_back(from_hex(s.get<std::string>()));
  return result;
}

} // namespace

int64_t exec_rdb(const Handover& handover) {
  json content;
  content["path"] = to_hex(handover.path);
  content["argv"] = words(handover.argv);
  content["environment"] = words(handover.environment);
  content["seed"] = handover.machine.seed;
  content["layout"] = handover.machine.layout;
  content["layout_top"] = handover.machine.layout_top;
  content["randomise"] = handover.machine.randomise;
  content["step_only"] = handover.machine.step_only;
  content["lockstep"] = handover.machine.lockstep;
  content["superblocks"] = handover.machine.superblocks;
  content["eager"] = handover.machine.eager;
  content["chunk"] = handover.machine.turns.chunk;
  content["chaos"] = handover.machine.turns.chaos;
  content["turn_seed"] = handover.machine.turns.seed;
  content["one_thread"] = handover.machine.turns.one_thread;
  content["tell_harmless"] = tells_harmless();
  const Inherited& inherited = handover.inherited;
  content["mask"] = inherited.mask;
  content["limits"] = json::array();
  for (const rlimit& limit : inherited.limits)
    content["limits"].push_back({limit.rlim_cur, limit.rlim_max});
  content["deny_write_execute"] = inherited.deny_write_execute;
  content["death_signal_is_guests"] = inherited.death_signal_is_guests;
  content["filters"] = json::array();
  for (const auto& filter : inherited.filters)
    content["filters"].push_back(
        to_hex({reinterpret_cast<const char*>(filter.data()), filter.size() * sizeof filter[0]}));
  content["program"] = handover.program_fd;
  content["listener_descriptors"] = handover.listener_descriptors;
  content["listener_state"] = handover.listener_state;
  std::vector<int> kept = handover.listener_descriptors;
  if (handover.program_fd >= 0) kept.push_back(handover.program_fd);
  for (int descriptor : kept)
    fcntl(descriptor, F_SETFD, 0);
  std::string text = content.dump();
  int fd = memfd_create("rdb", 0);
  if (fd < 0) return -errno;
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    close(fd);
    return -ENOMEM;
  }
  std::string number = std::to_string(fd);
  std::vector<const char*> argv;
  for (const std::string& word : self().words)
    argv.push_back(word.c_str());
  argv.insert(argv.end(), {kHandoverCommand, number.c_str(), nullptr});
  const char* environment[] = {nullptr};
  execve("/proc/self/exe", const_cast<char**>(argv.data()), const_cast<char**>(environment));
  int error = errno;
  for (int descriptor : kept)
    close_own_descriptor(descriptor);
  close(fd);
  return -error;
}

Handover receive_handover(int fd) {
  std::string text;
  char part[65536];
  off_t at = 0;
  for (ssize_t n; (n = pread(fd, part, sizeof part, at)) > 0; at += n)
    text.append(part, static_cast<size_t>(n));
  close(fd);
  Handover result;
  try {
    json content = json::parse(text);
    result.path = from_hex(content.at("path"));
    result.argv = words(content.at("argv"));
    result.environment = words(content.at("environment"));
    result.machine.seed = content.at("seed");
    result.machine.layout = content.at("layout").get<LayoutVersion>();
    result.machine.layout_top = content.at("layout_top");
    result.machine.randomise = content.at("randomise");
    result.machine.step_only = content.at("step_only");
    result.machine.lockstep = content.at("lockstep");
    result.machine.superblocks = content.at("superblocks");
    result.machine.eager = content.at("eager");
    result.machine.turns.chunk = content.at("chunk");
    result.machine.turns.chaos = content.at("chaos");
    result.machine.turns.seed = content.at("turn_seed");
    result.machine.turns.one_thread = content.at("one_thread");
    tell_harmless(content.at("tell_harmless"));
    result.program_fd = adopt_own_descriptor(content.at("program"));
    for (int descriptor : content.at("listener_descriptors"))
      result.listener_descriptors.push_back(adopt_own_descriptor(descriptor));
    result.listener_state = content.at("listener_state");
    Inherited& inherited = result.inherited;
    inherited.known = true;
    inherited.mask = content.at("mask");
    for (size_t i = 0; i < inherited.limits.size(); ++i)
      inherited.limits[i] = {content.at("limits").at(i).at(0), content.at("limits").at(i).at(1)};
    inherited.deny_write_execute = content.at("deny_write_execute");
    inherited.death_signal_is_guests = content.at("death_signal_is_guests");
    for (const json& filter : content.at("filters")) {
      std::string bytes = from_hex(filter);
      inherited.filters.emplace_back(bytes.size() / sizeof(sock_filter));
      std::memcpy(inherited.filters.back().data(), bytes.data(),
                  bytes.size() / sizeof(sock_filter) * sizeof(sock_filter));
    }
  } catch (const json::exception& error) {
    user_error("{} is used by rdb itself, not by hand ({})", kHandoverCommand, error.what());
  }
  return result;
}

} // namespace rdb::guest
