//! `lithify inspect`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::failure::{Failure, Result};
use super::model::{self, ModelArguments};
use super::output::{self, bytes, table};
use super::progress::Timer;
use crate::graph::{Dim, Model, Region, Symbols};
use crate::host::Library;
use crate::link::{self, ArtifactKind, Report};
use crate::loops::{BufferKind, Program, multiply_accumulates};
use crate::memory;
use crate::package::{Interface, InterfacePort, PortDim};
use crate::pipeline;

const EXAMPLES: &str = "\
Examples:
  lithify inspect model.onnx --dim batch=1
  lithify inspect model.so --json

Of a model: inputs, outputs, operators, parameters, multiply-accumulates of matrix products and convolutions, memory of a
run. Of a library: what its table says, how it was built, and what it imports and exports.";

/// Show what is in a model or a library
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The ONNX model, or a library, archive or object compiled from it
    file: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    compilation: ModelArguments,
}

/// Runs the command.
pub fn inspect(arguments: &Arguments) -> Result<()> {
    let report = if model::is_library(&arguments.file)? {
        of_library(&arguments.file)?
    } else {
        of_model(&arguments.file, &arguments.compilation)?
    };
    if arguments.json { output::print_json(&report.json) } else { output::print(&report.text) }
}

/// The same facts in both forms.
struct Both {
    json: Value,
    text: String,
}

fn of_model(path: &Path, compilation: &ModelArguments) -> Result<Both> {
    let options = compilation.options("model");
    let mut model = model::load(path, &options, &mut Timer::default())?;
    let operators = operators(&model);
    // Inference and lowering may turn constants into others: parameters are those of the file.
    let parameters: u64 =
        model.values.iter().filter_map(|value| value.constant.as_ref()).map(|tensor| tensor.len() as u64).sum();
    let lowered = pipeline::lower(&mut model, &options.target);
    let mut json = json!({
        "file": path.display().to_string(),
        "name": model.name,
        "metadata": model.metadata,
        "operator_sets": model.operator_sets,
        "operators": operators,
        "parameters": parameters,
        "compiles": lowered.is_ok(),
    });
    let sets: Vec<String> = model
        .operator_sets
        .iter()
        .map(|(domain, version)| format!("{} {version}", if domain.is_empty() { "ai.onnx" } else { domain }))
        .collect();
    let mut text = format!("model {} ({})\n", path.display(), sets.join(", "));
    text += &format!("operators: {}\n", operators.values().sum::<u64>());
    text += &table(&operators.iter().map(|(name, count)| vec![name.clone(), count.to_string()]).collect::<Vec<_>>());
    text += &format!("parameters: {parameters}\n");
    match lowered {
        Ok(program) => add_program(&program, &mut json, &mut text),
        Err(errors) => {
            text += &format!("does not compile: {} problems, which `lithify check` lists\n", errors.0.len());
        }
    }
    Ok(Both { json, text })
}

/// What only a model that compiles has.
fn add_program(program: &Program, json: &mut Value, text: &mut String) {
    let plan = memory::plan(program);
    let interface = Interface::of("model", program);
    let macs = multiply_accumulates(program);
    let constants = constant_bytes(program);
    json["inputs"] = ports_json(&interface.inputs);
    json["outputs"] = ports_json(&interface.outputs);
    json["multiply_accumulates"] = dim_json(&macs, &program.symbols);
    // What symbolic dimensions need is known only in the run.
    json["arena_bytes"] = if plan.slots.is_empty() { plan.fixed_bytes.into() } else { Value::Null };
    json["arena_fixed_bytes"] = plan.fixed_bytes.into();
    json["constant_bytes"] = constants.into();
    *text += &ports_text("inputs", &interface.inputs);
    *text += &ports_text("outputs", &interface.outputs);
    *text += &format!("multiply-accumulates: {}\n", macs.display(&program.symbols));
    let more = if plan.slots.is_empty() { "" } else { " and what symbolic dimensions need" };
    *text += &format!("arena: {}{more}\nconstants: {}\n", bytes(plan.fixed_bytes), bytes(constants));
}

/// Number of nodes of each operator, those of nested graphs included.
fn operators(model: &Model) -> BTreeMap<String, u64> {
    fn count(region: &Region, counts: &mut BTreeMap<String, u64>) {
        for node in &region.nodes {
            let domain = &node.operator.domain;
            let prefix = if domain.is_empty() { String::new() } else { format!("{domain}::") };
            *counts.entry(format!("{prefix}{}", node.operator.name)).or_default() += 1;
            node.regions().for_each(|(_, region)| count(region, counts));
        }
    }
    let mut counts = BTreeMap::new();
    count(&model.graph, &mut counts);
    counts
}

fn constant_bytes(program: &Program) -> u64 {
    let size = |kind: &BufferKind| if let BufferKind::Constant(tensor) = kind { tensor.byte_len() as u64 } else { 0 };
    let used = program.buffers.iter().zip(memory::lifetimes(program)).filter(|(_, lifetime)| lifetime.is_some());
    used.map(|(buffer, _)| size(&buffer.kind)).sum()
}

fn of_library(path: &Path) -> Result<Both> {
    let contents = fs::read(path).map_err(|error| Failure::file(path, &error))?;
    let report = link::verify(&contents)?;
    let kind = match report.kind {
        ArtifactKind::Shared => "shared library",
        ArtifactKind::Archive => "static library",
        ArtifactKind::Object => "relocatable object",
    };
    let mut json = json!({
        "file": path.display().to_string(),
        "kind": kind,
        "bytes": contents.len(),
        "imports": report.imports,
        "exports": report.exports,
        "needed": report.needed,
    });
    let mut text = format!("{kind} {}, {}\n", path.display(), bytes(contents.len() as u64));
    // Only a shared library can be asked for its table.
    if report.kind == ArtifactKind::Shared {
        let library = Library::open(path)?;
        let build = library.build();
        let build: Value = serde_json::from_str(&build).unwrap_or(Value::String(build));
        json["name"] = library.name().into();
        json["inputs"] = ports_json(library.inputs());
        json["outputs"] = ports_json(library.outputs());
        json["cpu_features"] = library.cpu_features().into();
        text += &format!("model {}, for processors with {}\n", library.name(), library.cpu_features().join(", "));
        text += &ports_text("inputs", library.inputs());
        text += &ports_text("outputs", library.outputs());
        text += "built with:\n";
        if let Value::Object(entries) = &build {
            text += &table(&entries.iter().map(|(key, value)| vec![key.clone(), plain(value)]).collect::<Vec<_>>());
        }
        json["build"] = build;
    }
    text += &symbols_text(&report);
    Ok(Both { json, text })
}

fn symbols_text(report: &Report) -> String {
    let list = |names: &[String]| if names.is_empty() { "nothing".to_owned() } else { names.join(" ") };
    format!("exports: {}\nimports: {}\nneeds: {}\n", list(&report.exports), list(&report.imports), list(&report.needed))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn ports_json(ports: &[InterfacePort]) -> Value {
    let dim = |dim: &PortDim| match dim {
        PortDim::Fixed(size) => json!(size),
        PortDim::Symbol(name) => json!(name),
        PortDim::Runtime => Value::Null,
    };
    let port = |port: &InterfacePort| {
        json!({
            "name": port.name,
            "type": port.element.name(),
            "shape": port.dims.iter().map(dim).collect::<Vec<_>>(),
        })
    };
    ports.iter().map(port).collect()
}

fn ports_text(title: &str, ports: &[InterfacePort]) -> String {
    let row = |port: &InterfacePort| {
        let dims: Vec<String> = port.dims.iter().map(PortDim::to_string).collect();
        vec![port.name.clone(), format!("{}[{}]", port.element, dims.join(", "))]
    };
    format!("{title}:\n{}", table(&ports.iter().map(row).collect::<Vec<_>>()))
}

/// A number, or the text of an expression.
fn dim_json(dim: &Dim, symbols: &Symbols) -> Value {
    dim.as_const().map_or_else(|| dim.display(symbols).to_string().into(), Into::into)
}
