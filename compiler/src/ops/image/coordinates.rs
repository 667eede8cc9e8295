//! Where in the input a position of a resized output lies.

use crate::graph::{Dim, ElementType};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ParameterId};
use crate::ops::{OperatorError, Result};

/// The attribute `coordinate_transformation_mode`. In the formulas, x is a position in the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transformation {
    /// (x + 0.5) / scale - 0.5
    HalfPixel,
    /// `HalfPixel` around the center, for outputs whose size was rounded.
    HalfPixelSymmetric,
    /// `HalfPixel`, but 0 for outputs of size 1.
    PytorchHalfPixel,
    /// Ends on ends.
    AlignCorners,
    /// x / scale
    Asymmetric,
    /// (x + 0.5) / scale
    TfHalfPixelForNn,
    /// Ends on the ends of a region.
    TfCropAndResize,
}

impl Transformation {
    /// The mode of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "half_pixel" => Self::HalfPixel,
            "half_pixel_symmetric" => Self::HalfPixelSymmetric,
            "pytorch_half_pixel" => Self::PytorchHalfPixel,
            "align_corners" => Self::AlignCorners,
            "asymmetric" => Self::Asymmetric,
            "tf_half_pixel_for_nn" => Self::TfHalfPixelForNn,
            "tf_crop_and_resize" => Self::TfCropAndResize,
            other => {
                return Err(OperatorError::new(format!(
                    "`coordinate_transformation_mode` is `{other}`, which is unknown"
                )));
            }
        })
    }
}

/// How much longer an axis gets.
#[derive(Clone, PartialEq, Debug)]
pub enum Scale {
    /// A number.
    Factor(f32),
    /// The size of the output by that of the input, known in the run.
    Ratio,
    /// A number at this place of a tensor of the run.
    Place(usize),
}

/// One axis of a resized tensor.
#[derive(Clone, Debug)]
pub struct ResizedAxis {
    /// Size of the input.
    pub input: Dim,
    /// Size of the output.
    pub output: Dim,
    /// How much longer it gets.
    pub scale: Scale,
    /// Start and end of the region of interest, in parts of the axis, as places in the input `roi`.
    pub region: Option<(usize, usize)>,
}

impl ResizedAxis {
    /// Whether input and output positions are the same.
    pub fn is_unchanged(&self) -> bool {
        self.region.is_none() && self.input == self.output && matches!(self.scale, Scale::Ratio | Scale::Factor(1.0))
    }

    /// The factor by which the axis gets longer, if it is a number with no fraction.
    pub fn integral_scale(&self) -> Option<i64> {
        let Scale::Factor(factor) = self.scale else { return None };
        let whole = factor as i64;
        (factor >= 1.0 && factor.fract() == 0.0 && &self.input * whole == self.output).then_some(whole)
    }

    /// The scale as an `f32` expression; `factors` is the tensor that has those which only the run knows.
    pub fn scale(&self, nest: &mut KernelBuilder, factors: Option<ParameterId>) -> ExprId {
        match self.scale {
            Scale::Factor(factor) => number(nest, factor.into()),
            Scale::Place(place) if let Some(factors) = factors => {
                let place = nest.index(place as i64);
                let factor = nest.load(factors, &[place]);
                nest.cast(ElementType::F32, factor)
            }
            Scale::Ratio | Scale::Place(_) => {
                let (output, input) = (size(nest, &self.output), size(nest, &self.input));
                nest.div(output, input)
            }
        }
    }

    /// The position in the input, an `f32`, of position `x` of the output, with the result of [`ResizedAxis::scale`].
    /// `region` has start and end of the region.
    pub fn position(
        &self,
        nest: &mut KernelBuilder,
        mode: Transformation,
        (x, scale): (ExprId, ExprId),
        region: Option<(ExprId, ExprId)>,
    ) -> ExprId {
        let x = nest.cast(ElementType::F32, x);
        let half = number(nest, 0.5);
        match mode {
            Transformation::HalfPixel => half_pixel(nest, x, scale),
            Transformation::PytorchHalfPixel => {
                let (inside, zero) = (half_pixel(nest, x, scale), number(nest, 0.0));
                self.unless_single(nest, inside, zero)
            }
            Transformation::HalfPixelSymmetric => {
                let (input, output) = (size(nest, &self.input), size(nest, &self.output));
                let exact = nest.mul(scale, input);
                let adjustment = nest.div(output, exact);
                let (one, center) = (number(nest, 1.0), nest.mul(input, half));
                let missing = nest.sub(one, adjustment);
                let offset = nest.mul(center, missing);
                let position = half_pixel(nest, x, scale);
                nest.add(offset, position)
            }
            Transformation::Asymmetric => nest.div(x, scale),
            Transformation::TfHalfPixelForNn => {
                let middle = nest.add(x, half);
                nest.div(middle, scale)
            }
            Transformation::AlignCorners => {
                let (last, end) = (size(nest, &(&self.input - 1)), size(nest, &(&self.output - 1)));
                let place = nest.mul(x, last);
                let (inside, zero) = (nest.div(place, end), number(nest, 0.0));
                self.unless_single(nest, inside, zero)
            }
            Transformation::TfCropAndResize => {
                let last = size(nest, &(&self.input - 1));
                let (start, end) = region.unwrap_or_else(|| (number(nest, 0.0), number(nest, 1.0)));
                let (first, length) = (nest.mul(start, last), nest.sub(end, start));
                let length = nest.mul(length, last);
                let steps = size(nest, &(&self.output - 1));
                let place = nest.mul(x, length);
                let place = nest.div(place, steps);
                let inside = nest.add(first, place);
                let both = nest.add(start, end);
                let both = nest.mul(both, last);
                let middle = nest.mul(both, half);
                self.unless_single(nest, inside, middle)
            }
        }
    }

    /// `position`, or `single` where the output has size 1.
    fn unless_single(&self, nest: &mut KernelBuilder, position: ExprId, single: ExprId) -> ExprId {
        match self.output.as_const() {
            Some(1) => single,
            Some(_) => position,
            None => {
                let (output, one) = (nest.dim(&self.output), nest.index(1));
                let is_single = nest.compare(CompareOp::Eq, output, one);
                nest.select(is_single, single, position)
            }
        }
    }
}

/// (x + 0.5) / scale - 0.5
fn half_pixel(nest: &mut KernelBuilder, x: ExprId, scale: ExprId) -> ExprId {
    let half = number(nest, 0.5);
    let middle = nest.add(x, half);
    let place = nest.div(middle, scale);
    nest.sub(place, half)
}

/// A number in `f32`.
pub fn number(nest: &mut KernelBuilder, value: f64) -> ExprId {
    nest.float(ElementType::F32, value)
}

/// A size in `f32`.
pub fn size(nest: &mut KernelBuilder, dim: &Dim) -> ExprId {
    match dim.as_const() {
        Some(value) => number(nest, value as f64),
        None => {
            let dim = nest.dim(dim);
            nest.cast(ElementType::F32, dim)
        }
    }
}

/// The floor of `dim * scale`, rounded as in `f32`.
pub fn scaled(dim: &Dim, scale: f32) -> Result<Dim> {
    if !scale.is_finite() || scale <= 0.0 {
        return Err(OperatorError::new(format!("a scale is {scale}, expected a positive number")));
    }
    if scale.fract() == 0.0 {
        return Ok(dim * (scale as i64));
    }
    if let Some(dim) = dim.as_const() {
        return Ok(Dim::constant((dim as f32 * scale).floor() as i64));
    }
    // The fraction with the least denominator that rounds to the scale: what the model's author most likely meant.
    let meant = (1..=1024).find_map(|denominator: i64| {
        let numerator = (f64::from(scale) * denominator as f64).round();
        (numerator > 0.0 && (numerator / denominator as f64) as f32 == scale).then_some((numerator as i64, denominator))
    });
    let (numerator, denominator) = meant.unwrap_or(((f64::from(scale) * f64::from(1 << 20)).round() as i64, 1 << 20));
    Ok((dim * numerator).floor_div(&Dim::constant(denominator)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Symbols;

    #[test]
    fn symbolic_sizes_scale_by_the_fraction_that_was_meant() {
        let mut symbols = Symbols::new();
        let height = Dim::symbol(symbols.named("h"));
        assert_eq!(scaled(&height, 2.0), Ok(&height * 2));
        assert_eq!(scaled(&height, 0.7), Ok((&height * 7).floor_div(&Dim::constant(10))));
        assert_eq!(scaled(&Dim::constant(10), 0.7), Ok(Dim::constant(7)));
        assert!(scaled(&height, 0.0).is_err() && scaled(&height, f32::NAN).is_err());
    }
}
