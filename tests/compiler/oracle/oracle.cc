// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs debug code natively, for tests of the compiler alone: preloaded into a program, it plants breakpoints
// at the locations of the bundle RDB_ORACLE_BUNDLE names, fetches arguments as the descriptors say, and calls
// the debug functions in the program's own process. What is printed must be what the same source prints with
// its regions compiled in (-DRDB_INLINE). RDB_ORACLE_HITS names a file for how often the place of each region
// was reached, by its line, also where an argument was missing.
#include "descriptors/descriptor.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <link.h>
#include <map>
#include <sstream>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

using namespace rdb::descriptors;

struct Place {
  const Location* location = nullptr; // null: the entry of a function with activation variables
  uint32_t activation = 0;
};

struct Breakpoint {
  unsigned char original;
  std::vector<Place> before, after;
};

struct PendingReturn { // of a call that a region comes after
  uint64_t address;
  uint64_t stack;
  std::vector<Place> places;
};

Descriptors descriptors;
uint64_t base;
void** functions;
void** slots; // in the order of the symbol records
std::map<uint64_t, Breakpoint> breakpoints;
std::map<std::pair<uint32_t, uint64_t>, std::vector<char>> activations;
std::vector<PendingReturn> pending;
uint64_t stepping; // the breakpoint whose instruction is being stepped over
char* tls_block;
std::map<uint32_t, uint64_t> hits; // by line

struct HitsWriter {
  ~HitsWriter() {
    const char* path = getenv("RDB_ORACLE_HITS");
    if (!path) return;
    std::ofstream out(path);
    for (auto [line, count] : hits)
      out << line << ' ' << count << '\n';
  }
} hits_writer;

[[noreturn]] void die(const char* what) {
  fprintf(stderr, "oracle: %s\n", what);
  _exit(99);
}

void poke(uint64_t address, unsigned char byte) {
  auto* page = reinterpret_cast<char*>(address & ~4095ul);
  if (mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) die("mprotect");
  *reinterpret_cast<unsigned char*>(address) = byte;
}

uint64_t general(const ucontext_t& context, Register reg) {
  static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  if (reg >= 16) die("an expression on a register that is not general");
  return static_cast<uint64_t>(context.uc_mcontext.gregs[order[reg]]);
}

uint64_t program_address(const Address& address) {
  return base + address.value;
}

uint64_t evaluate(const std::vector<Step>& steps, const ucontext_t& context) {
  std::vector<uint64_t> stack;
  auto pop = [&] {
    uint64_t value = stack.back();
    stack.pop_back();
    return value;
  };
  for (const Step& step : steps) {
    uint64_t b = 0;
    switch (step.op) {
    case Op::push_register:
      stack.push_back(general(context, static_cast<Register>(step.operand)));
      continue;
    case Op::push_constant:
      stack.push_back(step.operand);
      continue;
    case Op::push_address:
      stack.push_back(program_address(step.address));
      continue;
    case Op::neg:
      stack.back() = -stack.back();
      continue;
    case Op::bit_not:
      stack.back() = ~stack.back();
      continue;
    case Op::load: {
      uint64_t value = 0;
      memcpy(&value, reinterpret_cast<void*>(stack.back()), step.operand);
      stack.back() = value;
      continue;
    }
    case Op::sign_extend: {
      unsigned shift = 64 - static_cast<unsigned>(step.operand);
      stack.back() = static_cast<uint64_t>(static_cast<int64_t>(stack.back() << shift) >> shift);
      continue;
    }
    case Op::zero_extend: {
      unsigned shift = 64 - static_cast<unsigned>(step.operand);
      stack.back() = stack.back() << shift >> shift;
      continue;
    }
    default:
      break;
    }
    b = pop();
    uint64_t& a = stack.back();
    auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
    switch (step.op) {
    case Op::add:
      a += b;
      break;
    case Op::sub:
      a -= b;
      break;
    case Op::mul:
      a *= b;
      break;
    case Op::div:
      a = static_cast<uint64_t>(sa / sb);
      break;
    case Op::mod:
      a %= b;
      break;
    case Op::bit_and:
      a &= b;
      break;
    case Op::bit_or:
      a |= b;
      break;
    case Op::bit_xor:
      a ^= b;
      break;
    case Op::shl:
      a <<= b;
      break;
    case Op::shr:
      a >>= b;
      break;
    case Op::sar:
      a = static_cast<uint64_t>(sa >> b);
      break;
    case Op::eq:
      a = a == b;
      break;
    case Op::ne:
      a = a != b;
      break;
    case Op::lt:
      a = sa < sb;
      break;
    case Op::le:
      a = sa <= sb;
      break;
    case Op::gt:
      a = sa > sb;
      break;
    case Op::ge:
      a = sa >= sb;
      break;
    default:
      die("an expression step that is not known");
    }
  }
  return stack.back();
}

// The memory that a part is in, or null if it is a value.
char* memory_of(const Part& part, const Argument& argument, const ucontext_t& context) {
  switch (part.cls) {
  case Class::stack:
    return reinterpret_cast<char*>(general(context, part.reg) + static_cast<uint64_t>(part.reg_offset));
  case Class::global:
    return reinterpret_cast<char*>(program_address(part.address));
  case Class::tls:
    return tls_block + part.address.value;
  case Class::address:
    return reinterpret_cast<char*>(evaluate(part.steps, context));
  case Class::activation: {
    uint64_t frame = general(context, part.reg) + static_cast<uint64_t>(part.reg_offset);
    auto& storage = activations[{part.activation, frame}];
    if (storage.empty()) storage.resize(argument.size);
    return storage.data();
  }
  default:
    return nullptr;
  }
}

void copy_value(const Part& part, char* to, const ucontext_t& context) {
  if (part.cls == Class::unread) {
    memset(to, 0xaa, part.size); // if it is read after all, that shows
  } else if (part.cls == Class::constant) {
    memcpy(to, part.bytes.data(), part.size);
  } else if (part.cls == Class::in_register && part.reg >= 17 && part.reg <= 32) {
    memcpy(to, &context.uc_mcontext.fpregs->_xmm[part.reg - 17], part.size);
  } else if (part.cls == Class::in_register) {
    uint64_t value = general(context, part.reg);
    memcpy(to, &value, part.size);
  } else if (part.cls == Class::value) {
    uint64_t value =
        part.steps.size() == 1 && part.steps[0].op == Op::push_register && part.steps[0].operand >= 17
            ? 0
            : evaluate(part.steps, context);
    memcpy(to, &value, part.size);
  } else {
    die("a class that is not known");
  }
}

void fill_tls_slots() {
  for (size_t i = 0; i < descriptors.symbols.size(); ++i)
    if (descriptors.symbols[i].thread_local_ && descriptors.symbols[i].owner == Owner::program)
      slots[i] = reinterpret_cast<void*>(tls_block + descriptors.symbols[i].address.value);
}

void run(const Location& location, const ucontext_t& context) {
  size_t index = 0;
  while (descriptors.regions[index].id != location.region)
    ++index;
  const Region& region = descriptors.regions[index];
  ++hits[region.begin_line];
  std::vector<void*> args(region.arguments + 1);
  std::vector<std::vector<char>> copies(region.arguments);
  for (const Argument& argument : descriptors.arguments) {
    if (argument.region != location.region || argument.instance != location.instance) continue;
    for (const Part& part : argument.parts)
      if (part.cls == Class::unavailable) {
        if (getenv("RDB_ORACLE_VERBOSE"))
          fprintf(stderr, "oracle: line %u: %s: %s\n", region.begin_line, argument.name.c_str(),
                  part.reason.c_str());
        return;
      }
    char* memory = argument.parts.size() == 1 ? memory_of(argument.parts[0], argument, context) : nullptr;
    if (!memory) {
      auto& copy = copies[argument.position];
      copy.resize(argument.size + 16);
      for (const Part& part : argument.parts) {
        if (char* from = memory_of(part, argument, context))
          memcpy(copy.data() + part.offset, from, part.size);
        else
          copy_value(part, copy.data() + part.offset, context);
      }
      memory = copy.data();
    }
    args[argument.position] = memory;
  }
  fill_tls_slots();
  reinterpret_cast<void (*)(void**)>(functions[index])(args.data());
}

void run_all(const std::vector<Place>& places, const ucontext_t& context) {
  for (const Place& place : places) {
    if (place.location)
      run(*place.location, context);
    else // the return address is on top: the frame's CFA is rsp + 8
      activations.erase({place.activation, general(context, 7) + 8});
  }
}

// Was it a jump that was made? Where it goes does not tell: that may be the next instruction.
bool has_jumped(const Breakpoint& breakpoint, uint64_t address, const ucontext_t& context) {
  auto* bytes = reinterpret_cast<const unsigned char*>(address);
  unsigned char code = breakpoint.original == 0x0f ? bytes[1] - 0x10 : breakpoint.original;
  if (code < 0x70 || code > 0x7f) return false;
  auto flags = context.uc_mcontext.gregs[REG_EFL];
  bool carry = flags & 1, parity = flags & 4, zero = flags & 0x40, sign = flags & 0x80,
       overflow = flags & 0x800;
  const bool conditions[] = {
      overflow, carry, zero, carry || zero, sign, parity, sign != overflow, zero || sign != overflow};
  return conditions[code >> 1 & 7] != bool(code & 1);
}

bool is_call(const Breakpoint& breakpoint, uint64_t address) {
  auto* bytes = reinterpret_cast<const unsigned char*>(address);
  return breakpoint.original == 0xe8 || (breakpoint.original == 0xff && (bytes[1] >> 3 & 7) == 2);
}

void finish_step(ucontext_t& context) {
  uint64_t address = stepping;
  Breakpoint& breakpoint = breakpoints[address];
  poke(address, 0xcc);
  stepping = 0;
  context.uc_mcontext.gregs[REG_EFL] &= ~0x100L;
  if (breakpoint.after.empty()) return;
  if (is_call(breakpoint, address)) {
    uint64_t stack = general(context, 7);
    uint64_t back = *reinterpret_cast<uint64_t*>(stack);
    pending.push_back({back, stack + 8, breakpoint.after});
    auto [entry, is_new] = breakpoints.try_emplace(back);
    if (is_new) {
      entry->second.original = *reinterpret_cast<unsigned char*>(back);
      poke(back, 0xcc);
    }
    return;
  }
  if (!has_jumped(breakpoint, address, context)) run_all(breakpoint.after, context);
}

void on_trap(int, siginfo_t*, void* raw) {
  auto& context = *static_cast<ucontext_t*>(raw);
  if (stepping != 0) {
    finish_step(context);
    // The next instruction may have a breakpoint of its own: it traps by itself.
    return;
  }
  uint64_t address = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]) - 1;
  auto found = breakpoints.find(address);
  if (found == breakpoints.end()) die("a trap that is not ours");
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(address);
  uint64_t stack = general(context, 7);
  if (!pending.empty() && pending.back().address == address && pending.back().stack == stack) {
    auto places = pending.back().places;
    pending.pop_back();
    // Not if the call was left by a jump, and something else was called from there since.
    if (reinterpret_cast<uint64_t*>(stack)[-1] == address) run_all(places, context);
  }
  run_all(found->second.before, context);
  poke(address, found->second.original);
  stepping = address;
  context.uc_mcontext.gregs[REG_EFL] |= 0x100;
}

int find_program(dl_phdr_info* info, size_t, void*) {
  base = info->dlpi_addr;
  tls_block = static_cast<char*>(info->dlpi_tls_data);
  return 1; // the first is the program
}

void plant(const Address& address, Side side, Place place) {
  uint64_t at = program_address(address);
  auto [entry, is_new] = breakpoints.try_emplace(at);
  if (is_new) {
    entry->second.original = *reinterpret_cast<unsigned char*>(at);
    poke(at, 0xcc);
  }
  (side == Side::before ? entry->second.before : entry->second.after).push_back(place);
}

void fill_slots() {
  for (size_t i = 0; i < descriptors.symbols.size(); ++i) {
    const Symbol& symbol = descriptors.symbols[i];
    if (symbol.owner == Owner::program && !symbol.thread_local_)
      slots[i] = reinterpret_cast<void*>(program_address(symbol.address));
    if (symbol.owner == Owner::library) slots[i] = (dlsym(RTLD_DEFAULT, symbol.name.c_str()));
  }
}

bool start() noexcept {
  const char* bundle = getenv("RDB_ORACLE_BUNDLE");
  if (!bundle) return false;
  unsetenv("LD_PRELOAD");
  std::string folder = bundle;
  std::ifstream in(folder + "/descriptors");
  std::stringstream text;
  text << in.rdbuf();
  descriptors = read(text.str(), "descriptors");
  dl_iterate_phdr(find_program, nullptr);
  void* module = dlopen((folder + "/module.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) die(dlerror());
  functions = static_cast<void**>(dlsym(module, "__rdb_module_functions"));
  for (const Location& location : descriptors.locations)
    plant(location.address, location.side, {&location, 0});
  for (const Entry& entry : descriptors.entries)
    plant(entry.address, entry.side, {nullptr, entry.activation});
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGTRAP, &action, nullptr);
  return true;
}

// After the objects above, before the program's main.
const bool started = start();

} // namespace

// Called by the module's first constructor.
extern "C" void rdb_module_starting(const void** /*host*/, void** module_slots) {
  slots = module_slots;
  fill_slots();
}
