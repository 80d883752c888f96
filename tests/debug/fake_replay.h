// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What most of debug/ needs of a replay, without a recording: memory of the guest's, and an engine that runs
// code in it and calls hooks.
#pragma once

#include "rdbtool/debug/stopped_thread.h"
#include "rdbtool/guest/memory/host_place.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <span>
#include <sys/mman.h>
#include <vector>

namespace rdb::debug {

class FakeReplay {
public:
  FakeReplay()
      : space(guest::make_layout({guest::kNewestLayout, 0, false, guest::top_for_guest()})),
        engine(space, options()) {
    engine::Registers& regs = engine.registers();
    asm volatile("rdfsbase %0" : "=r"(regs.fs_base));
    asm volatile("rdgsbase %0" : "=r"(regs.gs_base));
  }
  ~FakeReplay() {
    for (auto [begin, size] : mapped_)
      space.munmap(begin, size);
  }
  FakeReplay(const FakeReplay&) = delete;
  FakeReplay& operator=(const FakeReplay&) = delete;

  // New memory of the guest's; its address.
  uint64_t map(uint64_t pages, int protection = PROT_READ | PROT_WRITE) {
    const uint64_t size = pages * guest::kPage;
    int64_t begin = space.mmap(0, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_GT(begin, 0);
    mapped_.emplace_back(static_cast<uint64_t>(begin), size);
    return static_cast<uint64_t>(begin);
  }
  uint64_t map_code(const std::vector<uint8_t>& code) {
    uint64_t begin = map(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    std::memcpy(reinterpret_cast<void*>(begin), code.data(), code.size());
    return begin;
  }
  static uint64_t& word(uint64_t address) { return *reinterpret_cast<uint64_t*>(address); }

  uint64_t& pc() { return engine.registers().rip; }
  uint64_t& sp() { return engine.registers().gpr[engine::RSP]; }
  StoppedThread thread(int id = 1) { return {engine, space, ThreadId(id)}; }

  // The function is called before every hooked instruction while the engine runs.
  void at_hooks(std::function<void(uint64_t pc)> function) {
    at_hook_ = std::move(function);
    engine.set_hook([](void* self, uint64_t pc) { static_cast<FakeReplay*>(self)->at_hook_(pc); }, this);
  }

  guest::AddressSpace space;
  engine::Translator engine;

private:
  static engine::TranslatorOptions options() {
    engine::TranslatorOptions options;
    options.cache_place = guest::make_layout({guest::kNewestLayout, 0, false, guest::top_for_guest()}).cache;
    options.cache_size = 32u << 20;
    options.table_place = guest::kTablePlace;
    options.superblocks = false;
    return options;
  }

  std::vector<std::pair<uint64_t, uint64_t>> mapped_;
  std::function<void(uint64_t)> at_hook_;
};

} // namespace rdb::debug
