// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// logd CONFIG: takes messages from its standard input until that ends, and writes those that are wanted to a
// log. Errors are written at once, all else a few lines at a time. SIGHUP begins a new file, for those who
// move the old one away themselves.
#include "buffer.h"
#include "config.h"
#include "input.h"
#include "logfile.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t reopen;
static long bad;

static void on_hangup(int signal) {
  (void)signal;
  reopen = 1;
}

// The message before, to say how often it came instead of repeating it.
static struct {
  char line[kMaxLine];
  struct message message; // its texts are in `line`
  int repeated;
} last;

static void end_repetition(const char* time) {
  if (last.repeated == 0) return;
  char text[64];
  snprintf(text, sizeof text, "last message repeated %d times", last.repeated);
  struct message note = last.message;
  note.time = time;
  note.text = text;
  last.repeated = 0;
  buffer_add(&note);
}

static void handle(const struct config* config, const char* line) {
  char copy[kMaxLine];
  strcpy(copy, line);
  struct message message;
  if (!message_parse(copy, &message)) {
    bad++;
    return;
  }
  if (!config_wants(config, &message)) return;
  if (last.message.text && message_same(&last.message, &message)) {
    last.repeated++;
    return;
  }
  end_repetition(message.time);
  buffer_add(&message);
  if (message.level == kError) buffer_flush();
  strcpy(last.line, line);
  message_parse(last.line, &last.message);
}

int main(int argc, char** argv) {
  struct config config;
  if (argc != 2) {
    fprintf(stderr, "usage: logd CONFIG <MESSAGES\n");
    return 2;
  }
  if (!config_read(&config, argv[1]) || !logfile_open(&config)) return 2;
  struct sigaction action = {.sa_handler = on_hangup};
  sigaction(SIGHUP, &action, NULL);
  static struct input input = {.fd = STDIN_FILENO};
  for (char* line; (line = input_line(&input));) {
    handle(&config, line);
    if (reopen) {
      reopen = 0;
      buffer_flush();
      logfile_close();
      if (!logfile_open(&config)) return 2;
    }
  }
  if (last.message.time) end_repetition(last.message.time);
  bool good = buffer_flush();
  logfile_close();
  if (bad > 0 || input.too_long > 0)
    fprintf(stderr, "logd: lines that are no messages: %ld, too long: %ld\n", bad, input.too_long);
  return good ? 0 : 1;
}
