//! Layouts in which parts of dimensions come last.

use crate::graph::{Dim, ElementType};
use crate::loops::{Access, ExprId, Kernel, KernelBuilder};

/// The dimensions of a tensor that are split into blocks. The positions within blocks are further dimensions at the end, in
/// this order. Empty is the plain layout.
pub type Layout = Vec<usize>;

/// The dimensions of a tensor of plain shape `shape`; the split ones are multiples of `block`.
pub fn shape(shape: &[Dim], layout: &Layout, block: i64) -> Vec<Dim> {
    let size = Dim::constant(block);
    let outer =
        shape.iter().enumerate().map(|(d, dim)| if layout.contains(&d) { dim.floor_div(&size) } else { dim.clone() });
    outer.chain(layout.iter().map(|_| size.clone())).collect()
}

/// Whether a tensor of this shape has whole blocks on all dimensions of a layout.
pub fn fits(shape: &[Dim], layout: &Layout, block: i64) -> bool {
    layout.iter().all(|&d| shape.get(d).and_then(Dim::as_const).is_some_and(|dim| dim > 0 && dim % block == 0))
}

/// The kernel that copies a tensor from the plain layout to another one, or back.
pub fn copy(dims: &[Dim], layout: &Layout, block: i64, back: bool) -> Kernel {
    // The plain tensor with its split dimensions as two each.
    let size = Dim::constant(block);
    let (mut plain, mut outer, mut inner) = (Vec::new(), Vec::new(), vec![0; layout.len()]);
    for (d, dim) in dims.iter().enumerate() {
        outer.push(plain.len());
        match layout.iter().position(|&other| other == d) {
            Some(place) => {
                plain.push(dim.floor_div(&size));
                inner[place] = plain.len();
                plain.push(size.clone());
            }
            None => plain.push(dim.clone()),
        }
    }
    // Where each dimension of the blocked tensor is among those of the plain one.
    let order: Vec<usize> = outer.into_iter().chain(inner).collect();
    let blocked = shape(dims, layout, block);
    let mut builder = KernelBuilder::new(if back { "unblock" } else { "block" });
    let (from, to) = if back { (&blocked, &plain) } else { (&plain, &blocked) };
    let source = builder.parameter(ElementType::F32, from, Access::Read);
    let target = builder.parameter(ElementType::F32, to, Access::Write);
    let axes = builder.outer_axes(to);
    let index: Vec<ExprId> = if back {
        order.iter().map(|&place| axes[place]).collect()
    } else {
        let mut index = vec![axes[0]; plain.len()];
        order.iter().zip(&axes).for_each(|(&place, &axis)| index[place] = axis);
        index
    };
    let value = builder.load(source, &index);
    builder.store(target, &axes, value);
    builder.finish()
}
