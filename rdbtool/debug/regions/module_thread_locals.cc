// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/module_thread_locals.h"

#include "rdbtool/debug/debug_session.h"

#include <algorithm>
#include <link.h>
#include <utility>

extern "C" void* __tls_get_addr(void* index);

namespace rdb::debug {
namespace {

struct ThreadLocalImage {
  uint64_t inside = 0;
  size_t module = 0;
  std::span<const std::byte> image; // what variables begin with; the rest is zero
  size_t size = 0;
};

int look(dl_phdr_info* info, size_t, void* argument) {
  auto& found = *static_cast<ThreadLocalImage*>(argument);
  std::span<const ElfW(Phdr)> headers(info->dlpi_phdr, info->dlpi_phnum);
  auto holds = [&](const ElfW(Phdr) & header) {
    return header.p_type == PT_LOAD && found.inside - (info->dlpi_addr + header.p_vaddr) < header.p_memsz;
  };
  if (std::ranges::none_of(headers, holds)) return 0;
  for (const ElfW(Phdr) & header : headers)
    if (header.p_type == PT_TLS) {
      found.module = info->dlpi_tls_modid;
      found.image = {reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr), header.p_filesz};
      found.size = header.p_memsz;
    }
  return 1;
}

} // namespace

ModuleThreadLocals::~ModuleThreadLocals() {
  if (session_ != nullptr) std::erase(session_->thread_locals, this);
}

void ModuleThreadLocals::attach(DebugSession& session, const void* inside) {
  if (!block_.empty()) return;
  ThreadLocalImage found{.inside = reinterpret_cast<uint64_t>(inside)};
  dl_iterate_phdr(look, &found);
  if (found.size == 0) return;
  size_t index[2] = {found.module, 0};
  block_ = {static_cast<std::byte*>(__tls_get_addr(index)), found.size};
  initial_.assign(found.image.begin(), found.image.end());
  initial_.resize(found.size);
  session_ = &session;
  session.thread_locals.push_back(this);
}

void ModuleThreadLocals::exchange(uint64_t thread) {
  others_[thread_] = {{block_.begin(), block_.end()}, std::exchange(objects_, {})};
  auto known = others_.find(thread);
  std::ranges::copy(known != others_.end() ? known->second.bytes : initial_, block_.begin());
  if (known != others_.end()) objects_ = std::move(known->second.objects);
  thread_ = thread;
}

void ModuleThreadLocals::add_object(void (*destroy)(void*), void* object) {
  for (ModuleThreadLocals* blocks : DebugSession::current()->thread_locals) {
    auto offset = reinterpret_cast<uint64_t>(object) - reinterpret_cast<uint64_t>(blocks->block_.data());
    if (offset < blocks->block_.size()) blocks->objects_.push_back({destroy, object});
  }
}

void ModuleThreadLocals::end() {
  if (block_.empty()) return;
  std::vector<uint64_t> threads = {thread_};
  for (const auto& [thread, state] : others_)
    if (thread != thread_) threads.push_back(thread);
  for (uint64_t thread : threads) {
    use(thread);
    while (!objects_.empty()) {
      Object last = objects_.back();
      objects_.pop_back();
      last.destroy(last.address);
    }
  }
}

} // namespace rdb::debug
