//! What a host program sees of a model: its name, inputs and outputs.

use std::collections::BTreeSet;
use std::fmt;

use crate::graph::{ElementType, SymbolId};
use crate::loops::{Port, Program};

/// The interface of a compiled model.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// What the library's symbols start with; an [identifier](super::is_identifier).
    pub name: String,
    /// Inputs in order.
    pub inputs: Vec<InterfacePort>,
    /// Outputs in order.
    pub outputs: Vec<InterfacePort>,
    /// Names of the symbols that are dimensions of inputs, in the order of their first appearance.
    pub symbols: Vec<String>,
}

/// An input or output.
#[derive(Clone, PartialEq, Debug)]
pub struct InterfacePort {
    /// Its name in the model: any text.
    pub name: String,
    /// Element type.
    pub element: ElementType,
    /// Shape.
    pub dims: Vec<PortDim>,
}

/// A size of an input or output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortDim {
    /// Always the same.
    Fixed(i64),
    /// Given by the inputs, under this name.
    Symbol(String),
    /// Told by the run.
    Runtime,
}

impl Interface {
    /// The interface of a program.
    pub fn of(name: &str, program: &Program) -> Self {
        let mut given: BTreeSet<SymbolId> = BTreeSet::new();
        let mut symbols = Vec::new();
        for symbol in program.inputs.iter().flat_map(|port| &port.shape).filter_map(|dim| dim.as_symbol()) {
            if given.insert(symbol) {
                symbols.push(program.symbols.name(symbol).to_owned());
            }
        }
        let port = |port: &Port| {
            let dims = port.shape.iter().map(|dim| match (dim.as_const(), dim.as_symbol()) {
                (Some(size), _) => PortDim::Fixed(size),
                (None, Some(symbol)) if given.contains(&symbol) => {
                    PortDim::Symbol(program.symbols.name(symbol).to_owned())
                }
                _ => PortDim::Runtime,
            });
            InterfacePort { name: port.name.clone(), element: port.element, dims: dims.collect() }
        };
        Self {
            name: name.to_owned(),
            inputs: program.inputs.iter().map(port).collect(),
            outputs: program.outputs.iter().map(port).collect(),
            symbols,
        }
    }
}

impl InterfacePort {
    /// Whether the caller knows the shape before a run.
    pub(super) fn is_known(&self) -> bool {
        !self.dims.contains(&PortDim::Runtime)
    }

    /// Number of elements, where all sizes are fixed and the number fits.
    pub(super) fn fixed_count(&self) -> Option<u64> {
        self.dims.iter().try_fold(1u64, |count, dim| match dim {
            PortDim::Fixed(size) => count.checked_mul(u64::try_from(*size).ok()?),
            _ => None,
        })
    }

    /// A line for documentation: name, element type, shape. Without line breaks and ends of comments.
    pub(super) fn describe(&self) -> String {
        let dims: Vec<String> = self.dims.iter().map(PortDim::to_string).collect();
        comment_text(&format!("{}: {} [{}]", self.name, self.element, dims.join(", ")))
    }
}

impl fmt::Display for PortDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => write!(f, "{size}"),
            Self::Symbol(name) => f.write_str(name),
            Self::Runtime => f.write_str("?"),
        }
    }
}

/// Text that is safe inside a comment of C or Rust.
pub(super) fn comment_text(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() || c == '\\' { ' ' } else { c }).collect();
    visible.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dim;

    #[test]
    fn dimensions_of_a_program() {
        let mut program = Program::default();
        let (batch, found) = (program.symbols.named("batch"), program.symbols.named("found"));
        let port = |name: &str, shape: Vec<Dim>| Port { name: name.into(), element: ElementType::F32, shape };
        program.inputs = vec![port("x", vec![Dim::symbol(batch), Dim::constant(3)])];
        program.outputs =
            vec![port("y", vec![Dim::symbol(batch), Dim::symbol(batch) * 2]), port("z", vec![Dim::symbol(found)])];
        let interface = Interface::of("m", &program);
        assert_eq!(interface.symbols, ["batch"]);
        assert_eq!(interface.inputs[0].dims, [PortDim::Symbol("batch".into()), PortDim::Fixed(3)]);
        assert_eq!(interface.outputs[0].dims, [PortDim::Symbol("batch".into()), PortDim::Runtime]);
        assert_eq!(interface.outputs[1].dims, [PortDim::Runtime]);
        assert_eq!(interface.inputs[0].describe(), "x: f32 [batch, 3]");
    }

    #[test]
    fn comments_stay_closed() {
        assert_eq!(comment_text("a*/b/*c\nd\\??/"), "a* /b/ *c d ? ?/");
    }
}
