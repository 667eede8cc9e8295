//! Drops launches whose results nobody reads, such as arithmetic on shapes whose results are known as expressions.

use std::collections::HashSet;

use super::{Access, Action, BufferId, BufferKind, Kernel, Program, Step};

/// Drops them from all blocks. Kernels that can fail stay.
pub fn drop_unread(program: &mut Program) {
    let mut reads =
        Reads { writers: vec![Vec::new(); program.buffers.len()], launches: Vec::new(), pending: Vec::new() };
    reads.block(&program.steps, program);
    let read = reads.follow();
    drop_from(&mut program.steps, &read);
}

/// What reads and writes which buffers.
struct Reads {
    /// For each buffer, the launches that write it.
    writers: Vec<Vec<usize>>,
    /// For each launch, the buffers that it reads.
    launches: Vec<Vec<BufferId>>,
    /// Buffers that are read for certain.
    pending: Vec<BufferId>,
}

impl Reads {
    fn block(&mut self, steps: &[Step], program: &Program) {
        for step in steps {
            match &step.action {
                Action::Launch { kernel, buffers } => self.launch(kernel, buffers, program),
                Action::Routine(call) => self.pending.extend(call.inputs.iter().chain(&call.outputs)),
                Action::Bind { buffer, .. } => self.pending.push(*buffer),
                Action::Move { from, to } => self.pending.extend([*from, *to]),
                Action::If { then, otherwise, .. } => {
                    self.block(then, program);
                    self.block(otherwise, program);
                }
                Action::Loop { body, .. } => self.block(body, program),
                Action::Set { .. } | Action::Check { .. } => {}
            }
        }
    }

    fn launch(&mut self, kernel: &Kernel, buffers: &[BufferId], program: &Program) {
        let number = self.launches.len();
        let mut read = Vec::new();
        for (parameter, &buffer) in kernel.parameters.iter().zip(buffers) {
            if parameter.access != Access::Write {
                read.push(buffer);
            }
            if parameter.access != Access::Read {
                self.writers[buffer.0 as usize].push(number);
                if program.buffer(buffer).kind != BufferKind::Temporary {
                    self.pending.push(buffer);
                }
            }
        }
        if kernel.can_fail() {
            self.pending.extend(&read);
        }
        self.launches.push(read);
    }

    /// All buffers that are read, directly or for the sake of another.
    fn follow(mut self) -> HashSet<BufferId> {
        let mut read = HashSet::new();
        while let Some(buffer) = self.pending.pop() {
            if read.insert(buffer) {
                for &launch in &self.writers[buffer.0 as usize] {
                    self.pending.append(&mut self.launches[launch]);
                }
            }
        }
        read
    }
}

fn drop_from(steps: &mut Vec<Step>, read: &HashSet<BufferId>) {
    steps.retain(|step| match &step.action {
        Action::Launch { kernel, buffers } => {
            let mut written =
                kernel.parameters.iter().zip(buffers).filter(|(parameter, _)| parameter.access != Access::Read);
            kernel.can_fail() || written.any(|(_, buffer)| read.contains(buffer))
        }
        _ => true,
    });
    for step in steps {
        match &mut step.action {
            Action::If { then, otherwise, .. } => {
                drop_from(then, read);
                drop_from(otherwise, read);
            }
            Action::Loop { body, .. } => drop_from(body, read),
            _ => {}
        }
    }
}
