//! Values of expressions, substitution and the walk that code generators use.

use super::operator::BinaryOperator;
use super::polynomial::{Atom, Polynomial};
use super::{Dim, SymbolId};
use std::collections::BTreeSet;
use std::fmt;

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvaluateError {
    /// The symbol has no value.
    Unbound(SymbolId),
    /// The value does not fit 64 bits.
    Overflow,
    /// The expression is or holds [`Dim::Unknown`].
    Unknown,
}

impl fmt::Display for EvaluateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvaluateError::Unbound(id) => write!(formatter, "no value is given for the dimension {id}"),
            EvaluateError::Overflow => write!(formatter, "the dimension does not fit 64 bits"),
            EvaluateError::Unknown => write!(formatter, "the dimension is too complex to express"),
        }
    }
}

impl std::error::Error for EvaluateError {}

/// Receives an expression in evaluation order; see [`Dim::emit`]. Sums and products may wrap at 64 bits: where the
/// expression's value fits, the wrapped result is right.
pub trait DimEmitter {
    /// What stands for a computed 64-bit integer.
    type Value;
    /// Why emission stopped.
    type Error;
    /// A number.
    fn constant(&mut self, value: i64) -> Result<Self::Value, Self::Error>;
    /// A symbol's value.
    fn symbol(&mut self, id: SymbolId) -> Result<Self::Value, Self::Error>;
    /// `a + b`
    fn add(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// `a * b`
    fn multiply(&mut self, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// `operator(a, b)` as [`BinaryOperator::apply`] defines it.
    fn binary(&mut self, operator: BinaryOperator, a: Self::Value, b: Self::Value) -> Result<Self::Value, Self::Error>;
    /// [`Dim::Unknown`].
    fn unknown(&mut self) -> Result<Self::Value, Self::Error>;
}

impl Dim {
    /// Walks the expression bottom up and returns the emitter's value for the whole.
    pub fn emit<E: DimEmitter>(&self, emitter: &mut E) -> Result<E::Value, E::Error> {
        match self {
            Dim::Const(value) => emitter.constant(*value),
            Dim::Unknown => emitter.unknown(),
            Dim::Expression(polynomial) => emit_polynomial(polynomial, emitter),
        }
    }

    /// The value, given values of the symbols that lie within their bounds. Division by zero gives 0.
    pub fn evaluate(&self, value_of: &dyn Fn(SymbolId) -> Option<i64>) -> Result<i64, EvaluateError> {
        match self {
            Dim::Const(value) => Ok(*value),
            Dim::Unknown => Err(EvaluateError::Unknown),
            Dim::Expression(polynomial) => {
                let mut sum = i128::from(polynomial.constant());
                for term in polynomial.terms() {
                    let mut product = i128::from(term.coefficient);
                    for factor in &term.factors {
                        let factor = i128::from(evaluate_atom(factor, value_of)?);
                        product = product.checked_mul(factor).ok_or(EvaluateError::Overflow)?;
                    }
                    sum = sum.checked_add(product).ok_or(EvaluateError::Overflow)?;
                }
                i64::try_from(sum).map_err(|_| EvaluateError::Overflow)
            }
        }
    }

    /// The expression with symbols replaced where `replacement_of` gives an expression; its values must lie within the
    /// symbol's bounds.
    pub fn substitute(&self, replacement_of: &dyn Fn(SymbolId) -> Option<Dim>) -> Dim {
        match self {
            Dim::Expression(polynomial) => {
                polynomial.terms().iter().fold(Dim::Const(polynomial.constant()), |sum, term| {
                    let coefficient = Dim::Const(term.coefficient);
                    let factors = term.factors.iter().map(|factor| substitute_atom(factor, replacement_of));
                    sum + factors.fold(coefficient, |product, factor| product * factor)
                })
            }
            _ => self.clone(),
        }
    }

    /// The symbols the expression holds.
    pub fn symbols(&self) -> BTreeSet<SymbolId> {
        let mut symbols = BTreeSet::new();
        collect_symbols(self, &mut symbols);
        symbols
    }

    /// `operator(a, b)`, simplified.
    pub fn binary(operator: BinaryOperator, a: &Dim, b: &Dim) -> Dim {
        use super::CompareOperator;
        match operator {
            BinaryOperator::FloorDiv => a.floor_div(b),
            BinaryOperator::Modulo => a.modulo(b),
            BinaryOperator::TruncDiv => a.trunc_div(b),
            BinaryOperator::TruncRem => a.trunc_rem(b),
            BinaryOperator::Max => a.max(b),
            BinaryOperator::Min => a.min(b),
            BinaryOperator::Equal => a.compare(CompareOperator::Equal, b),
            BinaryOperator::Less => a.compare(CompareOperator::Less, b),
        }
    }
}

fn evaluate_atom(atom: &Atom, value_of: &dyn Fn(SymbolId) -> Option<i64>) -> Result<i64, EvaluateError> {
    match atom {
        Atom::Symbol(id) => value_of(*id).ok_or(EvaluateError::Unbound(*id)),
        Atom::Binary(operator, a, b) => Ok(operator.apply(a.evaluate(value_of)?, b.evaluate(value_of)?)),
        Atom::Group(inner) => inner.evaluate(value_of),
    }
}

fn substitute_atom(atom: &Atom, replacement_of: &dyn Fn(SymbolId) -> Option<Dim>) -> Dim {
    match atom {
        Atom::Symbol(id) => replacement_of(*id).unwrap_or_else(|| Dim::symbol(*id)),
        Atom::Binary(operator, a, b) => {
            Dim::binary(*operator, &a.substitute(replacement_of), &b.substitute(replacement_of))
        }
        Atom::Group(inner) => inner.substitute(replacement_of),
    }
}

fn collect_symbols(dim: &Dim, symbols: &mut BTreeSet<SymbolId>) {
    let Dim::Expression(polynomial) = dim else { return };
    for factor in polynomial.terms().iter().flat_map(|term| &term.factors) {
        match factor {
            Atom::Symbol(id) => drop(symbols.insert(*id)),
            Atom::Binary(_, a, b) => [a, b].into_iter().for_each(|dim| collect_symbols(dim, symbols)),
            Atom::Group(inner) => collect_symbols(inner, symbols),
        }
    }
}

fn emit_polynomial<E: DimEmitter>(polynomial: &Polynomial, emitter: &mut E) -> Result<E::Value, E::Error> {
    let mut sum = if polynomial.constant() == 0 { None } else { Some(emitter.constant(polynomial.constant())?) };
    for term in polynomial.terms() {
        let mut product = if term.coefficient == 1 { None } else { Some(emitter.constant(term.coefficient)?) };
        for factor in &term.factors {
            let value = match factor {
                Atom::Symbol(id) => emitter.symbol(*id)?,
                Atom::Binary(operator, a, b) => {
                    let (a, b) = (a.emit(emitter)?, b.emit(emitter)?);
                    emitter.binary(*operator, a, b)?
                }
                Atom::Group(inner) => inner.emit(emitter)?,
            };
            product = Some(match product {
                Some(product) => emitter.multiply(product, value)?,
                None => value,
            });
        }
        if let Some(product) = product {
            sum = Some(match sum {
                Some(sum) => emitter.add(sum, product)?,
                None => product,
            });
        }
    }
    match sum {
        Some(sum) => Ok(sum),
        None => emitter.constant(0),
    }
}
