//! Scalar mathematics that generated code calls: `lithify_OPERATION_ELEMENT`.
//!
//! `f32` functions are computed in `f64` and rounded once; `f64` functions are those of `libm`, within 1 to 2 ulp.

macro_rules! unary {
    ($($(#[$doc:meta])* $f32_name:ident, $f64_name:ident: $function:expr;)*) => { $(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $f32_name(x: f32) -> f32 {
            let function: fn(f64) -> f64 = $function;
            function(f64::from(x)) as f32
        }

        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $f64_name(x: f64) -> f64 {
            let function: fn(f64) -> f64 = $function;
            function(x)
        }
    )* };
}

macro_rules! binary {
    ($($(#[$doc:meta])* $f32_name:ident, $f64_name:ident: $function:expr;)*) => { $(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $f32_name(a: f32, b: f32) -> f32 {
            let function: fn(f64, f64) -> f64 = $function;
            function(f64::from(a), f64::from(b)) as f32
        }

        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $f64_name(a: f64, b: f64) -> f64 {
            let function: fn(f64, f64) -> f64 = $function;
            function(a, b)
        }
    )* };
}

unary! {
    /// e^x.
    lithify_exp_f32, lithify_exp_f64: libm::exp;
    /// e^x - 1.
    lithify_expm1_f32, lithify_expm1_f64: libm::expm1;
    /// Natural logarithm.
    lithify_log_f32, lithify_log_f64: libm::log;
    /// log(1 + x).
    lithify_log1p_f32, lithify_log1p_f64: libm::log1p;
    /// Sine of radians, of any magnitude.
    lithify_sin_f32, lithify_sin_f64: libm::sin;
    /// Cosine of radians, of any magnitude.
    lithify_cos_f32, lithify_cos_f64: libm::cos;
    /// Tangent of radians, of any magnitude.
    lithify_tan_f32, lithify_tan_f64: libm::tan;
    /// Arc sine, NaN outside -1 to 1.
    lithify_asin_f32, lithify_asin_f64: libm::asin;
    /// Arc cosine, NaN outside -1 to 1.
    lithify_acos_f32, lithify_acos_f64: libm::acos;
    /// Arc tangent.
    lithify_atan_f32, lithify_atan_f64: libm::atan;
    /// Hyperbolic sine.
    lithify_sinh_f32, lithify_sinh_f64: libm::sinh;
    /// Hyperbolic cosine.
    lithify_cosh_f32, lithify_cosh_f64: libm::cosh;
    /// Hyperbolic tangent.
    lithify_tanh_f32, lithify_tanh_f64: libm::tanh;
    /// Inverse hyperbolic sine.
    lithify_asinh_f32, lithify_asinh_f64: libm::asinh;
    /// Inverse hyperbolic cosine, NaN below 1.
    lithify_acosh_f32, lithify_acosh_f64: |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) };
    /// Inverse hyperbolic tangent, NaN outside -1 to 1.
    lithify_atanh_f32, lithify_atanh_f64: |x| if x.abs() > 1.0 { f64::NAN } else { libm::atanh(x) };
    /// Error function.
    lithify_erf_f32, lithify_erf_f64: libm::erf;
    /// 1 / (1 + e^-x), small results to their last bits.
    lithify_sigmoid_f32, lithify_sigmoid_f64: |x| {
            let e = libm::exp(-x.abs());
            (if x >= 0.0 { 1.0 } else { e }) / (1.0 + e)
        };
}

binary! {
    /// `a` to the power `b`.
    lithify_pow_f32, lithify_pow_f64: libm::pow;
    /// Remainder of `a / b` with the sign of `a`, exact.
    lithify_rem_f32, lithify_rem_f64: libm::fmod;
    /// Remainder of `a / b` with the sign of `b`.
    lithify_mod_f32, lithify_mod_f64: |a, b| {
            let remainder = libm::fmod(a, b);
            if remainder == 0.0 {
                libm::copysign(0.0, b)
            } else if (remainder < 0.0) != (b < 0.0) {
                remainder + b
            } else {
                remainder
            }
        };
    /// Angle of the point (b, a).
    lithify_atan2_f32, lithify_atan2_f64: libm::atan2;
}

/// `base` to the power `exponent`, wrapping. A negative exponent gives the truncated reciprocal, 0 for a base of 0.
#[unsafe(no_mangle)]
pub extern "C" fn lithify_pow_i64(base: i64, exponent: i64) -> i64 {
    if exponent >= 0 {
        return lithify_pow_u64(base as u64, exponent as u64) as i64;
    }
    match base {
        1 => 1,
        -1 if exponent % 2 == 0 => 1,
        -1 => -1,
        _ => 0,
    }
}

/// `base` to the power `exponent`, wrapping.
#[unsafe(no_mangle)]
pub extern "C" fn lithify_pow_u64(base: u64, exponent: u64) -> u64 {
    let (mut result, mut square, mut rest) = (1u64, base, exponent);
    while rest != 0 {
        if rest & 1 != 0 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_powers_wrap_and_truncate() {
        assert_eq!(lithify_pow_i64(-3, 3), -27);
        assert_eq!(lithify_pow_i64(3, 41), 3i64.wrapping_pow(41));
        assert_eq!(lithify_pow_i64(2, -1), 0);
        assert_eq!(lithify_pow_i64(-1, -3), -1);
        assert_eq!(lithify_pow_i64(0, 0), 1);
        assert_eq!(lithify_pow_u64(u64::MAX, 2), 1);
    }

    #[test]
    fn remainders_take_the_signs_that_they_should() {
        assert_eq!(lithify_rem_f32(-7.0, 3.0), -1.0);
        assert_eq!(lithify_mod_f32(-7.0, 3.0), 2.0);
        assert_eq!(lithify_mod_f32(7.0, -3.0), -2.0);
        assert!(lithify_mod_f64(1.0, 0.0).is_nan());
        assert_eq!(lithify_mod_f32(-1.0, f32::INFINITY), f32::INFINITY);
    }

    #[test]
    fn domains_end_in_nan() {
        assert!(lithify_acosh_f64(-3.0).is_nan());
        assert!(lithify_atanh_f32(1.5).is_nan());
        assert_eq!(lithify_atanh_f32(1.0), f32::INFINITY);
        assert_eq!(lithify_sigmoid_f64(-700.0), libm::exp(-700.0));
    }
}
