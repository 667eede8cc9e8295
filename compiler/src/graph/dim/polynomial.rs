//! The canonical form: sums of products of atoms.

use super::bounds::{self, Range};
use super::operator::BinaryOperator;
use super::{Dim, SymbolId, structure};
use std::sync::Arc;

/// Expressions past any of these limits are [`Dim::Unknown`].
const MAX_TERMS: usize = 256;
const MAX_SIZE: usize = 4096;
const MAX_DEPTH: usize = 64;
/// Products of sums with more terms than this stay products.
const MAX_DISTRIBUTED_TERMS: usize = 128;

/// A factor that the algebra takes apart no further.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Atom {
    /// A symbol.
    Symbol(SymbolId),
    /// An operator's value.
    Binary(BinaryOperator, Dim, Dim),
    /// A sum too long to be multiplied out.
    Group(Dim),
}

/// A product of atoms times a coefficient.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// Not empty, sorted; a power is a repeated factor.
    pub factors: Vec<Atom>,
    /// Not 0.
    pub coefficient: i64,
}

/// A sum of at least one term and a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Polynomial {
    terms: Vec<Term>,
    constant: i64,
    size: usize,
    depth: usize,
    pub(super) range: Range,
}

impl Polynomial {
    /// The terms, sorted by factors, no two alike in them.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The number added to the terms.
    pub fn constant(&self) -> i64 {
        self.constant
    }

    /// How many terms and operators the expression has, those inside of its atoms included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The atom, if there is nothing else in the sum.
    pub(super) fn as_atom(&self) -> Option<&Atom> {
        match self.as_monomial() {
            Some(Term { factors, coefficient: 1 }) if factors.len() == 1 => factors.first(),
            _ => None,
        }
    }

    /// The term, if there is nothing else in the sum.
    pub(super) fn as_monomial(&self) -> Option<&Term> {
        match &self.terms[..] {
            [term] if self.constant == 0 => Some(term),
            _ => None,
        }
    }
}

/// A term under construction: no factors for a constant, and coefficients that do not saturate yet.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) factors: Vec<Atom>,
    pub(super) coefficient: i128,
}

impl Part {
    pub(super) fn constant(value: impl Into<i128>) -> Part {
        Part { factors: Vec::new(), coefficient: value.into() }
    }

    pub(super) fn fits(&self) -> bool {
        i64::try_from(self.coefficient).is_ok()
    }

    fn multiply(&self, other: &Part) -> Part {
        let mut factors = [&self.factors[..], &other.factors[..]].concat();
        factors.sort_by(structure::compare_atoms);
        // A comparison is 0 or 1, its own square.
        factors
            .dedup_by(|a, b| a == b && matches!(a, Atom::Binary(BinaryOperator::Equal | BinaryOperator::Less, _, _)));
        Part { factors, coefficient: self.coefficient * other.coefficient }
    }
}

/// Sorts by factors and adds up equal ones; drops zeros.
pub(super) fn merge(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_by(|a, b| structure::compare_products(&a.factors, &b.factors));
    let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match merged.last_mut() {
            Some(last) if last.factors == part.factors => {
                last.coefficient = last.coefficient.saturating_add(part.coefficient)
            }
            _ => merged.push(part),
        }
    }
    merged.retain(|part| part.coefficient != 0);
    merged
}

fn saturate(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl Dim {
    pub(super) fn from_atom(atom: Atom) -> Dim {
        Dim::from_parts(vec![Part { factors: vec![atom], coefficient: 1 }])
    }

    /// `operator(a, b)` with no simplification.
    pub(super) fn from_binary(operator: BinaryOperator, a: &Dim, b: &Dim) -> Dim {
        Dim::from_atom(Atom::Binary(operator, a.clone(), b.clone()))
    }

    pub(super) fn from_parts(parts: Vec<Part>) -> Dim {
        let mut constant = 0;
        let mut terms = Vec::new();
        for Part { factors, coefficient } in merge(parts) {
            let coefficient = saturate(coefficient);
            if factors.is_empty() {
                constant = coefficient;
            } else {
                terms.push(Term { factors, coefficient });
            }
        }
        if terms.is_empty() {
            return Dim::Const(constant);
        }
        let size = 1 + terms.iter().flat_map(|term| &term.factors).map(atom_size).sum::<usize>();
        let depth = 1 + terms.iter().flat_map(|term| &term.factors).map(atom_depth).max().unwrap_or(0);
        if terms.len() > MAX_TERMS || size > MAX_SIZE || depth > MAX_DEPTH {
            return Dim::Unknown;
        }
        let range = bounds::sum(&terms, constant, None);
        Dim::Expression(Arc::new(Polynomial { terms, constant, size, depth, range }))
    }

    /// The terms, the constant among them; none for [`Dim::Unknown`].
    pub(super) fn parts(&self) -> Vec<Part> {
        match self {
            Dim::Const(value) => vec![Part::constant(*value)],
            Dim::Unknown => Vec::new(),
            Dim::Expression(polynomial) => {
                let terms = polynomial.terms.iter();
                let mut parts: Vec<Part> = terms
                    .map(|term| Part { factors: term.factors.clone(), coefficient: term.coefficient.into() })
                    .collect();
                if polynomial.constant != 0 {
                    parts.push(Part::constant(polynomial.constant));
                }
                parts
            }
        }
    }

    /// The terms of `self - other`, exact.
    pub(super) fn difference(&self, other: &Dim) -> Vec<Part> {
        let mut parts = self.parts();
        parts.extend(other.parts().into_iter().map(|part| Part { coefficient: -part.coefficient, ..part }));
        merge(parts)
    }

    /// The interval of `self - other`, exact.
    pub(super) fn difference_range(&self, other: &Dim) -> Range {
        if self.is_unknown() || other.is_unknown() {
            return Range::ALL;
        }
        self.difference(other).iter().fold(Range::exactly(0), |range, part| {
            range.add(bounds::product(&part.factors, None).multiply(Range::exactly(part.coefficient)))
        })
    }

    /// The greatest common divisor of all coefficients and the constant.
    pub(super) fn content(&self) -> u64 {
        self.parts().iter().fold(0, |divisor, part| gcd(divisor, saturate(part.coefficient).unsigned_abs()))
    }
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn dim_size(dim: &Dim) -> usize {
    if let Dim::Expression(polynomial) = dim { polynomial.size } else { 1 }
}

fn dim_depth(dim: &Dim) -> usize {
    if let Dim::Expression(polynomial) = dim { polynomial.depth } else { 0 }
}

fn atom_size(atom: &Atom) -> usize {
    match atom {
        Atom::Symbol(_) => 1,
        Atom::Binary(_, a, b) => 1 + dim_size(a) + dim_size(b),
        Atom::Group(inner) => 1 + dim_size(inner),
    }
}

fn atom_depth(atom: &Atom) -> usize {
    match atom {
        Atom::Symbol(_) => 0,
        Atom::Binary(_, a, b) => dim_depth(a).max(dim_depth(b)),
        Atom::Group(inner) => dim_depth(inner),
    }
}

pub(super) fn add(a: &Dim, b: &Dim) -> Dim {
    if a.is_unknown() || b.is_unknown() {
        return Dim::Unknown;
    }
    Dim::from_parts([a.parts(), b.parts()].concat())
}

pub(super) fn multiply(a: &Dim, b: &Dim) -> Dim {
    if a.is_unknown() || b.is_unknown() {
        return Dim::Unknown;
    }
    let (mut left, mut right) = (a.parts(), b.parts());
    if left.len() > 1 && right.len() > 1 && left.len() * right.len() > MAX_DISTRIBUTED_TERMS {
        (left, right) = (vec![group(a)], vec![group(b)]);
    }
    Dim::from_parts(left.iter().flat_map(|left| right.iter().map(move |right| left.multiply(right))).collect())
}

/// A sum as one factor. Its content goes into the coefficient, so that multiples of a sum share the factor.
fn group(dim: &Dim) -> Part {
    let content = i128::from(dim.content().max(1));
    let parts = dim.parts();
    let sign = if parts.first().is_some_and(|part| part.coefficient < 0) { -1 } else { 1 };
    let coefficient = content * sign;
    let primitive = parts.into_iter().map(|part| Part { coefficient: part.coefficient / coefficient, ..part });
    Part { factors: vec![Atom::Group(Dim::from_parts(primitive.collect()))], coefficient }
}
