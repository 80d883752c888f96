// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An exception that leaves debug code has lost all frames that could tell where it came from. So the C++
// library finds these functions in front of the unwinder's, which note the place.
#include "rdbtool/debug/isolation/captured_stack.h"

#include <dlfcn.h>
#include <unwind.h>

namespace {

using Raise = _Unwind_Reason_Code (*)(_Unwind_Exception*);

Raise next(const char* name) {
  return reinterpret_cast<Raise>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

_Unwind_Reason_Code _Unwind_RaiseException(_Unwind_Exception* exception) {
  static const Raise real = next("_Unwind_RaiseException");
  rdb::debug::note_throw(exception);
  return real(exception);
}

_Unwind_Reason_Code _Unwind_Resume_or_Rethrow(_Unwind_Exception* exception) {
  static const Raise real = next("_Unwind_Resume_or_Rethrow");
  rdb::debug::note_throw(exception);
  return real(exception);
}
}
