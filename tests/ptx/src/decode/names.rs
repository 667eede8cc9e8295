//! Names in scope: registers, variables, and labels.

use std::collections::HashMap;

use super::Decoder;
use crate::error::Error;
use crate::operation::{Constant, Operation};
use crate::statement::Space;
use crate::types::Type;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub enum Binding {
    /// A register of the warp's file.
    Register(u32, Type),
    /// A predicate of the warp's file.
    Predicate(u32),
    /// Offset in shared memory.
    Shared(u32),
    /// Dynamic shared memory, with its alignment.
    DynamicShared(u32),
    /// Offset in the lane's local memory.
    Local(u32),
    /// Offset in the kernel's parameters.
    Parameter(u32),
    /// A parameter of a call: an offset in the lane's local memory.
    Argument(u32),
    /// A module variable's index, and its space.
    Global(usize, Space),
}

/// The names of one block of statements.
#[derive(Debug, Default)]
pub struct Scope {
    names: HashMap<String, Binding>,
    labels: HashMap<String, u32>,
    /// Branches whose label is not known yet: step, label, line.
    pub pending: Vec<(usize, String, u32)>,
}

impl Scope {
    /// Gives a name a meaning.
    pub fn bind(&mut self, name: &str, binding: Binding) {
        self.names.insert(name.to_string(), binding);
    }
}

/// Most registers of one declaration; more is a mistake.
const MAXIMUM_REGISTERS: u32 = 65536;

impl Decoder<'_> {
    /// Gives a name a meaning in the innermost scope.
    pub(super) fn bind(&mut self, name: &str, binding: Binding) -> Result<(), Error> {
        let fresh = match self.scopes.last_mut() {
            Some(scope) => scope.names.insert(name.to_string(), binding).is_none(),
            None => true,
        };
        if fresh { Ok(()) } else { self.error(format!("{name} is declared twice")) }
    }

    /// The meaning of a name.
    pub(super) fn lookup(&self, name: &str) -> Option<Binding> {
        self.scopes.iter().rev().find_map(|scope| scope.names.get(name).copied())
    }

    /// Declares registers.
    pub(super) fn declare_registers(&mut self, kind: Type, names: &[(String, Option<u32>)]) -> Result<(), Error> {
        for (name, count) in names {
            match count {
                None => self.declare_register(kind, name)?,
                Some(count) if *count > MAXIMUM_REGISTERS => {
                    return self.error(format!("{count} registers {name}: at most {MAXIMUM_REGISTERS}"));
                }
                Some(count) => {
                    for index in 0..*count {
                        self.declare_register(kind, &format!("{name}{index}"))?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn declare_register(&mut self, kind: Type, name: &str) -> Result<(), Error> {
        let binding = if kind == Type::Predicate {
            self.kernel.predicate_names.push(name.to_string());
            Binding::Predicate(self.kernel.predicate_names.len() as u32 - 1)
        } else {
            Binding::Register(self.new_register(name), kind)
        };
        self.bind(name, binding)
    }

    /// A new register of the warp's file.
    pub(super) fn new_register(&mut self, name: &str) -> u32 {
        self.kernel.register_names.push(name.to_string());
        self.kernel.register_names.len() as u32 - 1
    }

    /// The register that holds a constant.
    pub(super) fn constant(&mut self, constant: Constant) -> u32 {
        if let Some(&register) = self.constants.get(&constant) {
            return register;
        }
        let register = self.new_register("constant");
        self.kernel.constants.push((register, constant));
        self.constants.insert(constant, register);
        register
    }

    /// Marks the next step with a label.
    pub(super) fn label(&mut self, name: &str) -> Result<(), Error> {
        let here = self.kernel.steps.len() as u32;
        let fresh = match self.scopes.last_mut() {
            Some(scope) => scope.labels.insert(name.to_string(), here).is_none(),
            None => true,
        };
        if fresh { Ok(()) } else { self.error(format!("the label {name} is declared twice")) }
    }

    /// A branch to a label, which may stand further on.
    pub(super) fn branch(&mut self, label: &str) {
        let (step, line) = (self.kernel.steps.len(), self.line);
        self.step(Operation::Branch { target: u32::MAX });
        if let Some(scope) = self.scopes.last_mut() {
            scope.pending.push((step, label.to_string(), line));
        }
    }

    /// Ends a scope: branches to its labels are resolved, the others are left to the scope around it.
    pub(super) fn close_scope(&mut self) {
        let Some(scope) = self.scopes.pop() else { return };
        for (step, label, line) in scope.pending {
            match (scope.labels.get(&label), self.scopes.last_mut()) {
                (Some(&target), _) => self.kernel.steps[step].operation = Operation::Branch { target },
                (None, Some(outer)) => outer.pending.push((step, label, line)),
                (None, None) => {}
            }
        }
    }

    /// Dynamic shared memory starts after the variables of known size. Its address is held by a constant that is
    /// recognizable until the size of those is known.
    pub(super) fn place_dynamic_shared(&mut self) {
        let aligns = self.kernel.constants.iter().filter_map(|(_, constant)| match constant {
            Constant::DynamicShared { align, .. } => Some(*align),
            _ => None,
        });
        let Some(align) = aligns.max() else { return };
        self.kernel.shared_bytes = self.kernel.shared_bytes.next_multiple_of(align);
        let start = self.kernel.shared_bytes;
        for (_, constant) in &mut self.kernel.constants {
            if let Constant::DynamicShared { offset, .. } = *constant {
                *constant = Constant::Bits(u64::from(start).wrapping_add_signed(offset));
            }
        }
    }
}
