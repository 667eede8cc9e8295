//! If: one of two graphs. A condition known at compile time picks its graph for good.

use super::{region, tensor_of, with_region};
use crate::graph::{Attribute, Dim, Region, Type, Value};
use crate::loops::Action;
use crate::ops::{Fault, Infer, Lower, OperatorError, Result};

/// The name of the graph attribute for a condition.
fn branch_of(condition: i64) -> &'static str {
    if condition != 0 { "then_branch" } else { "else_branch" }
}

fn condition(known: Option<Vec<Dim>>) -> Result<Dim> {
    let known = known.ok_or_else(|| OperatorError::unknown("the condition is not known"))?;
    match <[Dim; 1]>::try_from(known) {
        Ok([condition]) => Ok(condition),
        Err(_) => Err(OperatorError::new("the condition must have one element")),
    }
}

const BRANCHES: [&str; 2] = ["then_branch", "else_branch"];

/// The name of the attribute that inference adds for a graph which fails whenever it runs: what is wrong with it.
fn fault_of(attribute: &str) -> String {
    format!("{attribute}_fault")
}

/// The types of the graph that a known condition picks, or what the types of both have in common: dimensions that
/// differ are decided by the run.
///
/// A graph that contradicts the specification does not make the model invalid: the condition may never pick it. The node
/// then has the types of the other graph, and a run that gets to the faulty one fails with the reason.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let known = ctx.values(0)?;
    if let Some(condition) = condition(Some(known))?.as_const() {
        let results = results(ctx, branch_of(condition))?;
        for (index, result) in results.into_iter().enumerate() {
            match result.constant {
                Some(tensor) => ctx.set_constant(index, tensor),
                None => {
                    ctx.set_type(index, result.ty);
                    if let Some(known) = result.known {
                        ctx.set_known(index, known);
                    }
                }
            }
        }
        return Ok(());
    }
    let found = BRANCHES.map(|attribute| {
        ctx.node.attributes.remove(&fault_of(attribute));
        results(ctx, attribute)
    });
    let (then, otherwise) = match found {
        [Ok(then), Ok(otherwise)] => (then, otherwise),
        [Ok(only), Err(error)] => return only_one(ctx, only, "else_branch", error),
        [Err(error), Ok(only)] => return only_one(ctx, only, "then_branch", error),
        [Err(error), Err(_)] => return Err(error),
    };
    for (index, (then, otherwise)) in then.into_iter().zip(otherwise).enumerate() {
        if ctx.node.output(index).is_none() {
            continue;
        }
        let ty = common(ctx, &then, &otherwise)?;
        ctx.set_type(index, ty);
        if let (Some(then), Some(otherwise)) = (then.known, otherwise.known)
            && then == otherwise
        {
            ctx.set_known(index, then);
        }
    }
    Ok(())
}

/// The graph `faulty` fails whenever it runs, so the results are those of the other graph.
fn only_one(ctx: &mut Infer<'_>, results: Vec<Value>, faulty: &str, error: OperatorError) -> Result<()> {
    if error.fault != Fault::Invalid {
        return Err(error);
    }
    for (index, result) in results.into_iter().enumerate() {
        ctx.set_type(index, result.ty);
    }
    ctx.node.attributes.insert(fault_of(faulty), Attribute::String(error.message.into_bytes()));
    Ok(())
}

/// Infers a graph and gives what is known of its outputs.
fn results(ctx: &mut Infer<'_>, attribute: &str) -> Result<Vec<Value>> {
    with_region(ctx, attribute, |ctx, region| {
        if region.outputs.len() != ctx.node.outputs.len() {
            let (found, needed) = (region.outputs.len(), ctx.node.outputs.len());
            return Err(OperatorError::new(format!("`{attribute}` has {found} outputs, the node has {needed}")));
        }
        ctx.infer_region(region)?;
        Ok(region.outputs.iter().map(|&id| ctx.model.value(id).clone()).collect())
    })
}

fn common(ctx: &mut Infer<'_>, then: &Value, otherwise: &Value) -> Result<Type> {
    let refuse = |what: &str| {
        let message = format!("the graphs give {what} for one output (`{}` and `{}`)", then.name, otherwise.name);
        let advice = "; fix the dimensions that decide the condition, with --dim or --input-shape";
        Err(OperatorError { message: message + advice, fault: Fault::Disagreement })
    };
    let (Type::Tensor(a), Type::Tensor(b)) = (&then.ty, &otherwise.ty) else {
        return refuse("values other than tensors");
    };
    if a.element != b.element {
        return refuse("different element types");
    }
    let (Some(first), Some(second)) = (&a.shape, &b.shape) else { return refuse("unknown ranks") };
    if first.len() != second.len() {
        return refuse("different ranks");
    }
    let dims = first.iter().zip(second).map(|(a, b)| if a == b { a.clone() } else { ctx.fresh("chosen") });
    Ok(Type::tensor(a.element, dims.collect()))
}

/// The steps of the picked graph in place, or a branch.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (node, condition) = (ctx.node, condition(ctx.known(0))?);
    if let Some(condition) = condition.as_const() {
        return inline(ctx, region(node, branch_of(condition))?);
    }
    let mut targets = Vec::new();
    for index in 0..node.outputs.len() {
        targets.push(if ctx.wants_output(index) { Some(ctx.output(index)?) } else { None });
    }
    let mut blocks = Vec::new();
    for attribute in BRANCHES {
        if let Some(fault) = ctx.node.bytes(&fault_of(attribute))? {
            let fault = String::from_utf8_lossy(fault);
            let message = format!("the graph `{attribute}` cannot run: {fault}");
            blocks.push(ctx.block(|ctx| {
                ctx.step(Action::Check { condition: Dim::ZERO, message });
                Ok(())
            })?);
            continue;
        }
        let region = region(node, attribute)?;
        blocks.push(ctx.block(|ctx| {
            let steps = ctx.region(region)?;
            ctx.steps.extend(steps);
            for (&id, target) in region.outputs.iter().zip(&targets) {
                let Some(target) = target else { continue };
                let (_, shape) = tensor_of(ctx.shared.model, id)?;
                for (dim, value) in target.shape.iter().zip(shape) {
                    ctx.decide(dim, value)?;
                }
                let source = ctx.shared.view(id)?;
                ctx.copy(&source, target);
            }
            Ok(())
        })?);
    }
    let (Some(otherwise), Some(then)) = (blocks.pop(), blocks.pop()) else { return Ok(()) };
    ctx.step(Action::If { condition, then, otherwise });
    Ok(())
}

fn inline<'a>(ctx: &mut Lower<'a, '_>, region: &'a Region) -> Result<()> {
    // The graph's result takes the memory of the node's, where that is an output of the model.
    for (&outer, &inner) in ctx.node.outputs.iter().zip(&region.outputs) {
        if let Some(outer) = outer
            && let Some(&position) = ctx.shared.pending_outputs.get(&outer)
        {
            ctx.shared.pending_outputs.entry(inner).or_insert(position);
        }
    }
    let steps = ctx.region(region)?;
    ctx.steps.extend(steps);
    for (index, &inner) in region.outputs.iter().enumerate() {
        if ctx.wants_output(index) {
            let view = ctx.shared.view(inner)?;
            ctx.alias_output(index, view)?;
        }
    }
    Ok(())
}
