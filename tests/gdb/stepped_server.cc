// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Serves a single-stepped run to a debugger: what the tests start beside a real gdb.
//   gdb_stepped_server SOCKET FUNCTION PROGRAM [ARGS...]
#include "rdbtool/gdb/protocol/server.h"
#include "tests/gdb/stepped_target.h"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace rdb::gdb;
  if (argc < 4) return 2;
  try {
    SteppedTarget target(record_stepped_run({argv + 3, argv + argc}, argv[2]));
    Listener listener(argv[1]);
    printf("%s\n", listener.address().c_str());
    fflush(stdout);
    serve(listener, target, [](const std::string& line) { fprintf(stderr, "%s\n", line.c_str()); });
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
