// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct number* make(int length) {
  struct number* n = calloc(1, sizeof *n + (size_t)length);
  if (!n) abort();
  n->references = 1;
  n->length = length;
  return n;
}

static struct number* trim(struct number* n) {
  while (n->length > 1 && n->digits[n->length - 1] == 0)
    n->length--;
  if (number_is_zero(n)) n->negative = false;
  return n;
}

struct number* number_parse(const char* text, int length) {
  struct number* n = make(length);
  for (int i = 0; i < length; i++)
    n->digits[i] = (unsigned char)(text[length - 1 - i] - '0');
  return trim(n);
}

struct number* number_from(int value) {
  char text[16];
  int length = snprintf(text, sizeof text, "%d", abs(value));
  struct number* n = number_parse(text, length);
  n->negative = value < 0;
  return n;
}

struct number* number_share(struct number* n) {
  n->references++;
  return n;
}

void number_free(struct number* n) {
  if (--n->references == 0) free(n);
}

bool number_is_zero(const struct number* n) {
  return n->length == 1 && n->digits[0] == 0;
}

static int compare_sizes(const struct number* a, const struct number* b) {
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  for (int i = a->length; i-- > 0;)
    if (a->digits[i] != b->digits[i]) return a->digits[i] < b->digits[i] ? -1 : 1;
  return 0;
}

int number_compare(const struct number* a, const struct number* b) {
  if (a->negative != b->negative) return a->negative ? -1 : 1;
  return a->negative ? compare_sizes(b, a) : compare_sizes(a, b);
}

static int digit(const struct number* n, int i) {
  return i < n->length ? n->digits[i] : 0;
}

// a + sign * b by size; with sign -1, a is not smaller than b.
static struct number* combine(const struct number* a, const struct number* b, int sign, bool negative) {
  int length = (a->length > b->length ? a->length : b->length) + 1;
  struct number* n = make(length);
  int carry = 0;
  for (int i = 0; i < length; i++) {
    int sum = digit(a, i) + sign * digit(b, i) + carry;
    carry = sum < 0 ? -1 : sum / 10;
    n->digits[i] = (unsigned char)(sum - carry * 10);
  }
  n->negative = negative;
  return trim(n);
}

static struct number* add_signed(const struct number* a, const struct number* b, bool b_negative) {
  if (a->negative == b_negative) return combine(a, b, 1, a->negative);
  if (compare_sizes(a, b) >= 0) return combine(a, b, -1, a->negative);
  return combine(b, a, -1, b_negative);
}

struct number* number_add(const struct number* a, const struct number* b) {
  return add_signed(a, b, b->negative);
}

struct number* number_subtract(const struct number* a, const struct number* b) {
  return add_signed(a, b, !b->negative);
}

struct number* number_multiply(const struct number* a, const struct number* b) {
  struct number* n = make(a->length + b->length);
  for (int i = 0; i < a->length; i++) {
    int carry = 0;
    for (int j = 0; j < b->length || carry; j++) {
      int sum = n->digits[i + j] + a->digits[i] * digit(b, j) + carry;
      n->digits[i + j] = (unsigned char)(sum % 10);
      carry = sum / 10;
    }
  }
  n->negative = a->negative != b->negative;
  return trim(n);
}

void number_print(const struct number* n, void (*put)(int character)) {
  if (n->negative) put('-');
  for (int i = n->length; i-- > 0;)
    put('0' + n->digits[i]);
}
