// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug code includes. Between rdb_begin and rdb_end stands ordinary code that runs when a recording is
// replayed; rdb-clang keeps it out of the program and puts it into the debug module beside it.
//
//   rdb_begin           debug code in a function. Each marker stands alone on its line.
//     printf("n=%d\n", n);
//   rdb_end
//
//   rdb_begin_globals   debug-only functions, variables, types and includes, at file scope.
//     static int calls;
//   rdb_end_globals
//
// Other compilers stop here, because to them the regions would be part of the program. With -DRDB_INLINE that
// is what is wanted: regions are plain code, run where they stand.
#ifndef RDB_RDB_H
#define RDB_RDB_H

// Code editors look at the source as it stands: to them regions are plain code as well. clangd has no macro
// of its own; add -D__CLANGD__ to its CompileFlags.
#if defined(__CLANGD__) || defined(__INTELLISENSE__) || defined(__CDT_PARSER__) || defined(Q_CREATOR_RUN) || \
    defined(__JETBRAINS_IDE__)
#define RDB_EDITOR 1
#endif

#if defined(__RDB_CLANG__)

#include <rdb/events.h>

// rdb-clang finds the markers in the text; here they are nothing. rdb_guest(f) is the program's own f where
// the debug code's private one would be used: rdb_guest(malloc)(10) allocates in the replayed program's heap.
#ifdef __cplusplus
extern "C"
#endif
    void (*__rdb_guest(void (*)(void)))(void);
#define rdb_begin
#define rdb_end
#define rdb_begin_globals
#define rdb_end_globals
#define rdb_guest(f) ((__typeof__(&(f)))__rdb_guest((void (*)(void)) & (f)))

#else

#if !defined(RDB_INLINE) && !defined(RDB_EDITOR)
#error                                                                                                       \
    "this file has rdb debug regions: compile it with rdb-clang or rdb-clang++ (from a file, not from standard input), or with -DRDB_INLINE to run them as part of the program"
#endif
#define rdb_begin {
#define rdb_end }
#define rdb_begin_globals
#define rdb_end_globals
#define rdb_guest(f) (f)

#endif

#endif // RDB_RDB_H
