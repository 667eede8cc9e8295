//! A decoded PTX text.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::decode;
use crate::error::Error;
use crate::fault::{Fault, FaultReason};
use crate::launch::{self, Options, Param, Stats};
use crate::memory::Memory;
use crate::operation::Kernel;
use crate::parser;
use crate::statement::{Space, Variable};

/// Numbers modules, so that a [`Memory`] can hold the variables of several.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A PTX text whose kernels can be launched.
#[derive(Debug)]
pub struct Module {
    number: u64,
    kernels: Vec<Kernel>,
    /// Variables in global and constant memory.
    variables: Vec<Variable>,
}

impl Module {
    /// Parses and decodes a PTX text.
    ///
    /// # Errors
    /// The first thing in the text that is wrong, or that this interpreter does not execute.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = parser::parse(text)?;
        let kernels = decode::kernels(&text)?;
        let variables = text.variables.into_iter().filter(|variable| variable.space != Space::Shared).collect();
        Ok(Self { number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed), kernels, variables })
    }

    /// Names of the kernels, in the order of the text.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// Address of a variable at module scope; the module's variables are allocated in `memory` when they are not yet.
    pub fn variable(&self, name: &str, memory: &mut Memory) -> Option<crate::DevicePtr> {
        let index = self.variables.iter().position(|variable| variable.name == name)?;
        Some(crate::DevicePtr(self.variable_addresses(memory)[index]))
    }

    fn variable_addresses(&self, memory: &mut Memory) -> Vec<u64> {
        if let Some(addresses) = memory.modules.get(&self.number) {
            return addresses.clone();
        }
        let mut addresses = Vec::new();
        for variable in &self.variables {
            let mut bytes = variable.initializer.clone();
            bytes.resize(variable.bytes as usize, 0);
            addresses.push(memory.allocate_variable(&bytes, variable.space == Space::Constant));
        }
        memory.modules.insert(self.number, addresses.clone());
        addresses
    }

    /// Runs every block of a launch, one after another. `shared_bytes` is the size of dynamic shared memory.
    ///
    /// # Errors
    /// The first [`Fault`]: the launch does not fit the kernel, or a check failed while it ran. Memory keeps what was
    /// written until then.
    #[allow(clippy::too_many_arguments)]
    pub fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        params: &[Param],
        memory: &mut Memory,
        options: &Options,
    ) -> Result<Stats, Fault> {
        let Some(found) = self.kernels.iter().find(|candidate| candidate.name == kernel) else {
            let reason = FaultReason::Launch("the module has no kernel of this name".into());
            return Err(Fault { kernel: kernel.into(), line: 0, block: [0; 3], warp: 0, lane: 0, reason });
        };
        let variables = self.variable_addresses(memory);
        launch::launch(found, &launch::Shape { grid, block, shared_bytes }, params, &variables, memory, options)
    }
}
