// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests that wait for a reply, and give up when it takes too long.
#pragma once

#include "pool.h"

extern long requests_answered;
extern long requests_expired;

// From now on a timer looks every millisecond for requests that have waited too long.
void requests_start(void);
void requests_stop(void);
struct slot* request_send(long patience); // in ticks; null if too many wait already
void request_reply(struct slot* slot);
