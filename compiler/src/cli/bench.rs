//! `lithify bench`.

use std::fmt::Write;
use std::io::BufRead;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::failure::{Failure, Result};
use super::model::{self, ModelArguments};
use super::progress::Timer;
use super::{inputs, output};
use crate::graph::Tensor;
use crate::host::{Bound, SessionOptions};

const EXAMPLES: &str = "\
Examples:
  lithify bench model.so --seconds 3
  lithify bench model.onnx --dim batch=8 --threads 4 --json
  lithify bench model.so --worker --inputs model.inputs --dump first.bin

A timed run starts with inputs in place and ends when all outputs can be read. Without --inputs, inputs are drawn as
`lithify run --random 0` does.

With --worker, the program is driven through standard input: it prints `LOADED <ms>` after a first run, then for each line
`<k>` runs the model k times and prints the k times in microseconds on one line, and ends at the end of input. --dump writes
the first output as little-endian f32.";

/// Runs before times count.
const WARM_UP: usize = 3;

/// Time a model
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The ONNX model, or a library compiled from it
    model: PathBuf,

    /// Threads that the model may use
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,

    /// Archive of NumPy arrays with the inputs, or a folder with spec.txt and raw files
    #[arg(long, value_name = "IN")]
    inputs: Option<PathBuf>,

    /// How long to measure
    #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = parse_seconds, conflicts_with = "worker")]
    seconds: f64,

    /// Take requests from standard input
    #[arg(long)]
    worker: bool,

    /// With --worker: write the first output to this file
    #[arg(long, value_name = "FILE", requires = "worker")]
    dump: Option<PathBuf>,

    /// Print JSON
    #[arg(long, conflicts_with = "worker")]
    json: bool,

    #[command(flatten)]
    compilation: ModelArguments,
}

fn parse_seconds(text: &str) -> std::result::Result<f64, String> {
    text.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds)).ok_or("between 0 and 86400".to_owned())
}

/// Runs the command.
pub fn bench(arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    let opened = model::open(&arguments.model, &arguments.compilation, &mut Timer::default())?;
    let mut session = opened.library.session(&SessionOptions { threads: arguments.threads })?;
    let inputs = match &arguments.inputs {
        Some(path) => inputs::read(&opened, path)?,
        None => inputs::random(&opened, &arguments.compilation, 0)?,
    };
    let mut bound = session.bind(&inputs)?;
    if arguments.worker { serve(arguments, start, &mut bound) } else { measure(arguments, &mut bound) }
}

fn serve(arguments: &Arguments, start: Instant, bound: &mut Bound<'_>) -> Result<()> {
    bound.run()?;
    let loaded = start.elapsed().as_secs_f64() * 1e3;
    if let Some(path) = &arguments.dump {
        let outputs = bound.outputs();
        let first = outputs.first().ok_or_else(|| Failure::Message("the model has no outputs".to_owned()))?;
        std::fs::write(path, as_f32(first)?).map_err(|error| Failure::file(path, &error))?;
    }
    output::print(&format!("LOADED {loaded:.3}\n"))?;
    let mut answer = String::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure::Message(format!("standard input: {error}")))?;
        let count: usize = line
            .trim()
            .parse()
            .map_err(|_| Failure::Message(format!("standard input: `{line}` is not a number of runs")))?;
        answer.clear();
        for _ in 0..count {
            let _ = write!(answer, "{:.2} ", time(bound)?.as_nanos() as f64 / 1e3);
        }
        output::print(&format!("{}\n", answer.trim_end()))?;
    }
    Ok(())
}

fn time(bound: &mut Bound<'_>) -> Result<Duration> {
    let start = Instant::now();
    bound.run()?;
    Ok(start.elapsed())
}

fn as_f32(tensor: &Tensor) -> Result<Vec<u8>> {
    let floats = tensor.floats().map(|values| values.into_iter().map(|value| value as f32).collect::<Vec<_>>());
    let values = floats.or_else(|| Some(tensor.integers()?.into_iter().map(|value| value as f32).collect()));
    let values = values
        .ok_or_else(|| Failure::Message(format!("--dump: outputs of type {} have no form in f32", tensor.element)))?;
    Ok(values.into_iter().flat_map(f32::to_le_bytes).collect())
}

fn measure(arguments: &Arguments, bound: &mut Bound<'_>) -> Result<()> {
    for _ in 0..WARM_UP {
        bound.run()?;
    }
    let end = Instant::now() + Duration::from_secs_f64(arguments.seconds);
    let mut times = vec![time(bound)?];
    while Instant::now() < end && times.len() < 10_000_000 {
        times.push(time(bound)?);
    }
    times.sort();
    let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
    let (least, median) = (microseconds(times[0]), microseconds(times[times.len() / 2]));
    let slow = microseconds(times[(times.len() - 1) * 99 / 100]);
    if arguments.json {
        return output::print_json(&json!({
            "model": arguments.model.display().to_string(),
            "threads": arguments.threads,
            "runs": times.len(),
            "median_us": median,
            "min_us": least,
            "p99_us": slow,
        }));
    }
    let rows = [("median", median), ("min", least), ("99 %", slow)]
        .map(|(name, time)| vec![name.to_owned(), format!("{time:12.2} us")]);
    output::print(&format!("{}  {} runs, {} threads\n", output::table(&rows), times.len(), arguments.threads))
}
