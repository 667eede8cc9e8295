//! The attributes and arguments of Resize and Upsample in all their versions.

use super::coordinates::{ResizedAxis, Scale, Transformation, scaled};
use super::filter::Filter;
use crate::graph::{Dim, Node};
use crate::ops::arguments::Arguments;
use crate::ops::{OperatorError, Result, normalize_axis};

/// How an element between others gets its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Interpolation {
    /// As one of them.
    Nearest(Nearest),
    /// By weights.
    Filter(Filter),
}

/// Which of two neighbours is the nearest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// The nearer one, the first of equally near ones.
    RoundPreferFloor,
    /// The nearer one, the second of equally near ones.
    RoundPreferCeil,
    /// The first.
    Floor,
    /// The second.
    Ceil,
    /// Before operator set 11: the first where the axis gets longer, the second where it gets shorter.
    Simple,
}

/// What decides the sizes of the output.
#[derive(Clone, Debug)]
enum Sizes {
    /// Factors that only the run knows.
    RunScales,
    /// Factors.
    Scales(Vec<f32>),
    /// The sizes themselves.
    Exact(Vec<Dim>),
    /// One factor for all axes, the least or the greatest that the sizes ask for.
    KeepRatio { sizes: Vec<Dim>, greatest: bool },
}

/// A resize's parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where positions lie.
    pub transformation: Transformation,
    /// How values are found.
    pub interpolation: Interpolation,
    /// Whether filters are stretched where an axis gets shorter.
    pub antialias: bool,
    /// Whether weights outside of the input are 0, and the others sum up to 1.
    pub exclude_outside: bool,
    /// The value beyond the input, for regions of interest.
    pub extrapolation: f64,
    axes: Vec<usize>,
    sizes: Sizes,
}

/// Factors that only the run knows.
#[derive(Clone, Copy, Debug)]
pub enum RunFactors<'a> {
    /// The elements of [`scale_input`].
    Input,
    /// One for all axes: the least or the greatest ratio of the sizes to those of the input.
    Common {
        /// One a resized axis.
        sizes: &'a [Dim],
        /// Which ratio is taken.
        greatest: bool,
    },
}

/// The input that holds the scales.
pub fn scale_input(node: &Node) -> Option<usize> {
    let index = if node.operator.name == "Resize" && node.version >= 11 { 2 } else { 1 };
    node.input(index).map(|_| index)
}

fn nearest_mode(node: &Node) -> Result<Nearest> {
    Ok(match node.text_or("nearest_mode", "round_prefer_floor")? {
        "round_prefer_floor" => Nearest::RoundPreferFloor,
        "round_prefer_ceil" => Nearest::RoundPreferCeil,
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        other => return Err(OperatorError::new(format!("`nearest_mode` is `{other}`, which is unknown"))),
    })
}

impl Settings {
    /// The settings of a node with an input of the given rank. `scales` are the elements of [`scale_input`], where known.
    pub fn of(ctx: &mut impl Arguments, rank: usize, scales: Option<Vec<f64>>) -> Result<Self> {
        let sizes = ctx.argument_node().input(3).map(|_| ctx.elements(3)).transpose()?;
        let node = ctx.argument_node();
        let is_old = node.version < 11 || node.operator.name == "Upsample";
        let transformation = match is_old {
            true => Transformation::Asymmetric,
            false => Transformation::from_name(node.text_or("coordinate_transformation_mode", "half_pixel")?)?,
        };
        let interpolation = match node.text_or("mode", "nearest")? {
            "nearest" if is_old => Interpolation::Nearest(Nearest::Simple),
            "nearest" => Interpolation::Nearest(nearest_mode(node)?),
            "linear" | "bilinear" => Interpolation::Filter(Filter::Linear),
            "cubic" => Interpolation::Filter(Filter::Cubic(f64::from(node.float_or("cubic_coeff_a", -0.75)?))),
            other => {
                return Err(OperatorError::new(format!("`mode` is `{other}`, expected nearest, linear or cubic")));
            }
        };
        let axes = match node.ints("axes")? {
            Some(axes) => axes.iter().map(|&axis| normalize_axis(axis, rank)).collect::<Result<Vec<_>>>()?,
            None => (0..rank).collect(),
        };
        let has_scales = scales.is_some();
        let sizes = match (sizes, given_scales(node, rank, scales)?) {
            (Some(sizes), _) => match node.text_or("keep_aspect_ratio_policy", "stretch")? {
                "stretch" => Sizes::Exact(sizes),
                "not_larger" => Sizes::KeepRatio { sizes, greatest: false },
                "not_smaller" => Sizes::KeepRatio { sizes, greatest: true },
                other => {
                    return Err(OperatorError::new(format!(
                        "`keep_aspect_ratio_policy` is `{other}`, which is unknown"
                    )));
                }
            },
            (None, Some(scales)) => Sizes::Scales(scales),
            (None, None) if scale_input(node).is_some() && !has_scales => Sizes::RunScales,
            (None, None) => return Err(OperatorError::new("neither scales nor sizes are given")),
        };
        let settings = Self {
            transformation,
            interpolation,
            antialias: node.flag_or("antialias", false)?,
            exclude_outside: node.flag_or("exclude_outside", false)?,
            extrapolation: f64::from(node.float_or("extrapolation_value", 0.0)?),
            axes,
            sizes,
        };
        let count = match &settings.sizes {
            Sizes::Scales(scales) => scales.len(),
            Sizes::Exact(sizes) | Sizes::KeepRatio { sizes, .. } => sizes.len(),
            Sizes::RunScales => settings.axes.len(),
        };
        if count == settings.axes.len() {
            return Ok(settings);
        }
        Err(OperatorError::new(format!("there are {count} scales or sizes for {} axes", settings.axes.len())))
    }

    /// What the run has to find out about the factors.
    pub fn run_factors(&self, input: &[Dim]) -> Option<RunFactors<'_>> {
        match &self.sizes {
            Sizes::RunScales => Some(RunFactors::Input),
            Sizes::KeepRatio { sizes, greatest } => {
                let is_known = |(&axis, size): (&usize, &Dim)| input[axis].is_const() && size.is_const();
                let is_known = self.axes.iter().zip(sizes).all(is_known);
                (!is_known).then_some(RunFactors::Common { sizes, greatest: *greatest })
            }
            _ => None,
        }
    }

    /// The axes that are resized, in the order of scales and sizes.
    pub fn resized(&self) -> &[usize] {
        &self.axes
    }

    /// Whether positions depend on the region of interest.
    pub fn uses_region(&self) -> bool {
        self.transformation == Transformation::TfCropAndResize
    }

    /// Whether an axis that gets longer by a whole factor repeats each element so often.
    pub fn repeats(&self, mode: Nearest) -> bool {
        match mode {
            Nearest::Floor | Nearest::Simple => self.transformation == Transformation::Asymmetric,
            Nearest::RoundPreferFloor | Nearest::RoundPreferCeil => self.transformation == Transformation::HalfPixel,
            Nearest::Ceil => false,
        }
    }

    /// All axes of an input.
    pub fn axes(&self, input: &[Dim]) -> Result<Vec<ResizedAxis>> {
        let mut result: Vec<ResizedAxis> = input
            .iter()
            .map(|dim| ResizedAxis { input: dim.clone(), output: dim.clone(), scale: Scale::Factor(1.0), region: None })
            .collect();
        let run = self.run_factors(input).is_some();
        let common = match &self.sizes {
            Sizes::KeepRatio { sizes, greatest } if !run => Some(self.common_scale(input, sizes, *greatest)?),
            _ => None,
        };
        for (place, &axis) in self.axes.iter().enumerate() {
            let target = &mut result[axis];
            if self.uses_region() {
                target.region = Some((place, place + self.axes.len()));
            }
            if run {
                (target.output, target.scale) = (Dim::Unknown, Scale::Place(place));
                continue;
            }
            (target.output, target.scale) = match (&self.sizes, common) {
                (Sizes::Scales(scales), _) => (scaled(&input[axis], scales[place])?, Scale::Factor(scales[place])),
                (_, Some(scale)) => {
                    let dim = input[axis].as_const().unwrap_or(0) as f64;
                    (Dim::constant((scale * dim + 0.5).floor() as i64), Scale::Factor(scale as f32))
                }
                (Sizes::Exact(sizes) | Sizes::KeepRatio { sizes, .. }, None) => {
                    let scale = match (sizes[place].as_const(), input[axis].as_const()) {
                        (Some(output), Some(input)) if input > 0 => Scale::Factor(output as f32 / input as f32),
                        _ => Scale::Ratio,
                    };
                    (sizes[place].clone(), scale)
                }
                (Sizes::RunScales, None) => continue,
            };
        }
        Ok(result)
    }

    fn common_scale(&self, input: &[Dim], sizes: &[Dim], greatest: bool) -> Result<f64> {
        let mut scales = Vec::new();
        for (&axis, size) in self.axes.iter().zip(sizes) {
            let (Some(input), Some(size)) = (input[axis].as_const(), size.as_const()) else {
                return Err(OperatorError::unknown("the sizes are not known"));
            };
            if input < 1 {
                return Err(OperatorError::new("an input without elements has no aspect ratio to keep"));
            }
            scales.push(size as f64 / input as f64);
        }
        let pick = if greatest { f64::max } else { f64::min };
        scales.into_iter().reduce(pick).ok_or_else(|| OperatorError::new("there are no axes to resize"))
    }
}

/// The scales: attributes in the first forms of Upsample, an input from then on.
fn given_scales(node: &Node, rank: usize, elements: Option<Vec<f64>>) -> Result<Option<Vec<f32>>> {
    if node.operator.name == "Upsample" && node.version < 7 {
        let mut scales = vec![1.0; rank];
        for (name, from_end) in [("height_scale", 2), ("width_scale", 1)] {
            let place = rank.checked_sub(from_end).ok_or_else(|| OperatorError::new("the input is no image"))?;
            scales[place] =
                node.float(name)?.ok_or_else(|| OperatorError::new(format!("attribute `{name}` is missing")))?;
        }
        return Ok(Some(scales));
    }
    if let Some(scales) = node.floats("scales")? {
        return Ok(Some(scales.to_vec()));
    }
    // Empty scales give way to sizes.
    let elements = elements.filter(|elements| !elements.is_empty());
    Ok(elements.map(|elements| elements.into_iter().map(|scale| scale as f32).collect()))
}
