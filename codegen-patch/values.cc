// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A record's expression is run symbolically. LLVM's rules: an indirect record names the memory at the
// expression's result; a direct one the result itself, except that a final dereference names memory.
#include "codegen-patch/values.h"

#include "codegen-patch/records.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"

#include <algorithm>
#include <optional>

namespace rdb::codegen {

namespace {

using namespace llvm;
using descriptors::Class;
using descriptors::Op;
using descriptors::Part;
using descriptors::Step;

struct MachineRegister {
  descriptors::Register number;
  unsigned bits;
};

// The register that holds this one in its low bits, by DWARF number.
std::optional<MachineRegister> machine_register(MCRegister reg, const TargetRegisterInfo& registers) {
  for (MCPhysReg super : registers.superregs_inclusive(reg)) {
    int number = registers.getDwarfRegNum(super, false);
    if (number < 0) continue;
    if (super != reg) {
      unsigned index = registers.getSubRegIndex(super, reg);
      if (index == 0 || registers.getSubRegIdxOffset(index) != 0) return std::nullopt; // ah, bh ...
    }
    auto result = static_cast<descriptors::Register>(number);
    if (descriptors::register_name(result).empty()) return std::nullopt;
    unsigned bits = registers.getRegSizeInBits(*registers.getMinimalPhysRegClass(reg));
    return MachineRegister{result, bits};
  }
  return std::nullopt;
}

// Thrown when an expression cannot be said in descriptors.
struct Unknown {
  std::string reason;
};

class Expression {
public:
  Expression(const MachineInstr& record, const TargetRegisterInfo& registers)
      : record_(record), registers_(registers) {}

  std::vector<Step> steps;
  bool memory = false;   // the result is the address of the value
  bool implicit = false; // the result is the value, said so

  void run() {
    const DIExpression& expression = *record_.getDebugExpression();
    bool list = record_.isDebugValueList();
    if (!list) push_operand(record_.getDebugOperand(0));
    size_t pushed = steps.size();
    if (list)
      if (auto simple = expression.expr_ops();
          simple.begin() != simple.end() && simple.begin()->getOp() == dwarf::DW_OP_LLVM_arg)
        pushed = 2; // at most: the register and its width
    auto operations = expression.expr_ops();
    for (auto operation = operations.begin(); operation != operations.end(); ++operation) {
      bool last = true;
      for (auto rest = std::next(operation); rest != operations.end(); ++rest)
        if (rest->getOp() != dwarf::DW_OP_LLVM_fragment) last = false;
      run_operation(*operation, last, operation, operations.end());
    }
    if (!list && record_.isIndirectDebugValue()) {
      if (implicit) throw Unknown{"its place is too indirect"};
      // Indirect twice: the address itself was spilled.
      if (memory) steps.push_back({Op::load, 8});
      memory = true;
    }
    bool computed = steps.size() > std::max<size_t>(pushed, 1);
    if (computed && !memory && !implicit) throw Unknown{"its place is ambiguous"};
  }

private:
  void push_operand(const MachineOperand& operand) {
    if (operand.isReg()) {
      if (!operand.getReg()) throw Unknown{"optimised out"};
      auto reg = machine_register(operand.getReg().asMCReg(), registers_);
      if (!reg) throw Unknown{"it is in a register that cannot be described"};
      steps.push_back({Op::push_register, reg->number});
      if (reg->bits < 64) {
        steps.push_back({Op::zero_extend, reg->bits});
        narrow_ = true;
      }
    } else if (operand.isImm()) {
      steps.push_back({Op::push_constant, static_cast<uint64_t>(operand.getImm())});
      narrow_ = true; // how many bits it has is not said
      upper_unknown_ |= operand.getImm() < 0;
    } else if (operand.isCImm() && operand.getCImm()->getBitWidth() <= 64) {
      steps.push_back({Op::push_constant, operand.getCImm()->getZExtValue()});
      narrow_ |= operand.getCImm()->getBitWidth() < 64;
    } else {
      throw Unknown{"its value cannot be described"};
    }
  }

  // Operations are done with 64 bits, those of the program with as many as its types have. The lower bits are
  // the same, unless an operation looks at the upper ones.
  enum class Upper : uint8_t { zero, sign };
  void look_at_upper_bits(Upper wanted) const {
    if (narrow_ && (upper_unknown_ || wanted == Upper::sign))
      throw Unknown{"it is computed from values of fewer bits"};
  }

  template <class Iterator>
  void run_operation(const DIExpression::ExprOperand& operation, bool last, Iterator& at, Iterator end) {
    using namespace dwarf;
    auto simple = [&](Op op) {
      steps.push_back({op});
      if (op != Op::bit_and && op != Op::shr) upper_unknown_ = true;
    };
    auto whole = [&](Op op, Upper wanted) {
      look_at_upper_bits(wanted);
      simple(op);
    };
    switch (operation.getOp()) {
    case DW_OP_LLVM_fragment:
      return;
    case DW_OP_LLVM_arg:
      return push_operand(record_.getDebugOperand(static_cast<unsigned>(operation.getArg(0))));
    case DW_OP_plus_uconst:
      steps.push_back({Op::push_constant, operation.getArg(0)});
      return simple(Op::add);
    case DW_OP_constu:
    case DW_OP_consts:
      steps.push_back({Op::push_constant, operation.getArg(0)});
      return;
    case DW_OP_deref:
      if (last)
        memory = true;
      else
        steps.push_back({Op::load, 8});
      narrow_ = upper_unknown_ = true;
      return;
    case DW_OP_stack_value:
      implicit = true;
      return;
    case DW_OP_plus:
      return simple(Op::add);
    case DW_OP_minus:
      return simple(Op::sub);
    case DW_OP_mul:
      return simple(Op::mul);
    case DW_OP_div:
      return whole(Op::div, Upper::sign);
    case DW_OP_mod:
      return whole(Op::mod, Upper::sign);
    case DW_OP_and:
      return simple(Op::bit_and);
    case DW_OP_or:
      return simple(Op::bit_or);
    case DW_OP_xor:
      return simple(Op::bit_xor);
    case DW_OP_shl:
      return simple(Op::shl);
    case DW_OP_shr:
      return whole(Op::shr, Upper::zero);
    case DW_OP_shra:
      return whole(Op::sar, Upper::sign);
    case DW_OP_neg:
      return simple(Op::neg);
    case DW_OP_not:
      return simple(Op::bit_not);
    case DW_OP_eq:
      return whole(Op::eq, Upper::sign);
    case DW_OP_ne:
      return whole(Op::ne, Upper::sign);
    case DW_OP_lt:
      return whole(Op::lt, Upper::sign);
    case DW_OP_le:
      return whole(Op::le, Upper::sign);
    case DW_OP_gt:
      return whole(Op::gt, Upper::sign);
    case DW_OP_ge:
      return whole(Op::ge, Upper::sign);
    case DW_OP_LLVM_convert: {
      // Always in pairs: from, to.
      uint64_t from = operation.getArg(0);
      bool is_signed = operation.getArg(1) == DW_ATE_signed;
      auto next = std::next(at);
      if (next == end || next->getOp() != DW_OP_LLVM_convert)
        throw Unknown{"its conversion is not understood"};
      uint64_t to = next->getArg(0);
      at = next;
      if (from > 64 || to > 64) throw Unknown{"it is computed from a wide value"};
      steps.push_back({is_signed ? Op::sign_extend : Op::zero_extend, from});
      if (to < 64) steps.push_back({Op::zero_extend, to});
      narrow_ |= to < 64;
      return;
    }
    case DW_OP_LLVM_entry_value:
      throw Unknown{"it is known at the function's entry only"};
    default:
      throw Unknown{"its expression is not understood"};
    }
  }

  const MachineInstr& record_;
  const TargetRegisterInfo& registers_;
  bool narrow_ = false;        // some value has fewer than 64 bits
  bool upper_unknown_ = false; // what stands above them may not be zero
};

// The simplest class that says the same.
void simplify(Part& part, const Expression& expression) {
  const std::vector<Step>& steps = expression.steps;
  if (expression.memory) {
    if (steps.size() == 1 && steps[0].op == Op::push_register) {
      part.cls = Class::stack;
      part.reg = static_cast<descriptors::Register>(steps[0].operand);
      return;
    }
    if (steps.size() == 3 && steps[0].op == Op::push_register && steps[1].op == Op::push_constant &&
        (steps[2].op == Op::add || steps[2].op == Op::sub)) {
      part.cls = Class::stack;
      part.reg = static_cast<descriptors::Register>(steps[0].operand);
      part.reg_offset = static_cast<int64_t>(steps[1].operand);
      if (steps[2].op == Op::sub) part.reg_offset = -part.reg_offset;
      return;
    }
    part.cls = Class::address;
    part.steps = steps;
    return;
  }
  if (part.size > 8 && steps.size() > 1) throw Unknown{"it is wider than a register"};
  part.cls = Class::value;
  part.steps = steps;
}

// Which bytes of its variable an expression is about. False, with a reason, if they are not whole ones.
bool set_range(Part& part, const DIExpression& expression) {
  auto fragment = expression.getFragmentInfo();
  if (!fragment) return true;
  part.offset = fragment->OffsetInBits / 8;
  part.size = (fragment->SizeInBits + 7) / 8;
  if (fragment->OffsetInBits % 8 == 0 && fragment->SizeInBits % 8 == 0) return true;
  part.reason = "it is split into bits";
  return false;
}

} // namespace

Part part_of_record(const MachineInstr& record, uint64_t size) {
  const TargetRegisterInfo& registers = *record.getMF()->getSubtarget().getRegisterInfo();
  Part part;
  part.size = size;
  if (!set_range(part, *record.getDebugExpression())) return part;
  if (record.isUndefDebugValue()) {
    part.reason = "optimised out";
    return part;
  }
  try {
    // A register or constant as it is.
    auto elements = record.getDebugExpression()->getElements();
    if (record.isDebugValueList() && record.getNumDebugOperands() == 1 && elements.size() >= 2 &&
        elements[0] == dwarf::DW_OP_LLVM_arg)
      elements = elements.drop_front(2);
    bool plain = elements.empty() || elements[0] == dwarf::DW_OP_LLVM_fragment;
    bool single = !record.isDebugValueList() || record.getNumDebugOperands() == 1;
    if (single && !record.isIndirectDebugValue() && plain) {
      const MachineOperand& operand = record.getDebugOperand(0);
      if (operand.isReg()) {
        auto reg = machine_register(operand.getReg().asMCReg(), registers);
        if (!reg) throw Unknown{"it is in a register that cannot be described"};
        if (part.size > descriptors::register_size(reg->number))
          throw Unknown{"it is wider than its register"};
        if (reg->bits < part.size * 8) {
          // A value of 64 bits in one of 32 was made by an instruction that clears the rest, but is taken
          // from the register that it copied, whose rest is something else. Narrower ones keep the rest.
          if (reg->bits != 32 || part.size != 8) throw Unknown{"only a part of its value is known"};
          part.cls = Class::value;
          part.steps = {{Op::push_register, reg->number}, {Op::zero_extend, reg->bits}};
          return part;
        }
        part.cls = Class::in_register;
        part.reg = reg->number;
        return part;
      }
      // An array of variable length has no size here.
      if (part.size == 0) throw Unknown{"optimised out"};
      APInt bits(64, 0);
      if (operand.isImm())
        bits = APInt(64, static_cast<uint64_t>(operand.getImm()));
      else if (operand.isCImm())
        bits = operand.getCImm()->getValue();
      else if (operand.isFPImm())
        bits = operand.getFPImm()->getValueAPF().bitcastToAPInt();
      else
        throw Unknown{"its value cannot be described"};
      if (bits.getBitWidth() < part.size * 8) throw Unknown{"only a part of its value is known"};
      part.cls = Class::constant;
      for (unsigned i = 0; i < part.size; ++i)
        part.bytes.push_back(static_cast<char>(bits.extractBitsAsZExtValue(8, i * 8)));
      return part;
    }
    Expression expression(record, registers);
    expression.run();
    simplify(part, expression);
  } catch (const Unknown& unknown) {
    part.cls = Class::unavailable;
    part.reason = unknown.reason;
  }
  return part;
}

Part part_of_slot(const MachineFunction& function, int slot, const DIExpression& expression, uint64_t size) {
  const TargetRegisterInfo& registers = *function.getSubtarget().getRegisterInfo();
  Register frame;
  StackOffset offset =
      function.getSubtarget().getFrameLowering()->getFrameIndexReference(function, slot, frame);
  auto reg = machine_register(frame.asMCReg(), registers);
  Part part;
  part.size = size;
  auto elements = expression.getElements();
  if (!set_range(part, expression)) return part;
  if (expression.getFragmentInfo()) elements = elements.drop_back(3);
  if (!reg || function.getFrameInfo().isDeadObjectIndex(slot)) {
    part.reason = "its stack slot was removed";
    return part;
  }
  if (elements.empty()) {
    part.cls = Class::stack;
    part.reg = reg->number;
    part.reg_offset = offset.getFixed();
  } else if (elements.size() == 1 && elements[0] == dwarf::DW_OP_deref) {
    part.cls = Class::address;
    part.steps = {{Op::push_register, reg->number},
                  {Op::push_constant, static_cast<uint64_t>(offset.getFixed())},
                  {Op::add},
                  {Op::load, 8}};
  } else {
    part.reason = "its expression is not understood";
  }
  return part;
}

Part part_of_frame(const MachineFunction& function) {
  const TargetRegisterInfo& registers = *function.getSubtarget().getRegisterInfo();
  const TargetFrameLowering& frame = *function.getSubtarget().getFrameLowering();
  Part part;
  part.cls = Class::activation;
  auto reg = machine_register(registers.getFrameRegister(function).asMCReg(), registers);
  part.reg = reg ? reg->number : descriptors::kNoRegister;
  part.reg_offset =
      frame.hasFP(function) ? 16 : static_cast<int64_t>(function.getFrameInfo().getStackSize()) + 8;
  return part;
}

} // namespace rdb::codegen
