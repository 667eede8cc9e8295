//! The error function.

use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::FloatCC;

use super::emit::MathBuilder;

/// Where the two approximations meet.
const MIDDLE: f32 = 0.95;
/// From here on the result rounds to 1.
const ONE_FROM: f32 = 3.95;
/// erf x / x - 1 in powers of x² up to the middle.
const SMALL: &[f32] =
    &[0.128_379_17, -0.376_126_3, 0.112_836_25, -0.026_855_664, 0.005_192_210_4, -0.000_804_754_5, 7.988_071e-5];
/// log(1 - erf x) from the middle on.
const LARGE: &[f32] = &[
    0.000_178_659,
    -1.129_530_1,
    -0.633_326_95,
    -0.108_285_67,
    0.025_107_127,
    -0.004_156_289_6,
    0.000_427_227_7,
    -1.937_930_4e-5,
    -1.616_430_7e-7,
];

impl MathBuilder<'_, '_> {
    /// Error function. Error at most 2 ulp.
    pub fn erf(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        let limit = self.float(ONE_FROM);
        let limited = self.min(limit, a);
        let log = self.polynomial(limited, LARGE);
        let complement = self.exp_narrow(log);
        let one = self.float(1.0);
        let large = self.sub(one, complement);
        let square = self.mul(a, a);
        let p = self.polynomial(square, SMALL);
        let small = self.mul_add(p, a, a);
        let is_small = self.compare_const(FloatCC::LessThan, a, MIDDLE);
        let result = self.select(is_small, small, large);
        self.flip_sign(result, x)
    }
}
