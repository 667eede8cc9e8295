//! Who writes and reads the buffers of one block of steps.

use std::collections::{BTreeSet, HashMap};

use super::is_read;
use crate::graph::SymbolId;
use crate::loops::{Access, Action, BufferId, Kernel, Step};

/// The launches of a block that touch a buffer.
#[derive(Debug, Default)]
struct Use {
    writers: Vec<usize>,
    readers: Vec<usize>,
    /// Whether other steps or other blocks touch it too.
    elsewhere: bool,
}

/// The uses of the buffers of a block, by the places of steps.
#[derive(Debug, Default)]
pub struct Uses {
    buffers: HashMap<BufferId, Use>,
    touched: HashMap<usize, Vec<BufferId>>,
}

impl Uses {
    /// The uses in a block. `mentions` counts those of the whole program.
    pub fn of(steps: &[Step], mentions: &HashMap<BufferId, usize>) -> Self {
        let mut uses = Self::default();
        let mut counted: HashMap<BufferId, usize> = HashMap::new();
        for (place, step) in steps.iter().enumerate() {
            if let Action::Launch { kernel, buffers } = &step.action {
                uses.note(place, kernel, buffers);
                buffers.iter().for_each(|&id| *counted.entry(id).or_default() += 1);
            }
        }
        for (id, count) in counted {
            if mentions.get(&id) != Some(&count) {
                uses.buffers.entry(id).or_default().elsewhere = true;
            }
        }
        uses
    }

    /// Adds a launch.
    pub fn note(&mut self, place: usize, kernel: &Kernel, buffers: &[BufferId]) {
        for (parameter, &id) in kernel.parameters.iter().zip(buffers) {
            let known = self.buffers.entry(id).or_default();
            if parameter.access != Access::Read && !known.writers.contains(&place) {
                known.writers.push(place);
            }
            if is_read(parameter.access) && !known.readers.contains(&place) {
                known.readers.push(place);
            }
        }
        self.touched.insert(place, buffers.to_vec());
    }

    /// Takes a launch away.
    pub fn forget(&mut self, place: usize) {
        for id in self.touched.remove(&place).unwrap_or_default() {
            if let Some(known) = self.buffers.get_mut(&id) {
                known.writers.retain(|&other| other != place);
                known.readers.retain(|&other| other != place);
            }
        }
    }

    /// The only launch that writes a buffer, and the only one that reads it, where nothing else touches it.
    pub fn only_link(&self, id: BufferId) -> Option<(usize, usize)> {
        match self.buffers.get(&id)? {
            Use { writers, readers, elsewhere: false } => match (writers.as_slice(), readers.as_slice()) {
                (&[writer], &[reader]) => Some((writer, reader)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a buffer has one writer, in this block.
    pub fn is_written_once(&self, id: BufferId) -> bool {
        self.buffers.get(&id).is_some_and(|known| !known.elsewhere && known.writers.len() == 1)
    }
}

/// How often each buffer is named in the steps, nested ones included.
pub fn mentions(steps: &[Step]) -> HashMap<BufferId, usize> {
    let mut counts = HashMap::new();
    for step in steps {
        walk(step, &mut |id, _| *counts.entry(id).or_default() += 1);
    }
    counts
}

/// Whether a step writes one of the buffers.
pub fn writes_any(step: &Step, buffers: &[BufferId]) -> bool {
    let mut any = false;
    walk(step, &mut |id, writes| any |= writes && buffers.contains(&id));
    any
}

/// Calls `visit` for every buffer named in a step, with whether it is written.
fn walk(step: &Step, visit: &mut impl FnMut(BufferId, bool)) {
    match &step.action {
        Action::Launch { kernel, buffers } => {
            for (parameter, &id) in kernel.parameters.iter().zip(buffers) {
                visit(id, parameter.access != Access::Read);
            }
        }
        Action::Routine(call) => {
            call.inputs.iter().for_each(|&id| visit(id, false));
            call.outputs.iter().for_each(|&id| visit(id, true));
        }
        Action::Bind { buffer, .. } => visit(*buffer, false),
        Action::Move { from, to } => {
            visit(*from, true);
            visit(*to, true);
        }
        Action::If { then, otherwise, .. } => then.iter().chain(otherwise).for_each(|step| walk(step, visit)),
        Action::Loop { body, .. } => body.iter().for_each(|step| walk(step, visit)),
        Action::Set { .. } | Action::Check { .. } => {}
    }
}

/// Whether a step gives one of the symbols a value.
pub fn sets_any(step: &Step, symbols: &BTreeSet<SymbolId>) -> bool {
    match &step.action {
        Action::Bind { symbol, .. } | Action::Set { symbol, .. } => symbols.contains(symbol),
        Action::Routine(call) => call.binds.iter().any(|symbol| symbols.contains(symbol)),
        Action::If { then, otherwise, .. } => then.iter().chain(otherwise).any(|step| sets_any(step, symbols)),
        Action::Loop { counter, body, .. } => {
            symbols.contains(counter) || body.iter().any(|step| sets_any(step, symbols))
        }
        Action::Launch { .. } | Action::Check { .. } | Action::Move { .. } => false,
    }
}
