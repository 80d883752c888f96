// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ioctl requests of terminals, on a pseudo-terminal of its own, and of files that are no terminals.
#include "report.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

static void expect_input(int fd) {
  struct pollfd wait = {fd, POLLIN, 0};
  MUST(poll(&wait, 1, -1) == 1);
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  MUST(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  int number = -1;
  fact("TIOCGPTN %s", outcome(ioctl(master, TIOCGPTN, &number)));
  changing("pty %d", number);
  int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
  MUST(slave >= 0);
  fact("isatty %d %d", isatty(slave), isatty(master));
  changing("name %s", ttyname(slave));

  struct termios settings, again;
  MUST(tcgetattr(slave, &settings) == 0);
  fact("flags %x %x %x %x speed %u", settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag,
       cfgetospeed(&settings));
  fact("control characters %016lx", hash(settings.c_cc, 19));
  cfmakeraw(&settings);
  settings.c_cc[VMIN] = 3;
  fact("TCSETS %s", outcome(tcsetattr(slave, TCSANOW, &settings)));
  fact("TCSETSW %s", outcome(tcsetattr(slave, TCSADRAIN, &settings)));
  fact("TCSETSF %s", outcome(tcsetattr(slave, TCSAFLUSH, &settings)));
  MUST(tcgetattr(slave, &again) == 0);
  fact("raw %d vmin %d", (again.c_lflag & ICANON) == 0, again.c_cc[VMIN]);

  struct winsize size = {24, 80, 640, 480}, found = {0};
  fact("TIOCSWINSZ %s", outcome(ioctl(slave, TIOCSWINSZ, &size)));
  MUST(ioctl(master, TIOCGWINSZ, &found) == 0);
  fact("window %d %d %d %d", found.ws_row, found.ws_col, found.ws_xpixel, found.ws_ypixel);

  MUST(write(master, "typed", 5) == 5);
  expect_input(slave);
  int bytes = -1;
  MUST(ioctl(slave, FIONREAD, &bytes) == 0);
  fact("FIONREAD %d", bytes);
  char text[64] = "";
  long got = read(slave, text, sizeof text);
  fact("read %s %s", outcome(got), text);
  MUST(ioctl(slave, TIOCOUTQ, &bytes) == 0);
  fact("TIOCOUTQ %d", bytes);
  said[0] = outcome(tcflush(slave, TCIOFLUSH));
  said[1] = outcome(tcdrain(slave));
  fact("tcflush %s tcdrain %s", said[0], said[1]);
  fact("tcflow %s", outcome(tcflow(slave, TCOON)));

  // Cooked again: a line is edited before it is read, and echoed.
  settings.c_lflag |= ICANON | ECHO;
  settings.c_iflag |= ICRNL;
  settings.c_oflag |= OPOST | ONLCR;
  settings.c_cc[VERASE] = 127;
  MUST(tcsetattr(slave, TCSANOW, &settings) == 0);
  MUST(write(master, "helpx\x7f\r", 7) == 7);
  expect_input(slave);
  memset(text, 0, sizeof text);
  got = read(slave, text, sizeof text);
  fact("line %s %.4s", outcome(got), text);
  size_t echoed = 0;
  char echo[64] = "";
  while (memchr(echo, '\n', echoed) == NULL) {
    expect_input(master);
    got = read(master, echo + echoed, sizeof echo - echoed);
    MUST(got > 0);
    echoed += (size_t)got;
  }
  fact("echo hash %016lx", hash(echo, echoed));

  int flag = 1;
  fact("FIONBIO %s", outcome(ioctl(master, FIONBIO, &flag)));
  fact("nothing there %s", outcome(read(master, text, 10)));
  fact("TIOCEXCL %s", outcome(ioctl(slave, TIOCEXCL)));
  fact("TIOCGEXCL %s", outcome(ioctl(slave, TIOCGEXCL, &flag)));
  fact("TIOCNXCL %s", outcome(ioctl(slave, TIOCNXCL)));
  fact("TIOCGETD %s", outcome(ioctl(slave, TIOCGETD, &flag)));
  fact("discipline %d", flag);
  fact("foreground of no session %s", outcome(tcgetpgrp(slave)));
  fact("TIOCPKT %s", outcome(ioctl(master, TIOCPKT, &flag)));
  int null = open("/dev/null", O_RDWR);
  fact("not a terminal %s", outcome(tcgetattr(null, &settings)));
  fact("no such request %s", outcome(ioctl(slave, 0x54fe, &flag)));
  fact("FIOCLEX %s", outcome(ioctl(null, FIOCLEX)));
  close(slave);
  close(master);
  return 0;
}
