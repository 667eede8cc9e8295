//! Copies device functions into their callers.

use super::Decoder;
use super::modifiers::Modifiers;
use super::names::{Binding, Scope};
use crate::error::Error;
use crate::operation::{Access, Constant, Operation, SINK};
use crate::statement::{Operand, Space, Variable};
use crate::types::Type;

/// The label at the end of a copied function; no name of a text contains a space.
pub const RETURN: &str = "end of function";

/// Deepest nesting of calls.
const MAXIMUM_DEPTH: usize = 32;

impl Decoder<'_> {
    pub(super) fn call(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        modifiers.ignore(&["uni"]);
        let (results, name, arguments) = match operands {
            [Operand::Name(name)] => (&[][..], name, &[][..]),
            [Operand::Name(name), Operand::List(arguments)] => (&[][..], name, arguments.as_slice()),
            [Operand::List(results), Operand::Name(name)] => (results.as_slice(), name, &[][..]),
            [Operand::List(results), Operand::Name(name), Operand::List(arguments)] => {
                (results.as_slice(), name, arguments.as_slice())
            }
            _ => return self.error("a call is (results), function, (arguments)"),
        };
        let text = self.text;
        let candidates = text.functions.iter().filter(|function| !function.entry && function.name == *name);
        let Some(function) = candidates.max_by_key(|function| function.body.len()) else {
            return self.error(format!("there is no device function {name}"));
        };
        let place = |name: &str| text.functions.iter().position(|function| function.name == name);
        if self.calls.last().is_some_and(|caller| place(name) >= place(caller)) {
            return self.error(format!("{name} must be declared before the function that calls it"));
        }
        if function.body.is_empty() {
            return self.error(format!("the device function {name} has no body"));
        }
        if self.calls.contains(&function.name.as_str()) || self.calls.len() > MAXIMUM_DEPTH {
            return self.error(format!("{name} is called recursively, or too deep"));
        }
        if arguments.len() != function.parameters.len() || results.len() != function.returns.len() {
            return self.error(format!("{name}: the arguments or results do not match its declaration"));
        }
        let (guard, line) = (self.guard, self.line);
        // Without this, the lanes that do not call would run the body, which has no guard.
        let skip = "end of call";
        self.scopes.push(Scope::default());
        if let Some((predicate, negated)) = guard {
            self.guard = Some((predicate, !negated));
            self.branch(skip);
            self.guard = None;
        }
        let mut frame = Scope::default();
        let mut copies = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let binding = self.pass(parameter, argument, true, &mut copies)?;
            frame.bind(&parameter.name, binding);
        }
        for (parameter, result) in function.returns.iter().zip(results) {
            let binding = self.pass(parameter, result, false, &mut copies)?;
            frame.bind(&parameter.name, binding);
        }
        // The names of the caller are out of sight in the function; module variables stay.
        let callers = self.scopes.split_off(1);
        self.scopes.push(frame);
        self.calls.push(&function.name);
        self.body(&function.body)?;
        self.calls.pop();
        self.label(RETURN)?;
        self.close_scope();
        if let Some((_, label, line)) = self.scopes.first_mut().and_then(|scope| scope.pending.pop()) {
            return Err(Error::new(line, format!("there is no label {label} in {name}")));
        }
        self.scopes.extend(callers);
        self.line = line;
        for operation in copies {
            self.step(operation);
        }
        self.label(skip)?;
        self.close_scope();
        Ok(())
    }

    /// Binds a formal parameter to what the caller gives. Variables are shared between both; registers are copied, in
    /// now and out by the operations added to `copies`.
    fn pass(
        &mut self,
        parameter: &Variable,
        given: &Operand,
        inward: bool,
        copies: &mut Vec<Operation>,
    ) -> Result<Binding, Error> {
        let kind = parameter.register.unwrap_or(match parameter.bytes {
            1 => Type::B8,
            2 => Type::B16,
            4 => Type::B32,
            _ => Type::B64,
        });
        let variable = match given {
            Operand::Name(name) => match self.lookup(name) {
                Some(Binding::Argument(offset)) => Some(offset),
                _ => None,
            },
            _ => None,
        };
        if let Some(offset) = variable {
            if parameter.register.is_some() {
                return self.error(format!("{}: a register parameter is given a variable", parameter.name));
            }
            return Ok(Binding::Argument(offset));
        }
        let register = if inward { self.source(given, kind)? } else { self.destination(given, kind)? };
        if parameter.register.is_some() {
            let inner = self.new_register(&parameter.name);
            if inward {
                self.copy(inner, register);
            } else {
                copies.push(Operation::Unary { function: |d, a| *d = *a, d: register, a: inner });
            }
            return Ok(Binding::Register(inner, kind));
        }
        let offset = self.kernel.local_bytes.next_multiple_of(parameter.align);
        self.kernel.local_bytes = offset + parameter.bytes;
        let base = self.constant(Constant::Bits(0));
        let access = Access { space: Space::Local, base, offset: i64::from(offset), bytes: kind.bytes(), count: 1 };
        let registers = [register, SINK, SINK, SINK];
        if inward {
            self.step(Operation::Store { access, sources: registers });
        } else {
            copies.push(Operation::Load { access, d: registers, sign: None });
        }
        Ok(Binding::Argument(offset))
    }
}
