//! Which buffers only the launches of one block of steps touch.

use std::collections::HashMap;

use crate::loops::{Access, Action, BufferId, Program, Step};

/// Where a buffer is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Home {
    /// By launches of the block of this number.
    Block(usize),
    /// By more than one block, or by steps other than launches.
    Shared,
}

/// The uses of all buffers.
#[derive(Debug, Default)]
pub struct Uses {
    homes: HashMap<BufferId, Home>,
    blocks: usize,
}

impl Uses {
    /// Walks a program. Blocks are numbered in the order in which their first steps come, the outermost block 0.
    pub fn of(program: &Program) -> Self {
        let mut uses = Self::default();
        uses.block(&program.steps);
        uses
    }

    /// Whether all uses of a buffer are launches in the block.
    pub fn is_local(&self, buffer: BufferId, block: usize) -> bool {
        self.homes.get(&buffer) == Some(&Home::Block(block))
    }

    fn block(&mut self, steps: &[Step]) {
        let number = self.blocks;
        self.blocks += 1;
        for step in steps {
            match &step.action {
                Action::Launch { kernel, buffers } => {
                    for (parameter, &id) in kernel.parameters.iter().zip(buffers) {
                        let home = match parameter.access {
                            Access::ReadWrite => Home::Shared,
                            _ => Home::Block(number),
                        };
                        self.note(id, home);
                    }
                }
                Action::If { then, otherwise, .. } => {
                    self.block(then);
                    self.block(otherwise);
                }
                Action::Loop { body, .. } => self.block(body),
                Action::Routine(call) => {
                    call.inputs.iter().chain(&call.outputs).for_each(|&id| self.note(id, Home::Shared));
                }
                Action::Bind { buffer, .. } => self.note(*buffer, Home::Shared),
                Action::Move { from, to } => {
                    self.note(*from, Home::Shared);
                    self.note(*to, Home::Shared);
                }
                Action::Set { .. } | Action::Check { .. } => {}
            }
        }
    }

    fn note(&mut self, id: BufferId, home: Home) {
        self.homes
            .entry(id)
            .and_modify(|known| {
                if *known != home {
                    *known = Home::Shared
                }
            })
            .or_insert(home);
    }
}
