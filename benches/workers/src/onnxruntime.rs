//! ONNX Runtime, loaded at run time from the library that `ORT_DYLIB_PATH` names.
//!
//! All graph optimizations are on (the library's default). `--io-binding` binds inputs and outputs once, which takes
//! about 0.4 µs of call overhead away; use it for models of a few microseconds.

mod protocol;

use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{Session, SessionOutputs};
use ort::value::{DynValue, Tensor};

use protocol::{Data, Options, Result, read_inputs, serve};

fn main() -> std::process::ExitCode {
    protocol::main(bench)
}

fn bench() -> Result<()> {
    let options = Options::parse(&["--io-binding"])?;
    let library = std::env::var("ORT_DYLIB_PATH").map_err(|_| "set ORT_DYLIB_PATH to the path of libonnxruntime.so")?;
    let environment = ort::init_from(library)?.build()?;
    let mut session = Session::builder(&environment)?
        .with_intra_threads(options.threads)
        .map_err(|e| e.to_string())?
        .with_inter_threads(1)
        .map_err(|e| e.to_string())?
        .commit_from_file(&options.model)?;

    let mut inputs: Vec<(String, DynValue)> = Vec::new();
    for input in read_inputs(&options)? {
        let value = match input.data {
            Data::F32(data) => Tensor::from_array((input.shape, data))?.into_dyn(),
            Data::I64(data) => Tensor::from_array((input.shape, data))?.into_dyn(),
        };
        inputs.push((input.name, value));
    }

    if options.has("--io-binding") {
        let mut binding = session.create_binding()?;
        for (name, value) in &inputs {
            binding.bind_input(name, value)?;
        }
        let cpu = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::CPUOutput)?;
        let output_names: Vec<String> = session.outputs().iter().map(|o| o.name().to_owned()).collect();
        for name in output_names {
            binding.bind_output_to_device(name, &cpu)?;
        }
        serve(&options, |wants_output| first_output(&session.run_binding(&binding)?, wants_output))
    } else {
        serve(&options, |wants_output| {
            let named: Vec<_> = inputs.iter().map(|(name, value)| (name.as_str(), value)).collect();
            first_output(&session.run(named)?, wants_output)
        })
    }
}

fn first_output(outputs: &SessionOutputs, wanted: bool) -> Result<Option<Vec<f32>>> {
    std::hint::black_box(outputs);
    Ok(if wanted { Some(outputs[0].try_extract_tensor::<f32>()?.1.to_vec()) } else { None })
}
