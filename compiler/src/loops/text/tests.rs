use super::scalar::{parse_scalar, print_scalar};
use super::*;
use crate::graph::{ElementType as E, Symbols};
use crate::loops::{Scalar, generate};

#[test]
fn generated_kernels_round_trip() {
    let mut symbols = Symbols::new();
    for seed in 0..500 {
        let kernel = generate::kernel(seed);
        let text = print_kernel(&kernel, &symbols);
        assert_eq!(parse_kernel(&text, &mut symbols), Ok(kernel), "{text}");
    }
}

#[test]
fn every_constant_round_trips() {
    let floats = [0x7fc0_0000, 0x7fc0_0001, 0xffc0_0000, 0x7f80_0000, 0xff80_0000, 0x8000_0000, 1, 0x3dcc_cccd];
    let wide = [f64::NAN.to_bits(), f64::MIN_POSITIVE.to_bits(), 0.1f64.to_bits(), (-0.0f64).to_bits(), u64::MAX];
    let scalars = floats.into_iter().map(|bits| Scalar { element: E::F32, bits });
    let scalars = scalars.chain(wide.into_iter().map(|bits| Scalar { element: E::F64, bits }));
    let integers = [E::I8, E::U8, E::I64, E::U64, E::Bool].into_iter();
    let integers = integers.flat_map(|element| [Scalar::lowest(element), Scalar::highest(element)]);
    // No value of its type, but bits all the same.
    let stray = Scalar { element: E::I32, bits: 0xffff_ffff };
    for scalar in scalars.chain(integers).chain([stray]) {
        let text = print_scalar(scalar);
        assert_eq!(parse_scalar(scalar.element, &text), Some(scalar), "{text}");
    }
    assert_eq!(print_scalar(Scalar::from_f64(E::F32, 0.1)), "0.1");
}

const PROGRAM: &str = r#"symbol "n" natural 0..
symbol "odd name" positive 1..64
symbol "delta" integer ..
input "x.1": f32[n, 2*`odd name`]
output "y": f32[n]
buffer b0: f32[n, 2*`odd name`] input 0
buffer b1: f32[n] output 0
buffer b2: i64[2] constant [2] bytes x01000000000000000200000000000000
buffer b3: f32[1000] constant [1000] splat x0000803f
buffer b4: i64[delta + 1] temporary
label @0 "the model"
label @1 "say \"hi\" (Loop)"
kernel "a b"(p0: f32[n, 2*`odd name`] read, p1: f32[n] write) {
  outer a0 < n
  e0: i64 = axis a0
  e1: i64 = axis a1
  e2: f32 = load p0[e0, e1]
  r0 = sum over a1 < 2*`odd name` { e2 }
  e3: f32 = reduced r0
  e4: i64 = dim max(n, 3)
  e5: i64 = checked e0 < e4
  store p1[e5] = e3
}
steps {
  @0 launch k0 "a b"(b0, b1)
  @1 bind delta, b2[1]
  @1 loop n, 3*delta, (delta < 4) {
    @1 if (delta == 2) {
      @1 set delta, delta + 1
    } else {
      @1 move b4 -> b4
    }
  }
  @1 check (delta == 0), "delta; must be 0"
  @0 routine lithify_sort(b2) -> (b4) with (n, 7) binds (delta)
}
"#;

#[test]
fn programs_round_trip() {
    let program = parse_program(PROGRAM).expect("a program");
    assert_eq!(print_program(&program), PROGRAM);
}

#[test]
fn errors_name_the_line() {
    let cases = [
        ("kernel", "line 1: a word is expected, not ``"),
        ("kernel k() {\n  e1: f32 = const 1.0\n}", "line 2: e0 is expected, not e1"),
        ("kernel k() {\n  e0: f32 = sine e0\n}", "line 2: there is no operation `sine`"),
        ("kernel k() {\n  store p0[] = e0\n}", "line 2: there is no p0"),
        ("kernel k() {\n  outer a1 < 2\n}", "line 3: an axis has no extent"),
        ("kernel k() {\n  e0: u8 = const 256\n}", "line 2: a constant of u8 is expected, not `256`"),
        ("kernel k() {\n}\nmore", "line 3: the kernel has ended, but the text has not"),
    ];
    for (text, expected) in cases {
        let error = parse_kernel(text, &mut Symbols::new()).expect_err("no kernel");
        assert_eq!(error.to_string(), expected, "{text}");
    }
}
