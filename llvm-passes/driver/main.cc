// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program rdb-clang (and, by the name it is called, rdb-clang++).
#include "llvm-passes/driver/driver.h"

#include "rdbtool/base/error.h"

#include <cstdio>

int main(int argc, char** argv) {
  try {
    return rdb::driver::driver_main(argc, argv);
  } catch (const rdb::Bug& error) {
    fmt::print(stderr, "rdb-clang: bug in rdb, please report: {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "rdb-clang: error: {}\n", error.what());
  }
  return 1;
}
