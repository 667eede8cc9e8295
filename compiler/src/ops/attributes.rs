//! Typed access to the attributes of a node.

use super::{OperatorError, Result};
use crate::graph::{Attribute, ElementType, Node, Region, Tensor};

macro_rules! accessors {
    ($($(#[$doc:meta])* $name:ident: $variant:ident($pattern:ident) -> $type:ty = $value:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self, attribute: &str) -> Result<Option<$type>> {
            match self.attributes.get(attribute) {
                None => Ok(None),
                Some(Attribute::$variant($pattern)) => Ok(Some($value)),
                Some(_) => Err(OperatorError::new(format!(
                    "attribute `{attribute}` has the wrong type, expected {}", stringify!($variant)
                ))),
            }
        }
    )*};
}

impl Node {
    accessors! {
        /// A FLOAT attribute.
        float: Float(value) -> f32 = *value;
        /// An INT attribute.
        int: Int(value) -> i64 = *value;
        /// An INTS attribute.
        ints: Ints(values) -> &[i64] = values;
        /// A FLOATS attribute.
        floats: Floats(values) -> &[f32] = values;
        /// A STRING attribute as raw bytes.
        bytes: String(value) -> &[u8] = value;
        /// A STRINGS attribute as raw bytes.
        byte_strings: Strings(values) -> &[Vec<u8>] = values;
        /// A TENSOR attribute.
        tensor: Tensor(value) -> &Tensor = value;
        /// A GRAPH attribute.
        region: Region(region) -> &Region = region;
    }

    /// A FLOAT attribute or its default.
    pub fn float_or(&self, attribute: &str, default: f32) -> Result<f32> {
        Ok(self.float(attribute)?.unwrap_or(default))
    }

    /// An INT attribute or its default.
    pub fn int_or(&self, attribute: &str, default: i64) -> Result<i64> {
        Ok(self.int(attribute)?.unwrap_or(default))
    }

    /// An INT attribute used as a flag, or its default.
    pub fn flag_or(&self, attribute: &str, default: bool) -> Result<bool> {
        Ok(self.int(attribute)?.map_or(default, |value| value != 0))
    }

    /// A STRING attribute as text, or its default.
    pub fn text_or<'a>(&'a self, attribute: &str, default: &'a str) -> Result<&'a str> {
        match self.bytes(attribute)? {
            None => Ok(default),
            Some(bytes) => std::str::from_utf8(bytes)
                .map_err(|_| OperatorError::new(format!("attribute `{attribute}` is not valid UTF-8"))),
        }
    }

    /// An INT attribute that must be there.
    pub fn required_int(&self, attribute: &str) -> Result<i64> {
        self.int(attribute)?.ok_or_else(|| OperatorError::new(format!("attribute `{attribute}` is missing")))
    }

    /// An INT attribute that names an element type by its ONNX number.
    pub fn element_type(&self, attribute: &str) -> Result<Option<ElementType>> {
        let Some(number) = self.int(attribute)? else { return Ok(None) };
        let element = i32::try_from(number).ok().and_then(ElementType::from_onnx);
        element.map(Some).ok_or_else(|| {
            OperatorError::new(format!("attribute `{attribute}` is {number}, which is not an element type of ONNX"))
        })
    }
}
