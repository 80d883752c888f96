// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Time runs to the right, in instructions. What lies closer together than the eye can tell is drawn as one: a
// picture has so many bars and marks as it has room for, however long the run was.
#include "rdbtool/cli/chunk_picture.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/xml.h"
#include "rdbtool/cli/trace_text.h"
#include "rdbtool/syscalls/table.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

namespace rdb::cli {
namespace {

constexpr double kLeft = 120; // room for names
constexpr double kWidth = 1080;
constexpr double kRight = 48; // for half of the last number
constexpr double kTop = 64;
constexpr double kLane = 44;
constexpr double kBar = 14;
constexpr double kLeastBar = 0.6;       // narrower turns would not be seen
constexpr double kMarkDistance = 3;     // marks of one kind in one lane that lie closer are one
constexpr double kHandoverDistance = 2; // likewise

constexpr const char* kColours[] = {"#4269d0", "#ff725c", "#3ca951", "#efb118", "#a463f2",
                                    "#6cc5b0", "#ff8ab7", "#9c6b4e", "#97bbf5", "#9498a0"};

enum class MarkKind : uint8_t { call, signal, begin, end };

struct EventMark {
  MarkKind kind;
  uint64_t time;
  size_t lane;
  size_t count = 1;
  std::string title;
};

struct Bar {
  size_t lane;
  uint64_t begin, end;
  size_t turns = 1;
};

struct ThreadSwitch {
  uint64_t time;
  size_t from, to;
};

class Picture {
public:
  Picture(const trace::TraceReader& trace, const trace::ProcessInfo& process, const PictureRange& range)
      : trace_(trace), process_(process), range_(range) {
    choose_range();
    read_turns();
    read_marks();
  }

  std::string text() const;

private:
  void choose_range();
  void read_turns();
  void read_marks();
  void mark(MarkKind kind, uint64_t time, ThreadId thread, const std::string& title);
  size_t lane_of(ThreadId thread);
  double x(uint64_t time) const {
    uint64_t inside = std::clamp(time, range_.from, range_.to) - range_.from;
    return kLeft + kWidth * static_cast<double>(inside) / static_cast<double>(range_.to - range_.from);
  }
  double y(size_t lane) const { return kTop + kLane * static_cast<double>(lane) + 12; }
  std::string axis() const;
  std::string legend() const;
  std::string bar_text(const Bar& bar) const;
  std::string mark_text(const EventMark& mark) const;

  const trace::TraceReader& trace_;
  const trace::ProcessInfo& process_;
  PictureRange range_;
  std::map<ThreadId, size_t> lanes_;
  std::vector<ThreadId> threads_;
  std::vector<Bar> bars_;
  std::vector<ThreadSwitch> thread_switches_;
  std::vector<EventMark> marks_;
  uint64_t turns_ = 0;
};

// What comes before the second thread and after the last one shows nothing.
void Picture::choose_range() {
  trace::InputReader inputs = trace_.inputs(process_);
  uint64_t last = std::max(inputs.last_time(), trace_.chunks(process_).last_time()).value;
  range_.to = std::min(range_.to, last);
  bool chosen = range_.from != 0 || range_.to != last;
  uint64_t first_start = UINT64_MAX;
  uint64_t last_end = 0;
  while (const trace::Input* input = chosen ? nullptr : inputs.next()) {
    if (input->kind() == trace::InputKind::thread_start)
      first_start = std::min(first_start, input->at.time.value);
    if (input->kind() == trace::InputKind::thread_end) last_end = input->at.time.value;
  }
  if (first_start < last) {
    if (last_end <= first_start) last_end = last; // some were never over
    uint64_t margin = (last_end - first_start) / 20 + 1;
    range_.from = first_start > margin ? first_start - margin : 0;
    range_.to = std::min(last, last_end + margin);
  }
  if (range_.from >= range_.to)
    user_error("dump: nothing of the run lies between {} and {}; it ends at {}", range_.from, range_.to,
               last);
}

size_t Picture::lane_of(ThreadId thread) {
  auto [found, is_new] = lanes_.emplace(thread, threads_.size());
  if (is_new) threads_.push_back(thread);
  return found->second;
}

void Picture::read_turns() {
  trace::ChunkReader chunks = trace_.chunks(process_);
  chunks.seek(Time(range_.from));
  std::map<size_t, size_t> last_bar; // of each lane
  bool first = true;
  size_t before = 0;
  while (const trace::TimedChunk* chunk = chunks.next()) {
    if (chunk->begin.value > range_.to) break;
    ++turns_;
    size_t lane = lane_of(chunk->chunk.thread);
    uint64_t begin = std::max(chunk->begin.value, range_.from);
    bool handed = !first && lane != before;
    bool shown = handed && (thread_switches_.empty() ||
                            x(begin) - x(thread_switches_.back().time) >= kHandoverDistance);
    if (shown) thread_switches_.push_back({begin, before, lane});
    first = false;
    before = lane;
    auto known = last_bar.find(lane);
    if (known != last_bar.end() && x(begin) - x(bars_[known->second].end) < kLeastBar) {
      bars_[known->second].end = chunk->end().value;
      ++bars_[known->second].turns;
    } else {
      last_bar[lane] = bars_.size();
      bars_.push_back({lane, begin, chunk->end().value});
    }
  }
}

void Picture::mark(MarkKind kind, uint64_t time, ThreadId thread, const std::string& title) {
  size_t lane = lane_of(thread);
  for (auto known = marks_.rbegin(); known != marks_.rend(); ++known) {
    if (x(time) - x(known->time) >= kMarkDistance) break;
    if (known->kind != kind || known->lane != lane) continue;
    constexpr size_t kMostTitles = 12;
    ++known->count;
    if (known->count <= kMostTitles) known->title += "\n" + title;
    if (known->count == kMostTitles + 1) known->title += "\n...";
    return;
  }
  marks_.push_back({kind, time, lane, 1, title});
}

void Picture::read_marks() {
  trace::InputReader inputs = trace_.inputs(process_);
  inputs.seek(Time(range_.from));
  while (const trace::Input* input = inputs.next()) {
    uint64_t time = input->at.time.value;
    if (time > range_.to) return;
    switch (input->kind()) {
    case trace::InputKind::syscall: {
      const SyscallInfo* info = find_syscall(input->as<trace::SyscallInput>().number);
      mark(MarkKind::call, time, input->thread,
           fmt::format("{}: {} = {}", time, info == nullptr ? "call" : info->name,
                       input->as<trace::SyscallInput>().result));
      break;
    }
    case trace::InputKind::signal: {
      const char* name = sigabbrev_np(input->as<trace::SignalInput>().number);
      mark(MarkKind::signal, time, input->thread,
           fmt::format("{}: SIG{}", time, name == nullptr ? "RT" : name));
      break;
    }
    case trace::InputKind::thread_start:
      mark(MarkKind::begin, time, input->as<trace::ThreadStartInput>().created,
           fmt::format("{}: started by {}", time, input->thread.value));
      break;
    case trace::InputKind::thread_end:
      mark(MarkKind::end, time, input->thread, fmt::format("{}: over", time));
      break;
    default:
      break;
    }
  }
}

std::string Picture::axis() const {
  double span = static_cast<double>(range_.to - range_.from);
  double step = std::pow(10, std::floor(std::log10(span / 5)));
  while (span / step > 10)
    step *= span / step > 20 ? 5 : 2;
  step = std::max(step, 1.0);
  std::string text;
  double bottom = kTop + kLane * static_cast<double>(threads_.size());
  auto width = static_cast<uint64_t>(step);
  for (uint64_t at = (range_.from + width - 1) / width * width; at <= range_.to; at += width)
    text += fmt::format("<line x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}' stroke='#e4e4e4'/>"
                        "<text x='{0:.1f}' y='{3}' text-anchor='middle' fill='#777'>{4}</text>\n",
                        x(at), kTop, bottom, kTop - 6, at);
  return text;
}

std::string Picture::bar_text(const Bar& bar) const {
  double left = x(bar.begin);
  double width = std::max(x(bar.end) - left, kLeastBar);
  std::string what = bar.turns == 1 ? fmt::format("{} instructions", bar.end - bar.begin)
                                    : fmt::format("{} turns", bar.turns);
  return fmt::format(
      "<rect x='{:.2f}' y='{}' width='{:.2f}' height='{}' fill='{}'><title>thread {}: {} to {}, "
      "{}</title></rect>\n",
      left, y(bar.lane), width, kBar, kColours[bar.lane % std::size(kColours)], threads_[bar.lane].value,
      bar.begin, bar.end, what);
}

std::string Picture::mark_text(const EventMark& mark) const {
  double at = x(mark.time);
  double top = y(mark.lane);
  std::string shape;
  switch (mark.kind) {
  case MarkKind::call:
    shape = fmt::format("<line class='call' x1='{0:.2f}' y1='{1}' x2='{0:.2f}' y2='{2}'>", at, top + kBar + 2,
                        top + kBar + 9);
    break;
  case MarkKind::signal:
    shape = fmt::format("<path class='signal' d='M{:.2f} {} l-4 -8 l8 0 z'>", at, top - 1);
    break;
  case MarkKind::begin:
    shape = fmt::format("<circle class='begin' cx='{:.2f}' cy='{}' r='4'>", at, top + kBar / 2);
    break;
  case MarkKind::end:
    shape = fmt::format("<rect class='end' x='{:.2f}' y='{}' width='4' height='{}'>", at, top - 3, kBar + 6);
    break;
  }
  std::string tag = shape.substr(1, shape.find(' ') - 1);
  std::string count = mark.count > 1 ? fmt::format("{} here\n", mark.count) : "";
  return shape + "<title>" + xml_escaped(count + mark.title) + "</title></" + tag + ">\n";
}

std::string Picture::legend() const {
  double line = kTop + kLane * static_cast<double>(threads_.size()) + 26;
  double bar = line - 9;
  return fmt::format(
      "<g fill='#444'><rect x='{0}' y='{1}' width='26' height='10' fill='{2}'/><text x='{3}' y='{4}'>a "
      "turn</text>"
      "<line class='handover' x1='{5}' y1='{6}' x2='{5}' y2='{7}'/><text x='{8}' "
      "y='{4}'>hand-over</text>"
      "<line class='call' x1='{9}' y1='{1}' x2='{9}' y2='{4}'/><text x='{10}' y='{4}'>system call</text>"
      "<path class='signal' d='M{11} {4} l-4 -8 l8 0 z'/><text x='{12}' y='{4}'>signal</text>"
      "<circle class='begin' cx='{13}' cy='{14}' r='4'/><text x='{15}' y='{4}'>thread begins</text>"
      "<rect class='end' x='{16}' y='{1}' width='4' height='11'/><text x='{17}' y='{4}'>thread "
      "ends</text></g>\n",
      kLeft, bar, kColours[0], kLeft + 32, line, kLeft + 110, bar - 3, line + 2, kLeft + 118, kLeft + 216,
      kLeft + 224, kLeft + 330, kLeft + 340, kLeft + 420, line - 4, kLeft + 430, kLeft + 550, kLeft + 560);
}

std::string Picture::text() const {
  double width = kLeft + kWidth + kRight;
  double height = kTop + kLane * static_cast<double>(threads_.size()) + 44;
  std::string result = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
      "font-family='sans-serif' font-size='12'>\n"
      "<style>.call{{stroke:#222}}.signal{{fill:#d01c1c}}.begin{{fill:#fff;stroke:#222;stroke-width:1.5}}"
      ".end{{fill:#222}}.handover{{stroke:#999;stroke-width:.7}}</style>\n"
      "<rect width='{0}' height='{1}' fill='#fff'/>\n"
      "<text x='12' y='22' font-size='15' font-weight='bold'>{2}, process {3}</text>"
      "<text x='12' y='40' fill='#777'>times {4} to {5}, in instructions: {6} turns of {7} threads</text>\n",
      width, height, xml_escaped(process_.program), process_.pid, range_.from, range_.to, turns_,
      threads_.size());
  result += axis();
  for (size_t lane = 0; lane < threads_.size(); ++lane)
    result += fmt::format("<text x='12' y='{}'>thread {}</text>\n", y(lane) + kBar - 3, threads_[lane].value);
  for (const ThreadSwitch& thread_switch : thread_switches_) {
    auto [high, low] = std::minmax(thread_switch.from, thread_switch.to);
    result += fmt::format("<line class='handover' x1='{0:.2f}' y1='{1}' x2='{0:.2f}' y2='{2}'/>\n",
                          x(thread_switch.time), y(high) + kBar, y(low));
  }
  for (const Bar& bar : bars_)
    result += bar_text(bar);
  for (const EventMark& mark : marks_)
    result += mark_text(mark);
  return result + legend() + "</svg>\n";
}

} // namespace

std::string chunk_picture(const trace::TraceReader& trace, const trace::ProcessInfo& process,
                          const PictureRange& range) {
  return Picture(trace, process, range).text();
}

} // namespace rdb::cli
