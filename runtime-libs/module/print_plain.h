// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats that hold nothing but plain conversions of numbers and strings.
#ifndef RDB_MODULE_PRINT_PLAIN_H
#define RDB_MODULE_PRINT_PLAIN_H

#include <stdarg.h>
#include <stddef.h>

enum { kNotPlain = -1 };

// Writes at most `room` characters, without a zero behind them. The number of characters of the whole, or
// kNotPlain: then the format is libc's to carry out.
int __rdb_print_plainly(char* to, size_t room, const char* format, va_list list);

#endif // RDB_MODULE_PRINT_PLAIN_H
