//! Runs the ONNX backend suite through compiled libraries.
//!
//! `suite [FILTER...] [--jobs N] [--verbose] [--write-list]` runs the cases whose names contain a filter (all without one)
//! and compares the failures with `tests/suite/failing.txt`. Cases run in worker processes (`suite --worker`), so that a
//! crash is one failed case.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lithify::pipeline::CompileOptions;
use lithify_tests::artifact::{Loaded, compile, tensors};
use lithify_tests::case::{Case, Index};
use lithify_tests::compare;
use lithify_tests::tensor::Value;

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
    let results = run_all(&cases, jobs)?;
    report(&cases, &results, filters.is_empty(), flag("--verbose"), flag("--write-list"))
}

/// Runs the cases in `jobs` worker processes; gives the failure of each, if any.
fn run_all(cases: &[&Case], jobs: usize) -> Result<BTreeMap<String, Option<String>>> {
    let queue = Mutex::new(cases.iter());
    let results = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..jobs.max(1))
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut process = None;
                    loop {
                        let Some(case) = queue.lock().expect("no panics").next() else { break };
                        let failure = run_one(&mut process, &case.name)?;
                        results.lock().expect("no panics").insert(case.name.clone(), failure);
                    }
                    Ok(())
                })
            })
            .collect();
        handles.into_iter().try_for_each(|handle| handle.join().expect("no panics"))
    })?;
    Ok(results.into_inner().expect("no panics"))
}

struct Process {
    child: Child,
    answers: mpsc::Receiver<String>,
}

fn start() -> Result<Process> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = BufReader::new(child.stdout.take().context("the worker has an output")?);
    let (sender, answers) = mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(Process { child, answers })
}

fn run_one(process: &mut Option<Process>, name: &str) -> Result<Option<String>> {
    let worker = match process {
        Some(worker) => worker,
        None => process.insert(start()?),
    };
    let input = worker.child.stdin.as_mut().context("the worker has an input")?;
    let answer = writeln!(input, "{name}").ok().map(|()| worker.answers.recv_timeout(TIME_LIMIT));
    let failure = match answer {
        Some(Ok(line)) => return Ok(serde_json::from_str(&line)?),
        Some(Err(mpsc::RecvTimeoutError::Timeout)) => format!("takes more than {} s", TIME_LIMIT.as_secs()),
        _ => "crashes".to_owned(),
    };
    if let Some(mut worker) = process.take() {
        let _ = worker.child.kill();
        let status = worker.child.wait()?;
        return Ok(Some(format!("{failure} ({status})")));
    }
    Ok(Some(failure))
}

fn worker() -> Result<()> {
    let index = Index::read()?;
    let cases: BTreeMap<&str, &Case> = index.cases.iter().map(|case| (case.name.as_str(), case)).collect();
    let folder = tempfile::tempdir()?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let case = cases.get(line.as_str()).with_context(|| format!("no case {line}"))?;
        let failure = std::panic::catch_unwind(|| run_case(case, folder.path()));
        let failure = match failure {
            Ok(result) => result.err().map(|error| format!("{error:#}")),
            Err(_) => Some("the compiler panics".to_owned()),
        };
        println!("{}", serde_json::to_string(&failure)?);
    }
    Ok(())
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
    results: &BTreeMap<String, Option<String>>,
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
