//! Whether what a model computed is what it should have computed.
//!
//! [`suite`] follows the ONNX backend suite, [`zoo`] the rule for real models that `tests/zoo/README.md` states.

use std::collections::HashMap;

use serde::Deserialize;

use crate::elements::{self, Elements};
use crate::tensor::{Tensor, Value};

const BFLOAT16: i32 = 16;

/// How values differ, in words.
pub type Difference = String;

/// Compares as the ONNX suite does: floats within `atol + rtol * |wanted|`, everything else exactly.
///
/// The suite gives bfloat16 two units in the last place whatever `rtol` says.
pub fn suite(got: &Value, wanted: &Value, rtol: f64, atol: f64) -> Result<(), Difference> {
    compare(got, wanted, &|got, wanted| {
        same_type_and_shape(got, wanted)?;
        let rtol = if wanted.element_type == BFLOAT16 { rtol.max(2_f64.powi(-6)) } else { rtol };
        close(got, wanted, |wanted, _| atol + rtol * wanted.abs())
    })
}

/// How far the outputs of a real model may be from the reference.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tolerance {
    /// Relative to the element wanted.
    pub rtol: f64,
    /// Relative to the largest finite absolute value of the output wanted.
    pub atol_of_max: f64,
    /// Absolute.
    pub atol: f64,
    /// Replaces the other three by a least cosine between the flattened outputs.
    pub cosine: Option<f64>,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { rtol: 1e-3, atol_of_max: 1e-4, atol: 0.0, cosine: None }
    }
}

/// What of an output can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// All of it.
    #[default]
    Whole,
    /// All but the last element of the flattened output.
    AllButLast,
    /// Type and shape.
    Shape,
    /// Type and rank.
    Rank,
}

/// The rules of a model's outputs by name; outputs not named are compared whole.
pub type Rules = HashMap<String, Rule>;

/// Compares an output of a real model with the reference.
pub fn zoo(got: &Value, wanted: &Value, tolerance: &Tolerance, rule: Rule) -> Result<(), Difference> {
    compare(got, wanted, &|got, wanted| match rule {
        Rule::Rank if got.element_type == wanted.element_type && got.dims.len() == wanted.dims.len() => Ok(()),
        Rule::Rank | Rule::Shape => same_type_and_shape(got, wanted),
        Rule::AllButLast => {
            same_type_and_shape(got, wanted)?;
            within(&without_last(elements::decode(got)?), &without_last(elements::decode(wanted)?), tolerance)
        }
        Rule::Whole => {
            same_type_and_shape(got, wanted)?;
            within(&elements::decode(got)?, &elements::decode(wanted)?, tolerance)
        }
    })
}

/// Walks two values side by side and compares their tensors.
fn compare(
    got: &Value,
    wanted: &Value,
    tensors: &dyn Fn(&Tensor, &Tensor) -> Result<(), Difference>,
) -> Result<(), Difference> {
    match (got, wanted) {
        (Value::Tensor(got), Value::Tensor(wanted)) => tensors(got, wanted),
        (Value::Sequence(got), Value::Sequence(wanted)) if got.len() == wanted.len() => {
            for (index, (got, wanted)) in got.iter().zip(wanted).enumerate() {
                compare(got, wanted, tensors).map_err(|difference| format!("element {index}: {difference}"))?;
            }
            Ok(())
        }
        (Value::Sequence(got), Value::Sequence(wanted)) => {
            Err(format!("{} elements instead of {}", got.len(), wanted.len()))
        }
        (Value::Optional(None), Value::Optional(None)) => Ok(()),
        (Value::Optional(Some(got)), Value::Optional(Some(wanted))) => compare(got, wanted, tensors),
        (Value::Optional(None), Value::Optional(Some(_))) => Err("no value instead of one".to_owned()),
        (Value::Optional(Some(_)), Value::Optional(None)) => Err("a value instead of none".to_owned()),
        (Value::Map { keys, values }, Value::Map { keys: wanted_keys, values: wanted_values }) => {
            tensors(keys, wanted_keys).map_err(|difference| format!("keys: {difference}"))?;
            tensors(values, wanted_values).map_err(|difference| format!("values: {difference}"))
        }
        _ => Err(format!("a {} instead of a {}", got.kind(), wanted.kind())),
    }
}

fn same_type_and_shape(got: &Tensor, wanted: &Tensor) -> Result<(), Difference> {
    if got.element_type == wanted.element_type && got.dims == wanted.dims {
        return Ok(());
    }
    Err(format!("{got} instead of {wanted}"))
}

fn without_last(elements: Elements) -> Elements {
    fn shorter<T>(mut list: Vec<T>) -> Vec<T> {
        list.pop();
        list
    }
    match elements {
        Elements::Floats(list) => Elements::Floats(shorter(list)),
        Elements::Integers(list) => Elements::Integers(shorter(list)),
        Elements::Strings(list) => Elements::Strings(shorter(list)),
    }
}

fn within(got: &Elements, wanted: &Elements, tolerance: &Tolerance) -> Result<(), Difference> {
    match (got, wanted, tolerance.cosine) {
        (Elements::Floats(got), Elements::Floats(wanted), Some(least)) => {
            let found = cosine(got, wanted);
            if found >= least { Ok(()) } else { Err(format!("a cosine of {found} instead of at least {least}")) }
        }
        _ => close_elements(got, wanted, |wanted, largest| {
            tolerance.atol_of_max * largest + tolerance.rtol * wanted.abs() + tolerance.atol
        }),
    }
}

/// The cosine of the angle between two vectors of one length; 1 when both are zero, NaN when an element is not finite.
fn cosine(got: &[f64], wanted: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (got_square, wanted_square) = (dot(got, got), dot(wanted, wanted));
    if got_square == 0.0 && wanted_square == 0.0 {
        return 1.0;
    }
    dot(got, wanted) / (got_square * wanted_square).sqrt()
}

fn close(got: &Tensor, wanted: &Tensor, allowed: impl Fn(f64, f64) -> f64) -> Result<(), Difference> {
    close_elements(&elements::decode(got)?, &elements::decode(wanted)?, allowed)
}

/// `allowed` gives the distance allowed from the wanted element and the largest finite absolute value wanted.
fn close_elements(got: &Elements, wanted: &Elements, allowed: impl Fn(f64, f64) -> f64) -> Result<(), Difference> {
    match (got, wanted) {
        (Elements::Floats(got), Elements::Floats(wanted)) => {
            let largest =
                wanted.iter().filter(|wanted| wanted.is_finite()).fold(0_f64, |most, wanted| most.max(wanted.abs()));
            let fits = |got: &f64, wanted: &f64| {
                if !wanted.is_finite() || !got.is_finite() {
                    return got == wanted || got.is_nan() && wanted.is_nan();
                }
                (got - wanted).abs() <= allowed(*wanted, largest)
            };
            let farthest = got.iter().zip(wanted).map(|(got, wanted)| (got - wanted).abs()).fold(0_f64, f64::max);
            report(got, wanted, fits)
                .map_err(|text| format!("{text}; largest distance {farthest:e}, largest value {largest:e}"))
        }
        (Elements::Integers(got), Elements::Integers(wanted)) => report(got, wanted, PartialEq::eq),
        (Elements::Strings(got), Elements::Strings(wanted)) => {
            let readable =
                |list: &[Vec<u8>]| list.iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect::<Vec<_>>();
            report(got, wanted, PartialEq::eq)
                .map_err(|_| format!("{:?} instead of {:?}", readable(got), readable(wanted)))
        }
        _ => Err("elements of another kind".to_owned()),
    }
}

fn report<T: std::fmt::Debug>(got: &[T], wanted: &[T], fits: impl Fn(&T, &T) -> bool) -> Result<(), Difference> {
    let mut wrong = (0..wanted.len()).filter(|&index| !fits(&got[index], &wanted[index]));
    let Some(first) = wrong.next() else { return Ok(()) };
    Err(format!(
        "{} of {} elements differ, the first at {first}: {:?} instead of {:?}",
        wrong.count() + 1,
        wanted.len(),
        got[first],
        wanted[first],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(elements: &[f32]) -> Value {
        Tensor::of_f32([elements.len() as i64], elements).into()
    }

    #[test]
    fn the_suite_compares_relative_to_the_element() {
        let check = |got: &[f32], wanted: &[f32]| suite(&floats(got), &floats(wanted), 1e-3, 1e-7).is_ok();
        assert!(check(&[1.0009, f32::NAN, f32::INFINITY], &[1.0, f32::NAN, f32::INFINITY]));
        assert!(!check(&[1.0011], &[1.0]));
        assert!(check(&[5e-8], &[0.0]) && !check(&[2e-7], &[0.0]));
        assert!(!check(&[f32::NEG_INFINITY], &[f32::INFINITY]) && !check(&[1.0], &[f32::NAN]));
        assert!(!check(&[f32::NAN], &[1.0]) && !check(&[f32::INFINITY], &[1.0]));
    }

    #[test]
    fn the_suite_gives_bfloat16_two_units_in_the_last_place() {
        let of = |pattern: u16| Value::from(Tensor::new(BFLOAT16, [1], pattern.to_le_bytes().to_vec()));
        assert!(suite(&of(0x3f82), &of(0x3f80), 1e-3, 1e-7).is_ok());
        assert!(suite(&of(0x3f83), &of(0x3f80), 1e-3, 1e-7).is_err());
    }

    #[test]
    fn types_shapes_and_kinds_must_match() {
        let one = floats(&[1.0]);
        let difference = suite(&Tensor::of_f32([1, 1], &[1.0]).into(), &one, 1.0, 1.0).unwrap_err();
        assert_eq!(difference, "type 1 of [1, 1] instead of type 1 of [1]");
        assert!(suite(&Tensor::new(6, [1], vec![0, 0, 128, 63]).into(), &one, 1.0, 1.0).is_err());
        assert!(suite(&Value::Optional(None), &one, 1.0, 1.0).is_err());
        assert!(suite(&Value::Sequence(vec![]), &Value::Sequence(vec![one.clone()]), 1.0, 1.0).is_err());
        let some = |value: &Value| Value::Optional(Some(Box::new(value.clone())));
        assert!(suite(&some(&one), &some(&one), 0.0, 0.0).is_ok());
    }

    #[test]
    fn integers_and_strings_must_be_equal() {
        let integers = |last| Value::from(Tensor::of_i64([2], &[5000, last]));
        let difference = suite(&integers(5001), &integers(5000), 1e-3, 1e-7).unwrap_err();
        assert_eq!(difference, "1 of 2 elements differ, the first at 1: 5001 instead of 5000");
        let strings = |text: &str| Value::from(Tensor::of_strings([1], vec![text.into()]));
        assert!(suite(&strings("a"), &strings("a"), 0.0, 0.0).is_ok());
        assert_eq!(suite(&strings("a"), &strings("b"), 0.0, 0.0).unwrap_err(), r#"["a"] instead of ["b"]"#);
    }

    #[test]
    fn the_zoo_compares_relative_to_the_largest() {
        let check =
            |tolerance: &Tolerance| zoo(&floats(&[0.009, 100.0]), &floats(&[0.0, 100.0]), tolerance, Rule::Whole);
        assert!(check(&Tolerance::default()).is_ok());
        assert!(check(&Tolerance { atol_of_max: 5e-5, ..Tolerance::default() }).is_err());
        assert!(check(&Tolerance { cosine: Some(0.9999), ..Tolerance::default() }).is_ok());
        assert!(check(&Tolerance { cosine: Some(1.1), ..Tolerance::default() }).is_err());
        let not_a_number = zoo(
            &floats(&[f32::NAN]),
            &floats(&[1.0]),
            &Tolerance { cosine: Some(0.5), ..Tolerance::default() },
            Rule::Whole,
        );
        assert!(not_a_number.is_err());
    }

    #[test]
    fn rules_leave_out_what_is_random() {
        let check = |rule| zoo(&floats(&[1.0, 7.0]), &floats(&[1.0, 2.0]), &Tolerance::default(), rule).is_ok();
        assert!(!check(Rule::Whole) && check(Rule::AllButLast) && check(Rule::Shape) && check(Rule::Rank));
        let longer = |rule| zoo(&floats(&[1.0; 3]), &floats(&[1.0; 2]), &Tolerance::default(), rule).is_ok();
        assert!(!longer(Rule::Shape) && longer(Rule::Rank));
    }
}
