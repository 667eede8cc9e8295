//! Turns the statements of a kernel into operations.
//!
//! Device functions are copied into their callers, so a kernel is one list of steps. Names are resolved, types are
//! checked as an assembler does, and a modifier that is not understood is an error.

mod arithmetic;
mod call;
mod compare;
mod control;
mod memory;
mod modifiers;
mod moves;
mod names;
mod operands;
mod warp;

use std::collections::HashMap;

use crate::error::Error;
use crate::operation::{Constant, Kernel, Operation, Step};
use crate::statement::{Function, Instruction, Space, Statement, Text, Variable};
use modifiers::Modifiers;
use names::{Binding, Scope};

/// Decodes every kernel of a text.
pub fn kernels(text: &Text) -> Result<Vec<Kernel>, Error> {
    text.functions.iter().filter(|function| function.entry).map(|function| Decoder::kernel(text, function)).collect()
}

struct Decoder<'a> {
    text: &'a Text,
    kernel: Kernel,
    scopes: Vec<Scope>,
    constants: HashMap<Constant, u32>,
    /// Functions being copied, outermost first; a repetition is a recursion.
    calls: Vec<&'a str>,
    /// Guard and line of the instruction being decoded.
    guard: Option<(u32, bool)>,
    line: u32,
}

impl<'a> Decoder<'a> {
    fn kernel(text: &'a Text, function: &'a Function) -> Result<Kernel, Error> {
        let kernel = Kernel {
            name: function.name.clone(),
            block_limit: function.block_limit,
            shared_grain: 4,
            ..Kernel::default()
        };
        let mut decoder = Self {
            text,
            kernel,
            scopes: vec![Scope::default()],
            constants: HashMap::new(),
            calls: vec![&function.name],
            guard: None,
            line: 0,
        };
        decoder.module_variables()?;
        decoder.scopes.push(Scope::default());
        for parameter in &function.parameters {
            decoder.line = parameter.line;
            if parameter.register.is_some() {
                return decoder.error("the parameters of a kernel are .param variables");
            }
            let offset = decoder.kernel.parameter_bytes.next_multiple_of(parameter.align);
            decoder.kernel.parameter_bytes = offset + parameter.bytes;
            decoder.kernel.parameters.push((offset, parameter.clone()));
            decoder.bind(&parameter.name, Binding::Parameter(offset))?;
        }
        decoder.body(&function.body)?;
        decoder.close_scope();
        decoder.place_dynamic_shared();
        if let Some(scope) = decoder.scopes.first()
            && let Some((_, name, line)) = scope.pending.first()
        {
            return Err(Error::new(*line, format!("there is no label {name}")));
        }
        decoder.step(Operation::Exit);
        Ok(decoder.kernel)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::new(self.line, message))
    }

    /// Adds a step under the guard of the current instruction.
    fn step(&mut self, operation: Operation) {
        self.kernel.steps.push(Step { operation, guard: self.guard, line: self.line });
    }

    fn body(&mut self, body: &'a [(Statement, u32)]) -> Result<(), Error> {
        for (statement, line) in body {
            self.line = *line;
            self.guard = None;
            match statement {
                Statement::Label(name) => self.label(name)?,
                Statement::Registers(kind, names) => self.declare_registers(*kind, names)?,
                Statement::Variable(variable) => self.declare_variable(variable)?,
                Statement::Open => self.scopes.push(Scope::default()),
                Statement::Close => self.close_scope(),
                Statement::Instruction(instruction) => self.instruction(instruction)?,
            }
        }
        self.guard = None;
        Ok(())
    }

    /// Module variables: shared ones get offsets that all kernels agree on; the others an index.
    fn module_variables(&mut self) -> Result<(), Error> {
        let text = self.text;
        let mut index = 0;
        for variable in &text.variables {
            self.line = variable.line;
            if variable.space == Space::Shared {
                self.declare_variable(variable)?;
            } else {
                self.bind(&variable.name, Binding::Global(index, variable.space))?;
                index += 1;
            }
        }
        Ok(())
    }

    fn declare_variable(&mut self, variable: &Variable) -> Result<(), Error> {
        let binding = match variable.space {
            Space::Shared if variable.external => Binding::DynamicShared(variable.align),
            Space::Shared => {
                let offset = self.kernel.shared_bytes.next_multiple_of(variable.align);
                self.kernel.shared_bytes = offset + variable.bytes;
                Binding::Shared(offset)
            }
            // Parameters of calls live in the lane's own memory.
            Space::Local | Space::Parameter => {
                let offset = self.kernel.local_bytes.next_multiple_of(variable.align);
                self.kernel.local_bytes = offset + variable.bytes;
                if variable.space == Space::Local { Binding::Local(offset) } else { Binding::Argument(offset) }
            }
            _ => return self.error(format!("{}: such a variable belongs to module scope", variable.name)),
        };
        if !variable.initializer.is_empty() {
            return self.error(format!("{}: only .global and .const variables have initializers", variable.name));
        }
        self.bind(&variable.name, binding)
    }

    fn instruction(&mut self, instruction: &'a Instruction) -> Result<(), Error> {
        self.guard = match &instruction.guard {
            Some((name, negated)) => Some((self.predicate(name)?, *negated)),
            None => None,
        };
        let mut modifiers = Modifiers::new(&instruction.opcode, self.line);
        let operands = &instruction.operands;
        let name = modifiers.name;
        match name {
            "mov" => self.decode_move(&mut modifiers, operands)?,
            "cvt" => self.convert(&mut modifiers, operands)?,
            "cvta" => self.convert_address(&mut modifiers, operands)?,
            "selp" | "slct" => self.select(&mut modifiers, operands)?,
            "setp" | "set" | "testp" => self.compare(&mut modifiers, operands)?,
            "ld" | "ldu" | "st" => self.load_store(&mut modifiers, operands)?,
            "atom" | "red" => self.atomic(&mut modifiers, operands)?,
            "shfl" | "vote" | "activemask" | "redux" => self.warp_wide(&mut modifiers, operands)?,
            "bar" | "barrier" | "bra" | "ret" | "exit" | "trap" | "brkpt" | "membar" | "fence" | "prefetch"
            | "prefetchu" | "nanosleep" => self.control(&mut modifiers, operands)?,
            "call" => self.call(&mut modifiers, operands)?,
            _ => self.arithmetic(&mut modifiers, operands)?,
        }
        modifiers.finish()
    }
}
