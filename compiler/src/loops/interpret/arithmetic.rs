//! Operations on scalars.

use std::cmp::Ordering;

use super::narrow;
use super::{Fault, Number};
use crate::graph::ElementType;
use crate::loops::{BinaryOp, CompareOp, Scalar, UnaryOp};

fn no_form<T>(name: &str, element: ElementType) -> Result<T, Fault> {
    Err(Fault::Invalid(format!("{name} is not defined for {element}")))
}

/// The operation on one operand.
pub fn unary(op: UnaryOp, value: Number) -> Result<Number, Fault> {
    if op == UnaryOp::IsNan {
        return Ok(Number::bool(value.is_nan()));
    }
    match value {
        // Negation, magnitude and rounding to integral values are exact, and the square root rounds the same twice.
        Number::F32(value) => float_unary(op, value.into())
            .map_or_else(|| no_form(op.name(), ElementType::F32), |x| Ok(Number::F32(x as f32))),
        Number::F64(value) => {
            float_unary(op, value).map_or_else(|| no_form(op.name(), ElementType::F64), |x| Ok(Number::F64(x)))
        }
        Number::Integer(element, value) => Ok(Number::integer(
            element,
            match op {
                UnaryOp::Not if element == ElementType::Bool => 1 - value,
                _ if element == ElementType::Bool => return no_form(op.name(), element),
                UnaryOp::Not => !value,
                UnaryOp::Neg => -value,
                UnaryOp::Abs => value.abs(),
                UnaryOp::Sign => value.signum(),
                UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => value,
                _ => return no_form(op.name(), element),
            },
        )),
    }
}

fn float_unary(op: UnaryOp, x: f64) -> Option<f64> {
    Some(match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        // Zeros keep their sign.
        UnaryOp::Sign if x == 0.0 || x.is_nan() => x,
        UnaryOp::Sign => x.signum(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Round => x.round_ties_even(),
        UnaryOp::Trunc => x.trunc(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Exp => libm::exp(x),
        UnaryOp::Log => libm::log(x),
        UnaryOp::Sin => libm::sin(x),
        UnaryOp::Cos => libm::cos(x),
        UnaryOp::Tan => libm::tan(x),
        UnaryOp::Asin => libm::asin(x),
        UnaryOp::Acos => libm::acos(x),
        UnaryOp::Atan => libm::atan(x),
        UnaryOp::Sinh => libm::sinh(x),
        UnaryOp::Cosh => libm::cosh(x),
        UnaryOp::Tanh => libm::tanh(x),
        UnaryOp::Asinh => libm::asinh(x),
        UnaryOp::Acosh => libm::acosh(x),
        UnaryOp::Atanh => libm::atanh(x),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
        UnaryOp::Log1p => libm::log1p(x),
        UnaryOp::Expm1 => libm::expm1(x),
        UnaryOp::Not | UnaryOp::IsNan => return None,
    })
}

/// The operation on two operands of one type.
pub fn binary(op: BinaryOp, a: Number, b: Number) -> Result<Number, Fault> {
    match (a, b) {
        (Number::F32(a), Number::F32(b)) => {
            let result = match op {
                BinaryOp::Add => Some(a + b),
                BinaryOp::Sub => Some(a - b),
                BinaryOp::Mul => Some(a * b),
                BinaryOp::Div => Some(a / b),
                BinaryOp::FloorDiv => Some((a / b).floor()),
                _ => float_binary(op, a.into(), b.into()).map(|x| x as f32),
            };
            result.map_or_else(|| no_form(op.name(), ElementType::F32), |x| Ok(Number::F32(x)))
        }
        (Number::F64(a), Number::F64(b)) => {
            float_binary(op, a, b).map_or_else(|| no_form(op.name(), ElementType::F64), |x| Ok(Number::F64(x)))
        }
        (Number::Integer(element, a), Number::Integer(other, b)) if element == other => {
            integer_binary(op, element, a, b)
        }
        _ => Err(Fault::Invalid(format!("{} of {} and {}", op.name(), a.element(), b.element()))),
    }
}

fn float_binary(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    Some(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::FloorDiv => (a / b).floor(),
        BinaryOp::Rem => libm::fmod(a, b),
        BinaryOp::Mod => match libm::fmod(a, b) {
            0.0 => 0f64.copysign(b),
            remainder if (remainder < 0.0) != (b < 0.0) => remainder + b,
            remainder => remainder,
        },
        BinaryOp::Pow => libm::pow(a, b),
        BinaryOp::Atan2 => libm::atan2(a, b),
        BinaryOp::Min | BinaryOp::Max if a.is_nan() => a,
        BinaryOp::Min => {
            if a < b {
                a
            } else {
                b
            }
        }
        BinaryOp::Max => {
            if a > b {
                a
            } else {
                b
            }
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => return None,
    })
}

fn integer_binary(op: BinaryOp, element: ElementType, a: i128, b: i128) -> Result<Number, Fault> {
    let shift = u32::try_from(b).ok().filter(|&count| count < element.bits() as u32);
    let result = match op {
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        _ if element == ElementType::Bool => return no_form(op.name(), element),
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::Mod | BinaryOp::FloorDiv if b == 0 => 0,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Mod => a - b * floor_quotient(a, b),
        BinaryOp::FloorDiv => floor_quotient(a, b),
        BinaryOp::Pow => power(a, b),
        BinaryOp::ShiftLeft => shift.map_or(0, |count| a << count),
        BinaryOp::ShiftRight => shift.map_or(0, |count| a >> count),
        BinaryOp::Atan2 => return no_form(op.name(), element),
    };
    Ok(Number::integer(element, result))
}

fn floor_quotient(a: i128, b: i128) -> i128 {
    a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)
}

/// Wrapping power; the truncated reciprocal for negative exponents, where that of 0 is 0.
fn power(base: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut rest) = (1i128, base, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest /= 2;
    }
    result
}

/// Whether the comparison holds.
pub fn compare(op: CompareOp, a: Number, b: Number) -> Result<bool, Fault> {
    let order = match (a, b) {
        (Number::F32(a), Number::F32(b)) => a.partial_cmp(&b),
        (Number::F64(a), Number::F64(b)) => a.partial_cmp(&b),
        (Number::Integer(element, a), Number::Integer(other, b)) if element == other => Some(a.cmp(&b)),
        _ => return Err(Fault::Invalid(format!("{} of {} and {}", op.name(), a.element(), b.element()))),
    };
    Ok(match op {
        CompareOp::Eq => order == Some(Ordering::Equal),
        CompareOp::Ne => order != Some(Ordering::Equal),
        CompareOp::Lt => order == Some(Ordering::Less),
        CompareOp::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        CompareOp::Gt => order == Some(Ordering::Greater),
        CompareOp::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    })
}

/// Conversion to `to`, in its compute type.
pub fn cast(to: ElementType, saturate: bool, value: Number) -> Result<Number, Fault> {
    if to == ElementType::Bool {
        return Ok(Number::bool(value.is_true()));
    }
    match to.compute_type() {
        ElementType::F64 => return Ok(Number::F64(value.to_f64())),
        ElementType::F32 => {
            let wide = match value {
                Number::F32(value) => value,
                Number::F64(value) => value as f32,
                Number::Integer(_, value) => value as f32,
            };
            let rounded =
                if to == ElementType::F32 { wide } else { narrow::decode(to, narrow::encode(to, saturate, wide)) };
            return Ok(Number::F32(rounded));
        }
        compute if !compute.is_integer() => return no_form("cast", to),
        _ => {}
    }
    let integer = match value {
        Number::Integer(_, value) => Number::integer(to, value),
        _ => {
            let least = if to.is_signed() { -1i128 << (to.bits() - 1) } else { 0 };
            let greatest = least + (1i128 << to.bits()) - 1;
            Number::Integer(to, (value.to_f64() as i128).clamp(least, greatest))
        }
    };
    match integer {
        Number::Integer(_, value) => Ok(Number::Integer(to.compute_type(), value)),
        other => Ok(other),
    }
}

/// The same bits as another compute type of as many bits.
pub fn bitcast(to: ElementType, value: Number) -> Result<Number, Fault> {
    if to.bits() != value.element().bits() || to != to.compute_type() {
        return no_form(&format!("bitcast to {to}"), value.element());
    }
    let bits = value.to_scalar().bits & (u64::MAX >> (64 - to.bits()));
    Ok(match to {
        ElementType::F32 => Number::F32(f32::from_bits(bits as u32)),
        ElementType::F64 => Number::F64(f64::from_bits(bits)),
        _ => Number::from_scalar(Scalar::from_i64(to, bits as i64)),
    })
}
