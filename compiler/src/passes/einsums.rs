//! Lets a matrix product read and write its matrices in any order of dimensions but the last: as an Einsum it takes the
//! places of the transposes around it.

use super::patch::Patch;
use super::site::Site;
use super::transposes::{only_transposed, order};
use crate::graph::{Attribute, Node, ValueId};

/// One Einsum in the place of a product and transposes.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if node.is("MatMul") {
        let product = Product::of(site, node)?;
        return if product.is_transposed { product.einsum(site, node) } else { None };
    }
    if !node.is("Transpose") {
        return None;
    }
    let order = order(site, node)?;
    // Vectors of the result are stored along its last dimension.
    if order.is_sorted() || !keeps_last(&order) {
        return None;
    }
    let before = site.only_for(node.input(0)?, &["MatMul", "Einsum"])?;
    let product = if before.is("MatMul") { Product::of(site, &before)? } else { Product::of_einsum(&before)? };
    let output = order.iter().map(|&axis| product.output.get(axis).copied()).collect::<Option<_>>()?;
    Product { output, ..product }.einsum(site, node)
}

fn keeps_last(order: &[usize]) -> bool {
    order.last() == Some(&(order.len() - 1))
}

/// A product of two operands with a letter for each dimension.
struct Product {
    operands: [(ValueId, String); 2],
    output: Vec<char>,
    /// Whether an operand comes from before a transpose.
    is_transposed: bool,
}

/// Letters of the summed dimension, the rows and the columns; others are for the dimensions of a stack.
const INNER: char = 'k';
const ROWS: char = 'm';
const COLUMNS: char = 'n';
const STACK: [char; 6] = ['a', 'b', 'c', 'd', 'e', 'f'];

impl Product {
    /// A MatMul of two stacks of matrices, of the same sizes.
    fn of(site: &Site<'_>, node: &Node) -> Option<Self> {
        let (left, right) = (node.input(0)?, node.input(1)?);
        let (left_shape, right_shape) = (site.shape(left)?, site.shape(right)?);
        let stack = left_shape.len().checked_sub(2).filter(|&stack| stack <= STACK.len())?;
        let fits = left_shape.len() == right_shape.len() && left_shape[..stack] == right_shape[..stack];
        if !fits || left_shape[stack + 1] != right_shape[stack] || left_shape.iter().any(|dim| dim.is_unknown()) {
            return None;
        }
        let letters = |matrix: [char; 2]| STACK[..stack].iter().copied().chain(matrix).collect::<Vec<char>>();
        let (left_letters, right_letters) = (letters([ROWS, INNER]), letters([INNER, COLUMNS]));
        let mut is_transposed = false;
        let mut operand = |value: ValueId, letters: Vec<char>| match only_transposed(site, value) {
            // Vectors are loaded along the last dimension: where that is another one, a copy is needed anyway.
            Some((source, order)) if !site.is_foldable(value) && keeps_last(&order) => {
                is_transposed = true;
                let mut moved = letters.clone();
                order.iter().zip(&letters).for_each(|(&axis, &letter)| moved[axis] = letter);
                (source, moved.into_iter().collect())
            }
            _ => (value, letters.into_iter().collect()),
        };
        let operands = [operand(left, left_letters), operand(right, right_letters)];
        Some(Self { operands, output: letters([ROWS, COLUMNS]), is_transposed })
    }

    /// An Einsum as this pass writes them.
    fn of_einsum(node: &Node) -> Option<Self> {
        let equation = node.text_or("equation", "").ok()?;
        let (inputs, output) = equation.split_once("->")?;
        let (left, right) = inputs.split_once(',')?;
        if !equation.chars().all(|letter| letter.is_ascii_lowercase() || ",->".contains(letter)) {
            return None;
        }
        let operands = [(node.input(0)?, left.to_owned()), (node.input(1)?, right.to_owned())];
        Some(Self { operands, output: output.chars().collect(), is_transposed: false })
    }

    fn einsum(self, site: &mut Site<'_>, last: &Node) -> Option<Patch> {
        let [(left, left_letters), (right, right_letters)] = self.operands;
        let output: String = self.output.into_iter().collect();
        let equation = format!("{left_letters},{right_letters}->{output}");
        let mut patch = Patch::at(last);
        let attributes = [("equation", Attribute::String(equation.into_bytes()))];
        let value = patch.add(site, "Einsum", 12, &[left, right], &attributes)?;
        patch.replace(last, value)
    }
}
