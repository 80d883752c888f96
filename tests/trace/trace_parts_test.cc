// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The smaller parts of a trace, each alone: hashes, numbers, metadata, the CPU check, the file store, names
// and links of directories.
#include "rdbtool/base/error.h"
#include "rdbtool/base/hash.h"
#include "rdbtool/trace/format/block_writer.h"
#include "rdbtool/trace/format/json_text.h"
#include "rdbtool/trace/format/record_codec.h"
#include "rdbtool/trace/store.h"
#include "rdbtool/trace/trace_dir.h"
#include "tests/trace/sample.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include <zstd.h>

namespace rdb::trace {
namespace {

namespace fs = std::filesystem;

template <class Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(Hash, IsXxh64) {
  EXPECT_EQ(xxh64("", 0), 0xef46db3751d8e999);
  EXPECT_EQ(xxh64("abc", 3), 0x44bc2cf5ad770999);
  // zstd ends a frame with the low half of the content's XXH64.
  std::mt19937_64 random(2);
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  for (size_t size = 1; size < 300; ++size) {
    std::string text(size, '\0');
    for (char& c : text)
      c = static_cast<char>(random());
    std::string frame(ZSTD_compressBound(size), '\0');
    frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), text.data(), size));
    uint32_t checksum;
    std::memcpy(&checksum, frame.data() + frame.size() - 4, 4);
    ASSERT_EQ(static_cast<uint32_t>(xxh64(text.data(), size)), checksum) << size;
    Xxh64 pieces;
    for (size_t at = 0; at < size; at += 7)
      pieces.update(text.data() + at, std::min<size_t>(7, size - at));
    ASSERT_EQ(pieces.digest(), xxh64(text.data(), size)) << size;
  }
  ZSTD_freeCCtx(context);
}

TEST(Hash, OfZerosThatAreNotThere) {
  for (size_t before : {0, 1, 31, 32, 40})
    for (size_t zeros : {0, 1, 7, 31, 32, 33, 64, 100, 1000}) {
      std::string text = std::string(before, 'x') + std::string(zeros, '\0') + "end";
      Xxh64 hash;
      hash.update(text.data(), before);
      hash.update_zeros(zeros);
      hash.update("end", 3);
      EXPECT_EQ(hash.digest(), xxh64(text.data(), text.size())) << before << " " << zeros;
    }
}

TEST(Hash, OfWordsSeesEveryBitOfEveryWord) {
  uint64_t words[12] = {};
  uint64_t base = hash_words(words, 12);
  for (uint64_t& word : words)
    for (int bit = 0; bit < 64; ++bit) {
      word = uint64_t{1} << bit;
      EXPECT_NE(hash_words(words, 12), base);
      word = 0;
    }
  EXPECT_NE(hash_words(words, 11), base);
}

TEST(Codec, NumbersComeBack) {
  ByteSink sink;
  std::vector<uint64_t> numbers = {0, 1, 127, 128, UINT32_MAX, UINT64_MAX};
  for (int shift = 0; shift < 64; ++shift)
    numbers.push_back(uint64_t{1} << shift);
  for (uint64_t number : numbers) {
    sink.varint(number);
    sink.svarint(static_cast<int64_t>(number));
  }
  ByteSource source({sink.data(), sink.size()});
  for (uint64_t number : numbers) {
    EXPECT_EQ(source.varint(), number);
    EXPECT_EQ(source.svarint(), static_cast<int64_t>(number));
  }
  EXPECT_TRUE(source.empty() && !source.failed());
  source.u8();
  EXPECT_TRUE(source.failed());
  uint8_t endless[11] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  ByteSource bad(endless);
  bad.varint();
  EXPECT_TRUE(bad.failed());
}

class Methods : public ::testing::Test {
protected:
  // The size of a block by the method that the log has come to use; what comes out is what went in.
  size_t settled_size(const std::vector<uint8_t>& block) {
    MethodChoice choice;
    size_t size = 0;
    for (int i = 0; i < 3; ++i) {
      std::span<const uint8_t> out = choice.compress(compressor_, block);
      size = out.size();
      std::vector<uint8_t> back(block.size());
      EXPECT_EQ(ZSTD_decompress(back.data(), back.size(), out.data(), out.size()), block.size());
      EXPECT_EQ(back, block);
    }
    return size;
  }
  size_t size_by(Method method, const std::vector<uint8_t>& block) {
    return compressor_.compress(block, method).size();
  }

  Compressor compressor_;
};

TEST_F(Methods, SearchesForRepetitionsWhereThereAreSome) {
  std::mt19937_64 random(4);
  std::vector<std::string> words(500);
  for (std::string& word : words)
    for (uint64_t left = 5 + random() % 6; left > 0; --left)
      word += static_cast<char>('a' + random() % 26);
  std::vector<uint8_t> block;
  while (block.size() < kBlockTarget)
    for (char c : words[random() % words.size()] + " ")
      block.push_back(static_cast<uint8_t>(c));
  size_t searched = size_by(Method::repetitions, block);
  EXPECT_LT(searched, size_by(Method::frequencies, block) * 3 / 4);
  EXPECT_EQ(settled_size(block), searched);
}

TEST_F(Methods, DoesNotSearchWhereThereAreNone) {
  std::mt19937_64 random(3);
  std::vector<uint8_t> block(kBlockTarget);
  for (uint8_t& byte : block)
    byte = static_cast<uint8_t>('0' + random() % 10);
  size_t quick = size_by(Method::frequencies, block);
  EXPECT_LT(quick, block.size() / 2);
  EXPECT_NE(quick, size_by(Method::repetitions, block));
  EXPECT_EQ(settled_size(block), quick);
}

// The promise: at most 1.1 bytes a byte of input and 24 bytes a system call, before compression.
TEST(Codec, ASystemCallIsSmall) {
  RecordSink sink;
  CodecState state;
  size_t payload = 0;
  std::vector<uint8_t> bytes(4096);
  const int kCalls = 1000;
  for (int i = 0; i < kCalls; ++i) {
    // read, fstat, mmap, close, failing open; buffers in different places
    MemoryWrite write = {GuestAddr(i % 2 == 0 ? 0x7ffd12340000 : 0x55d0c0ffe000), bytes.data(),
                         i % 5 == 0 ? size_t{4096} : size_t{144}};
    SyscallInput call = {static_cast<uint32_t>(i % 300), OutputStream::none, false,
                         i % 5 == 2   ? 0x7f1234560000
                         : i % 5 == 4 ? -2
                                      : 4096,
                         0x1234567890abcdef};
    Input input;
    input.at.time = Time(uint64_t(i) * 5000);
    input.thread = ThreadId(1234);
    input.payload = call;
    if (i % 5 < 2) {
      input.writes = {&write, 1};
      payload += write.size;
    }
    encode(input, state, sink);
  }
  double used = static_cast<double>(sink.bytes.size() + sink.hashes.size());
  EXPECT_LE(used, 1.1 * static_cast<double>(payload) + 24 * kCalls);
  EXPECT_LE((used - static_cast<double>(payload)) / kCalls, 24.0);
}

TEST(Metadata, ComesBack) {
  Metadata metadata = sample_metadata();
  metadata.id = std::string(32, 'f');
  metadata.environment.push_back("BYTES=\xff\x80");
  metadata.chaos_seed = UINT64_MAX;
  metadata.cpu = CpuInfo::of_this_machine();
  metadata.state = TraceState::finished;
  metadata.end = {EndKind::signalled, 11, "a reason", 5};
  metadata.files = {{{0x1234, 77}, "/lib/x.so", "abcd"}};
  Metadata back = Metadata::from_json(metadata.to_json(), "m");
  EXPECT_EQ(back.to_json(), metadata.to_json());
  EXPECT_EQ(back.environment, metadata.environment);
  EXPECT_EQ(back.chaos_seed, metadata.chaos_seed);
  EXPECT_EQ(back.end.summary(), "SIGSEGV");
  EXPECT_EQ(back.files[0].content, metadata.files[0].content);
  EXPECT_EQ(back.layout_seed, 0xfedcba9876543210);
}

TEST(Metadata, TextThatIsNoUnicodeComesBack) {
  for (std::string text :
       {std::string("plain"), std::string("\xc3\xa4"), std::string("\xff"), std::string("\xc0\x80"),
        std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"), std::string("a\0b", 3)})
    EXPECT_EQ(text_from_json(nlohmann::ordered_json::parse(text_to_json(text).dump())), text);
}

TEST(Cpu, AnotherVendorOrAMissingFeatureIsNamed) {
  CpuInfo here = CpuInfo::of_this_machine();
  EXPECT_FALSE(here.vendor.empty());
  check_cpu(here, here, "t");
  CpuInfo older = here;
  older.features.clear();
  check_cpu(older, here, "t"); // a CPU that can do more replays it
  CpuInfo other = here;
  other.vendor = "Other";
  EXPECT_NE(complaint([&] { check_cpu(other, here, "t"); }).find("vendor Other"), std::string::npos);
  CpuInfo newer = here;
  newer.features.push_back("telepathy");
  EXPECT_NE(complaint([&] { check_cpu(newer, here, "t"); }).find("telepathy"), std::string::npos);
}

class Store : public testing::Test {
protected:
  std::string file(const std::string& name, const std::string& content) {
    std::string path = dir_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  ContentId add(ContentStore& store, const std::string& path) {
    int fd = open(path.c_str(), O_RDONLY);
    ContentId id = store.add(fd);
    close(fd);
    return id;
  }
  TempDir dir_;
};

TEST_F(Store, KeepsWhatAFileHeldWhateverBecomesOfIt) {
  ContentStore store(dir_.path() + "/files");
  std::string content(1'000'000, 'x');
  content += std::string(1'000'000, '\0') + "end";
  std::string path = file("lib.so", content);
  ContentId id = add(store, path);
  EXPECT_EQ(id.size, content.size());
  EXPECT_EQ(id.hash, xxh64(content.data(), content.size()));
  file("lib.so", "rebuilt in place");
  EXPECT_NE(add(store, path), id);
  int fd = store.open(id);
  std::string back(content.size(), '\0');
  EXPECT_EQ(pread(fd, back.data(), back.size(), 0), static_cast<ssize_t>(back.size()));
  EXPECT_EQ(back, content);
  close(fd);
  EXPECT_EQ(store.list().size(), 2u);
}

TEST_F(Store, HolesAreNotReadAndStay) {
  ContentStore store(dir_.path() + "/files");
  std::string path = dir_.path() + "/sparse";
  constexpr size_t kSize = 64 << 20;
  constexpr size_t kMiddle = 33 << 20;
  int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(pwrite(fd, "begin", 5, 0), 5);
  ASSERT_EQ(pwrite(fd, "middle", 6, kMiddle), 6);
  ASSERT_EQ(ftruncate(fd, kSize), 0);
  ASSERT_EQ(lseek(fd, 77, SEEK_SET), 77);
  ContentId id = store.add(fd);
  EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 77);

  auto resident = [](int file) {
    void* memory = mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file, 0);
    std::vector<unsigned char> pages(kSize / 4096);
    EXPECT_EQ(mincore(memory, kSize, pages.data()), 0);
    munmap(memory, kSize);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
  };
  EXPECT_LT(resident(fd), 1000);
  close(fd);
  fd = store.open(id);
  EXPECT_LT(resident(fd), 1000);
  struct stat copy;
  ASSERT_EQ(fstat(fd, &copy), 0);
  EXPECT_EQ(static_cast<size_t>(copy.st_size), kSize);
  EXPECT_LT(copy.st_blocks * 512, 2 << 20);
  close(fd);

  // The same content without holes is the same file.
  std::string content(kSize, '\0');
  content.replace(0, 5, "begin");
  content.replace(kMiddle, 6, "middle");
  EXPECT_EQ(add(store, file("dense", content)), id);

  // Older traces name it by the hash of every single byte.
  ContentId plain{xxh64(content.data(), content.size()), kSize};
  ASSERT_NE(plain, id);
  fs::rename(store.path_of(id), store.path_of(plain));
  close(store.open(plain));
}

TEST_F(Store, ATerabyteOfHoleIsNotHashed) {
  ContentStore store(dir_.path() + "/files");
  constexpr off_t kTerabyte = off_t{1} << 40;
  std::set<ContentId> ids;
  for (off_t at : {off_t{0}, kTerabyte / 2, kTerabyte / 2 + 4096, kTerabyte - 1}) {
    int fd = memfd_create("sparse", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, kTerabyte), 0);
    ASSERT_EQ(pwrite(fd, "x", 1, at), 1);
    ContentId id = store.add(fd);
    close(fd);
    EXPECT_EQ(id.size, static_cast<uint64_t>(kTerabyte));
    ids.insert(id);
    fd = store.open(id);
    char byte = 0;
    EXPECT_EQ(pread(fd, &byte, 1, at), 1);
    EXPECT_EQ(byte, 'x');
    close(fd);
  }
  EXPECT_EQ(ids.size(), 4u); // where the byte is counts
}

TEST_F(Store, ADescriptorThatWantsAlignedReads) {
  ContentStore store(dir_.path() + "/files");
  std::string content(300'001, 'd');
  std::string path = file("direct", content);
  int fd = open(path.c_str(), O_RDONLY | O_DIRECT);
  if (fd < 0) GTEST_SKIP() << "this file system has no O_DIRECT";
  EXPECT_EQ(store.add(fd), (ContentId{xxh64(content.data(), content.size()), content.size()}));
  close(fd);
}

TEST_F(Store, AFileRewrittenWithTheSameSizeIsReadAgain) {
  ContentStore store(dir_.path() + "/files");
  std::string path = file("data", "one");
  ContentId one = add(store, path);
  std::string same_inode = file("data", "two");
  EXPECT_NE(add(store, same_inode), one);
}

TEST_F(Store, AChangedCopyIsNotHandedOut) {
  ContentStore store(dir_.path() + "/files");
  ContentId id = add(store, file("data", "content"));
  fs::permissions(store.path_of(id), fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(store.path_of(id)) << "CONTENT";
  EXPECT_NE(complaint([&] { store.open(id); }).find("damaged"), std::string::npos);
  std::ofstream(store.path_of(id)) << "longer content";
  EXPECT_NE(complaint([&] { store.open(id); }).find("another size"), std::string::npos);
  fs::remove(store.path_of(id));
  EXPECT_NE(complaint([&] { store.open(id); }).find("missing"), std::string::npos);
}

TEST_F(Store, NamesAreExact) {
  ContentId id;
  EXPECT_TRUE(parse_content_id("0123456789abcdef-1f", id));
  EXPECT_EQ(id, (ContentId{0x0123456789abcdef, 0x1f}));
  for (const char* bad :
       {"", "0123456789abcdef", "0123456789abcdef-", "0123456789abcdef-01", "0123456789ABCDEF-1",
        "0123456789abcdef-1/..", "../../../../../etc-1", "0123456789abcdef_1"})
    EXPECT_FALSE(parse_content_id(bad, id)) << bad;
}

TEST_F(Store, BuildIds) {
  int self = open("/proc/self/exe", O_RDONLY);
  EXPECT_EQ(build_id_of(self).find_first_not_of("0123456789abcdef"), std::string::npos);
  std::string elf(200'000, '\0');
  EXPECT_GT(pread(self, elf.data(), elf.size(), 0), 1000);
  close(self);
  // Any header bytes: no crash, no endless loop.
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string changed = elf.substr(0, 4096);
    for (int k = 0; k < 10; ++k)
      changed[4 + random() % 800] = static_cast<char>(random());
    int fd = open(file("elf", changed).c_str(), O_RDONLY);
    build_id_of(fd);
    close(fd);
  }
}

TEST(TraceDir, IsFoundByTheEnvironment) {
  TempDir dir;
  EXPECT_EQ(trace_root(), dir.path());
  unsetenv("RDB_TRACE_DIR");
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(trace_root(), "/data/rdb");
  unsetenv("XDG_DATA_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(trace_root(), "/home/me/.local/share/rdb");
}

TEST(TraceDir, NamesCountUpAndLatestFollows) {
  TempDir dir;
  setenv("RDB_TRACE_DIR", (dir.path() + "/deep/er").c_str(), 1);
  for (int i = 0; i < 3; ++i) {
    Metadata metadata = sample_metadata();
    metadata.program = "/bin/od d\n";
    TraceWriter writer(metadata);
    EXPECT_EQ(writer.path(), trace_root() + "/od_d_-" + std::to_string(i));
    // Not before there is something in it.
    std::error_code none;
    EXPECT_EQ(fs::read_symlink(trace_root() + "/latest", none),
              i == 0 ? "" : "od_d_-" + std::to_string(i - 1));
    EXPECT_FALSE(writer.has_process());
    StartInput start;
    start.pid = 1000;
    writer.add_process(start);
    EXPECT_TRUE(writer.has_process());
    EXPECT_EQ(fs::read_symlink(trace_root() + "/latest"), "od_d_-" + std::to_string(i));
    EXPECT_EQ(fs::status(writer.path()).permissions(), fs::perms::owner_all);
  }
  EXPECT_EQ(fs::status(trace_root()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(list_traces().size(), 3u);
  // One outside does not become the latest.
  TraceWriter outside(sample_metadata(), dir.path() + "/mine");
  StartInput start;
  start.pid = 1000;
  outside.add_process(start);
  EXPECT_EQ(fs::read_symlink(trace_root() + "/latest"), "od_d_-2");
  EXPECT_NE(
      complaint([&] { TraceWriter again(sample_metadata(), dir.path() + "/mine"); }).find("File exists"),
      std::string::npos);
}

} // namespace
} // namespace rdb::trace
