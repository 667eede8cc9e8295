//! Sliding windows: strides, dilations and padding of convolutions and pools over symbolic dimensions.

use crate::graph::{CompareOperator, Dim, Node};
use crate::loops::{ExprId, KernelBuilder, ParameterId, Scalar};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// How windows lie over the spatial dimensions of an input. All vectors have one element a spatial dimension.
#[derive(Clone, Debug)]
pub struct Window {
    /// Taps of a window.
    pub kernel: Vec<Dim>,
    /// From one window to the next.
    pub strides: Vec<i64>,
    /// From one tap to the next.
    pub dilations: Vec<i64>,
    /// Padding before the input.
    pub before: Vec<Dim>,
    /// Padding after the input.
    pub after: Vec<Dim>,
    /// How many windows there are.
    pub output: Vec<Dim>,
    /// Whether the last window may reach beyond the padding.
    overhangs: bool,
}

/// What an input gives that is shorter than one window, by less than a stride.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Short {
    /// Nothing.
    Empty,
    /// One window that reaches beyond the input: shape inference of ONNX divides with truncation, and so does
    /// onnxruntime, where exporters rely on it in pools.
    OneWindow,
}

/// Where padding comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoPad {
    /// The attribute `pads`.
    NotSet,
    /// None.
    Valid,
    /// What an output of input / stride needs, the odd one at the end.
    SameUpper,
    /// What an output of input / stride needs, the odd one at the start.
    SameLower,
}

impl AutoPad {
    /// The attribute `auto_pad`.
    pub fn of(node: &Node) -> Result<Self> {
        Ok(match node.text_or("auto_pad", "NOTSET")? {
            "NOTSET" | "" => Self::NotSet,
            "VALID" => Self::Valid,
            "SAME_UPPER" => Self::SameUpper,
            "SAME_LOWER" => Self::SameLower,
            other => {
                return Err(OperatorError::new(format!(
                    "`auto_pad` is `{other}`, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER"
                )));
            }
        })
    }
}

/// An attribute with a positive number for each spatial dimension, 1 where it is missing.
pub fn steps(node: &Node, attribute: &str, rank: usize) -> Result<Vec<i64>> {
    let values = node.ints(attribute)?.map_or_else(|| vec![1; rank], <[i64]>::to_vec);
    if values.len() != rank || values.iter().any(|&value| value < 1) {
        return Err(OperatorError::new(format!("`{attribute}` is {values:?}, expected {rank} positive numbers")));
    }
    Ok(values)
}

/// The attribute `pads`: before and after each of `rank` dimensions, 0 where it is missing.
pub fn explicit_pads(node: &Node, rank: usize) -> Result<(Vec<Dim>, Vec<Dim>)> {
    let pads = node.ints("pads")?.map_or_else(|| vec![0; 2 * rank], <[i64]>::to_vec);
    if pads.len() != 2 * rank {
        return Err(OperatorError::new(format!("`pads` has {} numbers for {rank} spatial dimensions", pads.len())));
    }
    let (before, after) = pads.split_at(rank);
    let dims = |values: &[i64]| values.iter().copied().map(Dim::constant).collect();
    Ok((dims(before), dims(after)))
}

/// The attribute `kernel_shape`, which must be there.
pub fn kernel_shape(node: &Node, rank: usize) -> Result<Vec<Dim>> {
    let kernel = node.ints("kernel_shape")?.ok_or_else(|| OperatorError::new("`kernel_shape` is missing"))?;
    if kernel.len() != rank || kernel.iter().any(|&taps| taps < 1) {
        return Err(OperatorError::new(format!("`kernel_shape` is {kernel:?}, expected {rank} positive numbers")));
    }
    Ok(kernel.iter().copied().map(Dim::constant).collect())
}

/// The spatial dimensions of an input: all but batch and channels.
pub fn spatial(shape: &[Dim]) -> Result<&[Dim]> {
    shape.get(2..).ok_or_else(|| {
        OperatorError::new(format!("the input has rank {}, expected batch, channels and spatial ones", shape.len()))
    })
}

/// From the first tap to one after the last.
pub fn reach(kernel: &Dim, dilation: i64) -> Dim {
    (kernel - 1) * dilation + 1
}

impl Window {
    /// The windows of `kernel` over the spatial dimensions `input`, as the node's attributes put them.
    pub fn over(node: &Node, input: &[Dim], kernel: Vec<Dim>, short: Short) -> Result<Self> {
        let rank = input.len();
        let (strides, dilations) = (steps(node, "strides", rank)?, steps(node, "dilations", rank)?);
        let ceil = node.flag_or("ceil_mode", false)?;
        let auto_pad = AutoPad::of(node)?;
        let (mut before, mut after) = match auto_pad {
            AutoPad::NotSet => explicit_pads(node, rank)?,
            _ => (vec![Dim::ZERO; rank], vec![Dim::ZERO; rank]),
        };
        let (mut output, mut overhangs) = (Vec::new(), ceil);
        for axis in 0..rank {
            let (reach, stride) = (reach(&kernel[axis], dilations[axis]), Dim::constant(strides[axis]));
            if matches!(auto_pad, AutoPad::SameUpper | AutoPad::SameLower) {
                let count = input[axis].ceil_div(&stride);
                let total = ((&count - 1) * &stride + reach - &input[axis]).max(&Dim::ZERO);
                let less = total.floor_div(&Dim::constant(2));
                let more = total - &less;
                (before[axis], after[axis]) = if auto_pad == AutoPad::SameUpper { (less, more) } else { (more, less) };
                output.push(count);
                continue;
            }
            let room = &input[axis] + &before[axis] + &after[axis] - reach;
            output.push(if ceil {
                // A window must not start in the padding after the input.
                let starts = (&input[axis] + &before[axis]).ceil_div(&stride);
                (room.ceil_div(&stride) + 1).min(&starts)
            } else if short == Short::OneWindow {
                overhangs |= !room.is_nonnegative() && strides[axis] > 1;
                room.trunc_div(&stride) + 1
            } else {
                room.floor_div(&stride) + 1
            });
        }
        Ok(Self { kernel, strides, dilations, before, after, output, overhangs })
    }

    /// As [`Window::over`] in a lowering: run-time pads get short names, and dimensions of the output that inference
    /// left open, given as `targets`, are decided.
    pub fn lowered(
        ctx: &mut Lower<'_, '_>,
        input: &[Dim],
        kernel: Vec<Dim>,
        short: Short,
        targets: &[Dim],
    ) -> Result<Self> {
        let mut window = Self::over(ctx.node, input, kernel, short)?;
        decide(ctx, targets, &window.output)?;
        for pad in window.before.iter_mut().chain(&mut window.after) {
            *pad = ctx.named(pad.clone());
        }
        Ok(window)
    }

    /// Where in the input the given tap of the window at `output` reads along `axis`.
    pub fn position(&self, nest: &mut KernelBuilder, axis: usize, output: ExprId, tap: ExprId) -> ExprId {
        let (stride, dilation) = (nest.index(self.strides[axis]), nest.index(self.dilations[axis]));
        let (start, offset) = (nest.mul(output, stride), nest.mul(tap, dilation));
        let (position, before) = (nest.add(start, offset), nest.dim(&self.before[axis]));
        nest.sub(position, before)
    }

    /// Whether windows may reach beyond the input along `axis`.
    pub fn is_padded(&self, axis: usize) -> bool {
        self.overhangs || self.before[axis] != Dim::ZERO || self.after[axis] != Dim::ZERO
    }

    /// Where a tap reads along all axes, and the condition that this is inside of the input where it may not be.
    pub fn positions(
        &self,
        nest: &mut KernelBuilder,
        outputs: &[ExprId],
        taps: &[ExprId],
        input: &[Dim],
    ) -> (Vec<ExprId>, Option<ExprId>) {
        let mut guard = None;
        let mut positions = Vec::new();
        for axis in 0..input.len() {
            let position = self.position(nest, axis, outputs[axis], taps[axis]);
            if self.is_padded(axis) {
                let inside = nest.in_range(position, &input[axis]);
                guard = both(nest, guard, inside);
            }
            positions.push(position);
        }
        (positions, guard)
    }
}

/// The conjunction of conditions of which the first may not be there.
pub fn both(nest: &mut KernelBuilder, first: Option<ExprId>, second: ExprId) -> Option<ExprId> {
    Some(match first {
        Some(first) => nest.and(first, second),
        None => second,
    })
}

/// The element at an index, or `otherwise` where the guard, if there is one, does not hold.
pub fn load_guarded(
    nest: &mut KernelBuilder,
    parameter: ParameterId,
    index: &[ExprId],
    guard: Option<ExprId>,
    otherwise: Scalar,
) -> ExprId {
    match guard {
        Some(guard) => nest.load_where(parameter, index, guard, otherwise),
        None => nest.load(parameter, index),
    }
}

/// Computed dimensions of an output: refused where negative, and symbols of their own where long.
pub fn outputs(ctx: &mut Infer<'_>, dims: Vec<Dim>) -> Result<Vec<Dim>> {
    if let Some(dim) = dims.iter().filter_map(Dim::as_const).find(|&dim| dim < 0) {
        return Err(OperatorError::new(format!("the window does not fit into the padded input: {dim} outputs")));
    }
    Ok(dims.into_iter().map(|dim| ctx.short(dim, "windows")).collect())
}

/// Sets and checks what [`outputs`] left to the run.
pub fn decide(ctx: &mut Lower<'_, '_>, targets: &[Dim], dims: &[Dim]) -> Result<()> {
    for (target, dim) in targets.iter().zip(dims) {
        let fits = dim.compare(CompareOperator::GreaterEqual, &Dim::ZERO);
        ctx.check(fits, "the window does not fit into the padded input")?;
        ctx.decide(target, dim.clone())?;
    }
    Ok(())
}
