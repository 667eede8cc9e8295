//! Programs, one step after another.

use std::collections::HashMap;

use super::kernel::interpret_in;
use super::memory::Memory;
use super::{Fault, Fuel, storage};
use crate::graph::dim::Bounds;
use crate::graph::{Dim, SymbolId, Tensor};
use crate::loops::{Access, Action, BufferId, BufferKind, Program, RoutineCall, Step};

/// What a routine gives: the contents of its outputs, and the values of its symbols.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RoutineResults {
    /// Contents of the outputs, little-endian and packed.
    pub outputs: Vec<Vec<u8>>,
    /// Values of [`RoutineCall::binds`].
    pub binds: Vec<i64>,
}

/// Stand-ins for stub routines: called with the call, the contents of its inputs and its evaluated parameters. `None` for
/// a routine that is not known; the error is the message of a failed run.
pub type Routines<'a> = dyn Fn(&RoutineCall, &[&[u8]], &[i64]) -> Option<Result<RoutineResults, String>> + 'a;

/// No routine is known.
pub fn no_routines(_: &RoutineCall, _: &[&[u8]], _: &[i64]) -> Option<Result<RoutineResults, String>> {
    None
}

/// Runs a program and gives its outputs. Symbols that stand alone in an input's shape take the sizes of the input.
///
/// # Errors
/// See [`Fault`].
pub fn interpret_program(
    program: &Program,
    inputs: Vec<Tensor>,
    routines: &Routines<'_>,
    fuel: &mut Fuel,
) -> Result<Vec<Tensor>, Fault> {
    let values = bind_inputs(program, &inputs)?;
    let memory = Memory::new(program, &inputs, fuel)?;
    let mut machine = Machine { program, memory, values, routines, fuel };
    machine.block(&program.steps)?;
    let mut outputs = Vec::new();
    for (position, port) in program.outputs.iter().enumerate() {
        let buffer = program.buffers.iter().position(|buffer| buffer.kind == BufferKind::Output(position));
        let buffer = buffer.ok_or_else(|| Fault::Invalid(format!("output {} has no buffer", port.name)))?;
        let id = BufferId(buffer as u32);
        let dims: Vec<i64> = port.shape.iter().map(|dim| machine.evaluate(dim)).collect::<Result<_, _>>()?;
        if dims.contains(&0) {
            machine.memory.prepare(id, &|symbol| machine.values.get(&symbol).copied(), machine.fuel)?;
        }
        outputs.push(machine.memory.tensor(id, port.element, dims)?);
    }
    Ok(outputs)
}

fn bind_inputs(program: &Program, inputs: &[Tensor]) -> Result<HashMap<SymbolId, i64>, Fault> {
    if inputs.len() != program.inputs.len() {
        return Err(Fault::Input(format!("{} are given, {} are needed", inputs.len(), program.inputs.len())));
    }
    let mut values: HashMap<SymbolId, i64> = HashMap::new();
    let pairs = || program.inputs.iter().zip(inputs);
    for (port, input) in pairs() {
        if port.element != input.element || port.shape.len() != input.dims.len() {
            let (given, name) = (input.element, &port.name);
            return Err(Fault::Input(format!(
                "`{name}` is {} of rank {}, not {given}{:?}",
                port.element,
                port.shape.len(),
                input.dims
            )));
        }
        for (dim, &size) in port.shape.iter().zip(&input.dims) {
            if let Some(symbol) = dim.as_symbol() {
                values.entry(symbol).or_insert(size);
            }
        }
    }
    for (&symbol, &value) in &values {
        let symbols = &program.symbols;
        if value < symbols.minimum(symbol) || symbols.maximum(symbol).is_some_and(|maximum| value > maximum) {
            return Err(Fault::Input(format!("{} cannot be {value}", symbols.name(symbol))));
        }
    }
    for (port, input) in pairs() {
        for (dim, &size) in port.shape.iter().zip(&input.dims) {
            let wanted = dim.evaluate(&|symbol| values.get(&symbol).copied());
            let wanted = wanted.map_err(|error| Fault::Input(format!("`{}`: {error}", port.name)))?;
            if wanted != size {
                return Err(Fault::Input(format!(
                    "`{}` is {:?}, but {} is {wanted}",
                    port.name,
                    input.dims,
                    dim.display(&program.symbols)
                )));
            }
        }
    }
    Ok(values)
}

struct Machine<'a> {
    program: &'a Program,
    memory: Memory<'a>,
    values: HashMap<SymbolId, i64>,
    routines: &'a Routines<'a>,
    fuel: &'a mut Fuel,
}

impl Machine<'_> {
    fn evaluate(&self, dim: &Dim) -> Result<i64, Fault> {
        dim.evaluate(&|symbol| self.values.get(&symbol).copied())
            .map_err(|error| Fault::Invalid(format!("{}: {error}", dim.display(&self.program.symbols))))
    }

    fn block(&mut self, steps: &[Step]) -> Result<(), Fault> {
        steps.iter().try_for_each(|step| {
            self.fuel.spend(1)?;
            self.step(step).map_err(|fault| match (fault, self.program.labels.get(step.label as usize)) {
                (Fault::Invalid(message), Some(label)) if !message.starts_with("at ") => {
                    Fault::Invalid(format!("at {label}: {message}"))
                }
                (fault, _) => fault,
            })
        })
    }

    fn step(&mut self, step: &Step) -> Result<(), Fault> {
        match &step.action {
            Action::Launch { kernel, buffers } => {
                let values = &self.values;
                let symbols = |symbol| values.get(&symbol).copied();
                for (parameter, &id) in kernel.parameters.iter().zip(buffers) {
                    let empty = parameter.shape.iter().any(|dim| dim.evaluate(&symbols) == Ok(0));
                    if parameter.access == Access::Write || (parameter.access == Access::ReadWrite && empty) {
                        self.memory.prepare(id, &symbols, self.fuel)?;
                    }
                }
                let fuel = &mut *self.fuel;
                self.memory.borrow(buffers, |memory, slots| interpret_in(kernel, memory, slots, &symbols, fuel))?;
            }
            Action::Routine(call) => self.routine(call)?,
            Action::Bind { symbol, buffer, element } => {
                let of = self.program.buffers.get(buffer.0 as usize).map(|buffer| buffer.element);
                let contents = self.memory.read(*buffer)?;
                let number = usize::try_from(*element)
                    .ok()
                    .zip(of)
                    .filter(|(_, of)| !of.is_float())
                    .and_then(|(element, of)| storage::load(of, contents, element));
                let name = self.program.symbols.name(*symbol);
                let number = number.ok_or_else(|| {
                    Fault::Invalid(format!("{name} is to be integer {element} of b{}, which has none", buffer.0))
                })?;
                self.values.insert(*symbol, number.to_i64());
            }
            Action::Set { symbol, value } => {
                let value = self.evaluate(value)?;
                self.values.insert(*symbol, value);
            }
            Action::Check { condition, message } => {
                if self.evaluate(condition)? == 0 {
                    return Err(Fault::Check(message.clone()));
                }
            }
            Action::If { condition, then, otherwise } => {
                let block = if self.evaluate(condition)? != 0 { then } else { otherwise };
                self.block(block)?;
            }
            Action::Loop { counter, count, condition, body } => {
                let count = self.evaluate(count)?;
                self.values.insert(*counter, 0);
                for round in 1.. {
                    if round > count || self.evaluate(condition)? == 0 {
                        break;
                    }
                    self.fuel.spend(1)?;
                    self.block(body)?;
                    self.values.insert(*counter, round);
                }
            }
            Action::Move { from, to } => self.memory.relocate(*from, *to)?,
        }
        Ok(())
    }

    fn routine(&mut self, call: &RoutineCall) -> Result<(), Fault> {
        let inputs: Vec<&[u8]> = call.inputs.iter().map(|&id| self.memory.read(id)).collect::<Result<_, _>>()?;
        let parameters: Vec<i64> = call.parameters.iter().map(|dim| self.evaluate(dim)).collect::<Result<_, _>>()?;
        let results = (self.routines)(call, &inputs, &parameters)
            .ok_or_else(|| Fault::Invalid(format!("routine {} is not known to the interpreter", call.routine)))?
            .map_err(Fault::Check)?;
        if results.outputs.len() != call.outputs.len() || results.binds.len() != call.binds.len() {
            return Err(Fault::Invalid(format!("routine {} gave other results than the call takes", call.routine)));
        }
        for (&id, contents) in call.outputs.iter().zip(results.outputs) {
            self.fuel.spend(contents.len() as u64)?;
            self.memory.write(id, contents)?;
        }
        self.values.extend(call.binds.iter().copied().zip(results.binds));
        Ok(())
    }
}
