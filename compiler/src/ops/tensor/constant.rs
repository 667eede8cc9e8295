//! Constant: a tensor given by an attribute.

use std::sync::Arc;

use crate::graph::{ElementType, Node, Tensor, TensorData};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The output is a constant of the model.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let tensor = value(ctx.node)?;
    ctx.set_constant(0, tensor);
    Ok(())
}

/// Nothing is left to do: uses find the constant.
pub fn lower(_: &mut Lower<'_, '_>) -> Result<()> {
    Ok(())
}

fn value(node: &Node) -> Result<Tensor> {
    for name in ["value", "sparse_value"] {
        if let Some(tensor) = node.tensor(name)? {
            return Ok(tensor.clone());
        }
    }
    if let Some(value) = node.float("value_float")? {
        return Ok(Tensor::scalar(value));
    }
    if let Some(values) = node.floats("value_floats")? {
        return Ok(Tensor::from_values(&[values.len() as i64], values));
    }
    if let Some(value) = node.int("value_int")? {
        return Ok(Tensor::scalar(value));
    }
    if let Some(values) = node.ints("value_ints")? {
        return Ok(Tensor::from_i64s(values));
    }
    if let Some(value) = node.bytes("value_string")? {
        return Ok(strings(&[], &[value.to_vec()]));
    }
    if let Some(values) = node.byte_strings("value_strings")? {
        return Ok(strings(&[values.len() as i64], values));
    }
    Err(OperatorError::new("none of the attributes that give the value is there"))
}

fn strings(dims: &[i64], values: &[Vec<u8>]) -> Tensor {
    Tensor { element: ElementType::String, dims: dims.to_vec(), data: TensorData::Strings(Arc::from(values)) }
}
