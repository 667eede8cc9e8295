//! Products of several factors, in whatever order and grouping.

use super::super::site::Site;
use crate::graph::{Node, ValueId};

/// Deeper nests of products are taken as one factor.
const MAX_DEPTH: usize = 6;

/// A product of values of one type and a number.
#[derive(Debug)]
pub(super) struct Product {
    /// The number.
    pub number: f64,
    /// The other factors, as often as they occur.
    pub factors: Vec<ValueId>,
}

impl Product {
    /// The product that a node computes, if it is a Mul or a Div by a number. Inner products that others use too are factors.
    pub fn of(site: &Site<'_>, node: &Node) -> Option<Self> {
        let mut product = Self { number: 1.0, factors: Vec::new() };
        let output = node.output(0)?;
        product.multiply(site, node, MAX_DEPTH)?;
        let is_alike = |factor: &ValueId| site.tensor(*factor) == site.tensor(output);
        (site.is_precise(output) && product.factors.iter().all(is_alike)).then_some(product)
    }

    /// The product that a value is; of itself alone, if it is no other.
    pub fn of_value(site: &Site<'_>, value: ValueId) -> Self {
        let nested = site.only_for(value, &["Mul", "Div"]).and_then(|node| Self::of(site, &node));
        nested.unwrap_or(Self { number: 1.0, factors: vec![value] })
    }

    /// How often a value is a factor.
    pub fn count(&self, value: ValueId) -> usize {
        self.factors.iter().filter(|&&factor| factor == value).count()
    }

    /// The other one of two factors.
    pub fn other(&self, value: ValueId) -> Option<ValueId> {
        match self.factors[..] {
            [a, b] if a == value => Some(b),
            [a, b] if b == value => Some(a),
            _ => None,
        }
    }

    fn multiply(&mut self, site: &Site<'_>, node: &Node, depth: usize) -> Option<()> {
        if node.version < 7 {
            return None;
        }
        let (first, second) = (node.input(0)?, node.input(1)?);
        if node.is("Div") {
            self.number /= site.splat(second)?;
            return self.factor(site, first, depth);
        }
        if !node.is("Mul") {
            return None;
        }
        self.factor(site, first, depth)?;
        self.factor(site, second, depth)
    }

    fn factor(&mut self, site: &Site<'_>, value: ValueId, depth: usize) -> Option<()> {
        if let Some(number) = site.splat(value) {
            self.number *= number;
            return Some(());
        }
        match site.only_for(value, &["Mul", "Div"]) {
            Some(node) if depth > 0 && (node.is("Mul") || node.input(1).is_some_and(|id| site.splat(id).is_some())) => {
                self.multiply(site, &node, depth - 1)
            }
            _ => {
                self.factors.push(value);
                Some(())
            }
        }
    }
}

/// The operand of a sum with the number `number`, and nothing else uses the sum.
pub(super) fn plus(site: &Site<'_>, value: ValueId, number: f64) -> Option<ValueId> {
    let node = site.only_for(value, &["Add"])?;
    let (first, second) = (node.input(0)?, node.input(1)?);
    let is = |id: ValueId| site.splat(id).is_some_and(|value| super::is_about(value, number));
    match (is(first), is(second)) {
        (false, true) => Some(first),
        (true, false) => Some(second),
        _ => None,
    }
}
