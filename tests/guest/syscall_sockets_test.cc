// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Socket calls: names with length pointers, messages with vectors and control data, descriptors passed along.
#include "tests/guest/syscall_twin_run.h"

#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace rdb::test {
namespace {

struct Pair {
  explicit Pair(int type) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, type, 0, fds), 0);
    a.emplace(fds[0]);
    b.emplace(fds[1]);
  }
  std::optional<Fd> a, b;
};

void send_text(int fd, const std::string& text) {
  EXPECT_EQ(send(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
}

// A listening TCP socket on the loopback interface, at a port that both runs share.
class Listener {
public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
    EXPECT_EQ(listen(fd_, 4), 0);
    socklen_t size = sizeof address_;
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  int fd() const { return fd_; }
  // A connection from an address that is the same every time.
  int connect_from(uint32_t host) const {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(host);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    return fd;
  }

private:
  Fd fd_;
  sockaddr_in address_{};
};

TEST(SyscallSockets, PairsAndNames) {
  Listener listener;
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    int* fds = guest.take<int>(2);
    EXPECT_EQ(run.call(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, fds), 0);
    run.expect_write(fds, 8);
    Fd a(fds[0]), b(fds[1]);

    auto* name = guest.take<sockaddr_in>();
    auto* length = guest.put<socklen_t>(sizeof *name);
    EXPECT_EQ(run.call(SYS_getsockname, listener.fd(), name, length), 0);
    EXPECT_EQ(name->sin_family, AF_INET);
    *length = 5; // too short: what fits is written, the real length is told
    std::memset(name, 0x11, sizeof *name);
    EXPECT_EQ(run.call(SYS_getsockname, listener.fd(), name, length), 0);
    EXPECT_EQ(*length, sizeof *name);
    *length = static_cast<socklen_t>(-1);
    EXPECT_EQ(run.call(SYS_getsockname, listener.fd(), name, length), -EINVAL);
    *length = 0;
    EXPECT_EQ(run.call(SYS_getsockname, listener.fd(), name, length), 0);
    EXPECT_EQ(run.call(SYS_getsockname, listener.fd(), name, nullptr), -EFAULT);
    *length = 100;
    EXPECT_EQ(run.call(SYS_getsockname, listener.fd(), guest.edge(8), length), -EFAULT);
    EXPECT_EQ(run.call(SYS_getpeername, int(a), name, length), 0);
    EXPECT_EQ(run.call(SYS_getpeername, listener.fd(), name, length), -ENOTCONN);
  });
}

TEST(SyscallSockets, AcceptedConnections) {
  Listener listener;
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    auto* name = guest.take<sockaddr_in>();
    auto* length = guest.put<socklen_t>(sizeof *name);
    {
      Fd client(listener.connect_from(0x7f000002));
      int64_t accepted = run.changing_call(SYS_accept, listener.fd(), name, length);
      Fd server(static_cast<int>(accepted));
      EXPECT_EQ(ntohl(name->sin_addr.s_addr), 0x7f000002u);
      EXPECT_EQ(*length, sizeof *name);
      run.forget(name, sizeof *name);
    }
    {
      Fd client(listener.connect_from(0x7f000003));
      *length = 4;
      Fd server(static_cast<int>(run.changing_call(SYS_accept4, listener.fd(), name, length, SOCK_CLOEXEC)));
      EXPECT_EQ(*length, sizeof *name);
      run.forget(name, sizeof *name);
    }
    {
      Fd client(listener.connect_from(0x7f000004));
      Fd server(static_cast<int>(run.call(SYS_accept4, listener.fd(), nullptr, nullptr, 0)));
      send_text(client, "stream");
      *length = 16;
      char* buffer = guest.take(64);
      // A stream's recvfrom has no name to tell and says so.
      EXPECT_EQ(run.call(SYS_recvfrom, int(server), buffer, 64, 0, name, length), 6);
      auto* info = guest.take<tcp_info>();
      *length = sizeof *info;
      EXPECT_EQ(run.changing_call(SYS_getsockopt, int(server), IPPROTO_TCP, TCP_INFO, info, length), 0);
      EXPECT_EQ(info->tcpi_state, TCP_ESTABLISHED);
      run.forget(info, sizeof *info);
    }
  });
}

TEST(SyscallSockets, Options) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(socket(AF_INET, SOCK_STREAM, 0));
    int* value = guest.take<int>(4);
    auto* length = guest.put<socklen_t>(4);
    EXPECT_EQ(run.call(SYS_getsockopt, int(fd), SOL_SOCKET, SO_TYPE, value, length), 0);
    EXPECT_EQ(*value, SOCK_STREAM);
    *length = 2;
    EXPECT_EQ(run.call(SYS_getsockopt, int(fd), SOL_SOCKET, SO_RCVBUF, value, length), 0);
    *length = 16;
    EXPECT_EQ(run.call(SYS_getsockopt, int(fd), SOL_SOCKET, SO_LINGER, value, length), 0);
    EXPECT_EQ(*length, 8u);
    *length = 4;
    EXPECT_EQ(run.call(SYS_getsockopt, int(fd), 9999, 1, value, length), -EOPNOTSUPP);
    EXPECT_EQ(run.call(SYS_getsockopt, int(fd), SOL_SOCKET, SO_TYPE, guest.inaccessible(), length), -EFAULT);
    *value = 1;
    EXPECT_EQ(run.call(SYS_setsockopt, int(fd), SOL_SOCKET, SO_REUSEADDR, value, 4), 0);

    // A filter's length is counted in instructions.
    auto* program = guest.take<sock_filter>(2);
    program[0] = BPF_STMT(BPF_LD | BPF_IMM, 7);
    program[1] = BPF_STMT(BPF_RET | BPF_K, 0xffff);
    auto* filter = guest.put(sock_fprog{2, program});
    EXPECT_EQ(run.call(SYS_setsockopt, int(fd), SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof *filter), 0);
    auto* read_back = guest.take<sock_filter>(2);
    *length = 2;
    EXPECT_EQ(run.call(SYS_getsockopt, int(fd), SOL_SOCKET, SO_GET_FILTER, read_back, length), 0);
    EXPECT_EQ(read_back[0].k, 7u);
  });
}

TEST(SyscallSockets, Datagrams) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Pair pair(SOCK_DGRAM);
    char* buffer = guest.take(100);
    send_text(*pair.a, "0123456789");
    EXPECT_EQ(run.call(SYS_recvfrom, int(*pair.b), buffer, 4, MSG_TRUNC | MSG_PEEK, nullptr, nullptr), 10);
    EXPECT_EQ(run.call(SYS_recvfrom, int(*pair.b), buffer, 100, 0, nullptr, nullptr), 10);
    EXPECT_EQ(run.call(SYS_recvfrom, int(*pair.b), buffer, 100, MSG_DONTWAIT, nullptr, nullptr), -EAGAIN);
    // A datagram whose reader faults halfway is lost, but its first part has arrived.
    send_text(*pair.a, "lost datagram");
    EXPECT_EQ(run.call(SYS_recvfrom, int(*pair.b), guest.edge(4), 100, MSG_DONTWAIT, nullptr, nullptr),
              -EFAULT);
    const char* text = guest.put_string("sent");
    EXPECT_EQ(run.call(SYS_sendto, int(*pair.a), text, 4, 0, nullptr, 0), 4);
    EXPECT_EQ(run.call(SYS_sendto, int(*pair.a), guest.inaccessible(), 4, 0, nullptr, 0), -EFAULT);
    EXPECT_EQ(run.call(SYS_recvfrom, int(*pair.b), buffer, 100, 0, nullptr, nullptr), 4);
  });
}

TEST(SyscallSockets, DatagramsWithNames) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd receiver(socket(AF_UNIX, SOCK_DGRAM, 0)), sender(socket(AF_UNIX, SOCK_DGRAM, 0));
    auto bind_abstract = [](int fd, const char* text) {
      sockaddr_un name{};
      name.sun_family = AF_UNIX;
      std::string unique = std::string(text) + std::to_string(getpid());
      std::memcpy(name.sun_path + 1, unique.data(), unique.size());
      socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + unique.size());
      EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), size), 0);
      return std::pair(name, size);
    };
    auto [to, to_size] = bind_abstract(receiver, "rdb-test-receiver-");
    bind_abstract(sender, "rdb-test-sender-");
    auto send_one = [&] {
      EXPECT_EQ(sendto(sender, "hi", 2, 0, reinterpret_cast<sockaddr*>(&to), to_size), 2);
    };
    char* buffer = guest.take(100);
    auto* from = guest.take<sockaddr_un>();
    auto* length = guest.put<socklen_t>(sizeof *from);
    send_one();
    EXPECT_EQ(run.call(SYS_recvfrom, int(receiver), buffer, 100, 0, from, length), 2);
    EXPECT_GT(*length, 3u);
    send_one();
    *length = 10;
    EXPECT_EQ(run.call(SYS_recvfrom, int(receiver), buffer, 100, 0, from, length), 2);
    send_one();
    *length = 100;
    EXPECT_EQ(run.call(SYS_recvfrom, int(receiver), buffer, 100, 0, guest.inaccessible(), length), -EFAULT);
    send_one();
    EXPECT_EQ(run.call(SYS_recvfrom, int(receiver), buffer, 100, 0, from, nullptr), -EFAULT);

    send_one();
    auto* vector = guest.put(iovec{buffer, 100});
    auto* message =
        guest.put(msghdr{.msg_name = from, .msg_namelen = 12, .msg_iov = vector, .msg_iovlen = 1});
    EXPECT_EQ(run.call(SYS_recvmsg, int(receiver), message, 0), 2);
    EXPECT_GT(message->msg_namelen, 12u);
  });
}

// The control data of a message that passes descriptors.
struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(3 * sizeof(int)) + 24];
};

void send_descriptors(int socket, std::initializer_list<int> fds) {
  Control control{};
  iovec vector{const_cast<char*>("fd"), 2};
  msghdr message{.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes};
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::copy(fds.begin(), fds.end(), reinterpret_cast<int*>(CMSG_DATA(header)));
  ASSERT_EQ(sendmsg(socket, &message, 0), 2);
}

void close_received(const msghdr& message) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(const_cast<msghdr*>(&message), header)) {
    if (header->cmsg_type != SCM_RIGHTS) continue;
    for (int *fd = reinterpret_cast<int*>(CMSG_DATA(header)),
             *end = reinterpret_cast<int*>(reinterpret_cast<char*>(header) + header->cmsg_len);
         fd < end; ++fd)
      close(*fd);
  }
}

TEST(SyscallSockets, DescriptorsInMessages) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Pair pair(SOCK_STREAM);
    int on = 1;
    setsockopt(*pair.b, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    auto* vectors = guest.take<iovec>(2);
    char* buffer = guest.take(64);
    vectors[0] = {buffer, 1};
    vectors[1] = {buffer + 32, 10};
    auto* control = guest.take<Control>();
    auto* message = guest.take<msghdr>();
    auto fill = [&](size_t room) {
      std::memset(control, 0x3c, sizeof *control);
      *message = {nullptr, 0, vectors, 2, control, room, 0x7777};
    };

    send_descriptors(*pair.a, {0, 1, 2});
    fill(sizeof *control);
    EXPECT_EQ(run.call(SYS_recvmsg, int(*pair.b), message, 0), 2);
    close_received(*message);

    send_descriptors(*pair.a, {0, 1, 2}); // room for some of it only
    fill(CMSG_SPACE(12) + CMSG_LEN(2 * sizeof(int)));
    EXPECT_EQ(run.call(SYS_recvmsg, int(*pair.b), message, MSG_CMSG_CLOEXEC), 2);
    EXPECT_TRUE(message->msg_flags & MSG_CTRUNC);
    close_received(*message);

    send_text(*pair.a, "xyz");
    fill(0);
    EXPECT_EQ(run.call(SYS_recvmsg, int(*pair.b), message, 0), 3);
    EXPECT_EQ(run.call(SYS_recvmsg, int(*pair.b), message, MSG_DONTWAIT), -EAGAIN);
    EXPECT_EQ(run.call(SYS_recvmsg, int(*pair.b), guest.inaccessible(), 0), -EFAULT);

    send_text(*pair.a, "faults");
    fill(sizeof *control);
    vectors[1].iov_base = guest.inaccessible();
    run.call(SYS_recvmsg, int(*pair.b), message, MSG_DONTWAIT);
    vectors[1].iov_base = guest.edge(2);
    run.call(SYS_recvmsg, int(*pair.b), message, MSG_DONTWAIT);
    message->msg_name = buffer;
    message->msg_namelen = static_cast<socklen_t>(-1);
    EXPECT_EQ(run.call(SYS_recvmsg, int(*pair.b), message, MSG_DONTWAIT), -EINVAL);
  });
}

TEST(SyscallSockets, ManyMessages) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Pair pair(SOCK_DGRAM);
    constexpr unsigned kCount = 4;
    auto* messages = guest.take<mmsghdr>(kCount);
    auto* vectors = guest.take<iovec>(kCount * 2);
    char* buffer = guest.take(kCount * 32);
    for (unsigned i = 0; i < kCount; ++i) {
      vectors[2 * i] = {buffer + i * 32, 3};
      vectors[2 * i + 1] = {buffer + i * 32 + 8, 20};
      messages[i] = {{nullptr, 0, vectors + 2 * i, 2, nullptr, 0, 0}, 1000 + i};
    }
    send_text(*pair.a, "first");
    send_text(*pair.a, "");
    send_text(*pair.a, "the third one");
    auto* timeout = guest.put(timespec{5, 0});
    EXPECT_EQ(run.changing_call(SYS_recvmmsg, int(*pair.b), messages, kCount, MSG_DONTWAIT, timeout), 3);
    EXPECT_EQ(messages[0].msg_len, 5u);
    EXPECT_EQ(messages[1].msg_len, 0u);
    EXPECT_EQ(messages[3].msg_len, 1003u);
    EXPECT_LE(timeout->tv_sec, 5);
    run.forget(timeout, sizeof *timeout);
    EXPECT_EQ(run.call(SYS_recvmmsg, int(*pair.b), messages, kCount, MSG_DONTWAIT, nullptr), -EAGAIN);
    EXPECT_EQ(run.call(SYS_recvmmsg, int(*pair.b), messages, 0, MSG_DONTWAIT, nullptr), 0);

    send_text(*pair.a, "one");
    send_text(*pair.a, "two");
    EXPECT_EQ(run.call(SYS_recvmmsg, int(*pair.b), messages, 0x7fffffff, MSG_DONTWAIT, nullptr), 2);

    // Two headers fit before the end of memory; the third is out of reach.
    auto* at_edge = static_cast<mmsghdr*>(guest.edge(2 * sizeof(mmsghdr)));
    std::copy_n(messages, 2, at_edge);
    for (const char* text : {"a", "bb", "ccc"})
      send_text(*pair.a, text);
    EXPECT_EQ(run.call(SYS_recvmmsg, int(*pair.b), at_edge, 3, MSG_DONTWAIT, nullptr), 2);
    EXPECT_EQ(run.call(SYS_recvmmsg, int(*pair.b), guest.inaccessible(), 3, MSG_DONTWAIT, nullptr), -EFAULT);

    std::strcpy(buffer, "sent by sendmmsg");
    EXPECT_EQ(run.call(SYS_sendmmsg, int(*pair.b), messages, 3, 0), 3);
    EXPECT_EQ(messages[0].msg_len, 23u);
    EXPECT_EQ(run.call(SYS_sendmmsg, int(*pair.b), at_edge, 3, 0), 2);
  });
}

TEST(SyscallSockets, RequestsOfInterfaces) {
  expect_alike([&](TwinRun& run, TwinGuest& guest) {
    Fd fd(socket(AF_INET, SOCK_DGRAM, 0));
    auto* request = guest.take<ifreq>();
    std::strcpy(request->ifr_name, "lo");
    run.call(SYS_ioctl, int(fd), SIOCGIFINDEX, request);
    run.call(SYS_ioctl, int(fd), SIOCGIFMTU, request);
    std::strcpy(request->ifr_name, "none-such");
    EXPECT_EQ(run.call(SYS_ioctl, int(fd), SIOCGIFFLAGS, request), -ENODEV);
    char* buffer = guest.take(40 * 8);
    auto* list = guest.take<ifconf>();
    list->ifc_len = 40 * 8;
    list->ifc_buf = buffer;
    EXPECT_EQ(run.call(SYS_ioctl, int(fd), SIOCGIFCONF, list), 0);
    list->ifc_buf = nullptr;
    EXPECT_EQ(run.call(SYS_ioctl, int(fd), SIOCGIFCONF, list), 0);
    EXPECT_EQ(run.call(SYS_ioctl, int(fd), SIOCGIFCONF, guest.inaccessible()), -EFAULT);

    Pair pair(SOCK_STREAM);
    send_text(*pair.a, "waiting");
    int* bytes = guest.take<int>();
    EXPECT_EQ(run.call(SYS_ioctl, int(*pair.b), FIONREAD, bytes), 0);
    EXPECT_EQ(*bytes, 7);
    *bytes = 1;
    EXPECT_EQ(run.call(SYS_ioctl, int(*pair.b), FIONBIO, bytes), 0);
  });
}

} // namespace
} // namespace rdb::test
