//! The graph form of a model: values, nodes and regions.
//!
//! All values of a model, those of nested regions included, live in one table, so a region uses an outer value simply
//! by its [`ValueId`]. Nodes stand in their region in an order in which every value is defined before its use.

use std::collections::BTreeMap;

use super::{Dim, ElementType, SymbolId, Symbols, Tensor};

/// Names a value of a [`Model`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub u32);

/// What kind of thing a value is.
#[derive(Clone, PartialEq, Debug)]
pub enum Type {
    /// Nothing is known yet.
    Unknown,
    /// A tensor.
    Tensor(TensorType),
    /// A sequence of values of one type.
    Sequence(Box<Type>),
    /// A value that may be absent.
    Optional(Box<Type>),
    /// A map from keys of the element type to values.
    Map(ElementType, Box<Type>),
}

/// Element type and shape of a tensor value.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorType {
    /// Type of the elements.
    pub element: ElementType,
    /// Dimensions, outermost first; `None` while even their number is unknown.
    pub shape: Option<Vec<Dim>>,
}

/// One value: a graph input, a constant, or what a node computes.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// The name in the model file; unique in the model, made so at import where a file repeats one.
    pub name: String,
    /// What is known of its type.
    pub ty: Type,
    /// The contents, for constants.
    pub constant: Option<Tensor>,
    /// The elements of a small integer tensor of rank 0 or 1, as expressions over symbolic dimensions.
    pub known: Option<Vec<Dim>>,
    /// Symbols that take the values of the first elements when the run has computed this value.
    pub bound: Vec<SymbolId>,
}

/// An operator name with its domain; the default domain `ai.onnx` is the empty string.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperatorName {
    /// Domain, empty for the default one.
    pub domain: String,
    /// Operator type, such as `Conv`.
    pub name: String,
}

/// An attribute of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Attribute {
    /// FLOAT
    Float(f32),
    /// INT
    Int(i64),
    /// STRING
    String(Vec<u8>),
    /// TENSOR, sparse tensors written out
    Tensor(Tensor),
    /// GRAPH
    Region(Region),
    /// TYPE_PROTO
    Type(Type),
    /// FLOATS
    Floats(Vec<f32>),
    /// INTS
    Ints(Vec<i64>),
    /// STRINGS
    Strings(Vec<Vec<u8>>),
    /// TENSORS
    Tensors(Vec<Tensor>),
    /// GRAPHS
    Regions(Vec<Region>),
    /// TYPE_PROTOS
    Types(Vec<Type>),
}

/// One application of an operator.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The name in the model file, or one made from the operator and the first output; used in messages.
    pub name: String,
    /// The operator.
    pub operator: OperatorName,
    /// Version of the operator set that the model imports for the operator's domain.
    pub version: i64,
    /// Inputs; `None` where an optional one is left out.
    pub inputs: Vec<Option<ValueId>>,
    /// Outputs; `None` where nobody wants one.
    pub outputs: Vec<Option<ValueId>>,
    /// Attributes by name.
    pub attributes: BTreeMap<String, Attribute>,
}

/// A list of nodes with inputs and outputs: the main graph, or the body of a control-flow node.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Region {
    /// Values that the surrounding node (or the caller) supplies.
    pub inputs: Vec<ValueId>,
    /// Nodes in an order in which definitions precede uses.
    pub nodes: Vec<Node>,
    /// Values that the region gives back.
    pub outputs: Vec<ValueId>,
}

/// A whole model.
#[derive(Clone, Default, Debug)]
pub struct Model {
    /// All values, indexed by [`ValueId`].
    pub values: Vec<Value>,
    /// Names and bounds of the symbolic dimensions.
    pub symbols: Symbols,
    /// The main graph.
    pub graph: Region,
    /// Name of the main graph, for information.
    pub name: String,
    /// Producer, documentation and the model's own metadata, for information.
    pub metadata: BTreeMap<String, String>,
    /// Imported operator sets by domain.
    pub operator_sets: BTreeMap<String, i64>,
}

impl Type {
    /// A tensor type of known shape.
    pub fn tensor(element: ElementType, shape: Vec<Dim>) -> Self {
        Self::Tensor(TensorType { element, shape: Some(shape) })
    }

    /// The tensor type, if this is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

impl TensorType {
    /// How many elements, where the rank is known.
    pub fn len(&self) -> Option<Dim> {
        self.shape.as_ref().map(|shape| Dim::product(shape.iter().cloned()))
    }
}

impl Model {
    /// Adds a value of unknown type.
    pub fn add_value(&mut self, name: impl Into<String>, ty: Type) -> ValueId {
        self.values.push(Value { name: name.into(), ty, constant: None, known: None, bound: Vec::new() });
        ValueId(self.values.len() as u32 - 1)
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, name: impl Into<String>, tensor: Tensor) -> ValueId {
        let id = self.add_value(name, Type::Unknown);
        self.set_constant(id, tensor);
        id
    }

    /// Makes a value a constant: its type, contents and known elements.
    pub fn set_constant(&mut self, id: ValueId, tensor: Tensor) {
        let shape = tensor.dims.iter().map(|&dim| Dim::constant(dim)).collect();
        let known = (tensor.dims.len() <= 1 && tensor.len() <= Self::MAX_KNOWN).then(|| tensor.integers()).flatten();
        let value = self.value_mut(id);
        value.ty = Type::tensor(tensor.element, shape);
        value.known = known.map(|known| known.into_iter().map(Dim::constant).collect());
        value.constant = Some(tensor);
    }

    /// The longest integer tensor whose elements are tracked as [`Value::known`].
    pub const MAX_KNOWN: usize = 64;

    /// The value named by `id`.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// The value named by `id`, to change.
    pub fn value_mut(&mut self, id: ValueId) -> &mut Value {
        &mut self.values[id.0 as usize]
    }
}

impl Node {
    /// Whether this is the operator of that name of the default domain.
    pub fn is(&self, operator: &str) -> bool {
        self.operator.domain.is_empty() && self.operator.name == operator
    }

    /// The input at `index`, if it is there.
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index).copied().flatten()
    }

    /// The output at `index`, if anybody wants it.
    pub fn output(&self, index: usize) -> Option<ValueId> {
        self.outputs.get(index).copied().flatten()
    }

    /// The regions among the attributes, by attribute name.
    pub fn regions(&self) -> impl Iterator<Item = (&str, &Region)> {
        self.attributes.iter().flat_map(|(name, attribute)| {
            let regions: &[Region] = match attribute {
                Attribute::Region(region) => std::slice::from_ref(region),
                Attribute::Regions(regions) => regions,
                _ => &[],
            };
            regions.iter().map(move |region| (name.as_str(), region))
        })
    }

    /// The regions among the attributes, to change.
    pub fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        self.attributes.values_mut().flat_map(|attribute| {
            let regions: &mut [Region] = match attribute {
                Attribute::Region(region) => std::slice::from_mut(region),
                Attribute::Regions(regions) => regions,
                _ => &mut [],
            };
            regions.iter_mut()
        })
    }
}
