//! Equations of Einsum.

use crate::ops::{OperatorError, Result};

/// One dimension of a term.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Label {
    /// A dimension that the ellipsis stands for, counted from the last one.
    Ellipsis(usize),
    /// A named dimension.
    Letter(u8),
}

/// An equation with its ellipses replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Equation {
    /// The labels of each operand's dimensions.
    pub inputs: Vec<Vec<Label>>,
    /// The labels of the result's dimensions.
    pub output: Vec<Label>,
}

impl Equation {
    /// Reads an equation for operands of the given ranks.
    pub fn parse(text: &str, ranks: &[usize]) -> Result<Self> {
        let text: String = text.chars().filter(|character| !character.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(OperatorError::new(format!(
                "the equation `{text}` has {} terms for {} operands",
                terms.len(),
                ranks.len()
            )));
        }
        let inputs = terms.iter().zip(ranks).map(|(term, &rank)| operand(term, rank)).collect::<Result<Vec<_>>>()?;
        let ellipsis = inputs.iter().flatten().filter_map(|label| match label {
            Label::Ellipsis(position) => Some(position + 1),
            Label::Letter(_) => None,
        });
        let ellipsis = ellipsis.max().unwrap_or(0);
        let output = match right {
            Some(term) => labels(term, ellipsis)?,
            None => implied(&inputs, ellipsis),
        };
        for (position, label) in output.iter().enumerate() {
            let known = inputs.iter().any(|labels| labels.contains(label));
            if !known || output[..position].contains(label) {
                return Err(OperatorError::new(format!(
                    "a label of the result in `{text}` is given twice or belongs to no operand"
                )));
            }
        }
        Ok(Self { inputs, output })
    }
}

fn operand(term: &str, rank: usize) -> Result<Vec<Label>> {
    let letters = term.bytes().filter(|byte| *byte != b'.').count();
    let spare = rank.checked_sub(letters).filter(|&spare| spare == 0 || term.contains("..."));
    let spare =
        spare.ok_or_else(|| OperatorError::new(format!("the term `{term}` does not fit an operand of rank {rank}")))?;
    labels(term, spare)
}

fn labels(term: &str, ellipsis: usize) -> Result<Vec<Label>> {
    let malformed = || OperatorError::new(format!("the term `{term}` is not made of letters and one ellipsis"));
    let letters = |part: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphabetic().then_some(Label::Letter(byte)).ok_or_else(malformed);
        part.bytes().map(is_letter).collect::<Result<Vec<_>>>()
    };
    match term.split_once("...") {
        None => letters(term),
        Some((before, after)) => {
            let dims = (0..ellipsis).rev().map(Label::Ellipsis);
            Ok(letters(before)?.into_iter().chain(dims).chain(letters(after)?).collect())
        }
    }
}

/// The result's labels where the equation has none: the ellipsis, then in order the letters that occur once.
fn implied(inputs: &[Vec<Label>], ellipsis: usize) -> Vec<Label> {
    let mut once: Vec<Label> = inputs.iter().flatten().copied().filter(|l| matches!(l, Label::Letter(_))).collect();
    let all = once.clone();
    once.sort_unstable();
    once.retain(|label| all.iter().filter(|other| *other == label).count() == 1);
    (0..ellipsis).rev().map(Label::Ellipsis).chain(once).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipses_count_from_the_end() {
        let equation = Equation::parse("...ij, ...jk", &[4, 3]).unwrap();
        let [i, j, k] = [b'i', b'j', b'k'].map(Label::Letter);
        assert_eq!(equation.inputs[0], [Label::Ellipsis(1), Label::Ellipsis(0), i, j]);
        assert_eq!(equation.inputs[1], [Label::Ellipsis(0), j, k]);
        assert_eq!(equation.output, [Label::Ellipsis(1), Label::Ellipsis(0), i, k]);
    }

    #[test]
    fn malformed_equations_are_refused() {
        for text in ["ij->k", "ij->ii", "i1->i", "i..j->ij", "ij,jk->ik", "ijk->i"] {
            assert!(Equation::parse(text, &[2]).is_err(), "{text}");
        }
    }
}
