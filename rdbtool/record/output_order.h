// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replay shows what threads wrote to a standard stream in the order of the log. A call that may block is made
// without the baton, so the kernel may do two of them in another order than the log has them, or mix their
// bytes. Here they stand in line: one thread at a time writes to the stream's file, and the next one when the
// log has what it wrote.
#pragma once

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/record/descriptors.h"
#include "rdbtool/record/recorded_baton.h"

#include <array>
#include <deque>
#include <optional>

namespace rdb::record {

// Where the output of one call goes, for as long as the call takes.
class OutputTarget {
public:
  OutputTarget() = default;
  ~OutputTarget() = default;
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

  // Finds out about the descriptor, before the call is made. `keeps_baton`: whether the call does.
  void find(int fd, Descriptors& descriptors, const guest::Machine& machine, bool keeps_baton);
  // Whatever becomes of the number while others run.
  void hold(Descriptors& descriptors);
  void reset();

  // The descriptor to be used in its place. Other threads may make the number mean another file before the
  // kernel looks at it: then this is a copy of rdb's own.
  int descriptor() const { return copy_ != nullptr && copy_->fd() >= 0 ? copy_->fd() : fd_; }
  trace::OutputStream stream() const { return stream_; }

private:
  int fd_ = -1;
  std::shared_ptr<const OwnCopy> copy_;
  trace::OutputStream stream_ = trace::OutputStream::none;
};

class OutputOrder {
  struct Contender {
    guest::Thread* thread = nullptr;
    bool may_block = false;
  };
  struct Line {
    Contender writer;
    std::deque<Contender> waiting;
  };

public:
  // One thread's, for the length of a call.
  class Turn {
  public:
    Turn(OutputOrder& order, guest::Machine& machine, RecordedBaton& baton, OutputTarget& target)
        : order_(order), machine_(machine), baton_(baton), target_(target) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Finds the target out, by the argument that says it, and waits in its line. 0, or the result of the
    // call, which is not to be made then.
    int64_t begin(const guest::SystemCall& call, size_t argument, Descriptors& descriptors, bool keeps_baton);

  private:
    int64_t enter(Line& line, const Contender& self);

    OutputOrder& order_;
    guest::Machine& machine_;
    RecordedBaton& baton_;
    OutputTarget& target_;
    Line* line_ = nullptr; // in which it is the writer
  };

  // In a forked child: the others are not there.
  void forget() { lines_ = {}; }

private:
  std::array<Line, Descriptors::kOutputFiles> lines_;
};

} // namespace rdb::record
