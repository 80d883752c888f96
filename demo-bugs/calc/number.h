// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole numbers of any size. They never change once made, and are shared by counting references.
#pragma once

#include <stdbool.h>

struct number {
  int references;
  bool negative;
  int length;             // without leading zeros; 0 is one digit
  unsigned char digits[]; // decimal, the lowest first
};

struct number* number_parse(const char* text, int length);
struct number* number_from(int value);
struct number* number_share(struct number* n);
void number_free(struct number* n);

struct number* number_add(const struct number* a, const struct number* b);
struct number* number_subtract(const struct number* a, const struct number* b);
struct number* number_multiply(const struct number* a, const struct number* b);
int number_compare(const struct number* a, const struct number* b);
bool number_is_zero(const struct number* n);

// Writes the digits one by one to wherever `put` puts them.
void number_print(const struct number* n, void (*put)(int character));
