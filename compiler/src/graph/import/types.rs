//! Types and tensors.

use super::Importer;
use crate::graph::{Dim, ElementType, Tensor, TensorData, TensorType, Type};
use crate::proto::onnx::{DimensionValue, TypeProto, TypeValue};
use crate::proto::{HostData, HostTensor};

/// A loaded tensor as a constant.
pub(super) fn tensor(host: HostTensor) -> Result<Tensor, String> {
    let element = element(host.element_type)?;
    let data = match host.data {
        HostData::Bytes(bytes) => TensorData::Bytes(bytes),
        HostData::Strings(strings) => TensorData::Strings(strings.into()),
    };
    Ok(Tensor { element, dims: host.dims, data })
}

fn element(number: i32) -> Result<ElementType, String> {
    ElementType::from_onnx(number).ok_or_else(|| format!("{number} is not an element type of ONNX"))
}

impl Importer<'_> {
    /// A declared type. Named dimensions become symbols, or the sizes that the user gave; others get symbols of their own.
    pub(super) fn declared_type(&mut self, proto: &TypeProto) -> Result<Type, String> {
        Ok(match &proto.value {
            None => Type::Unknown,
            Some(TypeValue::Tensor(tensor)) => {
                let Some(shape) = &tensor.shape else {
                    return Ok(Type::Tensor(TensorType { element: element(tensor.elem_type())?, shape: None }));
                };
                let mut dims = Vec::with_capacity(shape.dim.len());
                for dimension in &shape.dim {
                    dims.push(self.dimension(dimension.value.as_ref())?);
                }
                Type::tensor(element(tensor.elem_type())?, dims)
            }
            Some(TypeValue::Sequence(sequence)) => Type::Sequence(Box::new(self.inner(sequence.elem_type.as_deref())?)),
            Some(TypeValue::Optional(optional)) => Type::Optional(Box::new(self.inner(optional.elem_type.as_deref())?)),
            Some(TypeValue::Map(map)) => {
                Type::Map(element(map.key_type())?, Box::new(self.inner(map.value_type.as_deref())?))
            }
            Some(TypeValue::SparseTensor(_)) => return Err("sparse tensors are supported as constants only".into()),
            Some(TypeValue::Opaque(_)) => return Err("opaque types are not supported".into()),
        })
    }

    fn inner(&mut self, proto: Option<&TypeProto>) -> Result<Type, String> {
        proto.map_or(Ok(Type::Unknown), |proto| self.declared_type(proto))
    }

    fn dimension(&mut self, value: Option<&DimensionValue>) -> Result<Dim, String> {
        match value {
            Some(DimensionValue::Value(size)) if *size >= 0 => Ok(Dim::constant(*size)),
            Some(DimensionValue::Value(-1)) | None => Ok(Dim::symbol(self.model.symbols.fresh("dim"))),
            Some(DimensionValue::Value(size)) => Err(format!("a dimension is {size}")),
            // Some exporters write `?` where they know no name.
            Some(DimensionValue::Parameter(name)) if name.is_empty() || name == "?" => {
                Ok(Dim::symbol(self.model.symbols.fresh("dim")))
            }
            Some(DimensionValue::Parameter(name)) => {
                self.named_dims.insert(name.clone());
                Ok(match self.options.dims.get(name) {
                    Some(&size) => Dim::constant(size),
                    None => Dim::symbol(self.model.symbols.named(name)),
                })
            }
        }
    }
}
