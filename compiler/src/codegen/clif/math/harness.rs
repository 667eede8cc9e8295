//! Runs expansions in this process, and measures them.

use std::mem::transmute;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, MemFlagsData, Type, UserFuncName, Value, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::verifier::verify_function;
use cranelift_codegen::{Context, isa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};

use super::MathBuilder;

/// An expansion of one or two arguments; the second is absent for one.
pub(super) type Expansion<'e> = &'e dyn Fn(&mut MathBuilder<'_, '_>, Value, Value) -> Value;

/// The element types of an expansion's arguments and result.
#[derive(Clone, Copy)]
pub(super) struct Signature {
    pub argument: Type,
    pub result: Type,
}

/// `f32` to `f32`.
pub(super) const FLOATS: Signature = Signature { argument: types::F32, result: types::F32 };

fn target(fma: bool) -> OwnedTargetIsa {
    let mut flags = settings::builder();
    flags.set("opt_level", "none").unwrap();
    flags.set("is_pic", "false").unwrap();
    let mut target = isa::lookup(target_lexicon::Triple::host()).unwrap();
    if cfg!(target_arch = "x86_64") {
        for flag in ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"] {
            target.enable(flag).unwrap();
        }
        if fma {
            target.enable("has_avx").unwrap();
            target.enable("has_fma").unwrap();
        }
    }
    target.finish(settings::Flags::new(flags)).unwrap()
}

/// Whether the machine that runs the tests has fused multiply-add.
pub(super) fn host_has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// Writes `f(a: *argument, b: *argument, out: *result, count: i64)`, a loop over whole vectors.
fn write_loop(
    func: &mut Function,
    signature: Signature,
    lanes: u32,
    fma: bool,
    isa: &OwnedTargetIsa,
    e: Expansion<'_>,
) {
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(func, &mut context);
    let entry = builder.create_block();
    let body = builder.create_block();
    let done = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    let counter = builder.append_block_param(body, types::I64);
    builder.switch_to_block(entry);
    let [a, b, out, count] = *builder.block_params(entry) else { unreachable!() };
    let zero = builder.ins().iconst(types::I64, 0);
    builder.ins().jump(body, &[zero.into()]);
    builder.switch_to_block(body);
    let argument = signature.argument.by(lanes).unwrap();
    let offset = builder.ins().imul_imm_u(counter, i64::from(signature.argument.bytes()));
    let flags = MemFlagsData::new();
    let address = builder.ins().iadd(a, offset);
    let x = builder.ins().load(argument, flags, address, 0);
    let address = builder.ins().iadd(b, offset);
    let y = builder.ins().load(argument, flags, address, 0);
    let result = e(&mut MathBuilder { builder: &mut builder, lanes, fma }, x, y);
    let offset = builder.ins().imul_imm_u(counter, i64::from(signature.result.bytes()));
    let address = builder.ins().iadd(out, offset);
    builder.ins().store(flags, result, address, 0);
    let next = builder.ins().iadd_imm_u(counter, i64::from(lanes));
    let more = builder.ins().icmp(IntCC::SignedLessThan, next, count);
    builder.ins().brif(more, body, &[next.into()], done, &[]);
    builder.switch_to_block(done);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
}

fn signature_of(isa: &OwnedTargetIsa) -> cranelift_codegen::ir::Signature {
    let mut signature = cranelift_codegen::ir::Signature::new(isa.default_call_conv());
    signature.params = vec![AbiParam::new(types::I64); 4];
    signature
}

/// Builds and verifies the expansion at a lane count, without compiling it.
pub(super) fn verify(signature: Signature, lanes: u32, fma: bool, e: Expansion<'_>) {
    let isa = target(fma);
    let mut func = Function::with_name_signature(UserFuncName::default(), signature_of(&isa));
    write_loop(&mut func, signature, lanes, fma, &isa, e);
    verify_function(&func, &*isa).unwrap_or_else(|errors| panic!("{lanes} lanes: {errors}"));
}

/// The results of an expansion for each pair of arguments, at a lane count. The bits are those of the element types.
pub(super) fn run<A: Copy, R: Copy + Default>(
    signature: Signature,
    lanes: u32,
    fma: bool,
    e: Expansion<'_>,
    a: &[A],
    b: &[A],
) -> Vec<R> {
    assert_eq!(
        (size_of::<A>(), size_of::<R>()),
        (signature.argument.bytes() as usize, signature.result.bytes() as usize)
    );
    let isa = target(fma);
    let mut module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
    let mut context = Context::new();
    context.func.signature = signature_of(&isa);
    write_loop(&mut context.func, signature, lanes, fma, &isa, e);
    let id = module.declare_anonymous_function(&context.func.signature).unwrap();
    module.define_function(id, &mut context).unwrap();
    module.finalize_definitions().unwrap();
    let code = module.get_finalized_function(id);
    let padded = a.len().next_multiple_of(lanes as usize);
    let pad = |values: &[A]| -> Vec<A> { values.iter().copied().cycle().take(padded).collect() };
    let (a_padded, b_padded) = (pad(a), pad(b));
    let mut out = vec![R::default(); padded];
    // SAFETY: the code was compiled with this signature for this machine, and reads and writes `padded` elements.
    unsafe {
        let function: extern "C" fn(*const A, *const A, *mut R, i64) = transmute(code);
        function(a_padded.as_ptr(), b_padded.as_ptr(), out.as_mut_ptr(), padded as i64);
        module.free_memory();
    }
    out.truncate(a.len());
    out
}

/// Every combination that this machine can run: lane count and fused multiply-add.
pub(super) fn variants() -> Vec<(u32, bool)> {
    let mut variants = vec![(1, false), (4, false)];
    if host_has_fma() {
        variants.extend([(1, true), (4, true)]);
    }
    variants
}

/// Arguments spread over all bit patterns, and the usual edges.
pub(super) fn samples() -> Vec<f32> {
    let mut samples: Vec<f32> = (0..=u32::MAX).step_by(4093).map(f32::from_bits).collect();
    let edges =
        [0.0, f32::MIN_POSITIVE, 1e-45, 0.25, 0.5, 0.625, 0.95, 1.0, 2.0, 4.0, 88.72284, 103.97, f32::MAX, 8388608.0];
    for edge in edges {
        for bits in [edge.to_bits().wrapping_sub(1), edge.to_bits(), edge.to_bits() + 1] {
            samples.extend([f32::from_bits(bits), -f32::from_bits(bits)]);
        }
    }
    samples.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    samples
}

/// The distance of `got` from the exact value in ulp of the latter; infinite where one is NaN or infinite and the other is not.
pub(super) fn ulp_error(got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if rounded.is_nan() || got.is_nan() {
        return if rounded.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == rounded {
        let same_zero = got != 0.0 || got.is_sign_negative() == rounded.is_sign_negative();
        return if same_zero {
            (f64::from(got) - exact).abs().min(f64::from(got).abs()) / ulp(rounded)
        } else {
            f64::INFINITY
        };
    }
    if got.is_infinite() || rounded.is_infinite() {
        // One step from the greatest finite number to infinity is an ulp like any other.
        let step = if got.is_infinite() { rounded } else { got };
        return if step.abs() >= f32::MAX { 1.0 } else { f64::INFINITY };
    }
    (f64::from(got) - exact).abs() / ulp(rounded)
}

fn ulp(value: f32) -> f64 {
    if value.is_infinite() {
        return f64::INFINITY;
    }
    let exponent = (value.to_bits() >> 23 & 0xff).max(1) as i32;
    2f64.powi(exponent - 150)
}

/// Measures a function of one argument at every variant, prints the worst error, and fails above `bound` ulp.
pub(super) fn check(name: &str, bound: f64, exact: fn(f64) -> f64, e: fn(&mut MathBuilder<'_, '_>, Value) -> Value) {
    check_on(name, bound, &samples(), exact, e);
}

/// [`check`] on given arguments.
pub(super) fn check_on(
    name: &str,
    bound: f64,
    samples: &[f32],
    exact: fn(f64) -> f64,
    e: fn(&mut MathBuilder<'_, '_>, Value) -> Value,
) {
    let expected: Vec<f64> = samples.iter().map(|&x| exact(f64::from(x))).collect();
    for lanes in [8, 16] {
        verify(FLOATS, lanes, true, &|math, x, _| e(math, x));
    }
    for (lanes, fma) in variants() {
        let got: Vec<f32> = run(FLOATS, lanes, fma, &|math, x, _| e(math, x), samples, samples);
        let mut worst = (0.0, 0.0, 0.0, 0.0);
        for ((&x, &got), &exact) in samples.iter().zip(&got).zip(&expected) {
            let error = ulp_error(got, exact);
            if error > worst.0 {
                worst = (error, x, got, exact);
            }
        }
        let (error, x, got, exact) = worst;
        println!("{name:8} {lanes} lanes, fma {fma:5}: {error:.3} ulp at {x:e}: {got:e} for {exact:e}");
        assert!(error <= bound, "{name}({x:e}) is {got:e}, not {exact:e}: {error} ulp at {lanes} lanes, fma {fma}");
    }
}

/// Measures a function of two arguments on given pairs at every variant, prints the worst error, and fails above `bound` ulp.
pub(super) fn check_binary(
    name: &str,
    bound: f64,
    a: &[f32],
    b: &[f32],
    exact: fn(f64, f64) -> f64,
    e: fn(&mut MathBuilder<'_, '_>, Value, Value) -> Value,
) {
    for lanes in [8, 16] {
        verify(FLOATS, lanes, true, &|math, x, y| e(math, x, y));
    }
    for (lanes, fma) in variants() {
        let got: Vec<f32> = run(FLOATS, lanes, fma, &|math, x, y| e(math, x, y), a, b);
        let mut worst = (0.0, 0);
        for (i, ((&a, &b), &got)) in a.iter().zip(b).zip(&got).enumerate() {
            let error = ulp_error(got, exact(f64::from(a), f64::from(b)));
            if error > worst.0 {
                worst = (error, i);
            }
        }
        let (error, i) = worst;
        let (a, b, got, exact) = (a[i], b[i], got[i], exact(f64::from(a[i]), f64::from(b[i])));
        println!("{name:8} {lanes} lanes, fma {fma:5}: {error:.3} ulp at ({a:e}, {b:e}): {got:e} for {exact:e}");
        assert!(
            error <= bound,
            "{name}({a:e}, {b:e}) is {got:e}, not {exact:e}: {error} ulp at {lanes} lanes, fma {fma}"
        );
    }
}
