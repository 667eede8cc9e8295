//! An arbitrary but fixed order of forms, which makes sums and products canonical.

use super::Dim;
use super::polynomial::{Atom, Polynomial};
use std::cmp::Ordering;
use std::sync::Arc;

impl Dim {
    /// A total order of forms, for sorting; it says nothing about values.
    pub fn structural_order(&self, other: &Dim) -> Ordering {
        match (self, other) {
            (Dim::Const(a), Dim::Const(b)) => a.cmp(b),
            (Dim::Expression(a), Dim::Expression(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
            (Dim::Expression(a), Dim::Expression(b)) => compare_polynomials(a, b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

fn rank(dim: &Dim) -> u8 {
    match dim {
        Dim::Expression(_) => 0,
        Dim::Const(_) => 1,
        Dim::Unknown => 2,
    }
}

fn compare_polynomials(a: &Polynomial, b: &Polynomial) -> Ordering {
    for (a, b) in a.terms().iter().zip(b.terms()) {
        let order = compare_products(&a.factors, &b.factors).then(a.coefficient.cmp(&b.coefficient));
        if order.is_ne() {
            return order;
        }
    }
    a.terms().len().cmp(&b.terms().len()).then(a.constant().cmp(&b.constant()))
}

pub(super) fn compare_products(a: &[Atom], b: &[Atom]) -> Ordering {
    let unequal = a.iter().zip(b).map(|(a, b)| compare_atoms(a, b)).find(|order| order.is_ne());
    unequal.unwrap_or(a.len().cmp(&b.len()))
}

pub(super) fn compare_atoms(a: &Atom, b: &Atom) -> Ordering {
    match (a, b) {
        (Atom::Symbol(a), Atom::Symbol(b)) => a.cmp(b),
        (Atom::Symbol(_), _) | (Atom::Binary(..), Atom::Group(_)) => Ordering::Less,
        (_, Atom::Symbol(_)) | (Atom::Group(_), Atom::Binary(..)) => Ordering::Greater,
        (Atom::Binary(operator_a, a, c), Atom::Binary(operator_b, b, d)) => {
            operator_a.cmp(operator_b).then_with(|| a.structural_order(b)).then_with(|| c.structural_order(d))
        }
        (Atom::Group(a), Atom::Group(b)) => a.structural_order(b),
    }
}
