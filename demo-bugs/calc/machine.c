// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine.h"

#include "number.h"

#include <stdio.h>
#include <stdlib.h>

void machine_start(struct machine* m, const struct code* code) {
  m->code = code;
  m->top = NULL;
  for (int i = 0; i < kVariables; i++)
    m->variables[i] = number_from(0);
}

static void push(struct machine* m, struct number* value) {
  struct operand* o = malloc(sizeof *o);
  if (!o) abort();
  o->value = value;
  o->below = m->top;
  m->top = o;
}

static struct number* pop(struct machine* m) {
  struct operand* o = m->top;
  struct number* value = o->value;
  m->top = o->below;
  free(o);
  return value;
}

static void put_stdout(int character) {
  putchar(character);
}

static void print(const struct number* n) {
  number_print(n, put_stdout);
  putchar('\n');
}

static void set(struct machine* m, int variable, struct number* value) {
  number_free(m->variables[variable]);
  m->variables[variable] = value;
}

static void arithmetic(struct machine* m, int operation) {
  struct number* b = pop(m);
  struct number* a = pop(m);
  struct number* result = NULL;
  switch (operation) {
  case OP_ADD:
    result = number_add(a, b);
    break;
  case OP_SUBTRACT:
    result = number_subtract(a, b);
    break;
  case OP_MULTIPLY:
    result = number_multiply(a, b);
    break;
  case OP_LESS:
    result = number_from(number_compare(a, b) < 0);
    break;
  case OP_EQUAL:
    result = number_from(number_compare(a, b) == 0);
    break;
  default:
    abort();
  }
  number_free(a);
  number_free(b);
  push(m, result);
}

// Runs from pc on until the code's end or the return of a function.
void machine_run(struct machine* m, int pc) {
  const unsigned char* bytes = m->code->bytes;
  for (;;) {
    int operation = bytes[pc++];
    switch (operation) {
    case OP_CONSTANT:
      push(m, number_share(m->code->constants[bytes[pc++]]));
      break;
    case OP_LOAD:
      push(m, number_share(m->variables[bytes[pc++]]));
      break;
    case OP_STORE:
      set(m, bytes[pc++], number_share(m->top->value));
      break;
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
    case OP_LESS:
    case OP_EQUAL:
      arithmetic(m, operation);
      break;
    case OP_DROP:
      number_free(pop(m));
      break;
    case OP_PRINT: {
      struct number* n = pop(m);
      print(n);
      number_free(n);
      break;
    }
    case OP_JUMP:
      pc = bytes[pc] | bytes[pc + 1] << 8;
      break;
    case OP_BRANCH_ZERO: {
      struct number* condition = pop(m);
      pc = number_is_zero(condition) ? bytes[pc] | bytes[pc + 1] << 8 : pc + 2;
      number_free(condition);
      break;
    }
    case OP_CALL: {
      int function = bytes[pc++];
      int parameter = m->code->parameters[function];
      struct number* saved = number_share(m->variables[parameter]);
      set(m, parameter, pop(m));
      machine_run(m, m->code->functions[function]);
      set(m, parameter, saved);
      break;
    }
    case OP_RETURN:
    case OP_END:
      return;
    default:
      fprintf(stderr, "calc: bad operation %d at %d\n", operation, pc - 1);
      exit(1);
    }
  }
}
