//! Checks every stored tensor and stated shape of a decoded model against the limits.

use super::error::{LoadError, Quoted};
use super::limits::Limits;
use super::onnx::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, TypeProto,
    TypeValue, ValueInfoProto,
};
use super::sparse::check_dense_size;
use super::tensor::{check_header, declared_bytes, is_external};

/// Checks a model's tensors and shapes; `has_directory` tells whether external data can be read at all.
pub(super) fn check(model: &ModelProto, limits: &Limits, has_directory: bool) -> Result<(), LoadError> {
    let mut check = Check { limits, has_directory, bytes: 0 };
    check.graph(&model.graph)?;
    for function in &model.functions {
        check.function(function).map_err(|error| error.within(format!("function {}", Quoted(function.name()))))?;
    }
    Ok(())
}

struct Check<'a> {
    limits: &'a Limits,
    has_directory: bool,
    /// Bytes of all tensors so far.
    bytes: u64,
}

impl Check<'_> {
    fn graph(&mut self, graph: &GraphProto) -> Result<(), LoadError> {
        self.graph_parts(graph).map_err(|error| error.within(format!("graph {}", Quoted(graph.name()))))
    }

    fn graph_parts(&mut self, graph: &GraphProto) -> Result<(), LoadError> {
        graph.initializer.iter().try_for_each(|tensor| self.tensor(tensor))?;
        graph.sparse_initializer.iter().try_for_each(|sparse| self.sparse(sparse))?;
        [&graph.input, &graph.output, &graph.value_info].into_iter().try_for_each(|values| self.values(values))?;
        graph.node.iter().try_for_each(|node| self.node(node))
    }

    fn function(&mut self, function: &FunctionProto) -> Result<(), LoadError> {
        function.attribute_proto.iter().try_for_each(|attribute| self.attribute(attribute))?;
        function.node.iter().try_for_each(|node| self.node(node))?;
        self.values(&function.value_info)
    }

    fn node(&mut self, node: &NodeProto) -> Result<(), LoadError> {
        node.attribute.iter().try_for_each(|attribute| self.attribute(attribute)).map_err(|error| {
            let output = node.output.first().map_or("", String::as_str);
            let name = if node.name().is_empty() { output } else { node.name() };
            error.within(format!("node {} ({})", Quoted(name), Quoted(node.op_type())))
        })
    }

    fn attribute(&mut self, attribute: &AttributeProto) -> Result<(), LoadError> {
        self.attribute_parts(attribute).map_err(|error| error.within(format!("attribute {}", Quoted(attribute.name()))))
    }

    fn attribute_parts(&mut self, attribute: &AttributeProto) -> Result<(), LoadError> {
        attribute.t.as_deref().into_iter().chain(&attribute.tensors).try_for_each(|tensor| self.tensor(tensor))?;
        let mut sparse = attribute.sparse_tensor.as_deref().into_iter().chain(&attribute.sparse_tensors);
        sparse.try_for_each(|sparse| self.sparse(sparse))?;
        attribute.tp.as_deref().into_iter().chain(&attribute.type_protos).try_for_each(|of| self.value_type(of))?;
        attribute.g.as_deref().into_iter().chain(&attribute.graphs).try_for_each(|graph| self.graph(graph))
    }

    fn tensor(&mut self, tensor: &TensorProto) -> Result<(), LoadError> {
        check_header(tensor, self.limits)?;
        if is_external(tensor) && !self.has_directory {
            let problem = "its elements are in another file, and the model was not loaded from a directory; \
                           load it from its path, or name the directory of that file";
            return Err(LoadError::tensor(tensor.name(), problem));
        }
        self.add(declared_bytes(tensor.name(), tensor.data_type(), &tensor.dims, self.limits)?)
    }

    fn sparse(&mut self, sparse: &SparseTensorProto) -> Result<(), LoadError> {
        sparse.values.iter().chain(&sparse.indices).try_for_each(|tensor| self.tensor(tensor))?;
        self.add(check_dense_size(sparse, self.limits)?)
    }

    fn values(&mut self, values: &[ValueInfoProto]) -> Result<(), LoadError> {
        values.iter().try_for_each(|value| match &value.r#type {
            Some(of) => self.value_type(of).map_err(|error| error.within(format!("value {}", Quoted(value.name())))),
            None => Ok(()),
        })
    }

    fn value_type(&mut self, of: &TypeProto) -> Result<(), LoadError> {
        let inner = match &of.value {
            Some(TypeValue::Tensor(tensor) | TypeValue::SparseTensor(tensor)) => {
                let rank = tensor.shape.as_ref().map_or(0, |shape| shape.dim.len() as u64);
                if rank > self.limits.rank {
                    let (what, limit) = ("the number of dimensions", self.limits.rank);
                    return Err(LoadError::Limit { place: "type".into(), what, found: rank, limit, field: "rank" });
                }
                None
            }
            Some(TypeValue::Sequence(sequence)) => sequence.elem_type.as_deref(),
            Some(TypeValue::Map(map)) => map.value_type.as_deref(),
            Some(TypeValue::Optional(optional)) => optional.elem_type.as_deref(),
            Some(TypeValue::Opaque(_)) | None => None,
        };
        inner.map_or(Ok(()), |inner| self.value_type(inner))
    }

    fn add(&mut self, bytes: u64) -> Result<(), LoadError> {
        self.bytes = self.bytes.saturating_add(bytes);
        let (found, limit) = (self.bytes, self.limits.constant_bytes);
        if found <= limit {
            return Ok(());
        }
        let (place, what) = ("model".into(), "the size of all its tensors in bytes");
        Err(LoadError::Limit { place, what, found, limit, field: "constant_bytes" })
    }
}
