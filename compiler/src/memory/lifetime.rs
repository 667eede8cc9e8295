//! From which step to which step a buffer holds something that is still needed.

use crate::loops::{Action, BufferId, Kernel, Program, Step};

/// First and last step of use, counted through all blocks in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lifetime {
    /// The first step that touches the buffer.
    pub start: usize,
    /// The last step that touches the buffer.
    pub end: usize,
}

impl Lifetime {
    /// Whether both are alive at some step.
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// The lifetimes of all buffers; `None` for those no step touches.
///
/// Every step counts 1, and the end of a branch or loop counts 1 more. A buffer used both inside and outside of a loop
/// lives during the whole loop; one that a branch uses and that was alive before lives until the end of the branch.
pub fn lifetimes(program: &Program) -> Vec<Option<Lifetime>> {
    let mut walk = Walk { lifetimes: vec![None; program.buffers.len()], clock: 0, loops: Vec::new() };
    walk.block(&program.steps);
    let Walk { mut lifetimes, loops, .. } = walk;
    for (whole, inside) in loops {
        // What is needed after a loop keeps what earlier rounds left in it.
        for buffer in inside {
            if let Some(lifetime) = &mut lifetimes[buffer.0 as usize]
                && lifetime.end > whole.end
            {
                lifetime.start = lifetime.start.min(whole.start);
            }
        }
    }
    lifetimes
}

/// All launches with the numbers of their steps, as [`lifetimes`] counts.
pub fn launches(program: &Program) -> Vec<(usize, &Kernel, &[BufferId])> {
    fn block<'p>(steps: &'p [Step], clock: &mut usize, found: &mut Vec<(usize, &'p Kernel, &'p [BufferId])>) {
        for step in steps {
            *clock += 1;
            match &step.action {
                Action::Launch { kernel, buffers } => found.push((*clock, kernel, buffers)),
                Action::If { then, otherwise, .. } => {
                    block(then, clock, found);
                    block(otherwise, clock, found);
                    *clock += 1;
                }
                Action::Loop { body, .. } => {
                    block(body, clock, found);
                    *clock += 1;
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    block(&program.steps, &mut 0, &mut found);
    found
}

/// The buffers that a step touches itself, without its blocks.
pub fn touched(action: &Action) -> Vec<BufferId> {
    match action {
        Action::Launch { buffers, .. } => buffers.clone(),
        Action::Routine(call) => call.inputs.iter().chain(&call.outputs).copied().collect(),
        Action::Bind { buffer, .. } => vec![*buffer],
        Action::Move { from, to } => vec![*from, *to],
        Action::Set { .. } | Action::Check { .. } | Action::If { .. } | Action::Loop { .. } => Vec::new(),
    }
}

struct Walk {
    lifetimes: Vec<Option<Lifetime>>,
    clock: usize,
    /// Loops, inner ones first, with the buffers that they touch.
    loops: Vec<(Lifetime, Vec<BufferId>)>,
}

impl Walk {
    fn touch(&mut self, buffer: BufferId) {
        let now = self.clock;
        let lifetime = self.lifetimes[buffer.0 as usize].get_or_insert(Lifetime { start: now, end: now });
        lifetime.end = now;
    }

    fn block(&mut self, steps: &[Step]) {
        for step in steps {
            self.clock += 1;
            for buffer in touched(&step.action) {
                self.touch(buffer);
            }
            match &step.action {
                Action::If { then, otherwise, .. } => self.branch([then, otherwise]),
                Action::Loop { body, .. } => self.looped(body),
                _ => {}
            }
        }
    }

    fn branch(&mut self, blocks: [&[Step]; 2]) {
        let start = self.clock;
        blocks.into_iter().for_each(|block| self.block(block));
        self.clock += 1;
        let mut inside = Vec::new();
        blocks.into_iter().for_each(|block| collect(block, &mut inside));
        for buffer in inside {
            if let Some(lifetime) = &mut self.lifetimes[buffer.0 as usize]
                && lifetime.start <= start
            {
                lifetime.end = self.clock;
            }
        }
    }

    fn looped(&mut self, body: &[Step]) {
        let start = self.clock;
        self.block(body);
        self.clock += 1;
        let mut inside = Vec::new();
        collect(body, &mut inside);
        for buffer in &inside {
            // What was alive before the loop is needed in every round.
            if let Some(lifetime) = &mut self.lifetimes[buffer.0 as usize]
                && lifetime.start <= start
            {
                lifetime.end = self.clock;
            }
        }
        self.loops.push((Lifetime { start, end: self.clock }, inside));
    }
}

fn collect(steps: &[Step], buffers: &mut Vec<BufferId>) {
    for step in steps {
        buffers.extend(touched(&step.action));
        match &step.action {
            Action::If { then, otherwise, .. } => {
                collect(then, buffers);
                collect(otherwise, buffers);
            }
            Action::Loop { body, .. } => collect(body, buffers),
            _ => {}
        }
    }
}
