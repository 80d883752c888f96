// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guest's stack is never pushed to: flags travel over the host's stack, which is switched to first.
// Vector registers are moved one by one: 5 ns for 16 ymm registers, and with AVX-512's a few times that,
// where xsave takes 190.
#include "rdbtool/engine/translate/context_switch.h"

namespace rdb::engine {
namespace {

// One instruction with a rip-relative operand: `opcode` up to ModRM, the ModRM reg field, the variable, and
// how long the immediate is that follows.
void with_slot(Emitter& emit, std::initializer_list<uint8_t> opcode, uint8_t reg_field, const void* slot,
               size_t immediate = 0) {
  for (uint8_t b : opcode)
    emit.byte(b);
  emit.byte(static_cast<uint8_t>(reg_field << 3 | 5));
  emit.u32(static_cast<uint32_t>(static_cast<const uint8_t*>(slot) - (emit.here() + 4 + immediate)));
}

void code(Emitter& emit, std::initializer_list<uint8_t> bytes) {
  for (uint8_t b : bytes)
    emit.byte(b);
}

void clear_direction(Emitter& emit) {
  code(emit, {0xFC}); // cld
}

void test_rax(Emitter& emit) {
  code(emit, {0x48, 0x85, 0xC0}); // test rax, rax
}

constexpr uint8_t kConditionZero = 4;
constexpr uint8_t kConditionNotZero = 5;
constexpr uint32_t kArithmeticFlags = 0x8D5; // OF SF ZF AF PF CF
constexpr uint32_t kUsualFlags = 0x202;      // the others, as programs have them
constexpr uint32_t kDirectionFlag = 0x400;

void save_general(Emitter& emit, State& state) {
  Registers& regs = state.registers;
  emit.store(&regs.gpr[RSP], RSP);
  emit.load(RSP, &state.host_rsp);
  code(emit, {0x9C});                       // pushfq
  with_slot(emit, {0x8F}, 0, &regs.rflags); // pop [rflags]
  for (int i = 0; i < 16; ++i)
    if (i != RSP) emit.store(&regs.gpr[i], static_cast<Gpr>(i));
  // load_flags() assumes that no flag of the guest's is set then; the host clears DF by itself.
  with_slot(emit, {0xF7}, 0, &regs.rflags, 4); // test dword [rflags], ...
  emit.u32(~(kArithmeticFlags | kUsualFlags | kDirectionFlag));
  Patch usual = emit.jcc(kConditionZero);
  emit.push_imm32(kUsualFlags);
  code(emit, {0x9D}); // popfq
  usual.to(emit.here());
}

// popfq takes three times as long as sahf, which is enough unless a flag is set that programs rarely set.
// Uses rax and rcx.
void load_flags(Emitter& emit, const State& state) {
  emit.load32(RAX, &state.registers.rflags);
  code(emit, {0x89, 0xC1, 0x81, 0xE1}); // mov ecx, eax; and ecx, ...
  emit.u32(~kArithmeticFlags);
  code(emit, {0x81, 0xF9}); // cmp ecx, ...
  emit.u32(kUsualFlags);
  Patch unusual = emit.jcc(kConditionNotZero);
  code(emit, {0xC1, 0xE8, 0x0B});                      // shr eax, 11: nothing is set above OF
  code(emit, {0x04, 0x7F});                            // add al, 0x7F: overflows if it was set
  with_slot(emit, {0x8A}, 4, &state.registers.rflags); // mov ah, [rflags]
  code(emit, {0x9E});                                  // sahf
  Patch done = emit.jmp();
  unusual.to(emit.here());
  emit.push_slot(&state.registers.rflags);
  code(emit, {0x9D}); // popfq
  done.to(emit.here());
}

// Calls a function of the host with the translator.
void call_host(Emitter& emit, State& state, const void* function) {
  code(emit, {0x48, 0x83, 0xEC, 0x08}); // sub rsp, 8: the ABI's alignment
  emit.load(RDI, &state.fast_context);
  with_slot(emit, {0xFF}, 2, function); // call [function]
  code(emit, {0x48, 0x83, 0xC4, 0x08}); // add rsp, 8
}

// The same while FS and the vector registers are still the guest's. ZF: it returned 0.
void call_fast(Emitter& emit, State& state, const void* function) {
  emit.store_imm32(&state.in_fast_call, kInFastCall);
  call_host(emit, state, function);
  emit.store_imm32(&state.in_fast_call, 0);
  emit.store(&state.resume, RAX);
  test_rax(emit);
}

void save_guest_fs(Emitter& emit, State& state) {
  code(emit, {0xF3, 0x48, 0x0F, 0xAE, 0xC0}); // rdfsbase rax
  emit.store(&state.registers.fs_base, RAX);
}

void load_host_fs(Emitter& emit, const State& state) {
  emit.load(RAX, &state.host_fs);
  code(emit, {0xF3, 0x48, 0x0F, 0xAE, 0xD0}); // wrfsbase rax
}

void to_host_fs(Emitter& emit, State& state) {
  save_guest_fs(emit, state);
  load_host_fs(emit, state);
}

// Between a vector register and its place: vmovdqu64, vmovdqu or movups.
enum class LoadStore : uint8_t { load, store };
void move_vector(Emitter& emit, State& state, const Cpu& cpu, LoadStore move, uint8_t number) {
  bool low = number < 8;
  uint8_t reg_field = number & 7;
  uint8_t opcode = move == LoadStore::store ? 0x7F : 0x6F;
  if (cpu.avx512) {
    auto high_bits = static_cast<uint8_t>((number & 8 ? 0 : 0x80) | (number & 16 ? 0 : 0x10));
    with_slot(emit, {0x62, static_cast<uint8_t>(0x61 | high_bits), 0xFE, 0x48, opcode}, reg_field,
              state.vectors[number]);
  } else if (cpu.avx) {
    with_slot(emit, {0xC5, static_cast<uint8_t>(low ? 0xFE : 0x7E), opcode}, reg_field,
              state.vectors[number]);
  } else {
    opcode = move == LoadStore::store ? 0x11 : 0x10;
    if (!low) emit.byte(0x44);
    with_slot(emit, {0x0F, opcode}, reg_field, state.vectors[number]);
  }
}

// kmovq, or kmovw
void move_mask(Emitter& emit, State& state, const Cpu& cpu, LoadStore move, uint8_t number) {
  uint8_t opcode = move == LoadStore::store ? 0x91 : 0x90;
  if (cpu.wide_masks)
    with_slot(emit, {0xC4, 0xE1, 0xF8, opcode}, number, &state.masks[number]);
  else
    with_slot(emit, {0xC5, 0xF8, opcode}, number, &state.masks[number]);
}

void move_vectors(Emitter& emit, State& state, const Cpu& cpu, LoadStore move) {
  const uint8_t vectors = cpu.avx512 ? 32 : 16;
  for (uint8_t i = 0; i < vectors; ++i)
    move_vector(emit, state, cpu, move, i);
  for (uint8_t i = 0; cpu.avx512 && i < 8; ++i)
    move_mask(emit, state, cpu, move, i);
}

void save_vectors(Emitter& emit, State& state, const Cpu& cpu) {
  with_slot(emit, {0x0F, 0xAE}, 3, &state.mxcsr_guest); // stmxcsr
  move_vectors(emit, state, cpu, LoadStore::store);
  if (cpu.avx) code(emit, {0xC5, 0xF8, 0x77});         // vzeroupper
  with_slot(emit, {0x0F, 0xAE}, 2, &state.mxcsr_host); // ldmxcsr
}

void load_vectors(Emitter& emit, State& state, const Cpu& cpu) {
  move_vectors(emit, state, cpu, LoadStore::load);
  with_slot(emit, {0x0F, 0xAE}, 2, &state.mxcsr_guest); // ldmxcsr
}

// Places in the routines that others jump to.
struct Joints {
  uint8_t* load_all = nullptr;       // in enter: all of the guest's state is loaded from State
  uint8_t* load_and_go = nullptr;    // in enter: FS and the vector registers are the guest's already
  uint8_t* save_rest = nullptr;      // in leave: the general registers are saved already
  uint8_t* pop_and_return = nullptr; // in leave: everything is saved already
  uint8_t* save_all = nullptr;       // in hook: as save_rest
};

uint8_t* emit_enter(Emitter& emit, State& state, const Cpu& cpu, Joints& joints) {
  Registers& regs = state.registers;
  uint8_t* begin = emit.here();
  code(emit, {0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57}); // push rbp rbx r12 r13 r14 r15
  emit.store(&state.host_rsp, RSP);
  code(emit, {0xF3, 0x48, 0x0F, 0xAE, 0xC0}); // rdfsbase rax
  emit.store(&state.host_fs, RAX);
  joints.load_all = emit.here();
  load_vectors(emit, state, cpu);
  emit.load(RAX, &regs.fs_base);
  code(emit, {0xF3, 0x48, 0x0F, 0xAE, 0xD0}); // wrfsbase rax
  joints.load_and_go = emit.here();
  load_flags(emit, state);
  for (int i = 0; i < 16; ++i)
    if (i != RSP) emit.load(static_cast<Gpr>(i), &regs.gpr[i]);
  emit.load(RSP, &regs.gpr[RSP]);
  with_slot(emit, {0xFF}, 4, &state.resume); // jmp [resume]
  return begin;
}

uint8_t* emit_leave(Emitter& emit, State& state, const Cpu& cpu, Joints& joints) {
  uint8_t* begin = emit.here();
  save_general(emit, state);
  joints.save_rest = emit.here();
  to_host_fs(emit, state);
  save_vectors(emit, state, cpu);
  clear_direction(emit);
  joints.pop_and_return = emit.here();
  code(emit, {0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5B, 0x5D}); // pop r15 r14 r13 r12 rbx rbp
  code(emit, {0xC3});
  return begin;
}

uint8_t* emit_fast_leave(Emitter& emit, State& state, const Joints& joints) {
  uint8_t* begin = emit.here();
  save_general(emit, state);
  clear_direction(emit);
  call_fast(emit, state, &state.fast_entry);
  emit.jcc(kConditionZero).to(joints.save_rest);
  emit.jmp_to(joints.load_and_go);
  return begin;
}

uint8_t* emit_hook(Emitter& emit, State& state, const Cpu& cpu, Joints& joints) {
  uint8_t* begin = emit.here();
  save_general(emit, state);
  clear_direction(emit);
  joints.save_all = emit.here();
  to_host_fs(emit, state);
  save_vectors(emit, state, cpu);
  call_host(emit, state, &state.hook_entry);
  emit.store(&state.host_rsp, RSP); // guest code may have run meanwhile
  emit.store(&state.resume, RAX);
  test_rax(emit);
  emit.jcc(kConditionZero).to(joints.pop_and_return);
  emit.jmp_to(joints.load_all);
  return begin;
}

uint8_t* emit_fast_hook(Emitter& emit, State& state, const Joints& joints) {
  uint8_t* begin = emit.here();
  save_general(emit, state);
  clear_direction(emit);
  save_guest_fs(emit, state);
  emit.store_imm32(&state.in_fast_call, kInFastHook);
  call_host(emit, state, &state.fast_hook_entry);
  emit.store(&state.host_rsp, RSP);
  emit.store(&state.resume, RAX);
  with_slot(emit, {0x83}, 7, &state.in_fast_call, 1); // cmp dword [in_fast_call], 0
  emit.byte(0);
  Patch left = emit.jcc(kConditionZero);
  emit.store_imm32(&state.in_fast_call, 0);
  test_rax(emit);
  emit.jcc(kConditionZero).to(joints.save_all);
  emit.jmp_to(joints.load_and_go);
  left.to(emit.here()); // by to_host
  test_rax(emit);
  emit.jcc(kConditionZero).to(joints.pop_and_return);
  emit.jmp_to(joints.load_all);
  return begin;
}

uint8_t* emit_to_host(Emitter& emit, State& state, const Cpu& cpu) {
  uint8_t* begin = emit.here();
  save_vectors(emit, state, cpu);
  load_host_fs(emit, state);
  emit.store_imm32(&state.in_fast_call, 0);
  code(emit, {0xC3});
  return begin;
}

uint8_t* emit_indirect_miss(Emitter& emit, State& state, uint8_t* leave, uint32_t miss_exit) {
  uint8_t* begin = emit.here();
  emit.store(&state.indirect_target, RCX);
  emit.load(RCX, &state.spill_rcx);
  emit.load(RAX, &state.spill_rax);
  emit.store_imm32(&state.exit_number, miss_exit);
  emit.jmp_to(leave);
  return begin;
}

} // namespace

// A routine comes after those that it jumps to.
ContextSwitch emit_context_switch(Emitter& emit, State& state, const Cpu& cpu, uint32_t miss_exit) {
  ContextSwitch routines;
  Joints joints;
  routines.enter = reinterpret_cast<void (*)()>(emit_enter(emit, state, cpu, joints));
  routines.leave = emit_leave(emit, state, cpu, joints);
  routines.fast_leave = emit_fast_leave(emit, state, joints);
  routines.hook = emit_hook(emit, state, cpu, joints);
  routines.fast_hook = emit_fast_hook(emit, state, joints);
  routines.to_host = reinterpret_cast<void (*)()>(emit_to_host(emit, state, cpu));
  routines.indirect_miss = emit_indirect_miss(emit, state, routines.leave, miss_exit);
  return routines;
}

} // namespace rdb::engine
