//! `--dump`: the text of a stage.

use std::fmt::Write;
use std::path::Path;

use clap::ValueEnum;

use super::failure::Result;
use super::model;
use super::output;
use super::progress::Timer;
use crate::graph::{self, Symbols};
use crate::loops::{self, BufferKind, Program};
use crate::memory::{self, Location, MemoryPlan};
use crate::pipeline::{self, CompileOptions};
use crate::{codegen, passes, shape};

/// A stage that has a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Dump {
    /// The model as it was read
    Graph,
    /// The model with all types and shapes
    Shape,
    /// The model after the passes over it
    Passes,
    /// The program of loops
    Loops,
    /// Where each buffer lives
    Memory,
    /// The kernels in Cranelift's language
    Clif,
}

/// Runs the pipeline up to a stage and gives its text.
pub fn text(stage: Dump, path: &Path, options: &CompileOptions) -> Result<String> {
    options.target.check()?;
    let mut model = model::load(path, options, &mut Timer::default())?;
    if stage == Dump::Graph {
        return Ok(graph::print(&model));
    }
    if matches!(stage, Dump::Shape | Dump::Passes) {
        shape::infer(&mut model)?;
        if stage == Dump::Passes {
            passes::run(&mut model)?;
        }
        return Ok(graph::print(&model));
    }
    let program = pipeline::lower(&mut model, &options.target)?;
    match stage {
        Dump::Graph | Dump::Shape | Dump::Passes | Dump::Loops => Ok(loops::text::print_program(&program)),
        Dump::Memory => Ok(memory_text(&program, &memory::plan(&program))),
        Dump::Clif => {
            let mut module = pipeline::object_module(options)?;
            Ok(codegen::clif_text(&program, options.target.features(), &mut module)?)
        }
    }
}

fn memory_text(program: &Program, plan: &MemoryPlan) -> String {
    let mut rows = Vec::new();
    for (index, (buffer, location)) in program.buffers.iter().zip(&plan.locations).enumerate() {
        let origin = match &buffer.kind {
            BufferKind::Input(position) => format!("input {position}"),
            BufferKind::Output(position) => format!("output {position}"),
            BufferKind::Constant(_) => "constant".to_owned(),
            BufferKind::Temporary => "temporary".to_owned(),
        };
        let place = match location {
            Location::Pointer(word) => format!("pointer in word {word}"),
            Location::Arena(offset) => format!("arena at {offset}"),
            Location::Slot(word) => format!("arena at offset in word {word}"),
            Location::Constant => "data".to_owned(),
            Location::Nowhere => "nowhere".to_owned(),
        };
        let size = format!("{} bytes", buffer.bytes().display(&program.symbols));
        rows.push(vec![format!("b{index}"), origin, shape_text(buffer, &program.symbols), size, place]);
    }
    let mut text = output::table(&rows);
    let _ = writeln!(text, "fixed arena: {} bytes; frame: {} words", plan.fixed_bytes, plan.frame_words);
    for (word, sizes) in &plan.slots {
        let sizes: Vec<String> = sizes.iter().map(|size| size.display(&program.symbols).to_string()).collect();
        let _ = writeln!(text, "slot with offset in word {word}: bytes max({})", sizes.join(", "));
    }
    text
}

fn shape_text(buffer: &loops::Buffer, symbols: &Symbols) -> String {
    let dims: Vec<String> = buffer.shape.iter().map(|dim| dim.display(symbols).to_string()).collect();
    format!("{}[{}]", buffer.element, dims.join(", "))
}
