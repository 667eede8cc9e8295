//! The axes of a reduction, known at compile time or only to the run.

use crate::graph::{CompareOperator, Dim};
use crate::loops::{ExprId, KernelBuilder, ParameterId, View};
use crate::ops::arguments::{Arguments, all_axes, constant_axes};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The axes that the node reduces over.
fn reduced(ctx: &mut impl Arguments, rank: usize) -> Result<Vec<Dim>> {
    let axes = ctx.axes("axes", 1, rank)?.unwrap_or_default();
    let keeps_all = ctx.argument_node().flag_or("noop_with_empty_axes", false)?;
    Ok(if axes.is_empty() && !keeps_all { all_axes(rank) } else { axes })
}

/// The shape left after reducing `shape`.
pub fn infer(ctx: &mut Infer<'_>, shape: &[Dim]) -> Result<Vec<Dim>> {
    let axes = reduced(ctx, shape.len())?;
    let keeps = ctx.node.flag_or("keepdims", true)?;
    if axes.len() > shape.len() {
        return Err(OperatorError::new("there are more axes than dimensions"));
    }
    let dims = match constant_axes(&axes) {
        Some(axes) => shape
            .iter()
            .enumerate()
            .filter(|(axis, _)| keeps || !axes.contains(axis))
            .map(|(axis, dim)| if axes.contains(&axis) { Dim::ONE } else { dim.clone() })
            .collect(),
        None => (0..if keeps { shape.len() } else { shape.len() - axes.len() }).map(|_| ctx.fresh("reduced")).collect(),
    };
    Ok(dims)
}

/// A reduction's iteration space: for each dimension of the input, how much of it is kept and how much reduced. Of the two
/// one is 1.
pub struct Split {
    /// Extents of the outer axes; the output's shape, with reduced dimensions kept as 1.
    pub kept: Vec<Dim>,
    /// Dimensions that are or may be reduced, and their extents.
    pub reduced: Vec<(usize, Dim)>,
    /// Whether each dimension is on an outer axis for certain, or on a reduced one.
    certain: Vec<bool>,
}

impl Split {
    /// Splits the input's shape, and sets the output's dimensions where only the run knows the axes.
    pub fn new(ctx: &mut Lower<'_, '_>, shape: &[Dim]) -> Result<Self> {
        let axes = reduced(ctx, shape.len())?;
        if let Some(axes) = constant_axes(&axes) {
            let kept = |axis: usize| if axes.contains(&axis) { Dim::ONE } else { shape[axis].clone() };
            let all = 0..shape.len();
            let reduced = all.clone().filter(|axis| axes.contains(axis)).map(|axis| (axis, shape[axis].clone()));
            return Ok(Self {
                kept: all.map(kept).collect(),
                reduced: reduced.collect(),
                certain: vec![true; shape.len()],
            });
        }
        let flags = ctx.axis_flags(&axes, shape.len())?;
        let mut split = Self { kept: Vec::new(), reduced: Vec::new(), certain: vec![false; shape.len()] };
        for (axis, (dim, flag)) in shape.iter().zip(&flags).enumerate() {
            let (kept, reduced) = (Dim::select(flag, &Dim::ONE, dim), Dim::select(flag, dim, &Dim::ONE));
            split.kept.push(ctx.named(kept));
            let reduced = ctx.named(reduced);
            split.reduced.push((axis, reduced));
        }
        let (_, output) = ctx.output_type(0)?;
        let keeps = ctx.node.flag_or("keepdims", true)?;
        for (position, target) in output.iter().enumerate() {
            let value = if keeps { split.kept[position].clone() } else { nth_kept(&split.kept, &flags, position) };
            ctx.decide(target, value)?;
        }
        Ok(split)
    }

    /// The output's memory with reduced dimensions kept.
    pub fn output(&self, output: View) -> View {
        View { shape: self.kept.clone(), ..output }
    }

    /// Extents of the reduced axes.
    pub fn extents(&self) -> Vec<Dim> {
        self.reduced.iter().map(|(_, extent)| extent.clone()).collect()
    }

    /// How many elements make one of the output.
    pub fn count(&self) -> Dim {
        Dim::product(self.extents())
    }

    /// The input's element for positions on the outer and the reduced axes.
    pub fn load(&self, nest: &mut KernelBuilder, input: ParameterId, outer: &[ExprId], inner: &[ExprId]) -> ExprId {
        let mut index = outer.to_vec();
        for ((axis, _), &position) in self.reduced.iter().zip(inner) {
            index[*axis] = if self.certain[*axis] { position } else { nest.add(outer[*axis], position) };
        }
        nest.load(input, &index)
    }
}

/// The `position`-th dimension that is not reduced.
fn nth_kept(kept: &[Dim], flags: &[Dim], position: usize) -> Dim {
    Dim::sum(kept.iter().enumerate().map(|(i, dim)| {
        let before = Dim::constant(i as i64) - Dim::sum(&flags[..i]);
        let here = before.compare(CompareOperator::Equal, &Dim::constant(position as i64));
        here * (1 - &flags[i]) * dim
    }))
}
