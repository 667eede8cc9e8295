//! The type rules of expressions.

use crate::graph::ElementType as E;
use crate::loops::{BinaryOp, CompareOp, Expr, Kernel, ReduceOp, Scalar, UnaryOp};

fn is_number(element: E) -> bool {
    element.is_float() || element.is_integer()
}

fn same(a: E, b: E) -> Result<E, String> {
    if a == b { Ok(a) } else { Err(format!("operands are {a} and {b}")) }
}

fn require(holds: bool, name: &str, element: E) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{name} is not defined for {element}")) }
}

fn constant(scalar: Scalar) -> Result<E, String> {
    let element = scalar.element;
    if element != element.compute_type() || !(is_number(element) || element == E::Bool) {
        return Err(format!("a constant of {element}, which is no compute type"));
    }
    let canonical = match element {
        E::F64 => scalar.bits,
        E::F32 => scalar.bits & 0xffff_ffff,
        _ => Scalar::from_i64(element, scalar.bits as i64).bits,
    };
    if canonical == scalar.bits { Ok(element) } else { Err(format!("the constant {:#x} is no {element}", scalar.bits)) }
}

/// The type that an expression must have. Its operands, axes, parameters and reductions must exist.
pub fn type_of(kernel: &Kernel, expr: &Expr) -> Result<E, String> {
    let of = |id| kernel.type_of(id);
    Ok(match expr {
        Expr::Const(scalar) => constant(*scalar)?,
        Expr::Axis(_) | Expr::Dim(_) => E::I64,
        Expr::Load { parameter, index, guard } => {
            let parameter = kernel.parameter(*parameter);
            indices(kernel, index, parameter.shape.len())?;
            let element = parameter.element.compute_type();
            if let Some((condition, otherwise)) = guard {
                require(of(*condition) == E::Bool, "a guard", of(*condition))?;
                same(constant(*otherwise)?, element)?;
            }
            element
        }
        Expr::Unary(op, a) => unary(*op, of(*a))?,
        Expr::Binary(op, a, b) => binary(*op, same(of(*a), of(*b))?)?,
        Expr::Compare(op, a, b) => compare(*op, same(of(*a), of(*b))?)?,
        Expr::Select(condition, a, b) => {
            require(of(*condition) == E::Bool, "a condition", of(*condition))?;
            same(of(*a), of(*b))?
        }
        Expr::Cast { to, .. } => {
            require(is_number(*to) || *to == E::Bool, "cast", *to)?;
            to.compute_type()
        }
        Expr::Bitcast(to, value) => {
            let fits = to.bits() == of(*value).bits() && *to == to.compute_type() && is_number(*to);
            require(fits, &format!("bitcast from {}", of(*value)), *to)?;
            *to
        }
        Expr::Reduced(id) => {
            let reduction = kernel.reduction(*id);
            if reduction.op.is_position() { E::I64 } else { of(reduction.value) }
        }
        Expr::Checked { index, extent } => {
            require(of(*index) == E::I64, "a checked index", of(*index))?;
            require(of(*extent) == E::I64, "the extent of a check", of(*extent))?;
            E::I64
        }
    })
}

/// Checks the index of a load or store of a tensor of the given rank.
pub fn indices(kernel: &Kernel, index: &[crate::loops::ExprId], rank: usize) -> Result<(), String> {
    if index.len() != rank {
        return Err(format!("{} indices for rank {rank}", index.len()));
    }
    index.iter().try_for_each(|&id| require(kernel.type_of(id) == E::I64, "an index", kernel.type_of(id)))
}

fn unary(op: UnaryOp, a: E) -> Result<E, String> {
    use UnaryOp as U;
    let defined = match op {
        U::Not => a.is_integer() || a == E::Bool,
        U::Neg | U::Abs | U::Sign | U::Floor | U::Ceil | U::Round | U::Trunc => is_number(a),
        _ => a.is_float(),
    };
    require(defined, op.name(), a)?;
    Ok(if op == U::IsNan { E::Bool } else { a })
}

/// The result's type of an operation on two operands of type `a`.
pub fn binary(op: BinaryOp, a: E) -> Result<E, String> {
    use BinaryOp as B;
    let defined = match op {
        B::Min | B::Max => is_number(a) || a == E::Bool,
        B::And | B::Or | B::Xor => a.is_integer() || a == E::Bool,
        B::ShiftLeft | B::ShiftRight => a.is_integer(),
        B::Atan2 => a.is_float(),
        _ => is_number(a),
    };
    require(defined, op.name(), a)?;
    Ok(a)
}

fn compare(op: CompareOp, a: E) -> Result<E, String> {
    require(is_number(a) || a == E::Bool, op.name(), a)?;
    Ok(E::Bool)
}

/// Checks that values of type `a` can be reduced so.
pub fn reduction(op: ReduceOp, a: E) -> Result<(), String> {
    let defined = match op {
        ReduceOp::Sum | ReduceOp::Product => is_number(a),
        ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => a.is_integer() || a == E::Bool,
        _ => is_number(a) || a == E::Bool,
    };
    require(defined, op.name(), a)
}
