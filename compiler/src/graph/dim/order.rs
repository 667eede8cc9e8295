//! Maxima, minima, comparisons and choices.

use super::Dim;
use super::operator::{BinaryOperator, CompareOperator};
use super::polynomial::{Atom, Part, gcd};

/// Longer chains of one extremum are not searched for operands that others dominate.
const MAX_COMPARED_OPERANDS: usize = 16;

impl Dim {
    /// The greater value.
    pub fn max(&self, other: &Dim) -> Dim {
        extremum(BinaryOperator::Max, self, other)
    }

    /// The lesser value.
    pub fn min(&self, other: &Dim) -> Dim {
        extremum(BinaryOperator::Min, self, other)
    }

    /// 1 where the comparison holds, else 0.
    pub fn compare(&self, operator: CompareOperator, other: &Dim) -> Dim {
        match operator {
            CompareOperator::Equal => compare(BinaryOperator::Equal, self, other),
            CompareOperator::NotEqual => 1 - compare(BinaryOperator::Equal, self, other),
            CompareOperator::Less => compare(BinaryOperator::Less, self, other),
            CompareOperator::LessEqual => 1 - compare(BinaryOperator::Less, other, self),
            CompareOperator::Greater => compare(BinaryOperator::Less, other, self),
            CompareOperator::GreaterEqual => 1 - compare(BinaryOperator::Less, self, other),
        }
    }

    /// `on_true` where `condition` is 1, `on_false` where it is 0; the condition has no other value.
    pub fn select(condition: &Dim, on_true: &Dim, on_false: &Dim) -> Dim {
        if on_true == on_false && !condition.is_unknown() {
            return on_true.clone();
        }
        on_false + condition * (on_true - on_false)
    }
}

fn extremum(operator: BinaryOperator, a: &Dim, b: &Dim) -> Dim {
    if a.is_unknown() || b.is_unknown() {
        return Dim::Unknown;
    }
    let is_max = operator == BinaryOperator::Max;
    let (neutral, absorbing) = if is_max { (i64::MIN, i64::MAX) } else { (i64::MAX, i64::MIN) };
    let mut operands = Vec::new();
    flatten(operator, a, &mut operands);
    flatten(operator, b, &mut operands);
    operands.sort_by(Dim::structural_order);
    operands.dedup();
    if operands.contains(&Dim::Const(absorbing)) {
        return Dim::Const(absorbing);
    }
    operands.retain(|operand| *operand != Dim::Const(neutral));
    if operands.len() <= MAX_COMPARED_OPERANDS {
        let mut index = 0;
        while index < operands.len() {
            let operand = &operands[index];
            let dominated = operands
                .iter()
                .enumerate()
                .any(|(other_index, other)| other_index != index && dominates(is_max, other, operand));
            if dominated {
                operands.remove(index);
            } else {
                index += 1;
            }
        }
    }
    let joined = operands.into_iter().reduce(|joined, operand| Dim::from_binary(operator, &joined, &operand));
    joined.unwrap_or(Dim::Const(neutral))
}

/// Whether `operand` adds nothing beside `other`. In a maximum so does a minimum that `other` is part of, and the other way
/// round.
fn dominates(is_max: bool, other: &Dim, operand: &Dim) -> bool {
    let outdoes = |part: &Dim| if is_max { other.provably_ge(part) } else { part.provably_ge(other) };
    let opposite = if is_max { BinaryOperator::Min } else { BinaryOperator::Max };
    let mut parts = Vec::new();
    flatten(opposite, operand, &mut parts);
    parts.iter().any(outdoes)
}

fn flatten(operator: BinaryOperator, dim: &Dim, operands: &mut Vec<Dim>) {
    match dim.as_atom() {
        Some(Atom::Binary(inner, a, b)) if *inner == operator => {
            flatten(operator, a, operands);
            flatten(operator, b, operands);
        }
        _ => operands.push(dim.clone()),
    }
}

/// `Equal` or `Less`, decided on the difference: common terms cancel, positive ones stay left and negative ones go right.
fn compare(operator: BinaryOperator, a: &Dim, b: &Dim) -> Dim {
    let is_equal = operator == BinaryOperator::Equal;
    if a.is_unknown() || b.is_unknown() {
        return Dim::Unknown;
    }
    if let (Dim::Const(a), Dim::Const(b)) = (a, b) {
        return Dim::Const(operator.apply(*a, *b));
    }
    let range = a.difference_range(b);
    match is_equal {
        true if range.low == 0 && range.high == 0 => return Dim::ONE,
        true if range.low > 0 || range.high < 0 => return Dim::ZERO,
        false if range.high < 0 => return Dim::ONE,
        false if range.low >= 0 => return Dim::ZERO,
        _ => {}
    }
    let (constants, mut terms): (Vec<Part>, Vec<Part>) =
        a.difference(b).into_iter().partition(|part| part.factors.is_empty());
    let mut constant = constants.first().map_or(0, |part| part.coefficient);
    let common = terms.iter().fold(0, |common, part| gcd(common, part.coefficient.unsigned_abs() as u64));
    let common = i128::from(common.max(1));
    if is_equal && constant % common != 0 {
        return Dim::ZERO;
    }
    // An integer multiple of `common` lies below -c just where it lies below -floor(c/common)*common.
    constant = constant.div_euclid(common);
    let sign = if is_equal && terms.first().is_some_and(|part| part.coefficient < 0) { -1 } else { 1 };
    constant *= sign;
    for part in &mut terms {
        part.coefficient = part.coefficient / common * sign;
    }
    if !terms.iter().all(Part::fits) || !Part::constant(constant).fits() {
        let (a, b) = if is_equal && b.structural_order(a).is_lt() { (b, a) } else { (a, b) };
        return Dim::from_binary(operator, a, b);
    }
    if let Some(simplified) = compare_condition(operator, &terms, constant as i64) {
        return simplified;
    }
    terms.push(Part::constant(constant));
    let (left, right): (Vec<Part>, Vec<Part>) = terms.into_iter().partition(|part| part.coefficient >= 0);
    let right = right.into_iter().map(|part| Part { coefficient: -part.coefficient, ..part }).collect();
    Dim::from_binary(operator, &Dim::from_parts(left), &Dim::from_parts(right))
}

/// Compares `±c + constant` with 0, where c is itself a comparison, by trying its two values.
fn compare_condition(operator: BinaryOperator, terms: &[Part], constant: i64) -> Option<Dim> {
    let [part] = terms else { return None };
    let [Atom::Binary(BinaryOperator::Equal | BinaryOperator::Less, _, _)] = &part.factors[..] else { return None };
    let on_false = operator.apply(constant, 0);
    let on_true = operator.apply(constant.saturating_add(part.coefficient as i64), 0);
    Some(Dim::from_atom(part.factors[0].clone()) * (on_true - on_false) + on_false)
}
