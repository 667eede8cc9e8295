//! The command line, the input files, and the measuring loop of the worker protocol, which benches/README.md describes.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, Write as _};
use std::path::PathBuf;
use std::time::Instant;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The command line of a worker: `MODEL [--threads N] [--inputs DIR] [--dump FILE] [FLAG ...]`.
pub struct Options {
    /// When the worker started; `LOADED` counts from here.
    pub started: Instant,
    pub model: PathBuf,
    /// Folder with `spec.txt`; by default the model's path with `.inputs` in place of `.onnx`.
    pub inputs: PathBuf,
    pub threads: usize,
    /// Where the first output goes, as little-endian f32.
    pub dump: Option<PathBuf>,
    flags: Vec<String>,
}

impl Options {
    /// Reads the process's arguments; `known_flags` are the flags without a value that this worker adds.
    pub fn parse(known_flags: &[&str]) -> Result<Self> {
        let started = Instant::now();
        let (mut model, mut inputs, mut dump, mut threads, mut flags) = (None, None, None, 1, Vec::new());
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--threads" => threads = value()?.parse().map_err(|e| format!("--threads: {e}"))?,
                "--inputs" => inputs = Some(PathBuf::from(value()?)),
                "--dump" => dump = Some(PathBuf::from(value()?)),
                flag if known_flags.contains(&flag) => flags.push(argument),
                flag if flag.starts_with("--") => return Err(format!("unknown option {flag}").into()),
                _ if model.is_none() => model = Some(PathBuf::from(argument)),
                _ => return Err(format!("unexpected argument {argument}").into()),
            }
        }
        let model = model.ok_or("usage: MODEL.onnx [--threads N] [--inputs DIR] [--dump FILE]")?;
        let inputs = inputs.unwrap_or_else(|| model.with_extension("inputs"));
        Ok(Self { started, model, inputs, threads, dump, flags })
    }

    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }
}

/// The elements of an input.
pub enum Data {
    F32(Vec<f32>),
    I64(Vec<i64>),
}

/// One input tensor; `shape` is empty for a scalar.
pub struct Input {
    pub name: String,
    pub shape: Vec<usize>,
    pub data: Data,
}

/// Reads the inputs that `spec.txt` lists, one a line: name, element type, shape, file.
pub fn read_inputs(options: &Options) -> Result<Vec<Input>> {
    let spec_path = options.inputs.join("spec.txt");
    let spec = std::fs::read_to_string(&spec_path).map_err(|e| format!("{}: {e}", spec_path.display()))?;
    spec.lines().map(|line| read_input(options, line)).collect()
}

fn read_input(options: &Options, line: &str) -> Result<Input> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, element_type, dims, file] = fields[..] else {
        return Err(format!("spec.txt: expected 4 fields in {line:?}").into());
    };
    let shape = match dims {
        "-" => Vec::new(),
        dims => dims.split(',').map(str::parse).collect::<std::result::Result<Vec<usize>, _>>()?,
    };
    let path = options.inputs.join(file);
    let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let data = match element_type {
        "f32" => Data::F32(elements(&bytes, f32::from_le_bytes)),
        "i64" => Data::I64(elements(&bytes, i64::from_le_bytes)),
        other => return Err(format!("spec.txt: element type {other} of {name} is not f32 or i64").into()),
    };
    Ok(Input { name: name.to_owned(), shape, data })
}

fn elements<const SIZE: usize, T>(bytes: &[u8], from_bytes: fn([u8; SIZE]) -> T) -> Vec<T> {
    bytes.as_chunks::<SIZE>().0.iter().map(|chunk| from_bytes(*chunk)).collect()
}

/// Speaks the worker protocol. `run(true)` runs once and returns the first output, `run(false)` only runs.
pub fn serve(options: &Options, mut run: impl FnMut(bool) -> Result<Option<Vec<f32>>>) -> Result<()> {
    let first_output = run(true)?;
    println!("LOADED {:.3}", options.started.elapsed().as_secs_f64() * 1e3);
    if let (Some(path), Some(output)) = (&options.dump, first_output) {
        let bytes: Vec<u8> = output.iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(path, bytes)?;
    }
    let mut answer = String::new();
    for line in std::io::stdin().lock().lines() {
        let count: usize = line?.trim().parse()?;
        answer.clear();
        for _ in 0..count {
            let start = Instant::now();
            run(false)?;
            let nanoseconds = start.elapsed().as_nanos();
            write!(answer, "{:.2} ", nanoseconds as f64 / 1e3)?;
        }
        println!("{}", answer.trim_end());
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// The body of every worker's `main`: prints the error of `body` on stderr and gives the exit status.
pub fn main(body: impl FnOnce() -> Result<()>) -> std::process::ExitCode {
    match body() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
