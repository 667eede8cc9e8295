//! The Rust module of a compiled model: a safe wrapper without dependencies.

use std::fmt::Write;

use super::identifier::Identifiers;
use super::interface::{Interface, InterfacePort, PortDim, comment_text};
use crate::error::{Error, Stage};
use crate::graph::ElementType;

/// The part that all models' modules share, with `@NAME@` for the model's name.
const COMMON: &str = include_str!("module.rs.txt");

/// Names that the generated method uses for itself.
const OWN_NAMES: [&str; 8] = ["inputs", "outputs", "shapes", "given", "check", "Value", "Output", "Error"];

/// The text of a Rust module, for a file of its own, with a type `Model` that runs the model.
///
/// # Errors
/// Where an input has a shape or element type that the wrapper does not express; the C interface does.
pub fn rust_module(interface: &Interface) -> Result<String, Error> {
    let name = &interface.name;
    for port in interface.inputs.iter().chain(&interface.outputs) {
        if port.element == ElementType::String {
            return Err(unsupported(port, "holds text"));
        }
    }
    if let Some(port) = interface.inputs.iter().find(|port| !port.is_known()) {
        return Err(unsupported(port, "is an input without fixed or named dimensions"));
    }
    let mut text = format!("// Model {name}, compiled by lithify. Link the program with the model's library.\n//\n");
    for (title, ports) in [("Inputs", &interface.inputs), ("Outputs", &interface.outputs)] {
        let _ = writeln!(text, "// {title}:");
        for port in ports {
            let _ = writeln!(text, "//   {}", port.describe());
        }
    }
    text.push_str(&COMMON.replace("@NAME@", name));
    text.push_str(&run_method(interface));
    Ok(text)
}

fn unsupported(port: &InterfacePort, what: &str) -> Error {
    let message = format!("no Rust module: '{}' {what}; use the C header, which can express it", port.name);
    Error::new(Stage::Package, message)
}

/// The type of slices that hold elements, and how many of a slice's items an element takes (0: packed).
fn rust_type(element: ElementType) -> (&'static str, u64) {
    use ElementType as E;
    match element {
        E::F32 => ("f32", 1),
        E::F64 => ("f64", 1),
        E::C64 => ("f32", 2),
        E::C128 => ("f64", 2),
        E::I8 => ("i8", 1),
        E::I16 => ("i16", 1),
        E::I32 => ("i32", 1),
        E::I64 => ("i64", 1),
        E::U16 | E::F16 | E::BF16 => ("u16", 1),
        E::U32 => ("u32", 1),
        E::U64 => ("u64", 1),
        // A bool is a byte here: a byte other than 0 and 1 would not be a `bool`.
        E::String | E::U8 | E::Bool | E::F8E4M3FN | E::F8E4M3FNUZ | E::F8E5M2 | E::F8E5M2FNUZ | E::F8E8M0 => ("u8", 1),
        E::U4 | E::I4 | E::F4E2M1 | E::U2 | E::I2 => ("u8", 0),
    }
}

fn length_check(port: &InterfacePort, name: &str, dims: &str, items: u64) -> String {
    // Dimensions of packed elements are counted in bits, of others in items of the slice.
    let (per_element, per_item) = if items == 0 { (port.element.bits() as u64, 8) } else { (items, 1) };
    format!("        check(\"{name}\", {name}.len(), &{dims}, {per_element}, {per_item})?;\n")
}

/// An array of dimensions, of a type that an empty one has too.
fn input_dims(dims: &str) -> String {
    if dims == "[]" { "[0i64; 0]".to_owned() } else { dims.to_owned() }
}

fn run_method(interface: &Interface) -> String {
    let mut identifiers = Identifiers::avoiding(&OWN_NAMES);
    let mut names =
        |ports: &[InterfacePort]| -> Vec<String> { ports.iter().map(|port| identifiers.make(&port.name)).collect() };
    let (inputs, outputs) = (names(&interface.inputs), names(&interface.outputs));
    let symbols: Vec<(&String, String)> =
        interface.symbols.iter().map(|symbol| (symbol, identifiers.make(symbol))).collect();
    let symbol_name = |symbol: &String| {
        symbols.iter().find(|(known, _)| *known == symbol).map_or("0".to_owned(), |(_, name)| name.clone())
    };
    let dims = |port: &InterfacePort| -> String {
        let dims: Vec<String> = port
            .dims
            .iter()
            .map(|dim| match dim {
                PortDim::Fixed(size) => size.to_string(),
                PortDim::Symbol(symbol) => symbol_name(symbol),
                PortDim::Runtime => "0".to_owned(),
            })
            .collect();
        format!("[{}]", dims.join(", "))
    };

    let mut text = String::from("impl Model {\n    /// Runs the model on slices of row-major elements.\n    ///\n");
    let mut parameters = vec!["&mut self".to_owned()];
    let mut results = Vec::new();
    let mut body = String::new();
    for (port, name) in interface.inputs.iter().zip(&inputs) {
        let (ty, items) = rust_type(port.element);
        let _ = writeln!(text, "    /// `{name}`: input {}", port.describe());
        parameters.push(format!("{name}: &[{ty}]"));
        body.push_str(&length_check(port, name, &dims(port), items));
    }
    for (port, name) in interface.outputs.iter().zip(&outputs) {
        let (ty, items) = rust_type(port.element);
        if port.is_known() {
            let _ = writeln!(text, "    /// `{name}`: output {}", port.describe());
            parameters.push(format!("{name}: &mut [{ty}]"));
            body.push_str(&length_check(port, name, &dims(port), items));
        } else {
            let _ = writeln!(text, "    /// Result {}: {}", results.len(), port.describe());
            results.push(format!("Output<{ty}>"));
        }
    }
    for (symbol, name) in &symbols {
        let _ = writeln!(text, "    /// `{name}`: the dimension {}", comment_text(symbol));
        parameters.push(format!("{name}: i64"));
    }
    let result = match &results[..] {
        [] => "()".to_owned(),
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    };
    text.push_str("    ///\n    /// # Errors\n    /// Where the length of a slice is not the product of its dimensions, or the run fails.\n");
    text.push_str("    #[allow(clippy::too_many_arguments)]\n");
    let _ = writeln!(text, "    pub fn run({}) -> Result<{result}, Error> {{", parameters.join(", "));
    text.push_str(&body);
    let shapes: Vec<String> = interface.outputs.iter().map(|port| format!("[0i64; {}],", port.dims.len())).collect();
    if !shapes.is_empty() {
        let _ = writeln!(text, "        let mut shapes = ({});", shapes.join(" "));
    }
    let _ = writeln!(text, "        let mut outputs: [Value; {}] = [", interface.outputs.len());
    let mut taken = Vec::new();
    for (place, (port, name)) in interface.outputs.iter().zip(&outputs).enumerate() {
        let number = port.element.onnx_number();
        if port.is_known() {
            let _ = writeln!(text, "            Value::output({number}, {name}, &mut shapes.{place}),");
        } else {
            let _ = writeln!(text, "            Value::late({number}, &mut shapes.{place}),");
            taken.push(format!("self.take(&mut outputs[{place}])"));
        }
    }
    text.push_str("        ];\n");
    if !interface.inputs.is_empty() {
        // Bound to a name: the values point to them during the call.
        let given: Vec<String> = interface.inputs.iter().map(|port| format!("{},", input_dims(&dims(port)))).collect();
        let _ = writeln!(text, "        let given = ({});", given.join(" "));
    }
    text.push_str("        let inputs = [\n");
    for (place, (port, name)) in interface.inputs.iter().zip(&inputs).enumerate() {
        let number = port.element.onnx_number();
        let _ = writeln!(text, "            Value::input({number}, {name}, &given.{place}),");
    }
    let _ = writeln!(text, "        ];\n        self.call(&inputs, &mut outputs)?;");
    let result = match &taken[..] {
        [] => "()".to_owned(),
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    };
    let _ = writeln!(text, "        Ok({result})\n    }}\n}}");
    text
}

#[cfg(test)]
mod tests;
