//! Where every buffer of a program lives during a run.
//!
//! A run has a *frame*, an array of 64-bit words in the context, and an *arena*, one block of workspace. Sizes known at
//! compile time get fixed offsets in the arena; sizes that follow from the inputs' shapes share slots whose offsets are
//! computed when the run starts; sizes known only later are allocated when the buffer is first used.

mod in_place;
mod lifetime;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::graph::{Dim, SymbolId};
use crate::loops::{Action, BufferId, BufferKind, Program, Step};

pub use lifetime::{Lifetime, lifetimes, touched};

/// Alignment of every buffer in the arena, in bytes.
pub const ALIGNMENT: u64 = 64;

/// Bytes that no machine has room for: a plan whose arena reaches them cannot run.
pub const GREATEST_ARENA: u64 = 1 << 56;

/// Where the address of a buffer comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Location {
    /// A frame word holds the address: inputs, outputs, and buffers of late size.
    Pointer(u64),
    /// At a fixed offset in the arena.
    Arena(u64),
    /// At an offset in the arena that a frame word holds.
    Slot(u64),
    /// In the artifact's read-only data.
    Constant,
    /// Never used.
    Nowhere,
}

/// The memory plan of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct MemoryPlan {
    /// Location of each buffer.
    pub locations: Vec<Location>,
    /// Whether each buffer's size is known only during the run.
    pub late: Vec<bool>,
    /// Late temporaries that are last used at a point of the program, as [`lifetimes`] counts.
    pub dying: BTreeMap<usize, Vec<BufferId>>,
    /// Bytes of the fixed part of the arena.
    pub fixed_bytes: u64,
    /// For each slot, its frame word and the sizes in bytes of which it takes the greatest.
    pub slots: Vec<(u64, Vec<Dim>)>,
    /// Frame word of the first symbol.
    pub symbols_at: u64,
    /// Frame word of the first input's address; the outputs' follow.
    pub pointers_at: u64,
    /// Words of the frame.
    pub frame_words: u64,
}

/// Symbols whose values only the steps of the program determine.
pub fn late_symbols(program: &Program) -> BTreeSet<SymbolId> {
    fn collect(steps: &[Step], late: &mut BTreeSet<SymbolId>) {
        for step in steps {
            match &step.action {
                Action::Bind { symbol, .. } | Action::Set { symbol, .. } => {
                    late.insert(*symbol);
                }
                Action::Routine(call) => late.extend(call.binds.iter().copied()),
                Action::If { then, otherwise, .. } => {
                    collect(then, late);
                    collect(otherwise, late);
                }
                Action::Loop { counter, body, .. } => {
                    late.insert(*counter);
                    collect(body, late);
                }
                Action::Launch { .. } | Action::Check { .. } | Action::Move { .. } => {}
            }
        }
    }
    let mut late = BTreeSet::new();
    collect(&program.steps, &mut late);
    late
}

/// Plans the memory of a program.
pub fn plan(program: &Program) -> MemoryPlan {
    let late_symbols = late_symbols(program);
    let is_late = |dim: &Dim| dim.symbols().iter().any(|symbol| late_symbols.contains(symbol));
    let late: Vec<bool> = program.buffers.iter().map(|buffer| buffer.shape.iter().any(is_late)).collect();
    let lifetimes = lifetimes(program);
    let replaced = replaced(program, &lifetimes, &late);
    let symbols_at = 2;
    let pointers_at = symbols_at + program.symbols.len() as u64;
    let outputs_at = pointers_at + program.inputs.len() as u64;
    let mut frame_words = outputs_at + program.outputs.len() as u64;
    let mut locations = vec![Location::Nowhere; program.buffers.len()];
    let mut fixed = Vec::new();
    let mut slotted = Vec::new();
    let mut dying: BTreeMap<usize, Vec<BufferId>> = BTreeMap::new();
    for (index, buffer) in program.buffers.iter().enumerate() {
        locations[index] = match (&buffer.kind, lifetimes[index]) {
            (BufferKind::Input(position), _) => Location::Pointer(pointers_at + *position as u64),
            (BufferKind::Output(position), _) => Location::Pointer(outputs_at + *position as u64),
            (BufferKind::Constant(_), _) => Location::Constant,
            (BufferKind::Temporary, None) => Location::Nowhere,
            (BufferKind::Temporary, Some(lifetime)) if late[index] => {
                dying.entry(lifetime.end).or_default().push(BufferId(index as u32));
                frame_words += 1;
                Location::Pointer(frame_words - 1)
            }
            (BufferKind::Temporary, Some(lifetime)) => {
                match buffer.bytes().as_const() {
                    Some(bytes) => fixed.push((BufferId(index as u32), lifetime, bytes.max(0) as u64)),
                    None => slotted.push((BufferId(index as u32), lifetime, buffer.bytes())),
                }
                Location::Nowhere
            }
        };
    }
    let fixed_bytes = place_fixed(&fixed, &replaced, &mut locations);
    let slots = share_slots(slotted, &replaced, &mut locations, &mut frame_words);
    MemoryPlan { locations, late, dying, fixed_bytes, slots, symbols_at, pointers_at, frame_words }
}

/// For results that are written over an operand whose life ends there: the operand. No operand is given twice.
fn replaced(program: &Program, lifetimes: &[Option<Lifetime>], late: &[bool]) -> HashMap<BufferId, BufferId> {
    let lifetime = |id: BufferId| lifetimes[id.0 as usize];
    let is_planned = |id: BufferId| matches!(program.buffer(id).kind, BufferKind::Temporary) && !late[id.0 as usize];
    let mut replaced = HashMap::new();
    for (now, kernel, buffers) in lifetime::launches(program) {
        let free = in_place::pairs(kernel, buffers).into_iter().find(|&(result, operand)| {
            is_planned(result)
                && is_planned(operand)
                && lifetime(result).is_some_and(|life| life.start == now)
                && lifetime(operand).is_some_and(|life| life.end == now && life.start < now)
                && program.buffer(result).bytes() == program.buffer(operand).bytes()
        });
        replaced.extend(free);
    }
    replaced
}

/// Gives buffers of known size offsets, the largest first, each at the lowest place free during its life. Buffers that
/// replace each other are placed as one.
fn place_fixed(
    buffers: &[(BufferId, Lifetime, u64)],
    replaced: &HashMap<BufferId, BufferId>,
    locations: &mut [Location],
) -> u64 {
    // The first of each chain stands for all.
    let first = |mut id: BufferId| {
        while let Some(&before) = replaced.get(&id) {
            id = before;
        }
        id
    };
    let mut chains: BTreeMap<BufferId, (Lifetime, u64)> = BTreeMap::new();
    for &(id, lifetime, bytes) in buffers {
        let (whole, _) = chains.entry(first(id)).or_insert((lifetime, bytes));
        *whole = Lifetime { start: whole.start.min(lifetime.start), end: whole.end.max(lifetime.end) };
    }
    let mut order: Vec<_> = chains.into_iter().map(|(id, (lifetime, bytes))| (id, lifetime, bytes)).collect();
    order.sort_by_key(|&(id, lifetime, bytes)| (std::cmp::Reverse(bytes), lifetime.start, id));
    let mut placed: Vec<(u64, u64, Lifetime)> = Vec::new();
    let mut total = 0u64;
    for (id, lifetime, bytes) in order {
        let bytes = bytes.min(GREATEST_ARENA).next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        let mut busy: Vec<(u64, u64)> = placed
            .iter()
            .filter(|(_, _, other)| other.overlaps(lifetime))
            .map(|&(offset, bytes, _)| (offset, bytes))
            .collect();
        busy.sort_unstable();
        let mut offset = 0u64;
        for (start, length) in busy {
            if offset.saturating_add(bytes) <= start {
                break;
            }
            offset = offset.max(start.saturating_add(length));
        }
        placed.push((offset, bytes, lifetime));
        total = total.max(offset.saturating_add(bytes));
        locations[id.0 as usize] = Location::Arena(offset);
    }
    for &(id, ..) in buffers {
        locations[id.0 as usize] = locations[first(id).0 as usize].clone();
    }
    total
}

/// Lets buffers of symbolic size whose lives do not overlap share slots, in order of first use.
fn share_slots(
    mut buffers: Vec<(BufferId, Lifetime, Dim)>,
    replaced: &HashMap<BufferId, BufferId>,
    locations: &mut [Location],
    frame_words: &mut u64,
) -> Vec<(u64, Vec<Dim>)> {
    buffers.sort_by_key(|(id, lifetime, _)| (lifetime.start, *id));
    let mut slots: Vec<(u64, Vec<Dim>, usize)> = Vec::new();
    for (id, lifetime, bytes) in buffers {
        let operand = replaced.get(&id).map(|operand| locations[operand.0 as usize].clone());
        let in_place = slots.iter().position(|slot| operand == Some(Location::Slot(slot.0)));
        // Prefer a free slot that already has this size: it does not grow.
        let free = |slot: &&mut (u64, Vec<Dim>, usize)| slot.2 < lifetime.start;
        let same = slots.iter().position(|slot| slot.2 < lifetime.start && slot.1.contains(&bytes));
        let same = in_place.or(same);
        let slot = match same {
            Some(index) => &mut slots[index],
            None => match slots.iter_mut().find(free) {
                Some(slot) => slot,
                None => {
                    slots.push((*frame_words, Vec::new(), 0));
                    *frame_words += 1;
                    slots.last_mut().expect("just pushed")
                }
            },
        };
        if !slot.1.contains(&bytes) {
            slot.1.push(bytes);
        }
        slot.2 = lifetime.end;
        locations[id.0 as usize] = Location::Slot(slot.0);
    }
    slots.into_iter().map(|(word, sizes, _)| (word, sizes)).collect()
}
