//! Random kernels that keep the rules, for comparing one reading of kernels with another.

use super::{
    Access, BinaryOp, CompareOp, ExprId, Kernel, KernelBuilder, ParameterId, ReduceOp, Scalar, StoreOp, UnaryOp,
};
use crate::graph::{Dim, ElementType};

/// A sequence of numbers decided by its seed.
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % bound as u64) as usize
    }

    /// One of the choices, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Storage types of generated parameters.
pub const ELEMENTS: [ElementType; 8] = [
    ElementType::F32,
    ElementType::F64,
    ElementType::F16,
    ElementType::I32,
    ElementType::I64,
    ElementType::I8,
    ElementType::U8,
    ElementType::U16,
];

/// A kernel of constant shapes: elementwise, reduction or update, with a few operations on values of one type.
pub fn kernel(seed: u64) -> Kernel {
    let mut random = Random::new(seed);
    let element = random.pick(&ELEMENTS);
    let mut b = KernelBuilder::new(format!("random{seed}"));
    let extents: Vec<Dim> = (0..1 + random.below(2)).map(|_| Dim::constant(1 + random.below(9) as i64)).collect();
    let inner = Dim::constant(1 + random.below(19) as i64);
    let full: Vec<Dim> = extents.iter().cloned().chain([inner.clone()]).collect();
    let x = b.parameter(element, &extents, Access::Read);
    let y = b.parameter(element, &full, Access::Read);
    let outer = b.outer_axes(&extents);
    let mut values = vec![b.load(x, &outer)];
    if random.below(2) == 0 {
        let sum = random.below(3) == 0;
        let op = if sum { ReduceOp::Sum } else { random.pick(&[ReduceOp::Min, ReduceOp::Max]) };
        let reduced = b.reduce(op, std::slice::from_ref(&inner), |b, at| {
            let value = value(b, &mut random, y, &outer, at[0], &[values[0]]);
            if sum { b.sub(value, values[0]) } else { value }
        });
        values.push(reduced);
    }
    match random.below(3) {
        0 => {
            let z = b.parameter(element, &extents, Access::Write);
            let result = operations(&mut b, &mut random, &values);
            b.store(z, &outer, result);
        }
        1 => {
            let z = b.parameter(element, &full, Access::Write);
            b.store_over(z, &[inner], |b, at| {
                let result = value(b, &mut random, y, &outer, at[0], &values);
                (outer.iter().copied().chain([at[0]]).collect(), result)
            });
        }
        _ => {
            let z = b.parameter(element, &extents, Access::ReadWrite);
            let result = operations(&mut b, &mut random, &values);
            let zero = b.integer(element, 0);
            let guard = b.compare(CompareOp::Ge, result, zero);
            let op = random.pick(&[StoreOp::Add, StoreOp::Min, StoreOp::Max]);
            b.update(z, &outer, result, Some(guard), op);
        }
    }
    b.finish()
}

/// An expression over `values` and an element of `y`, read shifted by one with a guard.
fn value(
    b: &mut KernelBuilder,
    random: &mut Random,
    y: ParameterId,
    outer: &[ExprId],
    at: ExprId,
    values: &[ExprId],
) -> ExprId {
    let (zero, one) = (b.index(0), b.index(1));
    let before = b.sub(at, one);
    let guard = b.compare(CompareOp::Ge, before, zero);
    let index: Vec<ExprId> = outer.iter().copied().chain([before]).collect();
    let element = b.type_of(values[0]);
    let shifted = b.load_where(y, &index, guard, Scalar::from_i64(element, 3));
    let mut all = values.to_vec();
    all.push(shifted);
    operations(b, random, &all)
}

fn operations(b: &mut KernelBuilder, random: &mut Random, values: &[ExprId]) -> ExprId {
    let mut all = values.to_vec();
    let element = b.type_of(values[0]);
    for _ in 0..1 + random.below(4) {
        let (left, right) = (random.pick(&all), random.pick(&all));
        let result = match random.below(5) {
            0 => b.unary(random.pick(&[UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign]), left),
            1 => {
                let condition = b.compare(random.pick(CompareOp::ALL), left, right);
                b.select(condition, right, left)
            }
            2 => {
                let through = b.cast(random.pick(&ELEMENTS), left);
                b.cast(element, through)
            }
            _ => {
                let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max, BinaryOp::Div];
                b.binary(random.pick(&ops), left, right)
            }
        };
        all.push(result);
    }
    *all.last().unwrap_or(&values[0])
}

/// Contents of a kernel's buffers: small integers of both signs, so that most arithmetic is exact.
pub fn buffers(kernel: &Kernel, seed: u64) -> Vec<Vec<u8>> {
    use super::interpret::{Number, storage};
    let mut random = Random::new(seed ^ 0x5555);
    kernel
        .parameters
        .iter()
        .map(|parameter| {
            let count = super::constant_len(&parameter.shape).unwrap_or(0);
            let values: Vec<Number> = (0..count)
                .map(|_| {
                    let value = random.below(17) as i64 - 8;
                    Number::from_scalar(Scalar::from_i64(parameter.element.compute_type(), value))
                })
                .collect();
            storage::pack(parameter.element, &values)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::interpret::{Fuel, interpret_kernel};
    use super::super::verify::verify_kernel;
    use super::*;

    #[test]
    fn generated_kernels_keep_the_rules_and_run() {
        for seed in 0..500 {
            let kernel = kernel(seed);
            assert_eq!(verify_kernel(&kernel), Ok(()), "{kernel:?}");
            let mut buffers = buffers(&kernel, seed);
            let result = interpret_kernel(&kernel, &mut buffers, &|_| None, &mut Fuel::new(1_000_000));
            assert_eq!(result, Ok(()), "{kernel:?}");
        }
    }
}
