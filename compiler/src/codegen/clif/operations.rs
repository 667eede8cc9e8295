//! Integer operations with defined results everywhere: no instruction that traps is emitted.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;

/// A divisor that cannot trap for `a / b`, and the condition under which the quotient must be replaced by `a * b`
/// (0 for b = 0, and MIN for MIN / -1).
fn safe_divisor(builder: &mut FunctionBuilder<'_>, a: Value, b: Value, signed: bool) -> (Value, Value) {
    let ty = builder.func.dfg.value_type(a);
    let one = builder.ins().iconst(ty, 1);
    let zero = builder.ins().iconst(ty, 0);
    let mut special = builder.ins().icmp(IntCC::Equal, b, zero);
    if signed {
        let minus_one = builder.ins().iconst(ty, ((-1i64) as u64 & (u64::MAX >> (64 - ty.bits()))) as i64);
        let negative_one = builder.ins().icmp(IntCC::Equal, b, minus_one);
        special = builder.ins().bor(special, negative_one);
    }
    (builder.ins().select(special, one, b), special)
}

fn is_positive_constant(builder: &FunctionBuilder<'_>, value: Value) -> bool {
    use cranelift_codegen::ir::{InstructionData, Opcode};
    let Some(inst) = builder.func.dfg.value_def(value).inst() else { return false };
    matches!(builder.func.dfg.insts[inst], InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } if imm.bits() > 0)
}

/// Quotient rounded towards zero; 0 for a divisor of 0, wrapping for MIN / -1.
pub fn div(builder: &mut FunctionBuilder<'_>, a: Value, b: Value, signed: bool) -> Value {
    if is_positive_constant(builder, b) {
        return if signed { builder.ins().sdiv(a, b) } else { builder.ins().udiv(a, b) };
    }
    let (divisor, special) = safe_divisor(builder, a, b, signed);
    let quotient = if signed { builder.ins().sdiv(a, divisor) } else { builder.ins().udiv(a, divisor) };
    let replaced = builder.ins().imul(a, b);
    builder.ins().select(special, replaced, quotient)
}

/// Remainder of [`div`]; 0 for a divisor of 0 or -1.
pub fn rem(builder: &mut FunctionBuilder<'_>, a: Value, b: Value, signed: bool) -> Value {
    if is_positive_constant(builder, b) {
        return if signed { builder.ins().srem(a, b) } else { builder.ins().urem(a, b) };
    }
    let (divisor, _) = safe_divisor(builder, a, b, signed);
    if signed { builder.ins().srem(a, divisor) } else { builder.ins().urem(a, divisor) }
}

/// Whether a nonzero remainder has the other sign than its divisor, so that floor and truncation differ.
fn floor_differs(builder: &mut FunctionBuilder<'_>, remainder: Value, b: Value) -> Value {
    let ty = builder.func.dfg.value_type(remainder);
    let zero = builder.ins().iconst(ty, 0);
    let nonzero = builder.ins().icmp(IntCC::NotEqual, remainder, zero);
    let signs = builder.ins().bxor(remainder, b);
    let opposite = builder.ins().icmp(IntCC::SignedLessThan, signs, zero);
    builder.ins().band(nonzero, opposite)
}

/// Quotient rounded down; 0 for a divisor of 0.
pub fn floor_div(builder: &mut FunctionBuilder<'_>, a: Value, b: Value, signed: bool) -> Value {
    let quotient = div(builder, a, b, signed);
    if !signed {
        return quotient;
    }
    let remainder = rem(builder, a, b, signed);
    let differs = floor_differs(builder, remainder, b);
    let ty = builder.func.dfg.value_type(a);
    let correction = if ty == types::I8 { differs } else { builder.ins().uextend(ty, differs) };
    builder.ins().isub(quotient, correction)
}

/// Remainder with the sign of the divisor; 0 for a divisor of 0.
pub fn floor_mod(builder: &mut FunctionBuilder<'_>, a: Value, b: Value, signed: bool) -> Value {
    let remainder = rem(builder, a, b, signed);
    if !signed {
        return remainder;
    }
    let differs = floor_differs(builder, remainder, b);
    let corrected = builder.ins().iadd(remainder, b);
    builder.ins().select(differs, corrected, remainder)
}
