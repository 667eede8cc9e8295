//! What an operator's shape rule sees.

use super::{OperatorError, Result};
use crate::graph::{Dim, ElementType, Model, Node, Region, Tensor, TensorType, Type, ValueId};

/// The inference of one node: access to what is known of its inputs, and a place for the types of its outputs.
#[derive(Debug)]
pub struct Infer<'a> {
    /// The model; nested regions of the node are in [`Infer::node`].
    pub model: &'a mut Model,
    /// The node, taken out of its region.
    pub node: &'a mut Node,
}

impl Infer<'_> {
    /// The value of input `index`, if the node has it.
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.node.input(index)
    }

    /// Whether the node has input `index`.
    pub fn has_input(&self, index: usize) -> bool {
        self.input(index).is_some()
    }

    fn required(&self, index: usize) -> Result<ValueId> {
        self.input(index).ok_or_else(|| OperatorError::new(format!("input {index} is missing")))
    }

    /// The type of input `index`.
    pub fn ty(&self, index: usize) -> Result<&Type> {
        Ok(&self.model.value(self.required(index)?).ty)
    }

    /// The tensor type of input `index`.
    pub fn tensor(&self, index: usize) -> Result<&TensorType> {
        let value = self.model.value(self.required(index)?);
        match &value.ty {
            Type::Tensor(tensor) => Ok(tensor),
            Type::Unknown => {
                Err(OperatorError::unknown(format!("the type of input {index} (`{}`) is not known", value.name)))
            }
            _ => Err(OperatorError::new(format!("input {index} (`{}`) must be a tensor", value.name))),
        }
    }

    /// The element type of input `index`.
    pub fn element(&self, index: usize) -> Result<ElementType> {
        Ok(self.tensor(index)?.element)
    }

    /// The shape of input `index`.
    pub fn shape(&self, index: usize) -> Result<Vec<Dim>> {
        self.tensor(index)?.shape.clone().ok_or_else(|| {
            OperatorError::unknown(format!(
                "the rank of input {index} is not known; give the shape of the model's inputs with --input-shape"
            ))
        })
    }

    /// The elements of input `index` where they are known: constants, and expressions over symbolic dimensions.
    pub fn known(&self, index: usize) -> Option<Vec<Dim>> {
        let value = self.model.value(self.input(index)?);
        if let Some(known) = &value.known {
            return Some(known.clone());
        }
        let integers = value.constant.as_ref().filter(|tensor| tensor.dims.len() <= 1)?.integers()?;
        Some(integers.into_iter().map(Dim::constant).collect())
    }

    /// The elements of the integer vector input `index`, as constants.
    pub fn known_constants(&self, index: usize) -> Option<Vec<i64>> {
        self.known(index)?.iter().map(Dim::as_const).collect()
    }

    /// The elements of the integer vector (or scalar) input `index`. Where they are not known at compile time, each
    /// becomes a new symbol that the run binds when the value has been computed.
    pub fn values(&mut self, index: usize) -> Result<Vec<Dim>> {
        if let Some(known) = self.known(index) {
            return Ok(known);
        }
        let shape = self.shape(index)?;
        let count = match shape.as_slice() {
            [dim] => dim.as_const(),
            dims if dims.iter().all(|dim| dim.as_const() == Some(1)) => Some(1),
            _ => return Err(OperatorError::new(format!("input {index} must be a scalar or a vector"))),
        };
        let count = count.filter(|&count| count <= Model::MAX_KNOWN as i64).ok_or_else(|| {
            OperatorError::unsupported(format!(
                "the length of input {index} decides a rank and must be known at compile time"
            ))
        })?;
        let id = self.required(index)?;
        let name = self.model.value(id).name.clone();
        let symbols: Vec<_> =
            (0..count).map(|i| self.model.symbols.fresh_within(&format!("{name}[{i}]"), i64::MIN, None)).collect();
        let known: Vec<Dim> = symbols.iter().map(|&symbol| Dim::symbol(symbol)).collect();
        let value = self.model.value_mut(id);
        value.bound = symbols;
        value.known = Some(known.clone());
        Ok(known)
    }

    /// The constant contents of input `index`.
    pub fn constant(&self, index: usize) -> Option<&Tensor> {
        self.model.value(self.input(index)?).constant.as_ref()
    }

    /// Sets the tensor type of output `index`; nothing happens where nobody wants that output.
    pub fn set(&mut self, index: usize, element: ElementType, shape: Vec<Dim>) {
        self.set_type(index, Type::tensor(element, shape));
    }

    /// Sets the type of output `index`; nothing happens where nobody wants that output.
    pub fn set_type(&mut self, index: usize, ty: Type) {
        if let Some(id) = self.node.output(index) {
            self.model.value_mut(id).ty = ty;
        }
    }

    /// States the elements of output `index`.
    pub fn set_known(&mut self, index: usize, known: Vec<Dim>) {
        if let Some(id) = self.node.output(index)
            && known.len() <= Model::MAX_KNOWN
        {
            self.model.value_mut(id).known = Some(known);
        }
    }

    /// Makes output `index` a constant: type, contents and known elements.
    pub fn set_constant(&mut self, index: usize, tensor: Tensor) {
        if let Some(id) = self.node.output(index) {
            self.model.set_constant(id, tensor);
        }
    }

    /// A dimension that only the run knows.
    pub fn fresh(&mut self, prefix: &str) -> Dim {
        Dim::symbol(self.model.symbols.fresh(prefix))
    }

    /// `dim`, or where its expression is long a new symbol, which the lowering then sets with
    /// [`Lower::decide`](super::Lower::decide). Products of long expressions are beyond the algebra.
    pub fn short(&mut self, dim: Dim, prefix: &str) -> Dim {
        const MAX_TERMS: usize = 4;
        const MAX_SIZE: usize = 64;
        match &dim {
            Dim::Unknown => self.fresh(prefix),
            Dim::Expression(sum) if sum.terms().len() > MAX_TERMS || sum.size() > MAX_SIZE => self.fresh(prefix),
            _ => dim,
        }
    }

    /// An axis attribute or value made non-negative: `-rank <= axis < rank`.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        normalize_axis(axis, rank)
    }

    /// Infers the types of a nested region; the caller has set the types of its inputs.
    pub fn infer_region(&mut self, region: &mut Region) -> Result<()> {
        crate::shape::infer_nested(self.model, region)
    }
}

/// An axis counted from the end where negative, made non-negative.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize> {
    let position = if axis < 0 { axis + rank as i64 } else { axis };
    if (0..rank as i64).contains(&position) {
        Ok(position as usize)
    } else {
        Err(OperatorError::new(format!("axis {axis} is out of range for rank {rank}")))
    }
}

/// The shape that `shapes` broadcast to by numpy's rules. Two different dimensions of which neither is known to be 1 are
/// taken to be equal or 1 at run time.
pub fn broadcast_shapes(shapes: &[&[Dim]]) -> Result<Vec<Dim>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![Dim::constant(1); rank];
    for shape in shapes {
        for (dim, target) in shape.iter().rev().zip(result.iter_mut().rev()) {
            *target = broadcast_dims(target, dim)?;
        }
    }
    Ok(result)
}

fn broadcast_dims(a: &Dim, b: &Dim) -> Result<Dim> {
    match (a.as_const(), b.as_const()) {
        _ if a == b => Ok(a.clone()),
        (Some(1), _) => Ok(b.clone()),
        (_, Some(1)) => Ok(a.clone()),
        (Some(a), Some(b)) => Err(OperatorError::new(format!("dimensions {a} and {b} do not broadcast"))),
        (Some(_), None) => Ok(a.clone()),
        (None, Some(_)) => Ok(b.clone()),
        // Equal, or one of them 1: the greater. That 1 meets 0 at run time is refused there.
        (None, None) => Ok(a.max(b)),
    }
}
