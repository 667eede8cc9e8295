//! Printing of programs.

use std::fmt::Write;
use std::sync::Arc;

use super::print_kernel::{print_kernel, print_shape};
use super::scalar::{print_name, quote};
use crate::graph::dim::Bounds;
use crate::graph::{Dim, SymbolId, Tensor, TensorData};
use crate::loops::{Action, BufferId, BufferKind, Kernel, Port, Program, Step};

/// The text form of a program; [`parse_program`](super::parse_program) reads it back. Equal kernels are printed once.
pub fn print_program(program: &Program) -> String {
    let mut printer = Printer { program, kernels: Vec::new(), text: String::new() };
    printer.collect(&program.steps);
    printer.program();
    printer.text
}

struct Printer<'a> {
    program: &'a Program,
    kernels: Vec<Arc<Kernel>>,
    text: String,
}

impl Printer<'_> {
    fn collect(&mut self, steps: &[Step]) {
        for step in steps {
            match &step.action {
                Action::Launch { kernel, .. } if !self.kernels.contains(kernel) => self.kernels.push(kernel.clone()),
                Action::If { then, otherwise, .. } => {
                    self.collect(then);
                    self.collect(otherwise);
                }
                Action::Loop { body, .. } => self.collect(body),
                _ => {}
            }
        }
    }

    fn line(&mut self, depth: usize, line: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * depth);
    }

    fn dim(&self, dim: &Dim) -> String {
        dim.display(&self.program.symbols).to_string()
    }

    fn symbol(&self, id: SymbolId) -> String {
        self.dim(&Dim::symbol(id))
    }

    fn program(&mut self) {
        let program = self.program;
        for id in program.symbols.iter() {
            let class = match id.minimum() {
                0 => "natural",
                1 => "positive",
                _ => "integer",
            };
            let least = match program.symbols.minimum(id) {
                i64::MIN => String::new(),
                least => least.to_string(),
            };
            let greatest = program.symbols.maximum(id).map(|greatest| greatest.to_string()).unwrap_or_default();
            self.line(0, &format!("symbol {} {class} {least}..{greatest}", quote(program.symbols.name(id))));
        }
        self.ports("input", &program.inputs);
        self.ports("output", &program.outputs);
        for (place, buffer) in program.buffers.iter().enumerate() {
            let kind = match &buffer.kind {
                BufferKind::Input(position) => format!("input {position}"),
                BufferKind::Output(position) => format!("output {position}"),
                BufferKind::Constant(tensor) => format!("constant {}", tensor_text(tensor)),
                BufferKind::Temporary => "temporary".into(),
            };
            let shape = print_shape(&buffer.shape, &program.symbols);
            self.line(0, &format!("buffer b{place}: {}{shape} {kind}", buffer.element));
        }
        program.labels.iter().enumerate().for_each(|(place, label)| {
            self.line(0, &format!("label @{place} {}", quote(label)));
        });
        for kernel in self.kernels.clone() {
            self.text.push_str(&print_kernel(&kernel, &program.symbols));
        }
        self.line(0, "steps {");
        self.block(1, &program.steps);
        self.line(0, "}");
    }

    fn ports(&mut self, what: &str, ports: &[Port]) {
        for port in ports {
            let shape = print_shape(&port.shape, &self.program.symbols);
            self.line(0, &format!("{what} {}: {}{shape}", quote(&port.name), port.element));
        }
    }

    fn block(&mut self, depth: usize, steps: &[Step]) {
        for step in steps {
            self.step(depth, step);
        }
    }

    fn step(&mut self, depth: usize, step: &Step) {
        let line = match &step.action {
            Action::Launch { kernel, buffers } => {
                let place = self.kernels.iter().position(|known| known == kernel).unwrap_or_default();
                format!("launch k{place} {}({})", print_name(&kernel.name), ids(buffers))
            }
            Action::Routine(call) => {
                let parameters: Vec<String> = call.parameters.iter().map(|dim| self.dim(dim)).collect();
                let binds: Vec<String> = call.binds.iter().map(|&id| self.symbol(id)).collect();
                let (inputs, outputs) = (ids(&call.inputs), ids(&call.outputs));
                let (parameters, binds) = (parameters.join(", "), binds.join(", "));
                format!("routine {}({inputs}) -> ({outputs}) with ({parameters}) binds ({binds})", call.routine)
            }
            Action::Bind { symbol, buffer, element } => {
                format!("bind {}, b{}[{element}]", self.symbol(*symbol), buffer.0)
            }
            Action::Set { symbol, value } => format!("set {}, {}", self.symbol(*symbol), self.dim(value)),
            Action::Check { condition, message } => format!("check {}, {}", self.dim(condition), quote(message)),
            Action::Move { from, to } => format!("move b{} -> b{}", from.0, to.0),
            Action::If { condition, then, otherwise } => {
                self.line(depth, &format!("@{} if {} {{", step.label, self.dim(condition)));
                self.block(depth + 1, then);
                self.line(depth, "} else {");
                self.block(depth + 1, otherwise);
                return self.line(depth, "}");
            }
            Action::Loop { counter, count, condition, body } => {
                let (counter, count) = (self.symbol(*counter), self.dim(count));
                let condition = self.dim(condition);
                self.line(depth, &format!("@{} loop {counter}, {count}, {condition} {{", step.label));
                self.block(depth + 1, body);
                return self.line(depth, "}");
            }
        };
        self.line(depth, &format!("@{} {line}", step.label));
    }
}

fn ids(buffers: &[BufferId]) -> String {
    buffers.iter().map(|id| format!("b{}", id.0)).collect::<Vec<_>>().join(", ")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::from("x"), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn tensor_text(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.dims.iter().map(i64::to_string).collect();
    let data = match &tensor.data {
        TensorData::Bytes(bytes) => format!("bytes {}", hex(bytes)),
        TensorData::Splat(value) => format!("splat {}", hex(value)),
        TensorData::Strings(strings) => {
            format!("strings ({})", strings.iter().map(|string| hex(string)).collect::<Vec<_>>().join(", "))
        }
    };
    format!("[{}] {data}", dims.join(", "))
}
