//! Which scale and zero point belong to an element.

use crate::graph::{CompareOperator, Dim};
use crate::loops::{BinaryOp, ExprId, View};
use crate::ops::{Lower, Nest, OperatorError, Result, normalize_axis};

/// What shares one scale and zero point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Granularity {
    /// All elements.
    Tensor,
    /// Those at one position of an axis.
    Axis(usize),
    /// Those at `size` consecutive positions of an axis.
    Blocks {
        /// The axis.
        axis: usize,
        /// How many positions.
        size: i64,
    },
}

impl Granularity {
    /// The granularity that the scale's shape and the attributes state; checks that the shapes fit.
    pub fn of(ctx: &mut Lower<'_, '_>, input: &[Dim], scale: &[Dim], zero_point: Option<&[Dim]>) -> Result<Self> {
        let size = ctx.node.int_or("block_size", 0)?;
        let axis = ctx.node.int_or("axis", 1)?;
        let granularity = match scale {
            _ if size < 0 => return Err(OperatorError::new(format!("`block_size` is {size}, expected at least 0"))),
            _ if size > 0 && scale.len() == input.len() => {
                Self::Blocks { axis: normalize_axis(axis, input.len())?, size }
            }
            [] => Self::Tensor,
            [dim] if dim.as_const() == Some(1) => Self::Tensor,
            [_] => Self::Axis(normalize_axis(axis, input.len())?),
            _ => return Err(OperatorError::new("the scale is neither a scalar nor a vector, nor of the input's rank")),
        };
        granularity.check(ctx, input, scale)?;
        if let Some(shape) = zero_point {
            if granularity != Self::Tensor && shape.len() != scale.len() {
                return Err(OperatorError::new("scale and zero point have different shapes"));
            }
            granularity.check(ctx, input, shape)?;
        }
        Ok(granularity)
    }

    fn check(self, ctx: &mut Lower<'_, '_>, input: &[Dim], shape: &[Dim]) -> Result<()> {
        let wanted = match self {
            Self::Tensor => vec![Dim::ONE; shape.len()],
            Self::Axis(axis) => vec![input[axis].clone()],
            Self::Blocks { axis, size } => {
                let mut wanted = input.to_vec();
                wanted[axis] = wanted[axis].ceil_div(&Dim::constant(size));
                wanted
            }
        };
        for (dim, wanted) in shape.iter().zip(&wanted) {
            let fits = dim.compare(CompareOperator::Equal, wanted);
            ctx.check(fits, "the shape of the scale or the zero point does not fit the input")?;
        }
        Ok(())
    }

    /// The scale or zero point for the element at a position.
    pub fn load(self, nest: &mut Nest, view: &View, position: &[ExprId]) -> ExprId {
        let parameter = nest.read(view);
        let index = match self {
            Self::Tensor => {
                let zero = nest.index(0);
                vec![zero; view.shape.len()]
            }
            Self::Axis(axis) => vec![position[axis]],
            Self::Blocks { axis, size } => {
                let mut index = position.to_vec();
                let size = nest.index(size);
                index[axis] = nest.binary(BinaryOp::FloorDiv, position[axis], size);
                index
            }
        };
        nest.load(parameter, &index)
    }
}
