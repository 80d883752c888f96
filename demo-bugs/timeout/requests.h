// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests that wait for a reply, and give up when it takes too long.
#pragma once

#include "backend.h"

// From now on a timer looks every millisecond for requests that have waited too long.
void requests_start(void);
void requests_stop(void);

// Sends a request to a backend. False if too many wait already. The patience is in milliseconds.
bool request_send(int backend, long patience);
// Takes what the backends have replied. A reply that comes too late is thrown away.
void requests_receive(void);
int requests_waiting(void);
