//! Random numbers as expressions of a position.

use crate::graph::{ElementType, Node};
use crate::loops::{BinaryOp, ExprId, KernelBuilder, Scalar, UnaryOp};
use crate::ops::Result;

/// A stream of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    seed: u64,
}

impl Generator {
    /// The stream of a node.
    pub fn of(node: &Node) -> Result<Self> {
        let seed = match node.float("seed")? {
            Some(seed) => u64::from(seed.to_bits()),
            None => node.name.bytes().fold(0, |hash: u64, byte| mixed(hash ^ u64::from(byte))),
        };
        Ok(Self { seed: mixed(seed) })
    }

    /// The number at a position, `i64`: uniform in (0, 1), of type `element`.
    pub fn uniform(self, nest: &mut KernelBuilder, position: ExprId, element: ElementType) -> ExprId {
        let bits = self.bits(nest, position);
        let digits = if element == ElementType::F64 { 52 } else { 23 };
        let shift = constant(nest, 64 - digits);
        let top = nest.binary(BinaryOp::ShiftRight, bits, shift);
        let whole = nest.cast(element, top);
        let (half, scale) = (nest.float(element, 0.5), nest.float(element, (-(digits as f64)).exp2()));
        let centred = nest.add(whole, half);
        nest.mul(centred, scale)
    }

    /// The number at a position: normal with mean 0 and deviation 1.
    pub fn normal(self, nest: &mut KernelBuilder, position: ExprId, element: ElementType) -> ExprId {
        let (one, two) = (nest.index(1), nest.index(2));
        let first = nest.mul(position, two);
        let second = nest.add(first, one);
        let (radius, angle) = (self.uniform(nest, first, element), self.uniform(nest, second, element));
        let logarithm = nest.unary(UnaryOp::Log, radius);
        let factor = nest.float(element, -2.0);
        let square = nest.mul(factor, logarithm);
        let radius = nest.unary(UnaryOp::Sqrt, square);
        let turn = nest.float(element, std::f64::consts::TAU);
        let angle = nest.mul(turn, angle);
        let cosine = nest.unary(UnaryOp::Cos, angle);
        nest.mul(radius, cosine)
    }

    fn bits(self, nest: &mut KernelBuilder, position: ExprId) -> ExprId {
        let position = nest.cast(ElementType::U64, position);
        let step = constant(nest, STEP);
        let seed = constant(nest, self.seed);
        let steps = nest.mul(position, step);
        let mut value = nest.add(steps, seed);
        for (shift, factor) in ROUNDS {
            let shift = constant(nest, shift);
            let high = nest.binary(BinaryOp::ShiftRight, value, shift);
            value = nest.binary(BinaryOp::Xor, value, high);
            let factor = constant(nest, factor);
            value = nest.mul(value, factor);
        }
        let shift = constant(nest, LAST_SHIFT);
        let high = nest.binary(BinaryOp::ShiftRight, value, shift);
        nest.binary(BinaryOp::Xor, value, high)
    }
}

/// The golden ratio's fraction in 64 bits: positions become far apart.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Shifts and odd factors that spread every bit over the word.
const ROUNDS: [(u64, u64); 2] = [(30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB)];

const LAST_SHIFT: u64 = 31;

fn constant(nest: &mut KernelBuilder, bits: u64) -> ExprId {
    nest.scalar(Scalar { element: ElementType::U64, bits })
}

fn mixed(value: u64) -> u64 {
    let value = ROUNDS
        .iter()
        .fold(value.wrapping_add(STEP), |value, &(shift, factor)| (value ^ (value >> shift)).wrapping_mul(factor));
    value ^ (value >> LAST_SHIFT)
}
