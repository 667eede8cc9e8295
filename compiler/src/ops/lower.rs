//! What an operator's lowering sees.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{OperatorError, Result};
use crate::graph::{Dim, ElementType, Model, Node, Region, SymbolId, Tensor, ValueId};
use crate::loops::{
    Access, Action, BufferId, BufferKind, ExprId, KernelBuilder, ParameterId, Program, RoutineCall, Step, View,
};

/// The part of a lowering that all nodes share.
#[derive(Debug)]
pub struct Lowering<'a> {
    /// The inferred model.
    pub model: &'a Model,
    /// The program under construction; its `steps` are empty until the end.
    pub program: Program,
    /// Where the values defined so far live.
    pub views: HashMap<ValueId, View>,
    /// Positions in the main graph's outputs of values that have not been given memory yet.
    pub pending_outputs: HashMap<ValueId, usize>,
    /// What makes a kernel of the node being lowered unusable.
    pub fault: Option<String>,
}

/// The lowering of one node.
#[derive(Debug)]
pub struct Lower<'a, 'b> {
    /// What all nodes share.
    pub shared: &'b mut Lowering<'a>,
    /// The node.
    pub node: &'a Node,
    /// Steps of the block the node is in.
    pub steps: &'b mut Vec<Step>,
    /// Label of the node's steps.
    pub label: u32,
}

/// A kernel under construction together with the buffers it will run on.
#[derive(Debug)]
pub struct Nest {
    builder: KernelBuilder,
    buffers: Vec<BufferId>,
}

impl Deref for Nest {
    type Target = KernelBuilder;
    fn deref(&self) -> &KernelBuilder {
        &self.builder
    }
}

impl DerefMut for Nest {
    fn deref_mut(&mut self) -> &mut KernelBuilder {
        &mut self.builder
    }
}

impl Nest {
    /// Starts a kernel; the name is for people.
    pub fn new(name: &str) -> Self {
        Self { builder: KernelBuilder::new(name), buffers: Vec::new() }
    }

    fn parameter(&mut self, view: &View, access: Access) -> ParameterId {
        self.buffers.push(view.buffer);
        self.builder.parameter(view.element, &view.shape, access)
    }

    /// Adds a buffer that is read.
    pub fn read(&mut self, view: &View) -> ParameterId {
        self.parameter(view, Access::Read)
    }

    /// Adds a buffer that is written.
    pub fn write(&mut self, view: &View) -> ParameterId {
        self.parameter(view, Access::Write)
    }

    /// Adds a buffer that is read and written in order.
    pub fn read_write(&mut self, view: &View) -> ParameterId {
        self.parameter(view, Access::ReadWrite)
    }

    /// Adds a buffer that broadcasts to the iteration space, and loads the element for the given positions.
    pub fn load_broadcast(&mut self, view: &View, axes: &[ExprId], extents: &[Dim]) -> ExprId {
        let parameter = self.read(view);
        let index = self.builder.broadcast(&view.shape, axes, extents);
        self.builder.load(parameter, &index)
    }
}

impl<'a> Lower<'a, '_> {
    /// Whether the node has input `index`.
    pub fn has_input(&self, index: usize) -> bool {
        self.node.input(index).is_some()
    }

    /// The memory of input `index`.
    pub fn input(&mut self, index: usize) -> Result<View> {
        let id = self.node.input(index).ok_or_else(|| OperatorError::new(format!("input {index} is missing")))?;
        self.shared.view(id)
    }

    /// The memory of input `index`, if the node has it.
    pub fn optional_input(&mut self, index: usize) -> Result<Option<View>> {
        self.has_input(index).then(|| self.input(index)).transpose()
    }

    /// The elements of integer input `index` where known: constants and expressions over symbols. After a shape rule has
    /// called [`Infer::values`](super::Infer::values) they always are.
    pub fn known(&self, index: usize) -> Option<Vec<Dim>> {
        let value = self.shared.model.value(self.node.input(index)?);
        if let Some(known) = &value.known {
            return Some(known.clone());
        }
        let integers = value.constant.as_ref().filter(|tensor| tensor.dims.len() <= 1)?.integers()?;
        Some(integers.into_iter().map(Dim::constant).collect())
    }

    /// The elements of integer input `index`, as constants.
    pub fn known_constants(&self, index: usize) -> Option<Vec<i64>> {
        self.known(index)?.iter().map(Dim::as_const).collect()
    }

    /// The constant contents of input `index`.
    pub fn constant(&self, index: usize) -> Option<&'a Tensor> {
        self.shared.model.value(self.node.input(index)?).constant.as_ref()
    }

    /// Whether anybody wants output `index`.
    pub fn wants_output(&self, index: usize) -> bool {
        self.node.output(index).is_some()
    }

    /// Element type and shape of output `index` as inferred.
    pub fn output_type(&self, index: usize) -> Result<(ElementType, Vec<Dim>)> {
        let id = self.node.output(index).ok_or_else(|| OperatorError::new(format!("output {index} is missing")))?;
        let tensor = self.shared.model.value(id).ty.as_tensor();
        let tensor =
            tensor.ok_or_else(|| OperatorError::unknown(format!("output {index} is not a tensor of known type")))?;
        let shape = tensor.shape.clone();
        let shape = shape.ok_or_else(|| OperatorError::unknown(format!("the rank of output {index} is not known")))?;
        Ok((tensor.element, shape))
    }

    /// New memory for output `index`, which the caller must fill. An unwanted output becomes a temporary only when its
    /// type is given by [`Lower::temporary`]; asking for it here is an error, so check [`Lower::wants_output`].
    pub fn output(&mut self, index: usize) -> Result<View> {
        let (element, shape) = self.output_type(index)?;
        let id = self.node.outputs[index].expect("output_type checked it");
        let kind = match self.shared.pending_outputs.remove(&id) {
            Some(position) => BufferKind::Output(position),
            None => BufferKind::Temporary,
        };
        let buffer = self.shared.program.add_buffer(element, shape, kind);
        let view = self.shared.program.view(buffer);
        self.shared.views.insert(id, view.clone());
        Ok(view)
    }

    /// Makes output `index` the memory of `view`, under the output's inferred shape.
    pub fn alias_output(&mut self, index: usize, view: View) -> Result<()> {
        let (element, shape) = self.output_type(index)?;
        if let Some(id) = self.node.output(index) {
            self.shared.views.insert(id, View { buffer: view.buffer, element, shape });
        }
        Ok(())
    }

    /// Scratch memory.
    pub fn temporary(&mut self, element: ElementType, shape: &[Dim]) -> View {
        let buffer = self.shared.program.add_buffer(element, shape.to_vec(), BufferKind::Temporary);
        self.shared.program.view(buffer)
    }

    /// A constant.
    pub fn constant_view(&mut self, tensor: Tensor) -> View {
        self.shared.constant(tensor)
    }

    /// Starts a kernel named after the operator.
    pub fn nest(&self) -> Nest {
        Nest::new(&self.node.operator.name)
    }

    /// Runs a kernel.
    ///
    /// A kernel that cannot be, because the inputs' types or ranks do not fit each other, fails the node's lowering.
    pub fn launch(&mut self, nest: Nest) {
        if let Some(fault) = nest.builder.fault() {
            self.shared.fault.get_or_insert_with(|| fault.to_owned());
        }
        let kernel = Arc::new(nest.builder.finish());
        self.step(Action::Launch { kernel, buffers: nest.buffers });
    }

    /// Calls a stub routine.
    pub fn routine(&mut self, call: RoutineCall) {
        self.step(Action::Routine(call));
    }

    /// Fails the run with `message` unless `condition` is not zero. Conditions known at compile time are not checked again.
    pub fn check(&mut self, condition: Dim, message: impl Into<String>) -> Result<()> {
        let message = message.into();
        match condition.as_const() {
            Some(0) => Err(OperatorError::new(message)),
            Some(_) => Ok(()),
            None => {
                self.step(Action::Check { condition, message });
                Ok(())
            }
        }
    }

    /// Gives `symbol` the value of `value` from here on.
    pub fn set_symbol(&mut self, symbol: SymbolId, value: Dim) {
        self.step(Action::Set { symbol, value });
    }

    /// Sets the dimension `target` of an output to `value` where inference made it a symbol of its own.
    pub fn decide(&mut self, target: &Dim, value: Dim) -> Result<()> {
        if *target != value {
            let symbol = target.as_symbol();
            let symbol = symbol.ok_or_else(|| OperatorError::new("a dimension of the output is decided twice"))?;
            self.set_symbol(symbol, value);
        }
        Ok(())
    }

    /// A short form of `dim`: itself if it is a number or a symbol, else a new symbol that the run sets to it. Expressions
    /// built from short forms stay small.
    pub fn named(&mut self, dim: Dim) -> Dim {
        if dim.is_const() || dim.as_symbol().is_some() {
            return dim;
        }
        let minimum = dim.lower_bound().unwrap_or(i64::MIN);
        let maximum = dim.upper_bound();
        let symbol = self.shared.program.symbols.fresh_within("size", minimum, maximum);
        self.set_symbol(symbol, dim);
        Dim::symbol(symbol)
    }

    /// Adds a step.
    pub fn step(&mut self, action: Action) {
        self.steps.push(Step { label: self.label, action });
    }

    /// Copies `from` to `to`, tensors of one element type and number of elements.
    pub fn copy(&mut self, from: &View, to: &View) {
        let step = copy_step(from, to, self.label);
        self.steps.push(step);
    }

    /// Lowers the nodes of a nested region after its inputs have been given memory in `shared.views`; gives the steps.
    pub fn region(&mut self, region: &'a Region) -> Result<Vec<Step>> {
        self.shared.region(region)
    }
}

impl<'a> Lowering<'a> {
    /// The memory of a value that has been defined.
    pub fn view(&mut self, id: ValueId) -> Result<View> {
        if let Some(view) = self.views.get(&id) {
            return Ok(view.clone());
        }
        let value = self.model.value(id);
        match &value.constant {
            Some(tensor) => {
                let view = self.constant(tensor.clone());
                self.views.insert(id, view.clone());
                Ok(view)
            }
            None => Err(OperatorError::new(format!("value `{}` is used before it is defined", value.name))),
        }
    }

    /// A constant buffer.
    pub fn constant(&mut self, tensor: Tensor) -> View {
        let shape = tensor.dims.iter().map(|&dim| Dim::constant(dim)).collect();
        let buffer = self.program.add_buffer(tensor.element, shape, BufferKind::Constant(tensor));
        self.program.view(buffer)
    }
}

/// A step that copies a tensor; the shapes may differ, the number of elements must not.
pub fn copy_step(from: &View, to: &View, label: u32) -> Step {
    let mut nest = Nest::new("copy");
    let extents = &to.shape;
    let source = nest.read(&View { shape: extents.clone(), ..from.clone() });
    let target = nest.write(to);
    let axes = nest.outer_axes(extents);
    let value = nest.load(source, &axes);
    nest.store(target, &axes, value);
    Step { label, action: Action::Launch { kernel: Arc::new(nest.builder.finish()), buffers: nest.buffers } }
}
