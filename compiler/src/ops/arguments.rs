//! Integer arguments of operators: attributes in old operator sets, inputs in new ones.

use super::{Infer, Lower, OperatorError, Result, normalize_axis};
use crate::graph::{CompareOperator, Dim, Node};

/// What both a shape rule and a lowering can ask for.
pub trait Arguments {
    /// The node.
    fn argument_node(&self) -> &Node;

    /// The elements of the integer scalar or vector input `index`; symbols where only the run knows them.
    fn elements(&mut self, index: usize) -> Result<Vec<Dim>>;

    /// The integers that old forms of the operator take from an attribute and new ones from input `index`; `None` where
    /// the node has neither.
    fn integers(&mut self, attribute: &str, index: usize) -> Result<Option<Vec<Dim>>> {
        if self.argument_node().input(index).is_some() {
            return self.elements(index).map(Some);
        }
        let values = self.argument_node().ints(attribute)?;
        Ok(values.map(|values| values.iter().copied().map(Dim::constant).collect()))
    }

    /// As [`Arguments::integers`], for an argument that must be there.
    fn required_integers(&mut self, attribute: &str, index: usize) -> Result<Vec<Dim>> {
        self.integers(attribute, index)?.ok_or_else(|| OperatorError::new(format!("`{attribute}` is missing")))
    }

    /// As [`Arguments::integers`], for axes of a tensor of the given rank, made non-negative.
    fn axes(&mut self, attribute: &str, index: usize, rank: usize) -> Result<Option<Vec<Dim>>> {
        self.integers(attribute, index)?.map(|axes| normalize_axes(&axes, rank)).transpose()
    }
}

impl Arguments for Infer<'_> {
    fn argument_node(&self) -> &Node {
        self.node
    }

    fn elements(&mut self, index: usize) -> Result<Vec<Dim>> {
        self.values(index)
    }
}

impl Arguments for Lower<'_, '_> {
    fn argument_node(&self) -> &Node {
        self.node
    }

    fn elements(&mut self, index: usize) -> Result<Vec<Dim>> {
        self.known(index).ok_or_else(|| OperatorError::unknown(format!("the elements of input {index} are not known")))
    }
}

/// Axes made non-negative; constant ones are checked, for others see [`Lower::check_axes`].
pub fn normalize_axes(axes: &[Dim], rank: usize) -> Result<Vec<Dim>> {
    let axes = axes
        .iter()
        .map(|axis| match axis.as_const() {
            Some(axis) => normalize_axis(axis, rank).map(|axis| Dim::constant(axis as i64)),
            None => {
                let negative = axis.compare(CompareOperator::Less, &Dim::ZERO);
                Ok(Dim::select(&negative, &(axis + rank as i64), axis))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let twice = axes.iter().enumerate().find(|(i, axis)| axis.is_const() && axes[..*i].contains(axis));
    match twice {
        Some((_, axis)) => Err(OperatorError::new(format!("axis {} is given twice", axis.as_const().unwrap_or(0)))),
        None => Ok(axes),
    }
}

/// All axes of a rank: what leaving the axes out mostly means.
pub fn all_axes(rank: usize) -> Vec<Dim> {
    (0..rank as i64).map(Dim::constant).collect()
}

/// Axes known at compile time as positions; `None` where the run decides.
pub fn constant_axes(axes: &[Dim]) -> Option<Vec<usize>> {
    axes.iter().map(|axis| axis.as_const().map(|axis| axis as usize)).collect()
}

/// For each dimension, the value that belongs to its axis, or its default where no axis names it.
pub fn spread(axes: &[Dim], values: &[Dim], defaults: &[Dim]) -> Vec<Dim> {
    defaults
        .iter()
        .enumerate()
        .map(|(position, default)| {
            axes.iter().zip(values).fold(default.clone(), |otherwise, (axis, value)| {
                let here = axis.compare(CompareOperator::Equal, &Dim::constant(position as i64));
                match here.as_const() {
                    Some(0) => otherwise,
                    Some(_) => value.clone(),
                    None => Dim::select(&here, value, &otherwise),
                }
            })
        })
        .collect()
}

impl Lower<'_, '_> {
    /// Checks at run time axes that are not constants.
    pub fn check_axes(&mut self, axes: &[Dim], rank: usize) -> Result<()> {
        for axis in axes {
            self.check(axis.compare(CompareOperator::GreaterEqual, &Dim::ZERO), "an axis is out of range")?;
            let rank = Dim::constant(rank as i64);
            self.check(axis.compare(CompareOperator::Less, &rank), "an axis is out of range")?;
        }
        Ok(())
    }

    /// For each dimension whether run-time `axes` name it, as 0 or 1. The axes are checked.
    pub fn axis_flags(&mut self, axes: &[Dim], rank: usize) -> Result<Vec<Dim>> {
        self.check_axes(axes, rank)?;
        let ones = vec![Dim::ONE; axes.len()];
        let flags = spread(axes, &ones, &vec![Dim::ZERO; rank]);
        let flags: Vec<Dim> = flags.into_iter().map(|flag| self.named(flag)).collect();
        let count = Dim::constant(axes.len() as i64);
        self.check(Dim::sum(&flags).compare(CompareOperator::Equal, &count), "an axis is given twice")?;
        Ok(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_the_end_and_name_a_dimension_once() {
        let dims = |values: &[i64]| values.iter().copied().map(Dim::constant).collect::<Vec<_>>();
        assert_eq!(normalize_axes(&dims(&[-1, 0]), 3), Ok(dims(&[2, 0])));
        assert!(normalize_axes(&dims(&[-1, 2]), 3).is_err());
        assert!(normalize_axes(&dims(&[3]), 3).is_err());
        assert_eq!(spread(&dims(&[2, 0]), &dims(&[7, 8]), &dims(&[1, 1, 1])), dims(&[8, 1, 7]));
    }
}
