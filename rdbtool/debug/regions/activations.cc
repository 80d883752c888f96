// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/activations.h"

#include "rdbtool/debug/regions/bundle.h"

namespace rdb::debug {

void* Activations::find(const Bundle& bundle, uint32_t id, uint64_t cfa) {
  std::vector<std::byte>& storage = storage_[{&bundle, id, cfa}];
  if (storage.empty())
    for (const descriptors::Activation& activation : bundle.descriptors().activations)
      if (activation.id == id) storage.resize(activation.size);
  return storage.data();
}

} // namespace rdb::debug
