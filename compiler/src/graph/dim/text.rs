//! Printing of expressions.

use super::operator::BinaryOperator;
use super::polynomial::{Atom, Polynomial};
use super::{Dim, SymbolId, Symbols};
use std::fmt;

/// An expression with its symbols' names; [`Dim::parse`] reads it back.
pub struct DisplayDim<'a> {
    dim: &'a Dim,
    symbols: Option<&'a Symbols>,
}

impl Dim {
    /// Prints with the names in `symbols`, as `2*batch*height + floor(width/2) - 1`.
    pub fn display<'a>(&'a self, symbols: &'a Symbols) -> DisplayDim<'a> {
        DisplayDim { dim: self, symbols: Some(symbols) }
    }
}

/// Prints with symbols as `s0`, `s1` and so on.
impl fmt::Display for Dim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dim(self, None, formatter)
    }
}

impl fmt::Display for DisplayDim<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dim(self.dim, self.symbols, formatter)
    }
}

type Names<'a> = Option<&'a Symbols>;

fn write_dim(dim: &Dim, names: Names, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    match dim {
        Dim::Const(value) => write!(formatter, "{value}"),
        Dim::Unknown => write!(formatter, "?"),
        Dim::Expression(polynomial) => write_polynomial(polynomial, names, formatter),
    }
}

fn write_polynomial(polynomial: &Polynomial, names: Names, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, term) in polynomial.terms().iter().enumerate() {
        write_sign(index == 0, term.coefficient, formatter)?;
        let magnitude = term.coefficient.unsigned_abs();
        if magnitude != 1 {
            write!(formatter, "{magnitude}*")?;
        }
        for (index, factor) in term.factors.iter().enumerate() {
            if index > 0 {
                write!(formatter, "*")?;
            }
            write_atom(factor, names, formatter)?;
        }
    }
    if polynomial.constant() != 0 {
        write_sign(false, polynomial.constant(), formatter)?;
        write!(formatter, "{}", polynomial.constant().unsigned_abs())?;
    }
    Ok(())
}

fn write_sign(first: bool, value: i64, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    formatter.write_str(match (first, value < 0) {
        // Its magnitude is no 64-bit number, so the sign must stay with it.
        (false, true) if value == i64::MIN => " + -",
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    })
}

fn write_atom(atom: &Atom, names: Names, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (operator, a, b) = match atom {
        Atom::Symbol(id) => return write_symbol(*id, names, formatter),
        Atom::Group(inner) => {
            write!(formatter, "group(")?;
            write_dim(inner, names, formatter)?;
            return write!(formatter, ")");
        }
        Atom::Binary(operator, a, b) => (operator, a, b),
    };
    let (opening, between, divides) = match operator {
        BinaryOperator::FloorDiv => ("floor(", "/", true),
        BinaryOperator::Modulo => ("(", " % ", true),
        BinaryOperator::TruncDiv => ("trunc(", "/", true),
        BinaryOperator::TruncRem => ("rem(", ", ", false),
        BinaryOperator::Max => ("max(", ", ", false),
        BinaryOperator::Min => ("min(", ", ", false),
        BinaryOperator::Equal => ("(", " == ", false),
        BinaryOperator::Less => ("(", " < ", false),
    };
    let is_number = |dim: &Dim| matches!(dim, Dim::Const(0..) | Dim::Unknown);
    let is_product = |dim: &Dim| match dim {
        Dim::Expression(polynomial) => polynomial.as_monomial().is_some_and(|term| term.coefficient > 0),
        _ => false,
    };
    write!(formatter, "{opening}")?;
    write_operand(a, !divides || is_number(a) || is_product(a), names, formatter)?;
    write!(formatter, "{between}")?;
    write_operand(b, !divides || is_number(b) || b.as_atom().is_some(), names, formatter)?;
    write!(formatter, ")")
}

/// Writes in parentheses unless `bare`.
fn write_operand(dim: &Dim, bare: bool, names: Names, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    if bare {
        return write_dim(dim, names, formatter);
    }
    write!(formatter, "(")?;
    write_dim(dim, names, formatter)?;
    write!(formatter, ")")
}

fn write_symbol(id: SymbolId, names: Names, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = names.map_or("", |names| names.name(id));
    if name.is_empty() {
        return write!(formatter, "{id}");
    }
    let mut characters = name.chars();
    let plain = characters.next().is_some_and(is_name_start) && characters.all(is_name_character);
    if plain && !RESERVED.contains(&name) {
        return write!(formatter, "{name}");
    }
    write!(formatter, "`{}`", name.replace('`', "``"))
}

/// Function names, which symbols must be quoted to have.
pub(super) const RESERVED: [&str; 7] = ["floor", "ceil", "trunc", "rem", "max", "min", "group"];

pub(super) fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

pub(super) fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '.'
}
