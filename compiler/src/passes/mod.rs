//! Transformations of the graph: a list of passes, repeated until none finds anything to do.
//!
//! The model has been inferred, and stays so: what a pass adds is inferred at once, and a value that stays keeps its type.

mod broadcasts;
mod casts;
mod channel_affine;
mod clips;
mod common_subexpressions;
mod composites;
mod concats;
mod constant_conditions;
mod conv_padding;
mod dead_code;
mod einsums;
mod hoisting;
mod identities;
mod input_scale;
mod patch;
mod product_scale;
mod reduction;
mod rewrite;
mod site;
mod strength;
#[cfg(test)]
mod tests;
mod transposes;
mod views;

use crate::error::{Error, Stage};
use crate::graph::{Model, verify};
use rewrite::Rule;

/// One pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The name in file tests and messages.
    pub name: &'static str,
    work: Work,
}

/// What a pass does.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Proposes a patch at each node.
    Rule(Rule),
    /// Changes the whole model and gives the number of changes.
    Whole(fn(&mut Model) -> usize),
}

const fn rule(name: &'static str, rule: Rule) -> Pass {
    Pass { name, work: Work::Rule(rule) }
}

const fn whole(name: &'static str, pass: fn(&mut Model) -> usize) -> Pass {
    Pass { name, work: Work::Whole(pass) }
}

/// THE list: the passes in the order of a round.
pub static PASSES: &[Pass] = &[
    rule("constant-conditions", constant_conditions::rule),
    whole("hoisting", hoisting::run),
    rule("identities", identities::rule),
    rule("product-scale", product_scale::rule),
    rule("casts", casts::rule),
    rule("views", views::merge),
    rule("constant-shapes", views::constant_shape),
    rule("views-sink", views::sink),
    rule("transposes", transposes::rule),
    rule("einsums", einsums::rule),
    rule("concats", concats::rule),
    rule("broadcasts", broadcasts::rule),
    rule("strength", strength::rule),
    rule("gelu", composites::gelu),
    rule("swish", composites::swish),
    rule("softmax", composites::softmax),
    rule("layer-norm", composites::layer_norm),
    rule("layer-norm-affine", composites::layer_norm_affine),
    rule("clips", clips::rule),
    rule("conv-padding", conv_padding::rule),
    rule("channel-affine", channel_affine::rule),
    rule("input-scale", input_scale::rule),
    whole("common-subexpressions", common_subexpressions::run),
    whole("dead-code", dead_code::run),
];

/// Rounds after which the passes end even where they would find more to do.
const MAX_ROUNDS: usize = 16;

/// Runs all passes on an inferred model until a round changes nothing.
///
/// # Errors
/// Where a pass has made a model that breaks the rules; in release builds, what a pass proposes is refused instead.
pub fn run(model: &mut Model) -> Result<(), Error> {
    run_some(model, PASSES)
}

/// As [`run`], with some passes only.
///
/// # Errors
/// As [`run`].
pub fn run_some(model: &mut Model, passes: &[Pass]) -> Result<(), Error> {
    for _ in 0..MAX_ROUNDS {
        let mut changes = 0;
        for pass in passes {
            changes += pass.run(model)?;
        }
        if changes == 0 {
            break;
        }
    }
    Ok(())
}

/// The pass of that name.
pub fn find(name: &str) -> Option<Pass> {
    PASSES.iter().find(|pass| pass.name == name).copied()
}

impl Pass {
    /// Runs the pass once over the model; gives the number of changes.
    ///
    /// # Errors
    /// As [`run`](fn@run).
    pub fn run(&self, model: &mut Model) -> Result<usize, Error> {
        let fail = |message: String| Error::new(Stage::Passes, format!("pass {}: {message}", self.name));
        let changes = match self.work {
            Work::Rule(rule) => rewrite::run(model, rule).map_err(fail)?,
            Work::Whole(pass) => pass(model),
        };
        if cfg!(debug_assertions) && changes > 0 {
            verify(model).map_err(fail)?;
        }
        Ok(changes)
    }
}
