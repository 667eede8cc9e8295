//! Subtests of the loops form. The input is a kernel if its first statement is `kernel` and nothing follows it, else a
//! program.

use lithify::graph::{ElementType, Symbols, Tensor, TensorData};
use lithify::loops::interpret::{Fuel, Number, interpret_program, no_routines, storage};
use lithify::loops::text::{parse_kernel, parse_program, print_kernel, print_program};
use lithify::loops::verify::{verify_kernel, verify_program};
use lithify::loops::{Kernel, Program, Scalar, collapse_all};
use lithify::schedule::{Tiling, block_channels, fuse, relayout};

enum Input {
    Kernel(Kernel, Symbols),
    Program(Program),
}

fn parse(text: &str) -> Result<Input, String> {
    if text.lines().any(|line| line.starts_with("steps {")) {
        return parse_program(text).map(Input::Program).map_err(|error| error.to_string());
    }
    let mut symbols = Symbols::new();
    let kernel = parse_kernel(text, &mut symbols).map_err(|error| error.to_string())?;
    Ok(Input::Kernel(kernel, symbols))
}

/// Prints what was parsed; what is printed must parse and print to the same.
pub fn round_trip(text: &str, _: &[&str]) -> Result<String, String> {
    let print = |input: &Input| match input {
        Input::Kernel(kernel, symbols) => print_kernel(kernel, symbols),
        Input::Program(program) => print_program(program),
    };
    let printed = print(&parse(text)?);
    let again = print(&parse(&printed)?);
    if printed == again { Ok(printed) } else { Err(format!("printed twice, it differs:\n{again}")) }
}

/// The input is a graph: prints its program after the named steps of scheduling, for vectors of 8 lanes.
pub fn schedule(text: &str, steps: &[&str]) -> Result<String, String> {
    let mut model = lithify::graph::parse(text).map_err(|error| error.to_string())?;
    lithify::shape::infer(&mut model).map_err(|errors| errors.to_string())?;
    let mut program = lithify::loops::lower(&model).map_err(|errors| errors.to_string())?;
    let tiling = Tiling::of(8);
    for step in steps {
        match *step {
            "fuse" => fuse(&mut program),
            "block" => block_channels(&mut program, tiling),
            "collapse" => collapse_all(&mut program),
            "relayout" => relayout(&mut program, tiling),
            other => return Err(format!("there is no step `{other}`")),
        }
        verify_program(&program)?;
    }
    Ok(print_program(&program))
}

/// `ok`, or the broken rule.
pub fn verify(text: &str, _: &[&str]) -> Result<String, String> {
    match parse(text)? {
        Input::Kernel(kernel, _) => verify_kernel(&kernel)?,
        Input::Program(program) => verify_program(&program)?,
    }
    Ok("ok".into())
}

/// Runs a program on the tensors of lines such as `; input f32[2] 1.5 -2` and prints its outputs in the same form.
pub fn interpret(text: &str, _: &[&str]) -> Result<String, String> {
    let Input::Program(program) = parse(text)? else { return Err("programs are interpreted, not kernels".into()) };
    verify_program(&program)?;
    let lines = text.lines().filter_map(|line| line.strip_prefix("; input "));
    let inputs = lines.map(parse_tensor).collect::<Result<Vec<_>, _>>()?;
    let outputs = interpret_program(&program, inputs, &no_routines, &mut Fuel::new(10_000_000));
    let outputs = outputs.map_err(|fault| fault.to_string())?;
    outputs.iter().map(|tensor| print_tensor(tensor).map(|line| line + "\n")).collect()
}

/// Prints the program without launches whose results nobody reads.
pub fn drop_unread(text: &str, _: &[&str]) -> Result<String, String> {
    let Input::Program(mut program) = parse(text)? else { return Err("the input is a kernel, not a program".into()) };
    lithify::loops::drop_unread(&mut program);
    verify_program(&program)?;
    Ok(print_program(&program))
}

fn parse_tensor(text: &str) -> Result<Tensor, String> {
    let parts = || {
        let (element, rest) = text.split_once('[')?;
        let (dims, values) = rest.split_once(']')?;
        let element = ElementType::from_name(element)?;
        let dims = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty());
        let dims: Vec<i64> = dims.map(|dim| dim.parse().ok()).collect::<Option<_>>()?;
        let scalar = |word: &str| match word.parse::<i64>() {
            Ok(value) => Some(Scalar::from_i64(element.compute_type(), value)),
            Err(_) => Some(Scalar::from_f64(element.compute_type(), word.parse().ok()?)),
        };
        let values = values.split_whitespace().map(|word| scalar(word).map(Number::from_scalar));
        let values: Vec<Number> = values.collect::<Option<_>>()?;
        let fits = dims.iter().product::<i64>() == values.len() as i64;
        let data = TensorData::Bytes(storage::pack(element, &values).into());
        fits.then_some(Tensor { element, dims, data })
    };
    parts().ok_or_else(|| format!("`{text}` is no tensor such as `f32[2] 1.5 -2`"))
}

fn print_tensor(tensor: &Tensor) -> Result<String, String> {
    let bytes = tensor.bytes().ok_or("a tensor of strings is not printed")?;
    let values = storage::unpack(tensor.element, &bytes, tensor.len());
    let words: String = values
        .iter()
        .map(|value| match value {
            Number::F32(value) => format!(" {value}"),
            Number::F64(value) => format!(" {value}"),
            Number::Integer(_, value) => format!(" {value}"),
        })
        .collect();
    Ok(format!("{}{:?}{words}", tensor.element, tensor.dims))
}
