// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the requests ended.
#pragma once

void statistics_answered(int backend, long ticks);
void statistics_expired(int backend);
void statistics_late(void);
void statistics_print(void);
