//! Symbolic dimensions: integer expressions over symbols.
//!
//! Tensor dimensions, buffer sizes, loop extents and the known values of small integer tensors are [`Dim`]s. A `Dim` is
//! kept in a canonical form, a sum of products of [`Atom`]s with integer coefficients, so that equal expressions built
//! in different ways mostly compare equal. Division by zero gives 0 everywhere, as in generated code
//! (see [`BinaryOperator`]).
//!
//! Two things limit the algebra. Constants saturate at the ends of `i64` instead of wrapping. An expression that would
//! grow past a fixed size, depth or number of terms becomes [`Dim::Unknown`], so no input costs unbounded time or memory.

mod bounds;
mod division;
mod evaluate;
mod operator;
mod order;
mod parse;
mod polynomial;
mod structure;
mod symbols;
#[cfg(test)]
mod tests;
mod text;

pub use bounds::{Bounds, DefaultBounds};
pub use evaluate::{DimEmitter, EvaluateError};
pub use operator::{BinaryOperator, CompareOperator};
pub use parse::ParseDimError;
pub use polynomial::{Atom, Polynomial, Term};
pub use symbols::{SymbolId, Symbols};
pub use text::DisplayDim;

use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

/// An integer expression over symbols, in canonical form. Equality and hash are those of the form; use
/// [`Dim::known_equal`] to ask about values. There is no `Ord`, whose `max` and `<` would be mistaken for those of values:
/// see [`Dim::max`], [`Dim::known_less`] and [`Dim::structural_order`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// An expression with at least one symbol.
    Expression(Arc<Polynomial>),
    /// A number.
    Const(i64),
    /// A value too complex to express. It absorbs every operation and is known to equal nothing, not even itself;
    /// where a value is needed, a fresh symbol takes its place.
    Unknown,
}

impl Dim {
    /// 0
    pub const ZERO: Dim = Dim::Const(0);
    /// 1
    pub const ONE: Dim = Dim::Const(1);

    /// The number `value`.
    pub const fn constant(value: i64) -> Dim {
        Dim::Const(value)
    }

    /// The symbol `id`.
    pub fn symbol(id: SymbolId) -> Dim {
        Dim::from_atom(Atom::Symbol(id))
    }

    /// The number, if the expression is one.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Dim::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the expression is a number.
    pub fn is_const(&self) -> bool {
        self.as_const().is_some()
    }

    /// The symbol, if the expression is one alone.
    pub fn as_symbol(&self) -> Option<SymbolId> {
        match self.as_atom() {
            Some(Atom::Symbol(id)) => Some(*id),
            _ => None,
        }
    }

    /// Whether the expression is [`Dim::Unknown`].
    pub fn is_unknown(&self) -> bool {
        *self == Dim::Unknown
    }

    /// The sum of `dims`; 0 for none.
    pub fn sum<D: AsRef<Dim>>(dims: impl IntoIterator<Item = D>) -> Dim {
        dims.into_iter().fold(Dim::ZERO, |sum, dim| sum + dim.as_ref())
    }

    /// The product of `dims`; 1 for none.
    pub fn product<D: AsRef<Dim>>(dims: impl IntoIterator<Item = D>) -> Dim {
        dims.into_iter().fold(Dim::ONE, |product, dim| product * dim.as_ref())
    }

    fn as_atom(&self) -> Option<&Atom> {
        match self {
            Dim::Expression(polynomial) => polynomial.as_atom(),
            _ => None,
        }
    }
}

impl AsRef<Dim> for Dim {
    fn as_ref(&self) -> &Dim {
        self
    }
}

impl Default for Dim {
    fn default() -> Dim {
        Dim::ZERO
    }
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim::Const(value)
    }
}

impl From<SymbolId> for Dim {
    fn from(id: SymbolId) -> Dim {
        Dim::symbol(id)
    }
}

macro_rules! arithmetic {
    ($($operator:ident $method:ident $function:expr;)*) => {$(
        impl $operator<&Dim> for &Dim {
            type Output = Dim;
            fn $method(self, other: &Dim) -> Dim {
                let function: fn(&Dim, &Dim) -> Dim = $function;
                function(self, other)
            }
        }
        impl $operator<Dim> for &Dim {
            type Output = Dim;
            fn $method(self, other: Dim) -> Dim {
                $operator::$method(self, &other)
            }
        }
        impl $operator<&Dim> for Dim {
            type Output = Dim;
            fn $method(self, other: &Dim) -> Dim {
                $operator::$method(&self, other)
            }
        }
        impl $operator<Dim> for Dim {
            type Output = Dim;
            fn $method(self, other: Dim) -> Dim {
                $operator::$method(&self, &other)
            }
        }
        impl $operator<i64> for &Dim {
            type Output = Dim;
            fn $method(self, other: i64) -> Dim {
                $operator::$method(self, &Dim::Const(other))
            }
        }
        impl $operator<i64> for Dim {
            type Output = Dim;
            fn $method(self, other: i64) -> Dim {
                $operator::$method(&self, &Dim::Const(other))
            }
        }
        impl $operator<&Dim> for i64 {
            type Output = Dim;
            fn $method(self, other: &Dim) -> Dim {
                $operator::$method(&Dim::Const(self), other)
            }
        }
        impl $operator<Dim> for i64 {
            type Output = Dim;
            fn $method(self, other: Dim) -> Dim {
                $operator::$method(&Dim::Const(self), &other)
            }
        }
    )*};
}

arithmetic! {
    Add add polynomial::add;
    Sub sub |a, b| polynomial::add(a, &polynomial::multiply(b, &Dim::Const(-1)));
    Mul mul polynomial::multiply;
}

impl Neg for Dim {
    type Output = Dim;
    fn neg(self) -> Dim {
        self * -1
    }
}

impl Neg for &Dim {
    type Output = Dim;
    fn neg(self) -> Dim {
        self * -1
    }
}
