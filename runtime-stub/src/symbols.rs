//! The addresses of all exported functions, for code that runs in the compiler's own process.

/// An exported function.
pub type Symbol = (&'static str, *const u8);

macro_rules! table {
    ($($module:ident { $($function:ident),* $(,)? })*) => {
        const TABLE: &[Symbol] = &[$($((stringify!($function), crate::$module::$function as *const u8),)*)*];
    };
}

table! {
    entry {
        lithify_create, lithify_destroy, lithify_run, lithify_error, lithify_workspace_bytes, lithify_release,
        lithify_parallel,
    }
    selection {
        lithify_nonzero, lithify_nonzero_count, lithify_non_max_suppression, lithify_top_k, lithify_unique,
    }
    memory { lithify_allocate, lithify_free }
    math {
        lithify_acos_f32, lithify_acos_f64, lithify_acosh_f32, lithify_acosh_f64, lithify_asin_f32,
        lithify_asin_f64, lithify_asinh_f32, lithify_asinh_f64, lithify_atan2_f32, lithify_atan2_f64,
        lithify_atan_f32, lithify_atan_f64, lithify_atanh_f32, lithify_atanh_f64, lithify_cos_f32,
        lithify_cos_f64, lithify_cosh_f32, lithify_cosh_f64, lithify_erf_f32, lithify_erf_f64, lithify_exp_f32,
        lithify_exp_f64, lithify_expm1_f32, lithify_expm1_f64, lithify_log1p_f32, lithify_log1p_f64,
        lithify_log_f32, lithify_log_f64, lithify_mod_f32, lithify_mod_f64, lithify_pow_f32, lithify_pow_f64,
        lithify_rem_f32, lithify_rem_f64, lithify_sigmoid_f32, lithify_sigmoid_f64, lithify_sin_f32,
        lithify_sin_f64, lithify_sinh_f32, lithify_sinh_f64, lithify_tan_f32, lithify_tan_f64, lithify_tanh_f32,
        lithify_tanh_f64, lithify_pow_i64, lithify_pow_u64,
    }
}

/// Every exported function that compiled code or hosts call, by name.
pub fn symbols() -> &'static [Symbol] {
    TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (position, (name, address)) in symbols().iter().enumerate() {
            assert!(!address.is_null());
            assert!(symbols().iter().skip(position + 1).all(|(other, _)| other != name), "{name}");
        }
    }
}
