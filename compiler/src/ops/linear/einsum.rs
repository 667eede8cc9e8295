//! Einsum: sums of products of operands whose dimensions are labelled.

use super::check_elements;
use super::equation::{Equation, Label};
use crate::graph::{CompareOperator, Dim};
use crate::loops::{ExprId, KernelBuilder, ReduceOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result, broadcast_shapes};

/// The extent of a label: that of all its dimensions, of which some may be 1.
fn extent(label: Label, operands: &[(&[Label], &[Dim])]) -> Result<Dim> {
    let mut extent = vec![Dim::ONE];
    for (labels, shape) in operands {
        for (_, dim) in labels.iter().zip(*shape).filter(|(own, _)| **own == label) {
            extent = broadcast_shapes(&[&extent, std::slice::from_ref(dim)])?;
        }
    }
    Ok(extent.remove(0))
}

/// The dimensions of the output's labels.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    let count = ctx.node.inputs.len();
    let shapes = (0..count).map(|index| ctx.shape(index)).collect::<Result<Vec<_>>>()?;
    for index in 0..count {
        check_elements(element, ctx.element(index)?)?;
    }
    let ranks: Vec<usize> = shapes.iter().map(Vec::len).collect();
    let equation = Equation::parse(ctx.node.text_or("equation", "")?, &ranks)?;
    let operands: Vec<_> = equation.inputs.iter().map(Vec::as_slice).zip(shapes.iter().map(Vec::as_slice)).collect();
    let shape = equation.output.iter().map(|&label| extent(label, &operands)).collect::<Result<Vec<_>>>()?;
    ctx.set(0, element, shape);
    Ok(())
}

/// One contraction for every two operands, from the left. Each keeps the labels that later ones or the result need.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let inputs = (0..ctx.node.inputs.len()).map(|index| ctx.input(index)).collect::<Result<Vec<_>>>()?;
    let ranks: Vec<usize> = inputs.iter().map(|view| view.shape.len()).collect();
    let equation = Equation::parse(ctx.node.text_or("equation", "")?, &ranks)?;
    let mut operands: Vec<(Vec<Label>, View)> = equation.inputs.into_iter().zip(inputs).collect();
    while operands.len() > 2 {
        let rest = operands.split_off(2);
        let needed =
            |label: &Label| equation.output.contains(label) || rest.iter().any(|(labels, _)| labels.contains(label));
        let mut kept: Vec<Label> = Vec::new();
        for label in operands.iter().flat_map(|(labels, _)| labels) {
            if needed(label) && !kept.contains(label) {
                kept.push(*label);
            }
        }
        let shapes: Vec<_> = operands.iter().map(|(labels, view)| (&labels[..], &view.shape[..])).collect();
        let shape = kept.iter().map(|&label| extent(label, &shapes)).collect::<Result<Vec<_>>>()?;
        let target = ctx.temporary(operands[0].1.element, &shape);
        contract(ctx, &operands, &kept, &target)?;
        operands = vec![(kept, target)];
        operands.extend(rest);
    }
    let output = ctx.output(0)?;
    contract(ctx, &operands, &equation.output, &output)
}

/// Sums the products of one or two operands over the labels that `kept` lacks.
fn contract(ctx: &mut Lower<'_, '_>, operands: &[(Vec<Label>, View)], kept: &[Label], target: &View) -> Result<()> {
    let shapes: Vec<_> = operands.iter().map(|(labels, view)| (&labels[..], &view.shape[..])).collect();
    let mut summed: Vec<Label> = Vec::new();
    for label in operands.iter().flat_map(|(labels, _)| labels) {
        if !kept.contains(label) && !summed.contains(label) {
            summed.push(*label);
        }
    }
    let extents = summed.iter().map(|&label| extent(label, &shapes)).collect::<Result<Vec<_>>>()?;
    let all: Vec<(Label, Dim)> = kept
        .iter()
        .copied()
        .zip(target.shape.iter().cloned())
        .chain(summed.iter().copied().zip(extents.clone()))
        .collect();
    for (labels, view) in operands {
        for (label, dim) in labels.iter().zip(&view.shape) {
            let extent = all.iter().find(|(other, _)| other == label).map_or(&Dim::ONE, |(_, extent)| extent);
            let fits = dim.compare(CompareOperator::Equal, extent).max(&dim.compare(CompareOperator::Equal, &Dim::ONE));
            ctx.check(fits, "dimensions with the same label are of different sizes")?;
        }
    }
    let mut nest = ctx.nest();
    let parameters: Vec<_> = operands.iter().map(|(_, view)| nest.read(view)).collect();
    let output = nest.write(target);
    let axes = nest.outer_axes(&target.shape);
    let product = |nest: &mut KernelBuilder, positions: &[ExprId]| {
        let mut product: Option<ExprId> = None;
        for ((labels, view), &parameter) in operands.iter().zip(&parameters) {
            let index: Vec<ExprId> = labels
                .iter()
                .zip(&view.shape)
                .map(|(label, dim)| {
                    let at = all.iter().position(|(other, _)| other == label).unwrap_or(0);
                    nest.broadcast(std::slice::from_ref(dim), &positions[at..=at], std::slice::from_ref(&all[at].1))[0]
                })
                .collect();
            let value = nest.load(parameter, &index);
            product = Some(product.map_or(value, |product| nest.mul(product, value)));
        }
        product
    };
    let value = match summed.is_empty() {
        true => product(&mut nest, &axes),
        false => {
            let mut found = true;
            let value = nest.reduce(ReduceOp::Sum, &extents, |nest, positions| {
                let value = product(nest, &[&axes[..], positions].concat());
                found = value.is_some();
                value.unwrap_or_else(|| nest.index(0))
            });
            found.then_some(value)
        }
    };
    let value = value.ok_or_else(|| OperatorError::new("Einsum needs at least one operand"))?;
    nest.store(output, &axes, value);
    ctx.launch(nest);
    Ok(())
}
