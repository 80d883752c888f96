// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packets as gdb sends them become the requests they mean; damaged ones become Malformed.
#include "rdbtool/gdb/protocol/request.h"

#include <gtest/gtest.h>

namespace rdb::gdb {
namespace {

using namespace request;

template <class Value>
Value parsed(std::string_view packet) {
  Request request = parse_request(packet);
  EXPECT_TRUE(std::holds_alternative<Value>(request)) << packet;
  if (auto* value = std::get_if<Value>(&request)) return *value;
  return Value{};
}

template <class Value>
bool is(std::string_view packet) {
  return std::holds_alternative<Value>(parse_request(packet));
}

TEST(Packets, Supported) {
  auto value = parsed<Supported>("qSupported:multiprocess+;swbreak+;xmlRegisters=i386");
  ASSERT_EQ(value.features.size(), 3u);
  EXPECT_EQ(value.features[2], "xmlRegisters=i386");
}

TEST(Packets, Memory) {
  auto read = parsed<ReadMemory>("m7fffffffe000,40");
  EXPECT_EQ(read.address, GuestAddr(0x7fffffffe000));
  EXPECT_EQ(read.size, 0x40u);
  auto write = parsed<WriteMemory>("M1000,2:beef");
  EXPECT_EQ(write.data, (Bytes{std::byte{0xbe}, std::byte{0xef}}));
  EXPECT_EQ(parsed<WriteMemory>("X1000,3:a:b").data.size(), 3u);
  EXPECT_TRUE(is<WriteMemory>("X1000,0:"));
  EXPECT_TRUE(is<Malformed>("M1000,3:beef"));
  EXPECT_TRUE(is<Malformed>("m1000"));
  EXPECT_TRUE(is<Malformed>("m10000000000000000,1"));
  EXPECT_TRUE(is<Malformed>("m1000,1x"));
}

TEST(Packets, HugeReadsAreCut) {
  EXPECT_LE(parsed<ReadMemory>("m0,ffffffffffffffff").size, 0x10000u);
}

TEST(Packets, ThreadRegisters) {
  EXPECT_EQ(parsed<ReadRegister>("p10").number, 0x10u);
  auto write = parsed<WriteRegister>("P10=0011223344556677");
  EXPECT_EQ(write.number, 0x10u);
  EXPECT_EQ(write.data.size(), 8u);
  EXPECT_TRUE(is<ReadRegisters>("g"));
  EXPECT_TRUE(is<Malformed>("gg"));
  EXPECT_TRUE(is<Malformed>("Gxx"));
}

TEST(Packets, ThreadLocalAddress) {
  auto value = parsed<ThreadLocalAddress>("qGetTLSAddr:p3519.351a,18,47edc2e0");
  EXPECT_EQ(value.thread, ThreadId(0x351a));
  EXPECT_EQ(value.offset, 0x18u);
  EXPECT_EQ(value.link_map, GuestAddr(0x47edc2e0));
  EXPECT_TRUE(is<Malformed>("qGetTLSAddr:p3519.-1,18,47edc2e0"));
  EXPECT_TRUE(is<Malformed>("qGetTLSAddr:p3519.351a,18"));
  EXPECT_TRUE(is<Malformed>("qGetTLSAddr:p3519.351a,18,47edc2e0x"));
}

TEST(Packets, Threads) {
  auto select = parsed<SelectThread>("Hg1a2b");
  EXPECT_EQ(select.use, SelectThread::Use::registers);
  EXPECT_EQ(select.thread, (ThreadRef{ThreadRef::Kind::one, ThreadId(0x1a2b)}));
  EXPECT_EQ(parsed<SelectThread>("Hc-1").thread.kind, ThreadRef::Kind::all);
  EXPECT_EQ(parsed<SelectThread>("Hc0").thread.kind, ThreadRef::Kind::any);
  EXPECT_EQ(parsed<ThreadAlive>("T7").thread, ThreadId(7));
  EXPECT_EQ(parsed<SelectThread>("Hgp10.1a").thread.id, ThreadId(0x1a));
  EXPECT_EQ(parsed<SelectThread>("Hcp10.-1").thread.kind, ThreadRef::Kind::all);
  EXPECT_TRUE(is<Malformed>("Hgp.1"));
  EXPECT_TRUE(is<Malformed>("Hx1"));
  EXPECT_TRUE(is<Malformed>("Hgffffffff1"));
  EXPECT_TRUE(is<CurrentThread>("qC"));
  EXPECT_TRUE(is<Unsupported>("qCRC:1000,10"));
}

TEST(Packets, Resume) {
  auto value = parsed<Resume>("vCont;s:1f;c");
  ASSERT_EQ(value.actions.size(), 2u);
  EXPECT_TRUE(value.actions[0].step);
  EXPECT_EQ(value.actions[0].thread.id, ThreadId(0x1f));
  EXPECT_FALSE(value.actions[1].step);
  EXPECT_EQ(value.actions[1].thread.kind, ThreadRef::Kind::all);
  value = parsed<Resume>("vCont;C0b:1f;c:-1");
  EXPECT_EQ(value.actions[0].signal, 11);
  value = parsed<Resume>("vCont;r401000,401010:1f;c");
  EXPECT_EQ(value.actions[0].range_end, GuestAddr(0x401010));
  EXPECT_EQ(parsed<Resume>("bs").direction, Direction::backward);
  EXPECT_TRUE(parsed<Resume>("bs").actions[0].step);
  EXPECT_FALSE(parsed<Resume>("bc").actions[0].step);
  EXPECT_TRUE(is<ContinueSupported>("vCont?"));
  EXPECT_TRUE(is<Malformed>("vCont"));
  EXPECT_TRUE(is<Malformed>("vCont;x"));
  EXPECT_TRUE(is<Malformed>("vCont;c:"));
  EXPECT_TRUE(is<Malformed>("c401000"));
}

TEST(Packets, Points) {
  auto value = parsed<SetPoint>("Z0,401136,1");
  EXPECT_TRUE(value.insert);
  EXPECT_EQ(value.type, PointType::software);
  EXPECT_EQ(value.address, GuestAddr(0x401136));
  value = parsed<SetPoint>("Z0,401136,1;X3,220127X2,2701");
  ASSERT_EQ(value.conditions.size(), 2u);
  EXPECT_EQ(value.conditions[0].size(), 3u);
  value = parsed<SetPoint>("z2,404028,8");
  EXPECT_FALSE(value.insert);
  EXPECT_EQ(value.type, PointType::write);
  EXPECT_EQ(value.kind, 8u);
  EXPECT_TRUE(is<Malformed>("Z5,0,1"));
  EXPECT_TRUE(is<Malformed>("Z0,401136,1;X30,22"));
  EXPECT_TRUE(is<Malformed>("Z0,401136,1;Xffffffffffffffff,22"));
  EXPECT_TRUE(is<Malformed>("Z0,401136,1;cmds:0"));
}

TEST(Packets, Transfers) {
  auto value = parsed<Transfer>("qXfer:features:read:target.xml:0,ffb");
  EXPECT_EQ(value.object, "features");
  EXPECT_EQ(value.annex, "target.xml");
  EXPECT_EQ(value.length, 0xffbu);
  value = parsed<Transfer>("qXfer:siginfo:write::10:ab:c");
  EXPECT_TRUE(value.write);
  EXPECT_EQ(value.data.size(), 4u);
  EXPECT_TRUE(is<Malformed>("qXfer:auxv:read:"));
  EXPECT_TRUE(is<Malformed>("qXfer:auxv:read::0"));
}

TEST(Packets, Files) {
  EXPECT_EQ(parsed<FileOpen>("vFile:open:2f62696e2f6c73,0,1c0").path, "/bin/ls");
  auto read = parsed<FileRead>("vFile:pread:1,100,20");
  EXPECT_EQ(read.offset, 0x20u);
  EXPECT_TRUE(is<FileClose>("vFile:close:1"));
  EXPECT_TRUE(is<Malformed>("vFile:open:zz,0,0"));
  EXPECT_TRUE(is<Unsupported>("vFile:unlink:2f"));
}

TEST(Packets, Settings) {
  auto calls = parsed<CatchSyscalls>("QCatchSyscalls:1;0;1;3c").calls;
  EXPECT_TRUE(calls.catches(60));
  EXPECT_FALSE(calls.catches(61));
  EXPECT_TRUE(parsed<CatchSyscalls>("QCatchSyscalls:1").calls.catches(61));
  EXPECT_FALSE(parsed<CatchSyscalls>("QCatchSyscalls:0").calls.catches(61));
  EXPECT_EQ(parsed<PassSignals>("QPassSignals:e;14").signals, (std::vector<int>{14, 20}));
  EXPECT_TRUE(parsed<PassSignals>("QPassSignals:").signals.empty());
  EXPECT_EQ(parsed<Monitor>("qRcmd,7768656e").command, "when");
}

TEST(Packets, UnknownOnesAreUnsupported) {
  for (const char* packet : {"", "vMustReplyEmpty", "QNonStop:1", "!", "vRun;2f", "qTStatus", "~", "\x03"})
    EXPECT_TRUE(is<Unsupported>(packet)) << packet;
}

} // namespace
} // namespace rdb::gdb
