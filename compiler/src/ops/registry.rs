//! How operators are described, and how they are found.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{
    ElementRule, Infer, InferRule, Lower, LowerRule, OperatorError, Result, TABLE, broadcast_shapes, normalize_axis,
};
use crate::graph::{Dim, ElementType, Node};

/// One operator of one domain.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// Domain; empty for the default one.
    pub domain: &'static str,
    /// Operator type.
    pub name: &'static str,
    /// The oldest operator-set version whose form is understood.
    pub since: i64,
    /// The first operator-set version in which the operator no longer exists; `i64::MAX` where it still does.
    pub until: i64,
    /// Whether a node's name is one of its arguments, so that two nodes with the same inputs may give different results.
    pub by_name: bool,
    /// How it is inferred and lowered.
    pub definition: Definition,
}

/// How an operator is inferred and lowered.
#[derive(Clone, Copy, Debug)]
pub enum Definition {
    /// By its own rules.
    Full {
        /// Types and shapes of the outputs.
        infer: InferRule,
        /// Kernels.
        lower: LowerRule,
    },
    /// As one scalar expression over inputs that broadcast; the element type of the result is that of the first input.
    Elementwise(ElementRule),
    /// Like `Elementwise`, with inputs of different element types.
    Mixed(ElementRule),
    /// Like `Elementwise`, with a bool result.
    Predicate(ElementRule),
}

impl Operator {
    /// An operator of the default domain with its own rules.
    pub const fn new(name: &'static str, infer: InferRule, lower: LowerRule) -> Self {
        Self {
            domain: "",
            name,
            since: 1,
            until: i64::MAX,
            by_name: false,
            definition: Definition::Full { infer, lower },
        }
    }

    /// An elementwise operator of the default domain.
    pub const fn elementwise(name: &'static str, rule: ElementRule) -> Self {
        Self { domain: "", name, since: 1, until: i64::MAX, by_name: false, definition: Definition::Elementwise(rule) }
    }

    /// An elementwise operator of the default domain whose inputs may be of different element types.
    pub const fn mixed(name: &'static str, rule: ElementRule) -> Self {
        Self { domain: "", name, since: 1, until: i64::MAX, by_name: false, definition: Definition::Mixed(rule) }
    }

    /// An elementwise operator of the default domain that gives bools.
    pub const fn predicate(name: &'static str, rule: ElementRule) -> Self {
        Self { domain: "", name, since: 1, until: i64::MAX, by_name: false, definition: Definition::Predicate(rule) }
    }

    /// The same operator in another domain.
    pub const fn in_domain(self, domain: &'static str) -> Self {
        Self { domain, ..self }
    }

    /// The same operator, understood from operator set `version` on.
    pub const fn since(self, version: i64) -> Self {
        Self { since: version, ..self }
    }

    /// The same operator, in operator sets before `version` only.
    pub const fn until(self, version: i64) -> Self {
        Self { until: version, ..self }
    }

    /// The same operator, with the node's name as an argument.
    pub const fn by_name(self) -> Self {
        Self { by_name: true, ..self }
    }

    /// Whether each element of the result depends on the elements at its position in the inputs, which broadcast.
    pub fn is_elementwise(&self) -> bool {
        !matches!(self.definition, Definition::Full { .. })
    }

    /// Infers the types of the node's outputs.
    pub fn infer(&self, context: &mut Infer<'_>) -> Result<()> {
        match self.definition {
            Definition::Full { infer, .. } => infer(context),
            Definition::Mixed(_) => infer_elementwise(context, None),
            Definition::Elementwise(_) => {
                check_elements(context)?;
                infer_elementwise(context, None)
            }
            Definition::Predicate(_) => {
                check_elements(context)?;
                infer_elementwise(context, Some(ElementType::Bool))
            }
        }
    }

    /// Lowers the node.
    pub fn lower(&self, context: &mut Lower<'_, '_>) -> Result<()> {
        match self.definition {
            Definition::Full { lower, .. } => lower(context),
            Definition::Elementwise(rule) | Definition::Mixed(rule) | Definition::Predicate(rule) => {
                lower_elementwise(context, rule)
            }
        }
    }
}

/// Checks that all inputs are of one element type.
fn check_elements(context: &mut Infer<'_>) -> Result<()> {
    let first = context.element(0)?;
    for index in 1..context.node.inputs.len() {
        let other = context.element(index)?;
        if other != first {
            return Err(OperatorError::new(format!(
                "inputs 0 and {index} are of the types {first} and {other}, expected equal ones; insert a Cast"
            )));
        }
    }
    Ok(())
}

/// The shape as which input `index` takes part. Before operator set 7 the second input could be aligned with an axis of
/// the first instead of its last dimensions.
fn aligned(node: &Node, index: usize, shape: Vec<Dim>, first_rank: usize) -> Result<Vec<Dim>> {
    let is_slope = node.operator.name == "PRelu" && shape.len() == 1 && first_rank > 1;
    let axis = match node.int("axis")? {
        _ if node.version >= 7 || index != 1 => return Ok(shape),
        Some(axis) => normalize_axis(axis, first_rank)?,
        None if is_slope => 1,
        None => return Ok(shape),
    };
    let mut shape = shape;
    while shape.len() + axis < first_rank {
        shape.push(Dim::ONE);
    }
    Ok(shape)
}

fn infer_elementwise(context: &mut Infer<'_>, result: Option<ElementType>) -> Result<()> {
    let count = context.node.inputs.len();
    let mut shapes = (0..count).map(|i| context.shape(i)).collect::<Result<Vec<_>>>()?;
    let first_rank = shapes.first().map_or(0, Vec::len);
    for (index, shape) in shapes.iter_mut().enumerate() {
        *shape = aligned(context.node, index, std::mem::take(shape), first_rank)?;
    }
    let shape = broadcast_shapes(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    let element = context.element(0)?;
    context.set(0, result.unwrap_or(element), shape);
    Ok(())
}

fn lower_elementwise(context: &mut Lower<'_, '_>, rule: ElementRule) -> Result<()> {
    let mut inputs = (0..context.node.inputs.len()).map(|i| context.input(i)).collect::<Result<Vec<_>>>()?;
    let first_rank = inputs.first().map_or(0, |input| input.shape.len());
    for (index, input) in inputs.iter_mut().enumerate() {
        input.shape = aligned(context.node, index, std::mem::take(&mut input.shape), first_rank)?;
    }
    let output = context.output(0)?;
    for input in &inputs {
        check_broadcast(context, &input.shape, &output.shape)?;
    }
    let mut nest = context.nest();
    let axes = nest.outer_axes(&output.shape);
    let operands: Vec<_> = inputs.iter().map(|input| nest.load_broadcast(input, &axes, &output.shape)).collect();
    let value = rule(&mut nest, context.node, &operands)?;
    let target = nest.write(&output);
    nest.store(target, &axes, value);
    context.launch(nest);
    Ok(())
}

/// Checks at run time what could not be decided at compile time: that `shape` broadcasts to `target`.
pub fn check_broadcast(context: &mut Lower<'_, '_>, shape: &[Dim], target: &[Dim]) -> Result<()> {
    use crate::graph::CompareOperator::Equal;
    for (dim, extent) in shape.iter().rev().zip(target.iter().rev()) {
        if dim == extent || dim.as_const() == Some(1) {
            continue;
        }
        let one = dim.compare(Equal, &Dim::constant(1));
        let fits = one.max(&dim.compare(Equal, extent));
        let message = "the shapes of the inputs do not broadcast to each other";
        context.check(fits, message)?;
    }
    Ok(())
}

/// All operators, in the order of THE table.
pub fn operators() -> impl Iterator<Item = &'static Operator> {
    TABLE.iter().flat_map(|family| family.iter())
}

/// The operator of that domain and name that is current in operator set `version`.
pub fn find(domain: &str, name: &str, version: i64) -> Option<&'static Operator> {
    static INDEX: OnceLock<HashMap<(&str, &str), Vec<&'static Operator>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for operator in operators() {
            index.entry((operator.domain, operator.name)).or_default().push(operator);
        }
        index
    });
    let candidates = index.get(&(domain, name))?;
    candidates.iter().copied().find(|operator| (operator.since..operator.until).contains(&version))
}
