// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/print_hits.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/trace/file_io.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace rdb::cli {

namespace {

constexpr const char* kMissing = "<not available here>";

std::string place_of(const debug::PrintRequest& request) {
  return request.spot.empty() ? fmt::format("{}:{}", request.file, request.line) : request.spot;
}

} // namespace

void HitPrinter::line(const std::string& text) {
  std::optional<debug::Hit> hit = debug::parse_hit(text);
  const debug::PrintRequest* request = hit ? request_of_(*hit) : nullptr;
  if (request == nullptr) {
    fmt::print("{}\n", text);
    return;
  }
  auto begun = begun_.find(hit->thread);
  if (hit->reached || request->code) {
    if (begun != begun_.end()) show(begun->second);
    begun_.insert_or_assign(hit->thread, std::move(*hit));
    return;
  }
  if (begun == begun_.end() || request_of_(begun->second) != request) return;
  begun->second.text += hit->text;
  begun->second.fields.insert(begun->second.fields.end(), hit->fields.begin(), hit->fields.end());
}

// In the order of the request, with what is missing.
void HitPrinter::complete(debug::Hit& hit, const debug::PrintRequest& request) {
  if (request.code) return;
  auto missing = [&](const std::string& expression) {
    if (auto why = request.missing.find(expression); why != request.missing.end())
      missing_.emplace(fmt::format("{} at {}", expression, place_of(request)), why->second);
    return kMissing;
  };
  if (debug::is_format(request.what)) {
    if (hit.text.empty()) hit.text = missing(request.what);
    return;
  }
  std::vector<std::pair<std::string, std::string>> fields;
  for (const std::string& expression : debug::split_expressions(request.what)) {
    auto found = std::ranges::find(hit.fields, expression, &std::pair<std::string, std::string>::first);
    fields.emplace_back(expression, found == hit.fields.end() ? missing(expression) : found->second);
  }
  hit.fields = std::move(fields);
}

void HitPrinter::show(const debug::Hit& lines) {
  debug::Hit hit = lines;
  const debug::PrintRequest* request = request_of_(hit);
  complete(hit, *request);
  std::string place = place_of(*request);
  if (options_.changes && !changed(hit, place)) return;
  if (counts_[place]++ >= options_.max_hits) return;
  if (options_.style == debug::HitStyle::csv && !header_ && !hit.fields.empty()) {
    fmt::print("time,thread,place");
    for (const auto& [name, value] : hit.fields)
      fmt::print(",{}", name.find(',') == std::string::npos ? name : "\"" + name + "\"");
    fmt::print("\n");
    header_ = true;
  }
  fmt::print("{}\n", debug::render_hit(hit, place, options_.style));
  shown_ = true;
}

void HitPrinter::show_rest() {
  std::vector<const debug::Hit*> rest;
  rest.reserve(begun_.size());
  for (const auto& [thread, hit] : begun_)
    rest.push_back(&hit);
  std::ranges::sort(rest, {}, &debug::Hit::time);
  for (const debug::Hit* hit : rest)
    show(*hit);
  begun_.clear();
}

bool HitPrinter::changed(const debug::Hit& hit, const std::string& place) {
  std::string values = hit.text;
  for (const auto& [name, value] : hit.fields)
    values += value + '\x1f';
  auto [last, fresh] = last_.try_emplace(place, values);
  if (fresh) return true;
  if (last->second == values) return false;
  last->second = values;
  return true;
}

// What comes from the other process, up to its end. False if nobody wants to read it any more.
bool HitPrinter::take_lines(int from) try {
  std::string text;
  for (;;) {
    pollfd fds[2] = {{from, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) user_error("print: {}", std::strerror(errno));
    if (fds[1].revents & POLLERR) return false;
    char part[65536];
    ssize_t size = fds[0].revents != 0 ? ::read(from, part, sizeof part) : 0;
    if (fds[0].revents == 0 || (size < 0 && errno == EINTR)) continue;
    if (size <= 0) break;
    text.append(part, static_cast<size_t>(size));
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      line(text.substr(begin, end - begin));
    text.erase(0, begin);
  }
  if (!text.empty()) line(text);
  return true;
} catch (const std::system_error& error) {
  if (error.code() == std::errc::broken_pipe) return false;
  throw;
}

int HitPrinter::run(const std::function<int()>& child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) user_error("print: {}", std::strerror(errno));
  std::fflush(stdout);
  pid_t process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM); // what it finds is for its parent
    dup2(ends[1], STDOUT_FILENO);
    _exit(child());
  }
  close(ends[1]);
  if (process < 0) user_error("print: {}", std::strerror(errno));
  trace::OwnedFd from(ends[0]);
  // Where nobody reads what is printed, the process that finds it need not go on.
  auto* before = signal(SIGPIPE, SIG_IGN);
  bool read = false;
  std::exception_ptr trouble;
  try {
    read = take_lines(from.get());
    if (read) {
      show_rest();
      if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "cannot write");
    }
  } catch (const std::system_error& error) {
    read = false;
    if (error.code() != std::errc::broken_pipe) trouble = std::current_exception();
  }
  if (!read) kill(process, SIGTERM);
  from = {};
  for (const auto& [what, why] : missing_)
    print_error("rdb: {} is not available: {}\n", what, why);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  signal(SIGPIPE, before);
  if (trouble) std::rethrow_exception(trouble);
  if (!read) return 128 + SIGPIPE;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  print_error("rdb: print: the process that plays the recording was ended by {}: what comes after is not "
              "shown\n",
              guest::describe(guest::ending_of(status)));
  return 128 + WTERMSIG(status);
}

} // namespace rdb::cli
