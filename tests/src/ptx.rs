//! Runs programs as PTX in the interpreter: the host's part of a GPU run, step by step.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow, bail, ensure};
use lithify::codegen::ptx::{self, Argument, PtxModule};
use lithify::graph::{Dim, SymbolId, Tensor, TensorData};
use lithify::loops::interpret::storage;
use lithify::loops::{Access, Action, BufferId, BufferKind, Kernel, Program, Step};
use lithify_ptx_interpreter::{DevicePtr, Memory, Module, Options, Param, WarpOrder};

/// Emits a program and runs it.
///
/// # Errors
/// Where there is no PTX for the program, or a check of the run or of the interpreter fails.
pub fn run(program: &Program, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let module = ptx::emit(program)?;
    let text = Module::parse(&module.text).map_err(|error| anyhow!("the text is not valid: {error}"))?;
    let mut device = Device::new(program, &module, &text, inputs)?;
    device.block(&program.steps)?;
    device.outputs()
}

/// Runs one kernel of constant shapes on buffers, one a parameter.
///
/// # Errors
/// As [`run`].
pub fn run_kernel(kernel: &Kernel, buffers: &mut [Vec<u8>]) -> Result<()> {
    let mut program = Program { labels: vec!["a kernel".into()], ..Program::default() };
    let ids: Vec<BufferId> = kernel
        .parameters
        .iter()
        .map(|parameter| program.add_buffer(parameter.element, parameter.shape.clone(), BufferKind::Temporary))
        .collect();
    let action = Action::Launch { kernel: std::sync::Arc::new(kernel.clone()), buffers: ids.clone() };
    program.steps.push(Step { label: 0, action });
    let module = ptx::emit(&program)?;
    let text = Module::parse(&module.text).map_err(|error| anyhow!("{error}\n{}", module.text))?;
    let mut device = Device::new(&program, &module, &text, &[])?;
    for ((&id, parameter), contents) in ids.iter().zip(&kernel.parameters).zip(buffers.iter()) {
        if parameter.access == Access::Write {
            device.prepare(id)?;
        } else {
            device.fill(id, contents)?;
        }
    }
    device.block(&program.steps)?;
    for (&id, contents) in ids.iter().zip(buffers) {
        *contents = device.read(id)?.to_vec();
    }
    Ok(())
}

/// A device with the buffers of a running program.
struct Device<'a> {
    program: &'a Program,
    module: &'a PtxModule,
    text: &'a Module,
    memory: Memory,
    places: Vec<Option<(DevicePtr, usize)>>,
    values: HashMap<SymbolId, i64>,
    flag: DevicePtr,
    launches: u64,
}

impl<'a> Device<'a> {
    fn new(program: &'a Program, module: &'a PtxModule, text: &'a Module, inputs: &[Tensor]) -> Result<Self> {
        ensure!(inputs.len() == program.inputs.len(), "{} inputs given", inputs.len());
        let mut memory = Memory::new();
        let flag = memory.allocate(4);
        memory.write(flag, &[0; 4])?;
        let places = vec![None; program.buffers.len()];
        let mut device = Self { program, module, text, memory, places, values: HashMap::new(), flag, launches: 0 };
        for (port, input) in program.inputs.iter().zip(inputs) {
            for (dim, &size) in port.shape.iter().zip(&input.dims) {
                if let Some(symbol) = dim.as_symbol() {
                    device.values.entry(symbol).or_insert(size);
                }
            }
        }
        for (position, buffer) in program.buffers.iter().enumerate() {
            let tensor = match &buffer.kind {
                BufferKind::Input(input) => &inputs[*input],
                BufferKind::Constant(tensor) => tensor,
                _ => continue,
            };
            let bytes = tensor.bytes().context("strings have no place on a GPU")?;
            device.fill(BufferId(position as u32), &bytes)?;
        }
        Ok(device)
    }

    fn fill(&mut self, id: BufferId, contents: &[u8]) -> Result<()> {
        let place = self.memory.allocate(contents.len());
        self.memory.write(place, contents)?;
        self.places[id.0 as usize] = Some((place, contents.len()));
        Ok(())
    }

    fn evaluate(&self, dim: &Dim) -> Result<i64> {
        Ok(dim.evaluate(&|symbol| self.values.get(&symbol).copied())?)
    }

    /// Makes a buffer ready to be written: of the size that its shape has now, keeping contents of that size.
    fn prepare(&mut self, id: BufferId) -> Result<()> {
        let buffer = self.program.buffer(id);
        let count = self.evaluate(&buffer.len())?;
        let bytes = storage::bytes_of(buffer.element, count).context("a size does not fit")?;
        if self.places[id.0 as usize].is_none_or(|(_, held)| held != bytes) {
            self.places[id.0 as usize] = Some((self.memory.allocate(bytes), bytes));
        }
        Ok(())
    }

    fn read(&self, id: BufferId) -> Result<&[u8]> {
        let (place, bytes) = self.places[id.0 as usize].with_context(|| format!("b{} has no contents", id.0))?;
        Ok(self.memory.read(place, bytes)?)
    }

    fn block(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            self.step(&step.action).with_context(|| format!("at {}", self.program.labels[step.label as usize]))?;
        }
        Ok(())
    }

    fn step(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::Launch { kernel, buffers } => self.launch(kernel, buffers)?,
            Action::Routine(call) => bail!("routine {} in a GPU program", call.routine),
            Action::Bind { symbol, buffer, element } => {
                let kind = self.program.buffer(*buffer).element;
                let number = storage::load(kind, self.read(*buffer)?, usize::try_from(*element)?);
                self.values.insert(*symbol, number.context("no such element")?.to_i64());
            }
            Action::Set { symbol, value } => {
                let value = self.evaluate(value)?;
                self.values.insert(*symbol, value);
            }
            Action::Check { condition, message } => ensure!(self.evaluate(condition)? != 0, "{message}"),
            Action::If { condition, then, otherwise } => {
                let block = if self.evaluate(condition)? != 0 { then } else { otherwise };
                self.block(block)?;
            }
            Action::Loop { counter, count, condition, body } => {
                let count = self.evaluate(count)?;
                self.values.insert(*counter, 0);
                for round in 1..=count {
                    if self.evaluate(condition)? == 0 {
                        break;
                    }
                    self.block(body)?;
                    self.values.insert(*counter, round);
                }
            }
            Action::Move { from, to } => {
                self.places[to.0 as usize] = self.places[from.0 as usize].take();
            }
        }
        Ok(())
    }

    fn launch(&mut self, kernel: &std::sync::Arc<Kernel>, buffers: &[BufferId]) -> Result<()> {
        for (parameter, &id) in kernel.parameters.iter().zip(buffers) {
            let empty = parameter.shape.iter().any(|dim| self.evaluate(dim).is_ok_and(|size| size == 0));
            if parameter.access == Access::Write || (parameter.access == Access::ReadWrite && empty) {
                self.prepare(id)?;
            }
        }
        let values = &self.values;
        let Some(launch) = self.module.launch(kernel, buffers, &|symbol| values.get(&symbol).copied())? else {
            return Ok(());
        };
        let params: Vec<Param> = launch
            .arguments
            .iter()
            .map(|argument| {
                Ok(match argument {
                    Argument::Buffer(id) => Param::Pointer(self.places[id.0 as usize].context("no contents")?.0),
                    Argument::Size(value) => Param::S64(*value),
                    Argument::Flag => Param::Pointer(self.flag),
                })
            })
            .collect::<Result<_>>()?;
        // Another order of the warps each time: a result that depends on it is wrong.
        self.launches += 1;
        let options = Options { warp_order: WarpOrder::Seeded(self.launches), ..Options::default() };
        let (grid, block) = ([launch.blocks, 1, 1], [launch.threads, 1, 1]);
        self.text
            .launch(&launch.entry.name, grid, block, 0, &params, &mut self.memory, &options)
            .map_err(|fault| anyhow!("kernel {}: {fault}", kernel.name))?;
        let flag = self.memory.read(self.flag, 4)?;
        ensure!(flag == [0; 4], "kernel {}: an index is outside its bounds", kernel.name);
        Ok(())
    }

    fn outputs(&mut self) -> Result<Vec<Tensor>> {
        let mut outputs = Vec::new();
        for (position, port) in self.program.outputs.iter().enumerate() {
            let is_output = |buffer: &lithify::loops::Buffer| buffer.kind == BufferKind::Output(position);
            let buffer = self.program.buffers.iter().position(is_output).context("an output has no buffer")?;
            let id = BufferId(buffer as u32);
            let dims = port.shape.iter().map(|dim| self.evaluate(dim)).collect::<Result<Vec<i64>>>()?;
            if dims.contains(&0) {
                self.prepare(id)?;
            }
            let data = TensorData::Bytes(self.read(id)?.to_vec().into());
            outputs.push(Tensor { element: port.element, dims, data });
        }
        Ok(outputs)
    }
}
