// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the debug module needs to be told about the program: its regions, where each is called, where the
// variables it uses live there, and whose each symbol is. One value type per record of the text format
// (descriptors/README.md); the same types serve one object (addresses are entries of its address table, @K)
// and a whole program (addresses are the linked program's).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::descriptors {

inline constexpr int kVersion = 2;

// The text is not a descriptor file; what() is "NAME:LINE: what is wrong".
struct FormatError : std::runtime_error {
  FormatError(std::string_view name, unsigned line, const std::string& message);
  unsigned line; // 1-based; 0 when no line is to blame
};

// An address of the program: "-", "@12" in an object, "0x401136" in a bundle (as linked, before loading).
struct Address {
  enum class Kind { none, entry, absolute };
  Kind kind = Kind::none;
  uint64_t value = 0;

  static Address entry(uint64_t index) { return {Kind::entry, index}; }
  static Address absolute(uint64_t address) { return {Kind::absolute, address}; }
  bool operator==(const Address&) const = default;
};

// A register, by its DWARF number for x86-64.
using Register = uint16_t;
inline constexpr Register kNoRegister = 0xffff;
std::string_view register_name(Register number); // "" if there is no such register
Register register_number(std::string_view name); // kNoRegister if there is no such name
unsigned register_size(Register number);         // in bytes: 8, 10 (st), 64 (xmm: the whole zmm)

// One step of an expression on a stack of 64-bit values. Binary operators take the top as right operand.
enum class Op : uint8_t {
  push_register, // push the value of register `operand`
  push_constant, // push `operand`
  push_address,  // push the run-time address of `operand` (as in Address)
  add,
  sub,
  mul,
  div,
  mod,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  sar, // div is signed, mod unsigned, as in DWARF
  neg,
  bit_not,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,          // signed; 1 or 0
  load,        // pop an address, push `operand` (1, 2, 4, 8) bytes from there, zero-extended
  sign_extend, // from the low `operand` bits
  zero_extend, // from the low `operand` bits
};

struct Step {
  Op op;
  uint64_t operand = 0;
  Address address; // push_address only
  bool operator==(const Step&) const = default;
};

// Where a value is. Memory classes (stack, global, tls, address) hand the debug code the program's own
// address; value classes (register, constant, value) a copy.
enum class Class {
  in_register, // the low `size` bytes of `reg`
  stack,       // in memory at reg + offset
  global,      // in memory at `address` (+ load address)
  tls,         // in memory at thread-local offset `address` of the program's TLS block
  constant,    // `bytes`
  address,     // expression: in memory at the value of `steps`
  value,       // expression: the value of `steps`, low `size` bytes
  activation,  // a debug variable shared by the regions of one call of the host function, see Activation
  unread,      // a piece that the debug code does not read; what is in it is not known
  unavailable, // `reason`
};

// A piece of a variable: bytes [offset, offset+size) of it. Almost always the whole variable.
struct Part {
  uint64_t offset = 0;
  uint64_t size = 0;
  Class cls = Class::unavailable;
  Register reg = kNoRegister; // in_register, stack, activation
  int64_t reg_offset = 0;     // stack, activation
  Address address;            // global, tls
  std::string bytes;          // constant, raw
  std::vector<Step> steps;    // address, value
  uint32_t activation = 0;    // activation: its id; reg + reg_offset is the frame's CFA at this location
  std::string reason;         // unavailable
  bool operator==(const Part&) const = default;
};

struct Unit {
  uint32_t id = 0;
  std::string key;    // as in the names of its debug functions: [A-Za-z0-9_]+
  std::string source; // main source file as given to the compiler
  std::string directory;
  std::string command; // the compile command
  bool operator==(const Unit&) const = default;
};

// A source file that has regions. Lines of regions are of the edited file; `removed` gives the line map.
struct Source {
  struct Range {
    unsigned first, last;
    bool operator==(const Range&) const = default;
  };
  uint32_t id = 0;
  std::string path; // as the compiler named it
  std::string copy; // the stripped copy: a path inside the bundle, "" in an object (the payload has the text)
  std::vector<Range> removed;
  bool operator==(const Source&) const = default;
};

enum class Status {
  complete,     // every instance has its location
  incomplete,   // some instance lost its place
  lost,         // the optimiser left no place at all
  unused,       // no instance was compiled (uninstantiated template, discarded inline function)
  not_compiled, // in code that the preprocessor left out
  refused,      // see `reason`
};

// A region and its debug function.
struct Region {
  uint32_t id = 0;
  uint32_t unit = 0;
  uint32_t source = 0;
  unsigned begin_line = 0, end_line = 0; // of the edited file
  Status status = Status::complete;
  std::string reason;   // for anything but complete
  std::string function; // symbol of the debug function in the module, "" if it has none
  std::string host;     // the function it stands in, as a user would name it
  uint32_t arguments = 0;
  bool operator==(const Region&) const = default;
};

enum class Side {
  before, // before the instruction at the address
  after,  // after that instruction, when control falls through to the next one
};

// One place at which a region's function is called.
struct Location {
  uint32_t region = 0;
  uint32_t instance = 0;
  Side side = Side::before;
  Address address;
  std::string function; // the function whose code this is: differs from the region's host after inlining
  bool operator==(const Location&) const = default;
};

// args[position] of a region's function at one instance.
struct Argument {
  uint32_t region = 0;
  uint32_t instance = 0;
  uint32_t position = 0;
  std::string name;
  std::string type; // as a user would write it
  uint64_t size = 0;
  uint64_t align = 1;
  std::vector<Part> parts; // one that covers everything, or several that do so together
  bool operator==(const Argument&) const = default;
};

// A debug variable that lives as long as one call of the function around its regions: storage in host memory,
// one per (id, frame, inlined instance), zeroed when made. `entry` locations of the host function are where
// a new call begins and old storage of that frame is forgotten.
struct Activation {
  uint32_t id = 0;
  std::string name;
  std::string type;
  uint64_t size = 0;
  uint64_t align = 1;
  bool operator==(const Activation&) const = default;
};

// Where a new call of a function with activation variables begins.
struct Entry {
  uint32_t activation = 0;
  Side side = Side::before;
  Address address;
  bool operator==(const Entry&) const = default;
};

enum class Owner {
  program, // of the program or shared library of this bundle, at `address`
  library, // of another shared library of the program: found by name in `where`
  host,    // the host's own libc, libm, libstdc++
  module,  // debug-only, in the debug module
};

// A symbol that debug code refers to through a slot. In an object only the program's symbols that the object
// itself defines are listed; the link stage adds the rest.
struct Symbol {
  std::string name; // as linked (mangled)
  Owner owner = Owner::program;
  std::string slot;           // symbol of the slot in the module
  bool thread_local_ = false; // `address` is an offset in the TLS block: filled at each region entry
  Address address;            // program
  std::string where;          // the library or archive that it comes from
  bool operator==(const Symbol&) const = default;
};

// The program that the descriptors were made for.
struct Program {
  std::string name;     // file name
  std::string build_id; // hex, "" if it has none
  std::string hash;     // hex, of every allocated byte except the build-id note (program_identity)
  bool operator==(const Program&) const = default;
};

struct Descriptors {
  std::vector<Program> program; // one in a bundle, none in an object
  std::vector<Unit> units;
  std::vector<Source> sources;
  std::vector<Region> regions;
  std::vector<Activation> activations;
  std::vector<Entry> entries;
  std::vector<Location> locations;
  std::vector<Argument> arguments;
  std::vector<Symbol> symbols;
  bool operator==(const Descriptors&) const = default;
};

// Reads the text; `name` is the file's, for messages. Throws FormatError on anything that is not exactly the
// format, also on references to ids that no record defines and on duplicate ids.
Descriptors read(std::string_view text, std::string_view name);

// Writes records in a fixed order: equal descriptors give equal text.
std::string write(const Descriptors& descriptors);

} // namespace rdb::descriptors
