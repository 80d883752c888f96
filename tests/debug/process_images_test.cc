// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The images of this process, as a replay would list them.
#include "rdbtool/debug/twins/process_images.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <link.h>

thread_local int images_test_in_thread = 3;
extern "C" [[gnu::noinline, gnu::used]] int images_test_function() {
  return images_test_in_thread;
}

namespace rdb::debug {
namespace {

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

class ProcessImagesTest : public testing::Test {
protected:
  static std::vector<replay::LoadedFile> mapped() {
    std::vector<replay::LoadedFile> files;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* argument) {
          auto& all = *static_cast<std::vector<replay::LoadedFile>*>(argument);
          std::string path = all.empty() ? "/proc/self/exe" : info->dlpi_name;
          if (!path.starts_with('/')) return 0;
          uint64_t first = UINT64_MAX;
          for (int i = 0; i < info->dlpi_phnum; ++i)
            if (info->dlpi_phdr[i].p_type == PT_LOAD)
              first = std::min<uint64_t>(first, guest::page_down(info->dlpi_phdr[i].p_vaddr));
          all.push_back({GuestAddr(info->dlpi_addr + first), path, path});
          return 0;
        },
        &files);
    // A replay lists them by address: the program may be anywhere.
    std::ranges::reverse(files);
    files.insert(files.begin(), {GuestAddr(0x1000), "/etc/passwd", "/etc/passwd"});
    files.insert(files.begin(), {GuestAddr(0x2000), "/nowhere", "/nowhere"});
    return files;
  }
  static bool read(uint64_t address, void* to, size_t size) {
    std::memcpy(to, reinterpret_cast<const void*>(address), size);
    return true;
  }

  ProcessImages process_{mapped(), read};
  LoadedImages& images_ = process_.images();
};

TEST_F(ProcessImagesTest, ProgramFirst) {
  ASSERT_GT(images_.images().size(), 3u);
  EXPECT_EQ(images_.images()[0].path, "/proc/self/exe");
  auto place = process_.symbols(0).global("images_test_function");
  ASSERT_TRUE(place);
  EXPECT_EQ(place.address + images_.images()[0].bias,
            address_of(reinterpret_cast<const void*>(&images_test_function)));
  EXPECT_EQ(process_.find(mapped().back().begin), 0u);
  EXPECT_FALSE(process_.find(GuestAddr(0x2000)));
}

TEST_F(ProcessImagesTest, NamesAsTheDynamicLinkerHasThem) {
  auto found = images_.find("getenv");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, address_of(reinterpret_cast<const void*>(&std::getenv)));
  // Which variant it is depends on the CPU.
  auto copy = images_.find("memcpy");
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->is_indirect());
  auto used = images_.resolved("memcpy");
  ASSERT_TRUE(used);
  EXPECT_NE(*used, copy->address);
  EXPECT_FALSE(images_.find("nobody_has_this_function"));
  EXPECT_FALSE(images_.resolved("nobody_has_this_function"));
  EXPECT_GT(images_.tables_of_addresses().size(), 3u);
}

TEST_F(ProcessImagesTest, ThreadLocalVariables) {
  const uint64_t thread = address_of(__builtin_thread_pointer());
  auto own = process_.symbols(0).global("images_test_in_thread");
  EXPECT_EQ(own.kind, ProgramSymbols::Place::Kind::thread_local_data);
  EXPECT_EQ(thread + images_.thread_pointer_offset(0).value() + own.address,
            address_of(&images_test_in_thread));
  EXPECT_EQ(images_.thread_block_number(0), 1u);
  // A library's, by the table of the thread's blocks.
  size_t checked = 0;
  for (size_t i = 1; i < images_.images().size(); ++i) {
    auto number = images_.thread_block_number(i);
    if (!number) continue;
    images_.set_thread_pointer(0);
    auto before = images_.thread_pointer_offset(i);
    images_.set_thread_pointer(thread);
    auto offset = images_.thread_pointer_offset(i);
    struct {
      uint64_t number;
      std::optional<uint64_t> block;
    } wanted{*number, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* argument) {
          auto& search = *static_cast<decltype(wanted)*>(argument);
          if (info->dlpi_tls_modid == search.number && info->dlpi_tls_data != nullptr)
            search.block = address_of(info->dlpi_tls_data);
          return 0;
        },
        &wanted);
    if (!wanted.block || !offset) continue;
    ++checked;
    EXPECT_EQ(thread + *offset, *wanted.block);
    if (before) {
      EXPECT_EQ(before, offset);
    }
  }
  EXPECT_GT(checked, 0u);
}

} // namespace
} // namespace rdb::debug
