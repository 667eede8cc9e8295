//! Runs real models through compiled libraries and compares them with onnxruntime.
//!
//! `zoo [FILTER...] [--jobs N]` runs the models that `tests/setup.sh` fetched and whose names contain a filter (all
//! without one), at each size there is a reference for, from one library. Models run in worker processes (`zoo --worker`).

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lithify::pipeline::CompileOptions;
use lithify_tests::artifact::{Loaded, compile};
use lithify_tests::tensor::Value;
use lithify_tests::zoo::{Model, Reference, models};
use lithify_tests::{compare, workers};

/// A model that takes longer has failed.
const TIME_LIMIT: Duration = Duration::from_secs(180);

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = models()?;
    if arguments.iter().any(|argument| argument == "--worker") {
        let folder = tempfile::tempdir()?;
        return workers::serve(|name| {
            let model = all.iter().find(|model| model.name == name).with_context(|| format!("no model {name}"))?;
            run(model, folder.path())
        })
        .map(|()| ExitCode::SUCCESS);
    }
    let jobs = arguments.iter().position(|argument| argument == "--jobs").and_then(|at| arguments.get(at + 1));
    let jobs: usize = jobs.map_or(Ok(1), |text| text.parse()).context("--jobs takes a number")?;
    let filters: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--") && argument.parse::<usize>().is_err()).collect();
    let picked: Vec<&Model> = all
        .iter()
        .filter(|model| filters.is_empty() || filters.iter().any(|filter| model.name.contains(filter.as_str())))
        .collect();
    let (here, absent): (Vec<&Model>, Vec<&Model>) = picked.into_iter().partition(|model| model.path().is_file());
    let names: Vec<&str> = here.iter().map(|model| model.name.as_str()).collect();
    let results = workers::run(&names, jobs, TIME_LIMIT)?;
    Ok(report(&here, &absent, &results))
}

/// Compiles a model once and runs it on all of its references.
fn run(model: &Model, folder: &Path) -> Result<()> {
    let references = model.references()?;
    ensure!(!references.is_empty(), "there is no reference; run tests/setup.sh");
    let library = folder.join(format!("{}.so", model.name));
    compile(&model.path(), &library, &CompileOptions::host("model"))?;
    let mut loaded = Loaded::open(&library, "model")?;
    for (number, reference) in references.iter().enumerate() {
        compare_one(model, &mut loaded, reference).with_context(|| format!("reference {number}"))?;
    }
    drop(loaded);
    std::fs::remove_file(&library)?;
    Ok(())
}

fn compare_one(model: &Model, loaded: &mut Loaded, reference: &Reference) -> Result<()> {
    let inputs = loaded.input_names().into_iter().map(|name| {
        let found = reference.inputs.iter().find(|(given, _)| *given == name);
        found.map(|(_, tensor)| tensor.clone()).with_context(|| format!("the reference has no input `{name}`"))
    });
    let outputs = loaded.run(&inputs.collect::<Result<Vec<_>>>()?)?;
    let names = loaded.output_names();
    ensure!(
        outputs.len() == reference.outputs.len(),
        "{} outputs instead of {}",
        outputs.len(),
        reference.outputs.len()
    );
    for ((got, name), (wanted_name, wanted)) in outputs.into_iter().zip(names).zip(&reference.outputs) {
        ensure!(name == *wanted_name, "output `{name}` instead of `{wanted_name}`");
        compare::zoo(&Value::Tensor(got), wanted, &model.tolerance, model.rule(&name))
            .map_err(|difference| anyhow::anyhow!("output `{name}`: {difference}"))?;
    }
    Ok(())
}

/// A model that is not expected to pass fails by name with its reason; when it passes, the manifest has to say so.
fn report(here: &[&Model], absent: &[&Model], results: &workers::Results) -> ExitCode {
    let (mut passed, mut wrong) = (0, 0);
    for model in here {
        match (results.get(&model.name).and_then(Option::as_ref), model.expected) {
            (None, expected) => {
                passed += 1;
                wrong += usize::from(!expected);
                let remark = if expected { "" } else { ", but tests/zoo/models.json does not expect it to" };
                println!("{} passes{remark}", model.name);
            }
            (Some(error), expected) => {
                wrong += usize::from(expected);
                let remark = if expected { "" } else { " as expected" };
                println!("{} fails{remark}: {}", model.name, error.lines().next().unwrap_or_default());
            }
        }
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|model| model.name.as_str()).collect();
        println!("not fetched (tests/setup.sh without an option fetches all): {}", names.join(", "));
    }
    println!("zoo: {passed} of {} models pass", here.len());
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
