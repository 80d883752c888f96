// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The backends that answer requests, each one after the other. Some take their time.
#pragma once

#include <stdbool.h>

enum { kMaxBackends = 8, kQueue = 32 };

// Which request a reply belongs to.
struct ticket {
  struct slot* slot;
  long number;
};

// Reads "NAME EFFORT MORE" a line: an answer takes EFFORT rounds, and at random up to MORE. False if that is
// not possible; why was said on standard error.
bool backends_read(const char* path);
int backends_count(void);
const char* backend_name(int backend);

bool backend_has_room(int backend);
void backend_send(int backend, struct ticket ticket);
// Lets it work for a while. True if it is done with a request.
bool backend_work(int backend, struct ticket* done);

unsigned draw(unsigned below); // a random number
