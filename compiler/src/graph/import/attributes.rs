//! Attributes.

use super::scope::Scope;
use super::{Importer, Place, fail, types};
use crate::error::{Error, Stage};
use crate::graph::{Attribute, Tensor};
use crate::proto::onnx::{AttributeProto, AttributeType, SparseTensorProto, TensorProto};

impl Importer<'_> {
    pub(super) fn attribute(
        &mut self,
        proto: &AttributeProto,
        scope: &mut Scope,
        place: &Place<'_>,
    ) -> Result<Attribute, Error> {
        let name = proto.name();
        let missing = || fail(format!("attribute `{name}` has no value"));
        if !proto.ref_attr_name().is_empty() {
            return Err(fail(format!("attribute `{name}` refers to a function's attribute outside of a function")));
        }
        Ok(match kind(proto) {
            AttributeType::Undefined => return Err(missing()),
            AttributeType::Float => Attribute::Float(proto.f.unwrap_or_default()),
            AttributeType::Int => Attribute::Int(proto.i.unwrap_or_default()),
            AttributeType::String => {
                Attribute::String(proto.s.as_ref().map(|bytes| bytes.to_vec()).unwrap_or_default())
            }
            AttributeType::Floats => Attribute::Floats(proto.floats.clone()),
            AttributeType::Ints => Attribute::Ints(proto.ints.clone()),
            AttributeType::Strings => Attribute::Strings(proto.strings.iter().map(|bytes| bytes.to_vec()).collect()),
            AttributeType::Tensor => Attribute::Tensor(self.tensor(name, proto.t.as_deref().ok_or_else(missing)?)?),
            AttributeType::Tensors => Attribute::Tensors(
                proto.tensors.iter().map(|tensor| self.tensor(name, tensor)).collect::<Result<_, _>>()?,
            ),
            AttributeType::SparseTensor => {
                Attribute::Tensor(self.sparse(name, proto.sparse_tensor.as_deref().ok_or_else(missing)?)?)
            }
            AttributeType::SparseTensors => Attribute::Tensors(
                proto.sparse_tensors.iter().map(|tensor| self.sparse(name, tensor)).collect::<Result<_, _>>()?,
            ),
            AttributeType::Graph => {
                let graph = proto.g.as_deref().ok_or_else(missing)?;
                Attribute::Region(self.graph(graph, scope, place, false)?)
            }
            AttributeType::Graphs => Attribute::Regions(
                proto.graphs.iter().map(|graph| self.graph(graph, scope, place, false)).collect::<Result<_, _>>()?,
            ),
            AttributeType::TypeProto => {
                let ty = proto.tp.as_deref().ok_or_else(missing)?;
                Attribute::Type(self.declared_type(ty).map_err(|error| fail(format!("attribute `{name}`: {error}")))?)
            }
            AttributeType::TypeProtos => Attribute::Types(
                proto
                    .type_protos
                    .iter()
                    .map(|ty| self.declared_type(ty).map_err(|error| fail(format!("attribute `{name}`: {error}"))))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    fn tensor(&self, name: &str, tensor: &TensorProto) -> Result<Tensor, Error> {
        let host = self.source.tensor(tensor);
        let host = host.map_err(|error| Error::new(Stage::Load, format!("attribute `{name}`: {error}")))?;
        types::tensor(host).map_err(|error| fail(format!("attribute `{name}`: {error}")))
    }

    fn sparse(&self, name: &str, tensor: &SparseTensorProto) -> Result<Tensor, Error> {
        let host = self.source.sparse_tensor(tensor);
        let host = host.map_err(|error| Error::new(Stage::Load, format!("attribute `{name}`: {error}")))?;
        types::tensor(host).map_err(|error| fail(format!("attribute `{name}`: {error}")))
    }
}

/// The stated kind, or for very old producers the field that is there.
fn kind(proto: &AttributeProto) -> AttributeType {
    let stated = AttributeType::try_from(proto.r#type.unwrap_or_default()).unwrap_or(AttributeType::Undefined);
    if stated != AttributeType::Undefined {
        return stated;
    }
    let present = [
        (proto.f.is_some(), AttributeType::Float),
        (proto.i.is_some(), AttributeType::Int),
        (proto.s.is_some(), AttributeType::String),
        (proto.t.is_some(), AttributeType::Tensor),
        (proto.g.is_some(), AttributeType::Graph),
        (!proto.floats.is_empty(), AttributeType::Floats),
        (!proto.ints.is_empty(), AttributeType::Ints),
        (!proto.strings.is_empty(), AttributeType::Strings),
        (!proto.tensors.is_empty(), AttributeType::Tensors),
        (!proto.graphs.is_empty(), AttributeType::Graphs),
    ];
    present.into_iter().find(|(there, _)| *there).map_or(AttributeType::Undefined, |(_, kind)| kind)
}
