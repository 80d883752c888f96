// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Socket calls within one process: streams and datagrams, names, options, messages with descriptors.
#include "report.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

static char buffer[8192];

static void streams(void) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  MUST(bind(listener, (struct sockaddr*)&name, sizeof name) == 0 && listen(listener, 4) == 0);
  socklen_t length = sizeof name;
  said[0] = outcome(getsockname(listener, (struct sockaddr*)&name, &length));
  fact("getsockname %s length %u", said[0], length);
  changing("port %u", ntohs(name.sin_port));
  int client = socket(AF_INET, SOCK_STREAM, 0);
  fact("connect %s", outcome(connect(client, (struct sockaddr*)&name, sizeof name)));
  struct sockaddr_in peer;
  length = sizeof peer;
  int server = accept4(listener, (struct sockaddr*)&peer, &length, SOCK_CLOEXEC);
  MUST(server >= 0);
  fact("accepted from %s length %u", inet_ntoa(peer.sin_addr), length);
  length = 4;
  memset(&peer, 0, sizeof peer);
  said[0] = outcome(getpeername(server, (struct sockaddr*)&peer, &length));
  fact("getpeername short %s length %u", said[0], length);

  fact("send %s", outcome(send(client, "over the wire", 13, MSG_NOSIGNAL)));
  said[0] = outcome(recv(server, buffer, sizeof buffer, 0));
  fact("recv %s %.13s", said[0], buffer);
  int pending = -1;
  MUST(send(server, "answer", 6, 0) == 6);
  MUST(recv(client, buffer, 1, MSG_PEEK) == 1);
  said[0] = outcome(ioctl(client, FIONREAD, &pending));
  fact("fionread %s %d", said[0], pending);
  fact("recv nothing more %s", outcome(recv(client, buffer, 6, MSG_WAITALL)));
  fact("would block %s", outcome(recv(client, buffer, 6, MSG_DONTWAIT)));

  int value = 0;
  length = sizeof value;
  said[0] = outcome(getsockopt(client, SOL_SOCKET, SO_TYPE, &value, &length));
  fact("SO_TYPE %s %d length %u", said[0], value, length);
  struct linger linger;
  length = sizeof linger;
  said[0] = outcome(getsockopt(client, SOL_SOCKET, SO_LINGER, &linger, &length));
  fact("SO_LINGER %s length %u", said[0], length);
  struct tcp_info info;
  length = sizeof info;
  said[0] = outcome(getsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &length));
  fact("TCP_INFO %s state %u", said[0], info.tcpi_state);
  changing("rtt %u", info.tcpi_rtt);
  value = 1;
  fact("nodelay %s", outcome(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value)));
  fact("shutdown %s", outcome(shutdown(client, SHUT_WR)));
  fact("end of stream %s", outcome(recv(server, buffer, 10, 0)));
  close(client), close(server), close(listener);
}

static void datagrams(void) {
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  MUST(bind(a, (struct sockaddr*)&name, sizeof name) == 0);
  socklen_t length = sizeof name;
  MUST(getsockname(a, (struct sockaddr*)&name, &length) == 0);
  fact("sendto %s", outcome(sendto(b, "datagram", 8, 0, (struct sockaddr*)&name, sizeof name)));
  struct sockaddr_in from;
  length = sizeof from;
  long got = recvfrom(a, buffer, 4, MSG_TRUNC, (struct sockaddr*)&from, &length);
  fact("recvfrom %s %.4s from %s length %u", outcome(got), buffer, inet_ntoa(from.sin_addr), length);
  changing("from port %u", ntohs(from.sin_port));

  struct mmsghdr messages[4];
  struct iovec vectors[4];
  memset(messages, 0, sizeof messages);
  for (int i = 0; i < 4; ++i) {
    vectors[i] = (struct iovec){"0123456789", (size_t)(i + 2)};
    messages[i].msg_hdr = (struct msghdr){
        .msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &vectors[i], .msg_iovlen = 1};
  }
  said[0] = outcome(sendmmsg(b, messages, 4, 0));
  fact("sendmmsg %s lengths %u %u", said[0], messages[0].msg_len, messages[3].msg_len);
  struct sockaddr_in names[4];
  for (int i = 0; i < 4; ++i) {
    vectors[i] = (struct iovec){buffer + 100 * i, 100};
    messages[i].msg_hdr.msg_name = &names[i];
  }
  fact("recvmmsg %s", outcome(recvmmsg(a, messages, 4, MSG_WAITFORONE, NULL)));
  for (int i = 0; i < 4; ++i)
    fact("  message %u bytes hash %016lx name %u", messages[i].msg_len,
         hash(buffer + 100 * i, messages[i].msg_len), messages[i].msg_hdr.msg_namelen);
  close(a), close(b);
}

static void messages_with_descriptors(void) {
  int pair[2];
  MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  int on = 1;
  MUST(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
  int memory = memfd_create("passed", 0);
  MUST(write(memory, "inside the descriptor", 21) == 21);

  union {
    struct cmsghdr align;
    char bytes[256];
  } control;
  struct iovec out[2] = {{"with ", 5}, {"descriptors", 11}};
  struct msghdr message = {.msg_iov = out, .msg_iovlen = 2, .msg_control = control.bytes};
  message.msg_controllen = CMSG_SPACE(2 * sizeof(int));
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  *header = (struct cmsghdr){CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(header), (int[]){memory, memory}, 2 * sizeof(int));
  fact("sendmsg %s", outcome(sendmsg(pair[0], &message, 0)));

  struct iovec in[3] = {{buffer, 3}, {buffer + 100, 6}, {buffer + 200, 100}};
  memset(buffer, '.', 400);
  memset(&control, 0x77, sizeof control);
  message = (struct msghdr){
      .msg_iov = in, .msg_iovlen = 3, .msg_control = control.bytes, .msg_controllen = sizeof control};
  said[0] = outcome(recvmsg(pair[1], &message, 0));
  fact("recvmsg %s flags %x control %zu", said[0], message.msg_flags, message.msg_controllen);
  fact("pieces %.3s %.6s %.7s", buffer, buffer + 100, buffer + 200);
  for (header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
    fact("control level %d type %d length %zu", header->cmsg_level, header->cmsg_type, header->cmsg_len);
    if (header->cmsg_type == SCM_CREDENTIALS) {
      struct ucred who;
      memcpy(&who, CMSG_DATA(header), sizeof who);
      fact("credentials are mine: %d", who.pid == getpid());
    } else {
      int fds[2];
      memcpy(fds, CMSG_DATA(header), sizeof fds);
      ssize_t size = pread(fds[1], buffer, 100, 0);
      fact("through it %.*s", (int)size, buffer);
      close(fds[0]), close(fds[1]);
    }
  }
  struct ucred who;
  socklen_t length = sizeof who;
  said[0] = outcome(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &who, &length));
  fact("SO_PEERCRED %s mine %d", said[0], who.pid == getpid());
  close(pair[0]), close(pair[1]), close(memory);
}

static void names_in_the_file_system(void) {
  char dir[] = "/tmp/sys_sockets.XXXXXX";
  MUST(mkdtemp(dir) != NULL);
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path, sizeof name.sun_path, "%s/s", dir);
  int receiver = socket(AF_UNIX, SOCK_DGRAM, 0), sender = socket(AF_UNIX, SOCK_DGRAM, 0);
  fact("bind %s", outcome(bind(receiver, (struct sockaddr*)&name, sizeof name)));
  fact("bind again %s", outcome(bind(sender, (struct sockaddr*)&name, sizeof name)));
  fact("sendto %s", outcome(sendto(sender, "x", 1, 0, (struct sockaddr*)&name, sizeof name)));
  struct sockaddr_un from;
  socklen_t length = sizeof from;
  said[0] = outcome(recvfrom(receiver, buffer, 10, 0, (struct sockaddr*)&from, &length));
  fact("recvfrom %s length %u", said[0], length);
  unlink(name.sun_path);
  rmdir(dir);
  close(receiver), close(sender);
}

static void interfaces(void) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct ifreq request = {.ifr_name = "lo"};
  if (ioctl(fd, SIOCGIFMTU, &request) == 0) fact("lo mtu %d", request.ifr_mtu);
  if (ioctl(fd, SIOCGIFFLAGS, &request) == 0) fact("lo loopback %d", (request.ifr_flags & IFF_LOOPBACK) != 0);
  struct ifconf list = {.ifc_len = sizeof buffer, .ifc_buf = buffer};
  fact("SIOCGIFCONF %s", outcome(ioctl(fd, SIOCGIFCONF, &list)));
  changing("interfaces %d", list.ifc_len / (int)sizeof(struct ifreq));
  close(fd);
  int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  struct sockaddr_nl name;
  socklen_t length = sizeof name;
  MUST(netlink >= 0);
  said[0] = outcome(getsockname(netlink, (struct sockaddr*)&name, &length));
  fact("netlink name %s length %u", said[0], length);
  close(netlink);
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  streams();
  datagrams();
  messages_with_descriptors();
  names_in_the_file_system();
  interfaces();
  return 0;
}
