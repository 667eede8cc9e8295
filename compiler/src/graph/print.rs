//! The graph form as text.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Attribute, Model, Node, Region, Tensor, TensorData, Type, ValueId};

/// Elements of a constant or list that are printed.
const SHOWN: usize = 8;

/// The whole model as text, one value or node a line:
///
/// ```text
/// graph "mlp" {
///   input "x": f32[batch, 16]
///   const "w": f32[16, 4]
///   "y": f32[batch, 4] = MatMul-13("x", "w")
///   output "y"
/// }
/// ```
pub fn print(model: &Model) -> String {
    let mut printer = Printer { model, text: String::new(), constants: BTreeSet::new() };
    let _ = writeln!(printer.text, "graph {:?} {{", model.name);
    printer.region(&model.graph, 1);
    printer.text.push_str("}\n");
    printer.text
}

struct Printer<'a> {
    model: &'a Model,
    text: String,
    /// Constants that have been printed where the present region sees them.
    constants: BTreeSet<ValueId>,
}

impl Printer<'_> {
    fn region(&mut self, region: &Region, depth: usize) {
        let indent = "  ".repeat(depth);
        for &id in &region.inputs {
            let _ = writeln!(self.text, "{indent}input {}", self.declaration(id));
        }
        let computed: BTreeSet<ValueId> =
            region.nodes.iter().flat_map(|node| node.outputs.iter().flatten().copied()).collect();
        let used = region.nodes.iter().flat_map(|node| node.inputs.iter().flatten()).chain(&region.outputs);
        for &id in used {
            if let Some(tensor) = &self.model.value(id).constant
                && !computed.contains(&id)
                && self.constants.insert(id)
            {
                let _ = writeln!(self.text, "{indent}const {}{}", self.declaration(id), contents(tensor));
            }
        }
        for node in &region.nodes {
            self.node(node, depth);
        }
        for &id in &region.outputs {
            let _ = writeln!(self.text, "{indent}output {:?}", self.model.value(id).name);
        }
    }

    fn node(&mut self, node: &Node, depth: usize) {
        let indent = "  ".repeat(depth);
        let outputs: Vec<String> =
            node.outputs.iter().map(|id| id.map_or("_".to_owned(), |id| self.declaration(id))).collect();
        let inputs: Vec<String> = node
            .inputs
            .iter()
            .map(|id| id.map_or("_".to_owned(), |id| format!("{:?}", self.model.value(id).name)))
            .collect();
        let domain =
            if node.operator.domain.is_empty() { String::new() } else { format!("{}::", node.operator.domain) };
        let _ = write!(self.text, "{indent}{} = {domain}{}-{}", outputs.join(", "), node.operator.name, node.version);
        let _ = write!(self.text, "({})", inputs.join(", "));
        let plain =
            node.attributes.iter().filter_map(|(name, value)| Some(format!("{name} = {}", self.attribute(value)?)));
        let plain: Vec<String> = plain.collect();
        if !plain.is_empty() {
            let _ = write!(self.text, " {{{}}}", plain.join(", "));
        }
        let _ = writeln!(self.text);
        for (name, region) in node.regions() {
            let _ = writeln!(self.text, "{indent}  {name} {{");
            let outer = self.constants.clone();
            self.region(region, depth + 2);
            self.constants = outer;
            let _ = writeln!(self.text, "{indent}  }}");
        }
    }

    /// Name and type of a value, and its elements where these are known.
    fn declaration(&self, id: ValueId) -> String {
        let value = self.model.value(id);
        let mut text = format!("{:?}: {}", value.name, self.ty(&value.ty));
        if let (Some(known), None) = (&value.known, &value.constant) {
            let known: Vec<String> = known.iter().map(|dim| dim.display(&self.model.symbols).to_string()).collect();
            let _ = write!(text, " == [{}]", known.join(", "));
        }
        text
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Unknown => "?".to_owned(),
            Type::Tensor(tensor) => match &tensor.shape {
                None => format!("{}[..]", tensor.element),
                Some(shape) => {
                    let dims: Vec<String> =
                        shape.iter().map(|dim| dim.display(&self.model.symbols).to_string()).collect();
                    format!("{}[{}]", tensor.element, dims.join(", "))
                }
            },
            Type::Sequence(items) => format!("sequence({})", self.ty(items)),
            Type::Optional(item) => format!("optional({})", self.ty(item)),
            Type::Map(key, value) => format!("map({key}, {})", self.ty(value)),
        }
    }

    /// `None` for regions, which have lines of their own.
    fn attribute(&self, attribute: &Attribute) -> Option<String> {
        Some(match attribute {
            Attribute::Float(value) => format!("{value:?}"),
            Attribute::Int(value) => value.to_string(),
            Attribute::String(value) => quoted(value),
            Attribute::Tensor(value) => tensor(value),
            Attribute::Type(value) => format!("type {}", self.ty(value)),
            Attribute::Floats(values) => format!("floats {}", list(values, |value| format!("{value:?}"))),
            Attribute::Ints(values) => list(values, i64::to_string),
            Attribute::Strings(values) => format!("strings {}", list(values, |value| quoted(value))),
            Attribute::Tensors(values) => format!("tensors {}", list(values, tensor)),
            Attribute::Types(values) => format!("type {}", list(values, |value| self.ty(value))),
            Attribute::Region(_) | Attribute::Regions(_) => return None,
        })
    }
}

/// ` = [elements]`, the first ones of a large constant.
fn contents(tensor: &Tensor) -> String {
    if let TensorData::Strings(strings) = &tensor.data {
        return format!(" = {}", list(strings, |string| quoted(string)));
    }
    if let TensorData::Splat(value) = &tensor.data
        && tensor.len() > SHOWN
    {
        let one = Tensor { dims: vec![1], data: TensorData::Bytes(value.clone()), ..tensor.clone() };
        return contents(&one).replace('[', "splat ").replace(']', "");
    }
    if let Some(integers) = tensor.integers() {
        return format!(" = {}", list(&integers, i64::to_string));
    }
    tensor.floats().map_or(String::new(), |floats| format!(" = {}", list(&floats, f64::to_string)))
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let mut texts: Vec<String> = items.iter().take(SHOWN).map(show).collect();
    if items.len() > SHOWN {
        texts.push(format!(".. {} in all", items.len()));
    }
    format!("[{}]", texts.join(", "))
}

/// Text in quotes; bytes that are no text are escaped.
fn quoted(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("\"{}\"", bytes.escape_ascii()),
    }
}

fn tensor(tensor: &Tensor) -> String {
    format!("{}{:?}{}", tensor.element, tensor.dims, contents(tensor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dim, ElementType, OperatorName};

    #[test]
    fn a_small_model_has_a_line_for_everything() {
        let mut model = Model { name: "m".into(), ..Model::default() };
        let batch = model.symbols.named("batch");
        let x = model.add_value("x", Type::tensor(ElementType::F32, vec![Dim::symbol(batch), Dim::constant(2)]));
        let w = model.add_constant("w", Tensor::from_values(&[2], &[0.5f32, 2.0]));
        let y = model.add_value("y", Type::Unknown);
        let attributes =
            [("axis".to_owned(), Attribute::Int(1)), ("body".to_owned(), Attribute::Region(Region::default()))];
        model.graph = Region {
            inputs: vec![x],
            outputs: vec![y],
            nodes: vec![Node {
                name: "n".into(),
                operator: OperatorName { domain: String::new(), name: "Mul".into() },
                version: 14,
                inputs: vec![Some(x), Some(w), None],
                outputs: vec![Some(y)],
                attributes: attributes.into(),
            }],
        };
        let expected = r#"graph "m" {
  input "x": f32[batch, 2]
  const "w": f32[2] = [0.5, 2]
  "y": ? = Mul-14("x", "w", _) {axis = 1}
    body {
    }
  output "y"
}
"#;
        assert_eq!(print(&model), expected);
    }
}
