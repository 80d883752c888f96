// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/program_symbols.h"
#include "twin_build.h"
#include <gtest/gtest.h>
