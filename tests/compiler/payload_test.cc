// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Payloads in object files: the object stays what it was, and addresses survive what linkers do to objects.
#include "descriptors/identity.h"
#include "descriptors/payload.h"
#include "descriptors/sha256.h"
#include "tests/compiler/toolbox.h"

#include <cstring>

namespace {

using namespace rdb;
using namespace rdb::descriptors;

constexpr std::string_view kSource = R"(
[[gnu::noinline]] inline int shared(int x) { static int calls; return calls += x; }
static int hidden_one(int x) { return x * 3; }
thread_local int per_thread;
int counter = 7;
__attribute__((noinline)) int plain(int x) { return hidden_one(x) + shared(x) + per_thread; }
)";

class PayloadTest : public test::Toolbox {
protected:
  Payload sample(const elf::File& object) {
    Payload p;
    p.unit = "u1";
    p.descriptors = "rdb-descriptors 2\n";
    p.debug_object = "not looked at";
    p.twin_object = "nor that";
    p.sources = {{4, "int x;\n"}, {9, ""}};
    for (const elf::Symbol& symbol : object.symbols())
      if (symbol.name == "_Z5plaini" || symbol.name == "_Z5otheri")
        p.addresses.push_back({AddressEntry::Kind::section, symbol.section, "", 5});
    p.addresses.push_back({AddressEntry::Kind::symbol, 0, "counter", 0});
    p.addresses.push_back({AddressEntry::Kind::tls, 0, "per_thread", 2});
    for (const elf::Symbol& symbol : object.symbols())
      if (symbol.name == "_Z6sharedi")
        p.addresses.push_back({AddressEntry::Kind::section, symbol.section, "", 3});
    return p;
  }

  void add_sample(const std::string& name) {
    std::string bytes = get(name);
    elf::File object(bytes);
    Payload payload = sample(object);
    append_payload(path(name), payload);
  }

  uint64_t value_of(const elf::File& file, std::string_view name) {
    for (const elf::Symbol& symbol : file.symbols())
      if (symbol.name == name && symbol.defined()) return symbol.raw.st_value;
    ADD_FAILURE() << "no symbol " << name;
    return 0;
  }
};

TEST_F(PayloadTest, EverythingElseOfTheObjectStaysTheSame) {
  for (const char* flags : {"-O0", "-O2 -g", "-O2 -ffunction-sections -fdata-sections -fPIC"}) {
    compile("a", kSource, flags);
    std::string before = get("a.o");
    add_sample("a.o");
    std::string after = get("a.o");
    elf::File old_file(before), new_file(after);
    ASSERT_EQ(new_file.sections().size(), old_file.sections().size() + 3);
    for (size_t i = 0; i < old_file.sections().size(); ++i) {
      const elf::Section &a = old_file.sections()[i], &b = new_file.sections()[i];
      EXPECT_EQ(a.name, b.name);
      EXPECT_EQ(a.bytes, b.bytes) << a.name;
      Elf64_Shdr header = b.header;
      header.sh_name = a.header.sh_name;
      EXPECT_EQ(std::memcmp(&header, &a.header, sizeof header), 0) << a.name;
    }
    for (size_t i = old_file.sections().size(); i < new_file.sections().size(); ++i) {
      EXPECT_TRUE(new_file.sections()[i].name.starts_with(".rdb"));
      EXPECT_TRUE(new_file.sections()[i].header.sh_flags & SHF_EXCLUDE);
    }
    must("readelf -aW a.o > /dev/null && objcopy --remove-section='.rdb*' a.o b.o && readelf -SW b.o");
    EXPECT_EQ(output().find("rdb"), std::string::npos) << output();
  }
}

TEST_F(PayloadTest, WhatIsAppendedIsReadBack) {
  compile("a", kSource);
  add_sample("a.o");
  std::string bytes = get("a.o");
  elf::File object(bytes);
  ASSERT_TRUE(has_payload(object));
  std::vector<CarriedPayload> found = read_payloads(object);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].payload.unit, "u1");
  EXPECT_EQ(found[0].payload.descriptors, "rdb-descriptors 2\n");
  EXPECT_EQ(found[0].payload.debug_object, "not looked at");
  EXPECT_EQ(found[0].payload.twin_object, "nor that");
  ASSERT_EQ(found[0].payload.sources.size(), 2u);
  EXPECT_EQ(found[0].payload.sources[0].id, 4u);
  EXPECT_EQ(found[0].payload.sources[0].text, "int x;\n");
  ASSERT_EQ(found[0].targets.size(), 4u);
  EXPECT_EQ(found[0].targets[0].section, object.find(".text")->index);
  EXPECT_EQ(found[0].targets[0].offset, 5);
  EXPECT_EQ(found[0].targets[1].section, object.find(".data")->index);
  EXPECT_TRUE(found[0].targets[2].tls);
  EXPECT_EQ(found[0].targets[2].offset, 2);
  EXPECT_EQ(found[0].targets[3].offset, 3);
}

TEST_F(PayloadTest, LinkersLeavePayloadsOut) {
  compile("a", std::string(kSource) + "int main() { return plain(1); }");
  must("cp a.o b.o");
  add_sample("b.o");
  for (const char* linker : {"bfd", "gold", "lld"}) {
    std::string use = std::string("/usr/bin/clang++-22 -fuse-ld=") + linker;
    if (linker == std::string("lld")) use = "/usr/bin/clang++-22 -fuse-ld=/usr/bin/ld.lld-22";
    must("mkdir -p x y && cp a.o x/m.o && cp b.o y/m.o");
    must("cd x && " + use + " m.o -o p && cd ../y && " + use + " m.o -o p && cd .. && cmp x/p y/p");
  }
}

// `ld -r` joins objects; of two copies of an inline function one stays, and nothing complains.
TEST_F(PayloadTest, AddressesSurviveRelocatableLinks) {
  compile("a", kSource);
  std::string second = std::string(kSource);
  second.replace(second.find("plain"), 5, "other");
  second.replace(second.find("counter"), 7, "counted");
  second.replace(second.find("per_thread"), 10, "per_string");
  second.replace(second.rfind("per_thread"), 10, "per_string");
  compile("b", second);
  add_sample("a.o");
  {
    std::string bytes = get("b.o");
    elf::File object(bytes);
    Payload payload = sample(object);
    payload.unit = "u2";
    payload.addresses[1].symbol = "counted";
    payload.addresses[2].symbol = "per_string";
    append_payload(path("b.o"), payload);
  }
  for (const char* linker : {"ld.bfd", "ld.gold", "ld.lld-22"}) {
    must(std::string("/usr/bin/") + linker + " -r a.o b.o -o r.o");
    EXPECT_EQ(output(), "") << linker;
    std::string bytes = get("r.o");
    elf::File object(bytes);
    std::vector<CarriedPayload> found = read_payloads(object);
    ASSERT_EQ(found.size(), 2u) << linker;
    EXPECT_EQ(found[0].payload.unit, "u1");
    EXPECT_EQ(found[1].payload.unit, "u2");
    EXPECT_EQ(found[0].targets[0].offset, 5);
    uint64_t other = value_of(object, "_Z5otheri");
    EXPECT_EQ(static_cast<uint64_t>(found[1].targets[0].offset), other + 5) << linker;
    EXPECT_EQ(static_cast<uint64_t>(found[1].targets[1].offset), value_of(object, "counted")) << linker;
    for (const CarriedPayload& carried : found) {
      EXPECT_EQ(carried.targets[3].kind, Target::Kind::section) << linker;
      EXPECT_EQ(carried.targets[3].offset, 3);
    }
    EXPECT_EQ(found[0].targets[3].section, found[1].targets[3].section);
  }
}

// A losing copy that was compiled differently is not described by its own descriptors any more.
TEST_F(PayloadTest, ForeignCopyOfAnInlineFunctionIsNoticed) {
  compile("a", kSource, "-O2");
  compile("b",
          "[[gnu::noinline]] inline int shared(int x) { static int calls; return calls += x; }\n"
          "thread_local int per_thread2; int counter2; int other(int x) { return shared(x); }\n",
          "-O0");
  {
    std::string bytes = get("b.o");
    elf::File object(bytes);
    Payload payload = sample(object);
    payload.addresses[1].symbol = "counter2";
    payload.addresses[2].symbol = "per_thread2";
    ASSERT_EQ(payload.addresses.size(), 4u);
    append_payload(path("b.o"), payload);
  }
  compile("c",
          "[[gnu::noinline]] inline int shared(int x) { static int calls; return calls += x; }\n"
          "int third(int x) { return shared(x); }\n",
          "-O0 -fno-omit-frame-pointer -fcf-protection=full");
  for (const char* linker : {"ld.bfd", "ld.gold", "ld.lld-22"}) {
    must(std::string("/usr/bin/") + linker + " -r c.o b.o -o r.o");
    std::string bytes = get("r.o");
    elf::File object(bytes);
    std::vector<CarriedPayload> found = read_payloads(object);
    ASSERT_EQ(found.size(), 1u) << linker;
    EXPECT_EQ(found[0].targets[0].kind, Target::Kind::section) << linker;
    EXPECT_EQ(found[0].targets[3].kind, Target::Kind::discarded) << linker;
  }
}

TEST_F(PayloadTest, DamageIsAnError) {
  compile("a", kSource);
  add_sample("a.o");
  const std::string good = get("a.o");
  uint32_t state = 7;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int n = 0; n < 3; ++n) {
      state = state * 1664525 + 1013904223;
      bytes[(state >> 8) % bytes.size()] = static_cast<char>(state >> 3);
    }
    if (round % 7 == 0) bytes.resize((state >> 8) % bytes.size());
    try {
      elf::File object(bytes);
      if (has_payload(object)) read_payloads(object);
    } catch (const elf::Error&) {
    }
  }
  EXPECT_THROW(with_payload(good, {}), elf::Error);
  EXPECT_THROW(with_payload("", {}), elf::Error);
}

TEST_F(PayloadTest, OtherVersionsAreToldFromDamage) {
  compile("a", kSource);
  add_sample("a.o");
  std::string bytes = get("a.o");
  bytes[bytes.find("RDBPAY") + 7] = '1';
  elf::File object(bytes);
  try {
    read_payloads(object);
    FAIL();
  } catch (const elf::Error& error) {
    EXPECT_NE(std::string(error.what()).find("another version of rdb-clang"), std::string::npos);
  }
}

TEST(Sha256, KnownAnswers) {
  Sha256 empty;
  EXPECT_EQ(empty.finish_hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  abc.update("abc");
  EXPECT_EQ(abc.finish_hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 million;
  for (int i = 0; i < 1000; ++i)
    million.update(std::string(1000, 'a'));
  EXPECT_EQ(million.finish_hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_F(PayloadTest, IdentityIgnoresDebugInformationAndStripping) {
  put("a.cc", "int main(int n, char **) { return n; }\n");
  must("/usr/bin/clang++-22 -O1 -Wl,--build-id a.cc -o plain && /usr/bin/clang++-22 -O1 -g -Wl,--build-id "
       "a.cc -o "
       "debug && strip -s -o stripped plain && /usr/bin/clang++-22 -O1 -DX -Wl,--build-id -Dmain=main a.cc "
       "-o same");
  put("b.cc", "int main(int n, char **) { return n + 1; }\n");
  must("/usr/bin/clang++-22 -O1 -Wl,--build-id b.cc -o other");
  auto identity = [&](const char* name) {
    std::string bytes = get(name);
    return program_identity(elf::File(bytes));
  };
  Identity plain = identity("plain"), debug = identity("debug");
  EXPECT_EQ(plain.build_id.size(), 40u);
  EXPECT_NE(plain.build_id, debug.build_id);
  EXPECT_EQ(plain.hash, debug.hash);
  EXPECT_EQ(plain.hash, identity("stripped").hash);
  EXPECT_NE(plain.hash, identity("other").hash);
}

} // namespace
