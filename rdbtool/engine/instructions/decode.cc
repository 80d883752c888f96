// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/instructions/decode.h"

#include "rdbtool/engine/instructions/fast_decode.h"

#include <Zydis/Zydis.h>
#include <algorithm>
#include <cpuid.h>
#include <cstring>

namespace rdb::engine {
namespace {

const ZydisDecoder& decoder() {
  static const ZydisDecoder instance = [] {
    ZydisDecoder d;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return d;
  }();
  return instance;
}

// What an instruction needs beyond being copied. Everything not listed is plain.
struct Rule {
  ZydisMnemonic mnemonic;
  Kind kind;
  InputInstruction input = InputInstruction::none;
  Emulated emulated = Emulated::none;
  const char* refusal = nullptr;
};

constexpr Rule kRules[] = {
    {ZYDIS_MNEMONIC_SYSCALL, Kind::system_call},
    {ZYDIS_MNEMONIC_CPUID, Kind::input, InputInstruction::cpuid},
    {ZYDIS_MNEMONIC_RDTSC, Kind::input, InputInstruction::rdtsc},
    {ZYDIS_MNEMONIC_RDTSCP, Kind::input, InputInstruction::rdtscp},
    {ZYDIS_MNEMONIC_RDRAND, Kind::input, InputInstruction::rdrand},
    {ZYDIS_MNEMONIC_RDSEED, Kind::input, InputInstruction::rdseed},
    {ZYDIS_MNEMONIC_RDPID, Kind::input, InputInstruction::rdpid},
    {ZYDIS_MNEMONIC_XGETBV, Kind::input, InputInstruction::xgetbv},
    {ZYDIS_MNEMONIC_POPF, Kind::emulated, InputInstruction::none, Emulated::popf},
    {ZYDIS_MNEMONIC_POPFQ, Kind::emulated, InputInstruction::none, Emulated::popf},
    {ZYDIS_MNEMONIC_PUSHF, Kind::emulated, InputInstruction::none, Emulated::pushf},
    {ZYDIS_MNEMONIC_PUSHFQ, Kind::emulated, InputInstruction::none, Emulated::pushf},
    {ZYDIS_MNEMONIC_XSAVE, Kind::emulated, InputInstruction::none, Emulated::xsave},
    {ZYDIS_MNEMONIC_XSAVE64, Kind::emulated, InputInstruction::none, Emulated::xsave},
    {ZYDIS_MNEMONIC_XSAVEC, Kind::emulated, InputInstruction::none, Emulated::xsavec},
    {ZYDIS_MNEMONIC_XSAVEC64, Kind::emulated, InputInstruction::none, Emulated::xsavec},
    {ZYDIS_MNEMONIC_XSAVEOPT, Kind::emulated, InputInstruction::none, Emulated::xsaveopt},
    {ZYDIS_MNEMONIC_XSAVEOPT64, Kind::emulated, InputInstruction::none, Emulated::xsaveopt},
    {ZYDIS_MNEMONIC_FXSAVE, Kind::emulated, InputInstruction::none, Emulated::fxsave},
    {ZYDIS_MNEMONIC_FXSAVE64, Kind::emulated, InputInstruction::none, Emulated::fxsave},
    {ZYDIS_MNEMONIC_FNSTENV, Kind::emulated, InputInstruction::none, Emulated::fnstenv},
    {ZYDIS_MNEMONIC_FNSAVE, Kind::emulated, InputInstruction::none, Emulated::fnsave},
    {ZYDIS_MNEMONIC_INT3, Kind::emulated, InputInstruction::none, Emulated::breakpoint},
    {ZYDIS_MNEMONIC_XBEGIN, Kind::emulated, InputInstruction::none, Emulated::xbegin},
    {ZYDIS_MNEMONIC_XEND, Kind::plain}, // branches for Zydis; but a transaction never lasts until here
    {ZYDIS_MNEMONIC_XABORT, Kind::plain},
    {ZYDIS_MNEMONIC_INT, Kind::emulated, InputInstruction::none, Emulated::software_interrupt},
    {ZYDIS_MNEMONIC_INT1, Kind::refused, InputInstruction::none, Emulated::none, "int1"},
    {ZYDIS_MNEMONIC_SYSENTER, Kind::refused, InputInstruction::none, Emulated::none, "sysenter"},
    {ZYDIS_MNEMONIC_SYSEXIT, Kind::refused, InputInstruction::none, Emulated::none, "sysexit"},
    {ZYDIS_MNEMONIC_SYSRET, Kind::refused, InputInstruction::none, Emulated::none, "sysret"},
    {ZYDIS_MNEMONIC_IRET, Kind::refused, InputInstruction::none, Emulated::none, "iret"},
    {ZYDIS_MNEMONIC_IRETD, Kind::refused, InputInstruction::none, Emulated::none, "iretd"},
    {ZYDIS_MNEMONIC_IRETQ, Kind::refused, InputInstruction::none, Emulated::none, "iretq"},
    {ZYDIS_MNEMONIC_LSL, Kind::refused, InputInstruction::none, Emulated::none, "lsl"},
    {ZYDIS_MNEMONIC_RDPMC, Kind::refused, InputInstruction::none, Emulated::none, "rdpmc"},
    {ZYDIS_MNEMONIC_RDPRU, Kind::refused, InputInstruction::none, Emulated::none, "rdpru"},
    {ZYDIS_MNEMONIC_TPAUSE, Kind::refused, InputInstruction::none, Emulated::none, "tpause"},
    {ZYDIS_MNEMONIC_UMWAIT, Kind::refused, InputInstruction::none, Emulated::none, "umwait"},
    {ZYDIS_MNEMONIC_VMCALL, Kind::refused, InputInstruction::none, Emulated::none, "vmcall"},
    {ZYDIS_MNEMONIC_VMMCALL, Kind::refused, InputInstruction::none, Emulated::none, "vmmcall"},
    {ZYDIS_MNEMONIC_UIRET, Kind::refused, InputInstruction::none, Emulated::none, "uiret"},
    {ZYDIS_MNEMONIC_UD0, Kind::invalid},
    {ZYDIS_MNEMONIC_UD1, Kind::invalid},
    {ZYDIS_MNEMONIC_UD2, Kind::invalid},
};

// Indexed by mnemonic, so that decoding does not search.
struct RuleIndex {
  uint8_t index[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {};
  constexpr RuleIndex() {
    for (size_t i = 0; i < std::size(kRules); ++i)
      index[kRules[i].mnemonic] = static_cast<uint8_t>(i + 1);
  }
};
constexpr RuleIndex kRuleIndex;

// The arithmetic instructions that write CF, PF, AF, ZF, SF and OF always and read none of them. AF after
// and/or/xor/test is undefined on paper; cpu.cc makes sure that this CPU does not leave the old one.
bool writes_all_flags(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_CMP:
  case ZYDIS_MNEMONIC_TEST:
  case ZYDIS_MNEMONIC_AND:
  case ZYDIS_MNEMONIC_OR:
  case ZYDIS_MNEMONIC_XOR:
  case ZYDIS_MNEMONIC_NEG:
    return true;
  default:
    return false;
  }
}

// May it read or change the state of x87? What is emulated asks for that by itself.
bool uses_x87(const ZydisDecodedInstruction& zydis) {
  switch (zydis.meta.isa_ext) {
  case ZYDIS_ISA_EXT_X87:
  case ZYDIS_ISA_EXT_MMX:
  case ZYDIS_ISA_EXT_AMD3DNOW:
    return true;
  default:
    break;
  }
  switch (zydis.mnemonic) {
  case ZYDIS_MNEMONIC_FXRSTOR:
  case ZYDIS_MNEMONIC_FXRSTOR64:
  case ZYDIS_MNEMONIC_XRSTOR:
  case ZYDIS_MNEMONIC_XRSTOR64:
    return true;
  default:
    break;
  }
  if (zydis.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || zydis.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
    return false;
  bool has_66 = false, has_f2_f3 = false;
  for (uint8_t i = 0; i < zydis.raw.prefix_count; ++i) {
    uint8_t prefix = zydis.raw.prefixes[i].value;
    has_66 |= prefix == 0x66;
    has_f2_f3 |= prefix == 0xF2 || prefix == 0xF3;
  }
  uint8_t map = zydis.opcode_map == ZYDIS_OPCODE_MAP_0F38   ? 0x38
                : zydis.opcode_map == ZYDIS_OPCODE_MAP_0F3A ? 0x3A
                                                            : 0;
  return may_use_mmx(map, zydis.opcode, has_66, has_f2_f3);
}

// What cpuid tells of the instructions that are not left to the CPU.
struct Present {
  bool rdrand = false, rdseed = false, rdpid = false, rdtscp = false, rtm = false, rdpru = false;
  Present() {
    constexpr uint32_t kRdtscp = 1 << 27, kRdpru = 1 << 4;
    uint32_t a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) rdrand = c & bit_RDRND;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
      rdseed = b & bit_RDSEED;
      rtm = b & bit_RTM;
      rdpid = c & bit_RDPID;
    }
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) rdtscp = d & kRdtscp;
    if (__get_cpuid(0x80000008, &a, &b, &c, &d)) rdpru = b & kRdpru;
  }
};

bool is_on_this_cpu(ZydisMnemonic mnemonic) {
  static const Present present;
  switch (mnemonic) {
  case ZYDIS_MNEMONIC_RDRAND:
    return present.rdrand;
  case ZYDIS_MNEMONIC_RDSEED:
    return present.rdseed;
  case ZYDIS_MNEMONIC_RDPID:
    return present.rdpid;
  case ZYDIS_MNEMONIC_RDTSCP:
    return present.rdtscp;
  case ZYDIS_MNEMONIC_XBEGIN:
    return present.rtm;
  case ZYDIS_MNEMONIC_RDPRU:
    return present.rdpru;
  default:
    return true;
  }
}

void classify_branch(const ZydisDecodedInstruction& zydis, Instruction& out) {
  const bool far = zydis.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  const bool relative = (zydis.attributes & ZYDIS_ATTRIB_IS_RELATIVE) && zydis.raw.imm[0].is_relative;
  if (far) {
    out.kind = Kind::refused;
    out.refusal = "far branch";
    return;
  }
  // Intel ignores the prefix, AMD truncates the target; with REX.W (as in TLS sequences) both ignore it.
  if (zydis.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE && !zydis.raw.rex.W) {
    out.kind = Kind::refused;
    out.refusal = "branch with an operand-size prefix";
    return;
  }
  if (relative) out.target = out.pc + zydis.length + static_cast<uint64_t>(zydis.raw.imm[0].value.s);
  switch (zydis.mnemonic) {
  case ZYDIS_MNEMONIC_JMP:
    out.kind = relative ? Kind::jump : Kind::jump_indirect;
    return;
  case ZYDIS_MNEMONIC_CALL:
    out.kind = relative ? Kind::call : Kind::call_indirect;
    return;
  case ZYDIS_MNEMONIC_RET:
    out.kind = Kind::ret;
    out.pop_bytes = static_cast<uint16_t>(zydis.raw.imm[0].size ? zydis.raw.imm[0].value.u : 0);
    return;
  case ZYDIS_MNEMONIC_LOOP:
  case ZYDIS_MNEMONIC_LOOPE:
  case ZYDIS_MNEMONIC_LOOPNE:
  case ZYDIS_MNEMONIC_JRCXZ:
  case ZYDIS_MNEMONIC_JECXZ:
  case ZYDIS_MNEMONIC_JCXZ:
    out.kind = Kind::loop;
    out.opcode = zydis.opcode;
    return;
  default:
    // jcc: both the short (7x) and the near (0F 8x) form carry the condition in the low four bits.
    out.kind = Kind::branch;
    out.condition = zydis.opcode & 15;
    return;
  }
}

// No instruction; but it may be one when one of the bytes that were looked at has changed.
void take_invalid(ZyanStatus status, const uint8_t* bytes, size_t size, Instruction& out) {
  out.kind = Kind::invalid;
  if (status == ZYDIS_STATUS_INSTRUCTION_TOO_LONG) out.opcode = kProtectionFault;
  out.length = static_cast<uint8_t>(std::min(size, sizeof out.bytes));
  std::memcpy(out.bytes, bytes, out.length);
}

// Which bytes of it are what.
void take_shape(const ZydisDecodedInstruction& zydis, const ZydisDecoderContext& context,
                const uint8_t* bytes, Instruction& out) {
  out.length = zydis.length;
  std::memcpy(out.bytes, bytes, zydis.length);
  out.address32 = zydis.address_width == 32;
  out.operand16 = zydis.operand_width == 16;
  // The raw prefixes are a union: which one is valid depends on the encoding.
  switch (zydis.encoding) {
  case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
    if (!(zydis.attributes & ZYDIS_ATTRIB_HAS_REX)) break;
    out.rex_offset = zydis.raw.rex.offset;
    out.rex = bytes[out.rex_offset];
    break;
  case ZYDIS_INSTRUCTION_ENCODING_VEX:
    if (zydis.raw.vex.size == 3) out.vex_offset = static_cast<uint8_t>(zydis.raw.vex.offset + 1);
    break;
  case ZYDIS_INSTRUCTION_ENCODING_EVEX:
    out.vex_offset = static_cast<uint8_t>(zydis.raw.evex.offset + 1);
    if (zydis.raw.disp.size == 8) out.disp_scale = context.cd8_scale;
    break;
  case ZYDIS_INSTRUCTION_ENCODING_XOP:
    out.vex_offset = static_cast<uint8_t>(zydis.raw.xop.offset + 1);
    break;
  default:
    break;
  }
  if (zydis.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS) out.segment = 0x64;
  if (zydis.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS) out.segment = 0x65;
  if (zydis.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
    out.modrm_offset = zydis.raw.modrm.offset;
    out.disp_offset = zydis.raw.disp.size ? zydis.raw.disp.offset : 0;
    out.memory = zydis.raw.modrm.mod != 3;
    out.rip_relative = zydis.raw.modrm.mod == 0 && zydis.raw.modrm.rm == 5;
  }
}

void apply(const Rule& rule, const ZydisDecodedInstruction& zydis, Instruction& out) {
  out.kind = rule.kind;
  out.input = rule.input;
  out.emulated = rule.emulated;
  out.refusal = rule.refusal;
  if (rule.emulated == Emulated::software_interrupt) {
    out.opcode = static_cast<uint8_t>(zydis.raw.imm[0].value.u);
    if (out.opcode == 0x80) {
      out.kind = Kind::refused;
      out.refusal = "int 0x80 (32-bit system calls)";
    }
  }
  if (!is_on_this_cpu(zydis.mnemonic)) out.kind = Kind::invalid;
  if (rule.emulated == Emulated::xbegin)
    out.target = out.end() + static_cast<uint64_t>(zydis.raw.imm[0].value.s);
}

bool is_branch(const ZydisDecodedInstruction& zydis) {
  switch (zydis.meta.category) {
  case ZYDIS_CATEGORY_COND_BR:
  case ZYDIS_CATEGORY_UNCOND_BR:
  case ZYDIS_CATEGORY_CALL:
  case ZYDIS_CATEGORY_RET:
    return true;
  default:
    return false;
  }
}

void note_flags(const ZydisDecodedInstruction& zydis, Instruction& out) {
  if (!writes_all_flags(zydis.mnemonic) || zydis.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY) return;
  out.writes_all_flags = true;
  out.flags_again = zydis.mnemonic == ZYDIS_MNEMONIC_CMP || zydis.mnemonic == ZYDIS_MNEMONIC_TEST;
}

} // namespace

uint64_t Instruction::rip_target() const {
  int32_t displacement;
  std::memcpy(&displacement, bytes + disp_offset, 4);
  uint64_t address = end() + static_cast<int64_t>(displacement);
  return address32 ? static_cast<uint32_t>(address) : address;
}

bool decode(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out) {
  out = Instruction();
  return decode_fast(pc, bytes, size, out) || decode_fully(pc, bytes, size, out);
}

bool decode_fully(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out) {
  out = Instruction();
  out.pc = pc;
  ZydisDecodedInstruction zydis;
  ZydisDecoderContext context;
  ZyanStatus status = ZydisDecoderDecodeInstruction(&decoder(), &context, bytes, size, &zydis);
  if (status == ZYDIS_STATUS_NO_MORE_DATA) return false;
  if (!ZYAN_SUCCESS(status)) {
    take_invalid(status, bytes, size, out);
    return true;
  }
  take_shape(zydis, context, bytes, out);
  out.x87 = uses_x87(zydis);
  // xbegin counts as a conditional branch for Zydis; iret and sysret as returns.
  if (uint8_t rule = kRuleIndex.index[zydis.mnemonic])
    apply(kRules[rule - 1], zydis, out);
  else if (is_branch(zydis))
    classify_branch(zydis, out);
  else
    note_flags(zydis, out);
  return true;
}

std::string disassemble(const Instruction& instruction) {
  ZydisDisassembledInstruction text;
  if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, instruction.pc, instruction.bytes,
                                          instruction.length, &text)))
    return "(invalid)";
  return text.text;
}

} // namespace rdb::engine
