//! Runs the ONNX backend suite through compiled libraries.
//!
//! `suite [FILTER...] [--jobs N] [--verbose] [--write-list]` runs the cases whose names contain a filter (all without one)
//! and compares the failures with `tests/suite/failing.txt`. Cases run in worker processes (`suite --worker`), so that a
//! crash is one failed case.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lithify::pipeline::CompileOptions;
use lithify_tests::artifact::{Loaded, compile, tensors};
use lithify_tests::case::{Case, Index};
use lithify_tests::tensor::Value;
use lithify_tests::{compare, workers};

/// A case that takes longer has failed.
const TIME_LIMIT: Duration = Duration::from_secs(60);

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--worker") {
        return worker().map(|()| ExitCode::SUCCESS);
    }
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let jobs = arguments.iter().position(|argument| argument == "--jobs").and_then(|at| arguments.get(at + 1));
    let jobs: usize = jobs.map_or(Ok(2), |text| text.parse()).context("--jobs takes a number")?;
    let filters: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--") && argument.parse::<usize>().is_err()).collect();
    let index = Index::read()?;
    let cases: Vec<&Case> = index
        .cases
        .iter()
        .filter(|case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str())))
        .collect();
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let results = workers::run(&names, jobs, TIME_LIMIT)?;
    report(&cases, &results, filters.is_empty(), flag("--verbose"), flag("--write-list"))
}

fn worker() -> Result<()> {
    let index = Index::read()?;
    let cases: BTreeMap<&str, &Case> = index.cases.iter().map(|case| (case.name.as_str(), case)).collect();
    let folder = tempfile::tempdir()?;
    workers::serve(|name| run_case(cases.get(name).with_context(|| format!("no case {name}"))?, folder.path()))
}

fn run_case(case: &Case, folder: &std::path::Path) -> Result<()> {
    let library = folder.join(format!("{}.so", case.name));
    compile(&case.model(), &library, &CompileOptions::host("model"))?;
    let mut loaded = Loaded::open(&library, "model")?;
    for number in 0..case.data_sets {
        let data = case.data_set(number)?;
        let outputs = loaded.run(&tensors(&data.inputs)?)?;
        if outputs.len() != data.outputs.len() {
            bail!("{} outputs instead of {}", outputs.len(), data.outputs.len());
        }
        for (position, (got, wanted)) in outputs.into_iter().zip(&data.outputs).enumerate() {
            compare::suite(&Value::Tensor(got), wanted, case.rtol, case.atol)
                .map_err(|difference| anyhow::anyhow!("output {position}: {difference}"))?;
        }
    }
    drop(loaded);
    std::fs::remove_file(&library)?;
    Ok(())
}

/// The cases that are known to fail, each with its reason.
fn known_failures() -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(list_path()).unwrap_or_default();
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, reason) = line.split_once(": ").with_context(|| format!("no reason in `{line}`"))?;
            Ok((name.to_owned(), reason.to_owned()))
        })
        .collect()
}

fn list_path() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("suite/failing.txt")
}

fn report(
    cases: &[&Case],
    results: &workers::Results,
    complete: bool,
    verbose: bool,
    write_list: bool,
) -> Result<ExitCode> {
    let known = known_failures()?;
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut surprises = Vec::new();
    for case in cases {
        let failure = results.get(&case.name).context("every case has a result")?;
        let count = counts.entry(case.family.as_str()).or_default();
        if failure.is_none() {
            count.0 += 1
        } else {
            count.1 += 1
        }
        match (failure, known.get(&case.name)) {
            (Some(error), None) => surprises.push(format!("{} fails: {error}", case.name)),
            (None, Some(_)) => surprises.push(format!("{} passes, but is listed as failing", case.name)),
            (Some(error), Some(_)) if verbose => println!("{} fails as listed: {error}", case.name),
            _ => {}
        }
    }
    if write_list && complete {
        let mut text = String::from("# Cases of the ONNX backend suite that do not pass, each with its reason.\n");
        for (name, failure) in results {
            if let Some(error) = failure {
                let first = error.lines().next().unwrap_or_default();
                let reason: String = first.chars().take(200).collect();
                text.push_str(&format!("{name}: {reason}\n"));
            }
        }
        std::fs::write(list_path(), text)?;
    }
    for surprise in &surprises {
        println!("{surprise}");
    }
    let (mut passed, mut failed) = (0, 0);
    for (family, (pass, fail)) in counts {
        println!("suite {family}: {pass} of {} pass", pass + fail);
        passed += pass;
        failed += fail;
    }
    println!("suite: {passed} of {} pass ({failed} do not)", passed + failed);
    // A case that the list is wrong about counts as failed, whichever way.
    println!("{passed} passed, {} failed", surprises.len());
    Ok(if surprises.is_empty() || write_list { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
