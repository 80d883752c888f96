// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/memory/host_place.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/host/own_executable.h"
#include "rdbtool/guest/host/own_limits.h"
#include "rdbtool/guest/memory/layout.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>
#include <vector>

extern "C" const char __ehdr_start; // of this program, made by the linker

namespace rdb::guest {

constinit HostPlace host_place;

namespace {

// Set for the process that is started again: which process that is, what it was started with, and the value
// that the variable had before, if it had one. Whatever else it says has been set by somebody else.
constexpr const char* kStartedAgain = "RDB_STARTED_AGAIN";

// Mappings that rdb makes later come below those that it has. So much room is kept for them.
constexpr uint64_t kRoomForMappings = 48ull << 30;
constexpr uint64_t kRoomForHeap = 64ull << 30;

template <class T>
uint64_t address_of(T* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Where the next large mapping would go.
uint64_t next_mapping() {
  constexpr size_t kSize = 64u << 20; // does not fit into a hole between libraries
  void* probe = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return 0;
  munmap(probe, kSize);
  return address_of(probe);
}

// Is rdb where a native process usually is?
bool lies_as_usual() {
  const HostPlace usual;
  auto in_low = [&](uint64_t address) { return address - usual.low_begin < usual.low_size - kRoomForHeap; };
  // Started by its loader, the program is a mapping like others.
  const uint64_t image = address_of(&__ehdr_start);
  const uint64_t heap = address_of(sbrk(0));
  const uint64_t local = address_of(&image);
  return next_mapping() >= usual.high_begin + kRoomForMappings / 2 && local >= usual.high_begin &&
         (in_low(image) || image >= usual.high_begin) && (in_low(heap) || heap >= usual.high_begin);
}

// Where it does lie, with room to grow.
HostPlace actual_place() {
  HostPlace place;
  place.high_begin = kUserEnd;
  const uint64_t image = address_of(&__ehdr_start);
  const uint64_t heap = address_of(sbrk(0));
  place.low_begin = page_down(std::min(image, heap));
  uint64_t low_end = page_up(std::max(image, heap)) + kRoomForHeap;
  std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  char line[4352];
  while (maps && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    const uint64_t begin = std::strtoull(line, nullptr, 16);
    if (begin >= place.low_begin && begin < low_end) continue;
    place.high_begin = std::min(place.high_begin, begin);
  }
  place.high_begin -= std::min(place.high_begin, kRoomForMappings);
  // The program may lie among the other mappings.
  if (place.low_begin >= place.high_begin) place.low_begin = low_end = place.high_begin;
  place.low_size = std::min(low_end, place.high_begin) - place.low_begin;
  return place;
}

// What tells this process from all others, and stays as it is when it runs another program: its number, and
// when it began, in ticks since the machine's start. Empty if that cannot be found out.
std::string this_process() {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/stat", "re"), std::fclose);
  char text[1024];
  if (!file) return "";
  text[std::fread(text, 1, sizeof text - 1, file.get())] = 0;
  constexpr int kStartTime = 22; // fields are counted from 1; the second is a name in parentheses
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < kStartTime; ++field)
    at = std::strchr(at + 1, ' ');
  if (at == nullptr) return "";
  return std::to_string(getpid()) + " " + std::to_string(std::strtoull(at, nullptr, 10)) + " ";
}

// To what its user had set it to; null for nothing.
void restore_variable(const char* value) {
  if (value != nullptr)
    setenv(kStartedAgain, value, 1);
  else
    unsetenv(kStartedAgain);
}

// Starts rdb again with its mappings in the usual order, and not at random addresses. Returns if it cannot.
void start_again(char** argv) {
  const int old = personality(0xFFFFFFFF); // -1 where a filter refuses even the question
  const std::string process = this_process();
  if (process.empty() || access("/proc/self/exe", X_OK) != 0) return;
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  const rlimit original = limit_at_start(RLIMIT_STACK);
  const auto number = [](rlim_t value) { return std::to_string(static_cast<unsigned long long>(value)); };
  const char* users = std::getenv(kStartedAgain);
  const std::optional<std::string> users_value = users ? std::optional(std::string(users)) : std::nullopt;
  const std::string text = process + std::to_string(old) + " " + number(original.rlim_cur) + " " +
                           number(original.rlim_max) + (users_value ? "=" + *users_value : "");
  // In this order: where the personality cannot be changed, a limit of the stack alone may be enough.
  const auto wanted = static_cast<unsigned long>((old & ~ADDR_COMPAT_LAYOUT) | ADDR_NO_RANDOMIZE);
  const bool changed = old >= 0 && personality(wanted) >= 0;
  const rlim_t usual = std::min<rlim_t>(stack.rlim_max, 8u << 20);
  const bool lowered = stack.rlim_cur > usual;
  if (!changed && !lowered) return;
  const rlimit fresh{std::min(stack.rlim_cur, usual), stack.rlim_max};
  setrlimit(RLIMIT_STACK, &fresh);
  setenv(kStartedAgain, text.c_str(), 1);
  std::vector<const char*> words;
  for (const std::string& word : self().words)
    words.push_back(word.c_str());
  for (char** word = argv + 1; *word != nullptr; ++word)
    words.push_back(*word);
  words.push_back(nullptr);
  execv("/proc/self/exe", const_cast<char**>(words.data()));
  restore_variable(users_value ? users_value->c_str() : nullptr);
  setrlimit(RLIMIT_STACK, &stack);
  if (changed) personality(static_cast<unsigned long>(old));
}

// Takes over what the first process had. False: this is the first.
bool is_second_start() {
  const char* text = std::getenv(kStartedAgain);
  const std::string process = this_process();
  if (text == nullptr || process.empty() || std::strncmp(text, process.c_str(), process.size()) != 0)
    return false;
  char* end = nullptr;
  const long old = std::strtol(text + process.size(), &end, 10);
  rlimit stack{};
  stack.rlim_cur = std::strtoull(end, &end, 10);
  stack.rlim_max = std::strtoull(end, &end, 10);
  const std::string users = *end == '=' ? end + 1 : ""; // `end` is in the variable that is changed here
  restore_variable(*end == '=' ? users.c_str() : nullptr);
  if (old >= 0) personality(static_cast<unsigned long>(old));
  set_limit_at_start(RLIMIT_STACK, stack);
  return true;
}

} // namespace

uint64_t size_before_host(uint64_t address, uint64_t size) {
  if (is_host(address)) return 0;
  const uint64_t next = address < host_place.low_begin ? host_place.low_begin : host_place.high_begin;
  return std::min(size, std::min(next, host_place.high_begin) - address);
}

uint64_t top_for_guest() {
  // Where the place is another one than usual, it often changes from process to process, and programs that a
  // recorded one starts have the layout of the recording. This is below nearly all such places.
  constexpr uint64_t kLowerTop = 0x140000000000;
  const HostPlace usual;
  if (host_place.high_begin >= usual.high_begin) return usual.high_begin;
  return std::min(kLowerTop, host_place.high_begin);
}

void settle_host_place(char** argv) {
  const bool again = is_second_start();
  if (lies_as_usual()) return;
  if (!again) start_again(argv);
  host_place = actual_place();
}

} // namespace rdb::guest
