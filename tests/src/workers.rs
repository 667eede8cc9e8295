//! Runs named cases in worker processes of the same program, so that a crash or an endless loop is one failed case.
//!
//! A program that is started with `--worker` calls [`serve`]; without it, [`run`].

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::AssertUnwindSafe;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};

/// The failure of each case, if any.
pub type Results = BTreeMap<String, Option<String>>;

/// Runs the cases in `jobs` worker processes. A case that takes longer than `limit` has failed.
pub fn run(names: &[&str], jobs: usize, limit: Duration) -> Result<Results> {
    let queue = Mutex::new(names.iter());
    let results = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..jobs.max(1))
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut process = None;
                    loop {
                        let Some(name) = queue.lock().expect("no panics").next() else { break };
                        let failure = run_one(&mut process, name, limit)?;
                        results.lock().expect("no panics").insert((*name).to_owned(), failure);
                    }
                    Ok(())
                })
            })
            .collect();
        handles.into_iter().try_for_each(|handle| handle.join().expect("no panics"))
    })?;
    Ok(results.into_inner().expect("no panics"))
}

/// Answers the names on the standard input, one a line, with what `case` says about each.
pub fn serve(case: impl Fn(&str) -> Result<()>) -> Result<()> {
    for line in std::io::stdin().lines() {
        let line = line?;
        let failure = match std::panic::catch_unwind(AssertUnwindSafe(|| case(&line))) {
            Ok(result) => result.err().map(|error| format!("{error:#}")),
            Err(_) => Some("the compiler panics".to_owned()),
        };
        println!("{}", serde_json::to_string(&failure)?);
    }
    Ok(())
}

struct Process {
    child: Child,
    answers: mpsc::Receiver<String>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

fn run_one(process: &mut Option<Process>, name: &str, limit: Duration) -> Result<Option<String>> {
    let worker = match process {
        Some(worker) => worker,
        None => process.insert(start()?),
    };
    let input = worker.child.stdin.as_mut().context("the worker has an input")?;
    let answer = writeln!(input, "{name}").ok().map(|()| worker.answers.recv_timeout(limit));
    let failure = match answer {
        Some(Ok(line)) => return Ok(serde_json::from_str(&line)?),
        Some(Err(mpsc::RecvTimeoutError::Timeout)) => format!("takes more than {} s", limit.as_secs()),
        _ => "crashes".to_owned(),
    };
    let _ = worker.child.kill();
    let status = worker.child.wait()?;
    *process = None;
    Ok(Some(format!("{failure} ({status})")))
}
