//! The C header of a compiled model.

use std::fmt::Write;

use super::identifier::Identifiers;
use super::interface::{Interface, InterfacePort, PortDim, comment_text};
use crate::graph::ElementType;

/// The part that all models' headers share; several of them can be included together.
const COMMON: &str = include_str!("lithify.h");

/// Names that the generated functions use for themselves.
const OWN_NAMES: [&str; 5] = ["context", "lithify_inputs", "lithify_outputs", "lithify_dims", "lithify_status"];

/// The most elements for which an array parameter states its length.
const GREATEST_ARRAY: u64 = i32::MAX as u64;

/// The text of the C header of a model, for C99 and C++.
pub fn header(interface: &Interface) -> String {
    let name = &interface.name;
    let guard = format!("LITHIFY_MODEL_{name}_H");
    let mut text = format!("/* Model {name}, compiled by lithify. */\n#ifndef {guard}\n#define {guard}\n\n");
    text.push_str(&common());
    text.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    text.push_str(&description(interface));
    text.push_str(&prototypes(name));
    text.push_str(&typed_run(interface));
    let _ = write!(text, "\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n");
    text
}

fn common() -> String {
    let elements: Vec<String> = ElementType::ALL
        .iter()
        .map(|element| format!("    LITHIFY_{} = {}", element.name().to_uppercase(), element.onnx_number()))
        .collect();
    COMMON.replace("@ELEMENTS@", &elements.join(",\n"))
}

fn description(interface: &Interface) -> String {
    let mut text = format!("/* Model {}.\n", interface.name);
    for (title, ports) in [("Inputs", &interface.inputs), ("Outputs", &interface.outputs)] {
        let _ = writeln!(text, " *\n * {title}:");
        for port in ports {
            let _ = writeln!(text, " *   {}", port.describe());
        }
    }
    text.push_str(" */\n\n");
    text
}

fn prototypes(name: &str) -> String {
    format!(
        "/* The table for hosts that use models without knowing them. */
const lithify_model *{name}_model(void);

/* Makes a context; options may be null. Gives a lithify_status. */
int32_t {name}_create(const lithify_options *options, lithify_context **context);

/* Destroys a context; null is allowed. */
void {name}_destroy(lithify_context *context);

/* Runs the model. Gives a lithify_status; where it is not 0, {name}_error has the message. Inputs are never written.
 * Outputs must overlap neither inputs nor one another. */
int32_t {name}_run(lithify_context *context, const lithify_value *inputs, size_t input_count,
    lithify_value *outputs, size_t output_count);

/* The message of the last run if it failed, else an empty text. Valid until the next call on the context. */
const char *{name}_error(const lithify_context *context);

/* Bytes of workspace for the dimensions of all inputs, one after another; negative where they do not fit the model. */
int64_t {name}_workspace_bytes(lithify_context *context, const int64_t *dims, size_t count);

/* Gives back the data of an output that the library allocated. */
void {name}_release(lithify_context *context, lithify_value *value);
"
    )
}

/// A parameter of the typed function, and what it says about a port.
struct Parameter<'a> {
    port: &'a InterfacePort,
    name: String,
    is_input: bool,
}

impl Parameter<'_> {
    fn declaration(&self) -> String {
        let constant = if self.is_input { "const " } else { "" };
        if !self.port.is_known() {
            return format!("{constant}lithify_value *{}", self.name);
        }
        let (ty, _) = c_type(self.port.element);
        match self.port.fixed_count().and_then(|count| c_elements(self.port.element, count)) {
            Some(length) if (1..=GREATEST_ARRAY).contains(&length) => {
                format!("{constant}{ty} {}[{length}]", self.name)
            }
            _ => format!("{constant}{ty} *{}", self.name),
        }
    }
}

/// The type of an array that holds elements, and how many of the array's items an element takes (0: packed).
fn c_type(element: ElementType) -> (&'static str, u64) {
    use ElementType as E;
    match element {
        E::F32 => ("float", 1),
        E::F64 => ("double", 1),
        E::C64 => ("float", 2),
        E::C128 => ("double", 2),
        E::I8 => ("int8_t", 1),
        E::I16 => ("int16_t", 1),
        E::I32 => ("int32_t", 1),
        E::I64 => ("int64_t", 1),
        E::U16 | E::F16 | E::BF16 => ("uint16_t", 1),
        E::U32 => ("uint32_t", 1),
        E::U64 => ("uint64_t", 1),
        E::String => ("lithify_string", 1),
        E::U8 | E::Bool | E::F8E4M3FN | E::F8E4M3FNUZ | E::F8E5M2 | E::F8E5M2FNUZ | E::F8E8M0 => ("uint8_t", 1),
        E::U4 | E::I4 | E::F4E2M1 | E::U2 | E::I2 => ("uint8_t", 0),
    }
}

fn c_elements(element: ElementType, count: u64) -> Option<u64> {
    match c_type(element).1 {
        0 => element.bytes_of(count),
        items => count.checked_mul(items),
    }
}

/// The function with a typed parameter for each input and output.
fn typed_run(interface: &Interface) -> String {
    let name = &interface.name;
    let mut identifiers = Identifiers::avoiding(&OWN_NAMES);
    let mut parameters = Vec::new();
    for (ports, is_input) in [(&interface.inputs, true), (&interface.outputs, false)] {
        for port in ports {
            parameters.push(Parameter { port, name: identifiers.make(&port.name), is_input });
        }
    }
    let symbols: Vec<(&String, String)> =
        interface.symbols.iter().map(|symbol| (symbol, identifiers.make(symbol))).collect();
    let size = |dim: &PortDim| match dim {
        PortDim::Fixed(size) => format!("INT64_C({size})"),
        PortDim::Symbol(symbol) => {
            symbols.iter().find(|(known, _)| *known == symbol).map_or("-1".into(), |(_, name)| name.clone())
        }
        PortDim::Runtime => "-1".into(),
    };

    let mut text = String::from("\n/* Runs the model on arrays. Gives a lithify_status.\n");
    for parameter in &parameters {
        let role = if parameter.is_input { "input" } else { "output" };
        let _ = writeln!(text, " *   {}: {role} {}", parameter.name, parameter.port.describe());
    }
    for (symbol, name) in &symbols {
        let _ = writeln!(text, " *   {name}: the dimension {}", comment_text(symbol));
    }
    if parameters.iter().any(|parameter| !parameter.is_input && !parameter.port.is_known()) {
        text.push_str(" * Outputs of undecided shape are values: prepared with lithify_tensor, with dims, and null data to have it\n");
        text.push_str(" * allocated and then given back with the release function.\n");
    }
    text.push_str(" */\n");
    let mut list = vec!["lithify_context *context".to_owned()];
    list.extend(parameters.iter().map(Parameter::declaration));
    list.extend(symbols.iter().map(|(_, name)| format!("int64_t {name}")));
    let _ = writeln!(text, "static inline int32_t {name}_infer({}) {{", list.join(",\n    "));

    let (input_count, output_count) = (interface.inputs.len(), interface.outputs.len());
    let dims: Vec<String> = parameters
        .iter()
        .filter(|parameter| parameter.port.is_known())
        .flat_map(|parameter| &parameter.port.dims)
        .map(size)
        .collect();
    // Compilers warn of an array that is passed without contents.
    let array = |name: &'static str, count: usize| if count == 0 { "NULL" } else { name };
    let arrays = [array("lithify_inputs", input_count), array("lithify_outputs", output_count)];
    for (name, count) in arrays.into_iter().zip([input_count, output_count]).filter(|(_, count)| *count > 0) {
        let _ = writeln!(text, "    lithify_value {name}[{count}];");
    }
    if !dims.is_empty() {
        let _ = writeln!(text, "    int64_t lithify_dims[{}];", dims.len());
    }
    text.push_str("    int32_t lithify_status;\n");
    for (place, dim) in dims.iter().enumerate() {
        let _ = writeln!(text, "    lithify_dims[{place}] = {dim};");
    }
    let (mut at, mut first_dim) = (0, 0);
    for parameter in &parameters {
        let array = if parameter.is_input { "lithify_inputs" } else { "lithify_outputs" };
        let place = if parameter.is_input { at } else { at - input_count };
        at += 1;
        if !parameter.port.is_known() {
            let _ = writeln!(text, "    {array}[{place}] = *{};", parameter.name);
            continue;
        }
        let element = parameter.port.element;
        let factors: Vec<String> = parameter.port.dims.iter().map(|dim| format!("(uint64_t){}", size(dim))).collect();
        let count = if factors.is_empty() { "UINT64_C(1)".to_owned() } else { factors.join(" * ") };
        let bytes = match element.bits() {
            bits @ 0..8 => format!("({count} * {bits} + 7) / 8"),
            bits => format!("{count} * {}", bits / 8),
        };
        let rank = parameter.port.dims.len();
        let shape = match rank {
            0 => "NULL, 0".to_owned(),
            rank => format!("lithify_dims + {first_dim}, {rank}"),
        };
        first_dim += rank;
        let (number, name) = (element.onnx_number(), &parameter.name);
        let _ = writeln!(text, "    {array}[{place}] = lithify_tensor({number}, {name}, {bytes},\n        {shape});");
    }
    let _ = writeln!(
        text,
        "    lithify_status = {name}_run(context, {}, {input_count}, {}, {output_count});",
        arrays[0], arrays[1]
    );
    let late = parameters.iter().filter(|parameter| !parameter.is_input).enumerate();
    for (place, parameter) in late.filter(|(_, parameter)| !parameter.port.is_known()) {
        let _ = writeln!(text, "    *{} = lithify_outputs[{place}];", parameter.name);
    }
    text.push_str("    return lithify_status;\n}\n");
    text
}

#[cfg(test)]
mod tests;
