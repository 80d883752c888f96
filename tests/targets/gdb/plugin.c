// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loaded by cpp.cc: a function and a variable of each thread.
__thread int uses = 40;

int scale(int by) {
  uses++;
  return by * 3; // scale
}
