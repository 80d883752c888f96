// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/trace/recording.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::trace {

pid_t start_producer(LogConsumer& consumer, const ProducerBody& body) {
  ProducerEnds ends = consumer.open_process();
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    consumer.forget_in_child();
    LogProducer producer;
    if (!producer.attach(ends)) _exit(99);
    _exit(body(producer));
  }
  LogProducer::close_ends(ends);
  return child;
}

void pump_once(LogConsumer& consumer) {
  pollfd ready = {consumer.fd(), POLLIN, 0};
  poll(&ready, 1, consumer.timeout_ms());
  consumer.pump();
}

void pump_until_idle(LogConsumer& consumer) {
  while (!consumer.idle())
    pump_once(consumer);
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool append_start(LogProducer& producer, int32_t pid) {
  StartInput start;
  start.pid = pid;
  start.program = "/usr/bin/sample";
  return producer.append(ThreadId(pid), Time(0), start);
}

bool append_calls(LogProducer& producer, uint32_t first, uint32_t count) {
  uint8_t bytes[16] = {1, 2, 3};
  for (uint32_t i = first; i < first + count; ++i) {
    MemoryWrite write = {GuestAddr(0x7000), bytes, i % 16};
    SyscallInput call = {i, OutputStream::none, false, static_cast<int64_t>(i % 16),
                         i * uint64_t{0x9E3779B97F4A7C15}};
    if (!producer.append(ThreadId(1000), Time(uint64_t{i} * 10), call, &write, 1)) return false;
  }
  return true;
}

} // namespace rdb::trace
