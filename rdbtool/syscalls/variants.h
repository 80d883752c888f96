// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls behind calls: tables of ioctl requests, fcntl commands, prctl options and their like.
#pragma once

#include "rdbtool/syscalls/table.h"

namespace rdb {

extern const VariantTable kIoctlRequests;
extern const VariantTable kFcntlCommands;
extern const VariantTable kPrctlOptions;
extern const VariantTable kArchPrctlCodes;
extern const VariantTable kGetSocketOptions;
extern const VariantTable kSetSocketOptions;
extern const VariantTable kSemaphoreCommands;
extern const VariantTable kSharedMemoryCommands;
extern const VariantTable kMessageCommands;
extern const VariantTable kSeccompOperations;
extern const VariantTable kSyslogActions;

// Null if the selector is not listed.
const CallVariant* find_variant(const VariantTable& table, const SyscallArgs& args);

// What a request outside the table says of itself: the direction and size bits that well-formed requests
// have. Refused for requests without them and for families whose structures point to further memory.
CallVariant decode_ioctl_request(uint32_t request);

} // namespace rdb
