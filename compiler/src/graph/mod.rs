//! The graph form of a model: no target, no protobuf.

pub mod dim;
mod element_type;
mod import;
mod model;
mod parse;
mod print;
mod tensor;
mod verify;

pub use dim::{CompareOperator, Dim, SymbolId, Symbols};
pub use element_type::{ElementKind, ElementType};
pub use import::{ImportOptions, import};
pub use model::{Attribute, Model, Node, OperatorName, Region, TensorType, Type, Value, ValueId};
pub use parse::{ParseError, parse};
pub use print::print;
pub use tensor::{Element, Tensor, TensorData};
pub use verify::verify;
