//! The error function.

use super::Math;
use crate::codegen::ptx::assembly::Register;

/// erf(x) / x in powers of x² on |x| <= 1.
#[allow(clippy::excessive_precision)]
const SMALL: [f64; 13] = [
    std::f64::consts::FRAC_2_SQRT_PI,
    -0.3761263890318375,
    0.11283791670954879,
    -0.026866170645076792,
    0.0052239776248180145,
    -0.000854832698083379,
    0.0001205533111164271,
    -1.4925595266831182e-05,
    1.6461000484121368e-06,
    -1.6350312701054695e-07,
    1.4659775274047436e-08,
    -1.1372848856791674e-09,
    5.957176147748911e-11,
];
/// erfc(x) · e^(x²) / t in powers of t - MIDDLE, where t = 1 / (1 + x / 2), on 1 <= x <= 6.
#[allow(clippy::excessive_precision)]
const LARGE: [f64; 18] = [
    0.48353679658203286,
    0.642091428864563,
    0.539346385414746,
    0.17212707289912826,
    -0.14847583625613495,
    -0.1257898367895178,
    0.07961302179182582,
    0.08026265117736833,
    -0.07569972881779898,
    -0.041564726178323755,
    0.08350824212486124,
    -0.004466196211651036,
    -0.0789223693370605,
    0.058341899126094304,
    0.04172107465394324,
    -0.09794931066505104,
    0.01884484515883157,
    0.08139670653044476,
];
const MIDDLE: f64 = 0.458984375;

impl Math<'_> {
    pub(super) fn erf(&mut self, x: Register) -> Register {
        let a = self.abs(x);
        let a = self.clamp(a, 0.0, 6.0);
        let square = self.mul(a, a);
        let p = self.polynomial(square, &SMALL);
        let small = self.mul(p, a);
        let shifted = self.fma(a, 0.5, 1.0);
        let t = self.div(1.0, shifted);
        let from_middle = self.sub(t, MIDDLE);
        let p = self.polynomial(from_middle, &LARGE);
        let p = self.mul(p, t);
        let negated = self.neg(square);
        let e = self.call("exp", &[negated]);
        let complement = self.mul(p, e);
        let large = self.sub(1.0, complement);
        let is_small = self.compare("lt", a, 1.0);
        let result = self.select(is_small, small, large);
        self.copy_sign(result, x)
    }
}
