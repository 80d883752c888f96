// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <csignal>
#include <ctime>

namespace rdb {

// Keeps a file-size limit (ulimit -f) from killing rdb: what would exceed it fails with EFBIG. Ignoring the
// signal for good would be inherited by the guest.
class WithoutSigxfsz {
public:
  WithoutSigxfsz() {
    sigemptyset(&limit_);
    sigaddset(&limit_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit_, &old_);
  }
  ~WithoutSigxfsz() {
    if (sigismember(&old_, SIGXFSZ)) return;
    timespec at_once = {};
    if (exceeded_) sigtimedwait(&limit_, nullptr, &at_once);
    // This one alone: the C library would let in the two that it uses itself.
    pthread_sigmask(SIG_UNBLOCK, &limit_, nullptr);
  }
  WithoutSigxfsz(const WithoutSigxfsz&) = delete;
  WithoutSigxfsz& operator=(const WithoutSigxfsz&) = delete;

  // To be told of an EFBIG: the signal is there then.
  void exceeded() { exceeded_ = true; }

private:
  sigset_t limit_;
  sigset_t old_;
  bool exceeded_ = false;
};

} // namespace rdb
