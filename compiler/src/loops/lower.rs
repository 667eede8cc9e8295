//! Lowers an inferred model to a program, node by node.

use std::collections::HashMap;

use super::{Action, BufferKind, Port, Program, Step, View};
use crate::error::{Error, Errors, Stage};
use crate::graph::{Dim, ElementType, Model, Node, Region, Type, ValueId};
use crate::ops::{self, Lower, Lowering, OperatorError, copy_step};

/// Lowers the model. Every node that cannot be lowered is reported.
pub fn lower(model: &Model) -> Result<Program, Errors> {
    let mut lowering = Lowering::new(model);
    lowering.program.symbols = model.symbols.clone();
    for (position, &id) in model.graph.inputs.iter().enumerate() {
        let port = port(model, id).map_err(|error| Errors::from(Error::new(Stage::Loops, error)))?;
        let buffer = lowering.program.add_buffer(port.element, port.shape.clone(), BufferKind::Input(position));
        let view = lowering.program.view(buffer);
        lowering.views.insert(id, view);
        lowering.program.inputs.push(port);
    }
    for (position, &id) in model.graph.outputs.iter().enumerate() {
        let port = port(model, id).map_err(|error| Errors::from(Error::new(Stage::Loops, error)))?;
        lowering.program.outputs.push(port);
        lowering.pending_outputs.entry(id).or_insert(position);
    }
    let mut steps = Vec::new();
    for &id in &model.graph.inputs {
        lowering.bind(id, 0, &mut steps).map_err(|error| Errors::from(Error::new(Stage::Loops, error.message)))?;
    }
    let mut errors = Vec::new();
    for node in &model.graph.nodes {
        if let Err(error) = lowering.node(node, &mut steps) {
            let follows = error.follows();
            errors.push((Error::new(Stage::Loops, error.message).at(crate::shape::describe(node)), follows));
        }
    }
    if let Some((first, _)) = errors.first().cloned() {
        let own: Vec<Error> = errors.into_iter().filter(|(_, follows)| !follows).map(|(error, _)| error).collect();
        return Err(if own.is_empty() { first.into() } else { Errors(own) });
    }
    lowering.finish_outputs(&mut steps).map_err(|error| Errors::from(Error::new(Stage::Loops, error.message)))?;
    lowering.program.steps = steps;
    Ok(lowering.program)
}

fn port(model: &Model, id: ValueId) -> Result<Port, String> {
    let value = model.value(id);
    let Type::Tensor(tensor) = &value.ty else {
        return Err(format!(
            "`{}` is an input or output of the model that is not a tensor; this is not supported yet",
            value.name
        ));
    };
    let shape = tensor.shape.clone();
    let shape =
        shape.ok_or_else(|| format!("the rank of `{}` is not known; give its shape with --input-shape", value.name))?;
    Ok(Port { name: value.name.clone(), element: tensor.element, shape })
}

impl<'a> Lowering<'a> {
    /// An empty program for `model`.
    pub fn new(model: &'a Model) -> Self {
        let program = Program { labels: vec!["the model".into()], ..Program::default() };
        Self { model, program, views: HashMap::new(), pending_outputs: HashMap::new(), fault: None }
    }

    /// Lowers one node into `steps`.
    pub fn node(&mut self, node: &'a Node, steps: &mut Vec<Step>) -> ops::Result<()> {
        // A node whose results are constants has nothing to do in a run.
        if node.regions().next().is_none()
            && node.outputs.iter().flatten().all(|&id| self.model.value(id).constant.is_some())
        {
            return Ok(());
        }
        let operator = crate::shape::find(node)?;
        let label = self.program.labels.len() as u32;
        self.program.labels.push(crate::shape::describe(node));
        self.fault = None;
        operator.lower(&mut Lower { shared: self, node, steps, label })?;
        if let Some(fault) = self.fault.take() {
            return Err(OperatorError::new(fault));
        }
        for &id in node.outputs.iter().flatten() {
            self.bind(id, label, steps)?;
        }
        Ok(())
    }

    /// Binds the symbols that take their values from the elements of `id`.
    fn bind(&mut self, id: ValueId, label: u32, steps: &mut Vec<Step>) -> ops::Result<()> {
        let model = self.model;
        if model.value(id).bound.is_empty() {
            return Ok(());
        }
        let View { buffer, element, .. } = self.view(id)?;
        if !element.is_integer() && element != ElementType::Bool {
            let name = &model.value(id).name;
            return Err(OperatorError::new(format!("`{name}` holds sizes and is {element}; sizes must be integers")));
        }
        for (element, &symbol) in model.value(id).bound.iter().enumerate() {
            steps.push(Step { label, action: Action::Bind { symbol, buffer, element: element as i64 } });
        }
        Ok(())
    }

    /// Lowers the nodes of a nested region whose inputs have memory.
    pub fn region(&mut self, region: &'a Region) -> ops::Result<Vec<Step>> {
        let mut steps = Vec::new();
        for &id in &region.inputs {
            if self.views.contains_key(&id) {
                self.bind(id, 0, &mut steps)?;
            }
        }
        for node in &region.nodes {
            self.node(node, &mut steps).map_err(|error| OperatorError {
                message: format!("in {}: {}", crate::shape::describe(node), error.message),
                ..error
            })?;
        }
        Ok(steps)
    }

    /// Copies outputs of the main graph that no node wrote in place.
    fn finish_outputs(&mut self, steps: &mut Vec<Step>) -> ops::Result<()> {
        for (position, &id) in self.model.graph.outputs.iter().enumerate() {
            let view = self.view(id)?;
            if self.program.buffer(view.buffer).kind == BufferKind::Output(position) {
                continue;
            }
            let Port { element, shape, .. } = self.program.outputs[position].clone();
            if element != view.element {
                let name = &self.model.value(id).name;
                return Err(OperatorError::new(format!(
                    "output `{name}` is {element} by declaration and {} by computation",
                    view.element
                )));
            }
            let buffer = self.program.add_buffer(element, shape, BufferKind::Output(position));
            steps.push(copy_step(&view, &self.program.view(buffer), 0));
        }
        Ok(())
    }
}

/// A product of dims as a constant, where it is one.
pub fn constant_len(shape: &[Dim]) -> Option<i64> {
    Dim::product(shape.iter().cloned()).as_const()
}
