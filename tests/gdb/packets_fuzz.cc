// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer's entry: the bytes of a connection, decoded, parsed, and, where there is bytecode in them,
// evaluated. Anything but a crash is fine.
#include "rdbtool/gdb/protocol/agent_expression.h"
#include "rdbtool/gdb/protocol/framing.h"
#include "rdbtool/gdb/protocol/request.h"

#include <cstdlib>

namespace {

struct Zeroes : rdb::gdb::AgentContext {
  std::optional<uint64_t> register_value(unsigned number) override { return number; }
  bool read(rdb::GuestAddr from, std::span<std::byte> to) override {
    for (std::byte& b : to)
      b = std::byte{0};
    return from.value % 3 != 0;
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rdb::gdb;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  // Once as a connection, in two pieces; once as a payload, which a fuzzer finds without checksums.
  FrameDecoder decoder;
  decoder.feed(text.substr(0, size / 2));
  while (auto event = decoder.next())
    parse_request(event->payload);
  decoder.feed(text.substr(size / 2));
  while (auto event = decoder.next())
    parse_request(event->payload);

  Request request = parse_request(text);
  Zeroes zeroes;
  if (auto* point = std::get_if<request::SetPoint>(&request)) condition_holds(point->conditions, zeroes);
  evaluate(std::as_bytes(std::span(data, size)), zeroes);

  // What is encoded arrives: run lengths are the server's alone, so only text without runs comes back whole.
  FrameDecoder again;
  again.feed(encode_frame(text));
  auto event = again.next();
  if (!event || event->kind != FrameEvent::Kind::packet) abort();
  return 0;
}
