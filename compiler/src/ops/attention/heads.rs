//! Tensors of heads, packed into the last dimension or in a dimension of their own.

use crate::graph::{CompareOperator, Dim, Node};
use crate::loops::{ExprId, KernelBuilder, ParameterId, Scalar, View};
use crate::ops::{Lower, OperatorError, Result};

/// The dimensions of a tensor of heads.
#[derive(Clone, PartialEq, Debug)]
pub struct HeadShape {
    /// Size of the batch.
    pub batch: Dim,
    /// Number of heads.
    pub heads: Dim,
    /// Number of positions.
    pub length: Dim,
    /// Size of a head.
    pub size: Dim,
    /// Whether heads are packed: `[batch, length, heads * size]` instead of `[batch, heads, length, size]`.
    pub is_packed: bool,
}

impl HeadShape {
    /// Reads a shape of rank 3 or 4; `attribute` has the number of heads for rank 3.
    pub fn new(node: &Node, shape: &[Dim], attribute: &str) -> Result<Self> {
        match shape {
            [batch, heads, length, size] => Ok(Self {
                batch: batch.clone(),
                heads: heads.clone(),
                length: length.clone(),
                size: size.clone(),
                is_packed: false,
            }),
            [batch, length, packed] => {
                let heads = node.int_or(attribute, 0)?;
                if heads <= 0 {
                    return Err(OperatorError::new(format!("`{attribute}` must be positive for inputs of rank 3")));
                }
                let heads = Dim::constant(heads);
                let size = packed.floor_div(&heads);
                Ok(Self { batch: batch.clone(), heads, length: length.clone(), size, is_packed: true })
            }
            _ => Err(OperatorError::new(format!("an input is of rank {}, expected 3 or 4", shape.len()))),
        }
    }

    /// The dimensions of the tensor.
    pub fn dims(&self) -> Vec<Dim> {
        match self.is_packed {
            true => vec![self.batch.clone(), self.length.clone(), &self.heads * &self.size],
            false => self.apart(),
        }
    }

    /// Batch, heads, positions, elements.
    pub fn apart(&self) -> Vec<Dim> {
        vec![self.batch.clone(), self.heads.clone(), self.length.clone(), self.size.clone()]
    }
}

/// A tensor of heads in memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Heads {
    /// Its dimensions.
    pub shape: HeadShape,
    /// Its memory, with a dimension for heads and one for their elements.
    pub view: View,
}

impl Heads {
    /// Sees memory as heads.
    pub fn new(ctx: &mut Lower<'_, '_>, view: View, attribute: &str) -> Result<Self> {
        let shape = HeadShape::new(ctx.node, &view.shape, attribute)?;
        if shape.is_packed {
            let fits = view.shape[2].compare(CompareOperator::Equal, &(&shape.heads * &shape.size));
            ctx.check(fits, "the last dimension is not a multiple of the number of heads")?;
        }
        Ok(Self::within(view, shape))
    }

    /// Memory of that shape.
    pub fn within(view: View, shape: HeadShape) -> Self {
        let mut dims = shape.apart();
        if shape.is_packed {
            dims.swap(1, 2);
        }
        Self { view: View { shape: dims, ..view }, shape }
    }

    /// The index of an element.
    pub fn index(&self, [batch, head, position, element]: [ExprId; 4]) -> [ExprId; 4] {
        if self.shape.is_packed { [batch, position, head, element] } else { [batch, head, position, element] }
    }

    /// An element.
    pub fn load(&self, nest: &mut KernelBuilder, parameter: ParameterId, at: [ExprId; 4]) -> ExprId {
        nest.load(parameter, &self.index(at))
    }

    /// An element where `guard` holds, 0 elsewhere.
    pub fn load_where(
        &self,
        nest: &mut KernelBuilder,
        parameter: ParameterId,
        at: [ExprId; 4],
        guard: ExprId,
    ) -> ExprId {
        nest.load_where(parameter, &self.index(at), guard, Scalar::from_i64(self.view.element, 0))
    }
}
