// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program rdb-clang (and, by the name it is called, rdb-clang++).
#include "llvm-passes/driver/driver.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/temporary_folder.h"

#include <cstdio>
#include <unistd.h>

int main(int argc, char** argv) {
  try {
    int status = rdb::driver::driver_main(argc, argv);
    // clang does not say where it wanted to make its temporary files.
    rdb::TemporaryPlace place = rdb::TemporaryPlace::chosen();
    if (status != 0 && access(place.path.c_str(), W_OK | X_OK) != 0)
      fmt::print(stderr, "rdb-clang: error: {}\n", place.trouble());
    return status;
  } catch (const rdb::Bug& error) {
    fmt::print(stderr, "rdb-clang: bug in rdb, please report: {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "rdb-clang: error: {}\n", error.what());
  }
  return 1;
}
