// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "translate.h"

#include "number.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct code* code;
static const char* at;
static int line;

static void fail(const char* what) {
  fprintf(stderr, "calc: line %d: %s\n", line, what);
  exit(1);
}

// --- Words of the text

static void skip_space(void) {
  for (; isspace((unsigned char)*at) || *at == '#'; at++) {
    if (*at == '#') at += strcspn(at, "\n");
    if (*at == '\0') return;
    if (*at == '\n') line++;
  }
}

static bool next_is(const char* word) {
  skip_space();
  size_t length = strlen(word);
  if (strncmp(at, word, length) != 0) return false;
  return !isalpha((unsigned char)word[0]) || !isalnum((unsigned char)at[length]);
}

static bool accept(const char* word) {
  if (!next_is(word)) return false;
  at += strlen(word);
  return true;
}

static void expect(const char* word) {
  if (accept(word)) return;
  fprintf(stderr, "calc: line %d: '%s' expected\n", line, word);
  exit(1);
}

static int variable(void) {
  skip_space();
  if (!islower((unsigned char)*at)) fail("a variable expected");
  return *at++ - 'a';
}

// --- Code

static void emit(int byte) {
  if (code->length == kMaxCode) fail("too much code");
  code->bytes[code->length++] = (unsigned char)byte;
}

static void emit_target(int target) {
  emit(target & 0xFF);
  emit(target >> 8);
}

// Emits a jump whose target is not known yet; where to put it.
static int emit_forward(enum operation operation) {
  emit(operation);
  emit_target(0);
  return code->length - 2;
}

static void land(int forward) {
  code->bytes[forward] = code->length & 0xFF;
  code->bytes[forward + 1] = (unsigned char)(code->length >> 8);
}

static void emit_jump(enum operation operation, int target) {
  emit(operation);
  emit_target(target);
}

static void emit_constant(struct number* n) {
  if (code->constant_count == kMaxConstants) fail("too many numbers");
  code->constants[code->constant_count] = n;
  emit(OP_CONSTANT);
  emit(code->constant_count++);
}

// --- Expressions: their value is left on the stack

static void expression(void);

static void primary(void) {
  skip_space();
  if (isdigit((unsigned char)*at)) {
    int length = (int)strspn(at, "0123456789");
    emit_constant(number_parse(at, length));
    at += length;
  } else if (accept("(")) {
    expression();
    expect(")");
  } else if (accept("-")) {
    emit_constant(number_from(0));
    primary();
    emit(OP_SUBTRACT);
  } else {
    int name = variable();
    if (accept("(")) {
      expression();
      expect(")");
      emit(OP_CALL);
    } else {
      emit(OP_LOAD);
    }
    emit(name);
  }
}

static void product(void) {
  primary();
  while (accept("*")) {
    primary();
    emit(OP_MULTIPLY);
  }
}

static void sum(void) {
  product();
  for (;;) {
    enum operation operation = next_is("+") ? OP_ADD : OP_SUBTRACT;
    if (!accept("+") && !accept("-")) return;
    product();
    emit(operation);
  }
}

static void comparison(void) {
  sum();
  bool equal = next_is("==");
  if (!accept("==") && !accept("<")) return;
  sum();
  emit(equal ? OP_EQUAL : OP_LESS);
}

static bool is_assignment(void) {
  skip_space();
  if (!islower((unsigned char)*at)) return false;
  const char* p = at + 1 + strspn(at + 1, " \t");
  return p[0] == '=' && p[1] != '=';
}

static void expression(void) {
  if (!is_assignment()) {
    comparison();
    return;
  }
  int name = variable();
  expect("=");
  expression();
  emit(OP_STORE);
  emit(name);
}

// --- Statements: they leave the stack as it was

static void statement(void);

static void block(void) {
  expect("{");
  while (!accept("}")) {
    skip_space();
    if (*at == '\0') fail("'}' expected");
    statement();
  }
}

// for (FIRST; CONDITION; STEP) BODY becomes
//   FIRST drop; loop: CONDITION branch-zero end; jump body; step: STEP drop; jump loop; body: BODY jump step;
//   end:
static void for_statement(void) {
  expect("(");
  if (!next_is(";")) {
    expression();
    emit(OP_DROP);
  }
  expect(";");
  int loop = code->length;
  if (!next_is(";")) expression();
  expect(";");
  int end = emit_forward(OP_BRANCH_ZERO);
  int body = emit_forward(OP_JUMP);
  int step = code->length;
  if (!next_is(")")) {
    expression();
    emit(OP_DROP);
  }
  expect(")");
  emit_jump(OP_JUMP, loop);
  land(body);
  block();
  emit_jump(OP_JUMP, step);
  land(end);
}

static void while_statement(void) {
  int loop = code->length;
  expect("(");
  expression();
  expect(")");
  int end = emit_forward(OP_BRANCH_ZERO);
  block();
  emit_jump(OP_JUMP, loop);
  land(end);
}

static void if_statement(void) {
  expect("(");
  expression();
  expect(")");
  int otherwise = emit_forward(OP_BRANCH_ZERO);
  block();
  if (accept("else")) {
    int end = emit_forward(OP_JUMP);
    land(otherwise);
    block();
    land(end);
  } else {
    land(otherwise);
  }
}

static void statement(void) {
  if (accept("for")) {
    for_statement();
  } else if (accept("while")) {
    while_statement();
  } else if (accept("if")) {
    if_statement();
  } else if (accept("return")) {
    expression();
    emit(OP_RETURN);
    expect(";");
  } else {
    bool silent = is_assignment();
    expression();
    emit(silent ? OP_DROP : OP_PRINT);
    expect(";");
  }
}

// define NAME(PARAMETER) { ... }
static void definition(void) {
  int name = variable();
  expect("(");
  code->parameters[name] = variable();
  expect(")");
  int behind = emit_forward(OP_JUMP);
  code->functions[name] = code->length;
  block();
  emit_constant(number_from(0));
  emit(OP_RETURN);
  land(behind);
}

int translate(struct code* to, const char* text) {
  code = to;
  at = text;
  line = 1;
  int begin = code->length;
  for (skip_space(); *at != '\0'; skip_space()) {
    if (accept("define")) {
      definition();
    } else {
      statement();
    }
  }
  emit(OP_END);
  return begin;
}
