//! The rules of programs.

use std::collections::BTreeSet;

use super::verify_kernel;
use crate::graph::{Dim, SymbolId};
use crate::loops::{Access, Action, BufferId, BufferKind, Kernel, Program, Step};

/// Checks a program: its kernels, that launches fit them, that symbols are bound before they are used and buffers written
/// before they are read, and that inputs and constants are never written.
///
/// # Errors
/// The first broken rule, naming the node of the step.
pub fn verify_program(program: &Program) -> Result<(), String> {
    let mut known = Known::default();
    for port in &program.inputs {
        known.symbols.extend(port.shape.iter().filter_map(Dim::as_symbol));
    }
    for (place, buffer) in program.buffers.iter().enumerate() {
        let ports = match buffer.kind {
            BufferKind::Input(position) => program.inputs.get(position).map(|port| port.element),
            BufferKind::Output(position) => program.outputs.get(position).map(|port| port.element),
            BufferKind::Constant(ref tensor) => Some(tensor.element),
            BufferKind::Temporary => Some(buffer.element),
        };
        if ports != Some(buffer.element) {
            return Err(format!("b{place} is {}, which is not the type of what it holds", buffer.element));
        }
        if matches!(buffer.kind, BufferKind::Input(_) | BufferKind::Constant(_)) || buffer.is_empty() {
            known.written.insert(BufferId(place as u32));
        }
    }
    block(program, &program.steps, &mut known)?;
    for (position, port) in program.outputs.iter().enumerate() {
        let found = program.buffers.iter().position(|buffer| buffer.kind == BufferKind::Output(position));
        let written = found.is_some_and(|place| known.written.contains(&BufferId(place as u32)));
        if !written && !known.ends {
            return Err(format!("output `{}` is never written", port.name));
        }
    }
    Ok(())
}

#[derive(Clone, Default)]
struct Known {
    symbols: BTreeSet<SymbolId>,
    written: BTreeSet<BufferId>,
    /// Whether a check that always fails ends the run before this point.
    ends: bool,
}

fn block(program: &Program, steps: &[Step], known: &mut Known) -> Result<(), String> {
    steps.iter().try_for_each(|step| {
        check(program, step, known).map_err(|message| match program.labels.get(step.label as usize) {
            _ if message.starts_with("at ") => message,
            Some(label) => format!("at {label}: {message}"),
            None => format!("at step of unknown label {}: {message}", step.label),
        })
    })
}

fn check(program: &Program, step: &Step, known: &mut Known) -> Result<(), String> {
    match &step.action {
        Action::Launch { kernel, buffers } => launch(program, kernel, buffers, known)?,
        Action::Routine(call) => {
            call.inputs.iter().try_for_each(|&id| known.read(program, id))?;
            call.parameters.iter().try_for_each(|dim| known.bound(program, dim))?;
            call.outputs.iter().try_for_each(|&id| known.write(program, id))?;
            known.symbols.extend(&call.binds);
        }
        Action::Bind { symbol, buffer, element } => {
            known.read(program, *buffer)?;
            let of = program.buffer(*buffer);
            let beyond = of.len().as_const().is_some_and(|len| *element >= len);
            if of.element.is_float() || *element < 0 || beyond {
                let name = program.symbols.name(*symbol);
                return Err(format!("{name} is bound to element {element} of b{}, which is no integer", buffer.0));
            }
            known.symbols.insert(*symbol);
        }
        Action::Set { symbol, value } => {
            known.bound(program, value)?;
            known.symbols.insert(*symbol);
        }
        Action::Check { condition, .. } => {
            known.bound(program, condition)?;
            known.ends |= condition.as_const() == Some(0);
        }
        Action::If { condition, then, otherwise } => {
            known.bound(program, condition)?;
            let mut other = known.clone();
            block(program, then, known)?;
            block(program, otherwise, &mut other)?;
            known.meet(other);
        }
        Action::Loop { counter, count, condition, body } => {
            known.bound(program, count)?;
            known.symbols.insert(*counter);
            known.bound(program, condition)?;
            // The body may never run.
            block(program, body, &mut known.clone())?;
        }
        Action::Move { from, to } => {
            known.read(program, *from)?;
            if program.buffer(*from).element != program.buffer(*to).element {
                return Err(format!("b{} is moved to b{}, which has another element type", from.0, to.0));
            }
            known.write(program, *to)?;
            known.written.remove(from);
        }
    }
    Ok(())
}

fn launch(program: &Program, kernel: &Kernel, buffers: &[BufferId], known: &mut Known) -> Result<(), String> {
    verify_kernel(kernel)?;
    let fault = |message: String| Err(format!("launch of {}: {message}", kernel.name));
    if buffers.len() != kernel.parameters.len() {
        return fault(format!("{} buffers for {} parameters", buffers.len(), kernel.parameters.len()));
    }
    for symbol in kernel.symbols() {
        known.bound(program, &Dim::symbol(symbol))?;
    }
    for (place, (parameter, &id)) in kernel.parameters.iter().zip(buffers).enumerate() {
        let Some(buffer) = program.buffers.get(id.0 as usize) else { return fault(format!("there is no b{}", id.0)) };
        if buffer.element != parameter.element {
            return fault(format!("p{place} is {}, but b{} is {}", parameter.element, id.0, buffer.element));
        }
        let sizes = (Dim::product(parameter.shape.iter().cloned()).as_const(), buffer.len().as_const());
        if let (Some(needed), Some(present)) = sizes
            && needed != present
        {
            return fault(format!("p{place} has {needed} elements, but b{} has {present}", id.0));
        }
        if parameter.access != Access::Read && buffers.iter().filter(|&&other| other == id).count() > 1 {
            return fault(format!("b{} is written and given for two parameters", id.0));
        }
        if parameter.access != Access::Write {
            known.read(program, id)?;
        }
    }
    let written = kernel.parameters.iter().zip(buffers).filter(|(parameter, _)| parameter.access != Access::Read);
    written.into_iter().try_for_each(|(_, &id)| known.write(program, id))
}

impl Known {
    /// What holds after either of two paths.
    fn meet(&mut self, other: Known) {
        if self.ends {
            *self = other;
        } else if !other.ends {
            self.symbols.retain(|symbol| other.symbols.contains(symbol));
            self.written.retain(|buffer| other.written.contains(buffer));
        }
    }

    fn bound(&self, program: &Program, dim: &Dim) -> Result<(), String> {
        match dim.symbols().into_iter().find(|symbol| !self.symbols.contains(symbol)) {
            Some(symbol) => Err(format!("{} has no value here", program.symbols.name(symbol))),
            None if dim.is_unknown() => Err("a dimension is not known".into()),
            None => Ok(()),
        }
    }

    fn read(&self, program: &Program, id: BufferId) -> Result<(), String> {
        match program.buffers.get(id.0 as usize) {
            None => Err(format!("there is no b{}", id.0)),
            Some(_) if !self.written.contains(&id) => Err(format!("b{} is read before it is written", id.0)),
            Some(_) => Ok(()),
        }
    }

    fn write(&mut self, program: &Program, id: BufferId) -> Result<(), String> {
        let Some(buffer) = program.buffers.get(id.0 as usize) else { return Err(format!("there is no b{}", id.0)) };
        if matches!(buffer.kind, BufferKind::Input(_) | BufferKind::Constant(_)) {
            return Err(format!("b{} is written but is an input or a constant", id.0));
        }
        for dim in &buffer.shape {
            self.bound(program, dim)?;
        }
        self.written.insert(id);
        Ok(())
    }
}
