//! Subtests of the graph form and of the passes over it.

use lithify::graph::{Model, parse, print, verify};
use lithify::{passes, shape};

fn read(text: &str) -> Result<Model, String> {
    parse(text).map_err(|error| error.to_string())
}

/// Prints what was parsed; what is printed must parse and print to the same.
pub fn round_trip(text: &str, _: &[&str]) -> Result<String, String> {
    let printed = print(&read(text)?);
    let again = print(&read(&printed)?);
    if printed == again { Ok(printed) } else { Err(format!("printed twice, it differs:\n{again}")) }
}

/// Prints the inferred model.
pub fn infer(text: &str, _: &[&str]) -> Result<String, String> {
    let mut model = read(text)?;
    verify(&model)?;
    shape::infer(&mut model).map_err(|errors| errors.to_string())?;
    Ok(print(&model))
}

/// Prints the inferred model after the named passes, or all of them for `all`, repeated until nothing changes.
pub fn pass(text: &str, names: &[&str]) -> Result<String, String> {
    let mut model = read(text)?;
    verify(&model)?;
    shape::infer(&mut model).map_err(|errors| errors.to_string())?;
    let find = |name: &&str| passes::find(name).ok_or_else(|| format!("there is no pass `{name}`"));
    let list = match names {
        ["all"] => passes::PASSES.to_vec(),
        names => names.iter().map(find).collect::<Result<Vec<_>, _>>()?,
    };
    passes::run_some(&mut model, &list).map_err(|error| error.to_string())?;
    Ok(print(&model))
}
