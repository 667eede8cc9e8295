//! Compiles generated headers as C and C++, and compares the structs with the stub's.

use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use lithify_runtime_stub::abi::{ABI_VERSION, DIM_AT_RUN_TIME, FLAG_ALLOCATED, Model, Options, Port, Status, Value};

use super::*;

fn port(name: &str, element: ElementType, dims: &[PortDim]) -> InterfacePort {
    InterfacePort { name: name.into(), element, dims: dims.to_vec() }
}

/// A model with awkward names, and shapes and types of all sorts.
fn awkward() -> Interface {
    let (batch, fixed) = (PortDim::Symbol("batch*/".into()), PortDim::Fixed);
    Interface {
        name: "awkward".into(),
        inputs: vec![
            port("53", ElementType::F32, &[fixed(1), fixed(64)]),
            port("x.1", ElementType::I64, &[batch.clone(), fixed(3)]),
            port("x_1", ElementType::Bool, &[]),
            port("class", ElementType::U4, &[fixed(3)]),
            port("a*/b\\", ElementType::String, &[PortDim::Runtime]),
            port("context", ElementType::F32, &[fixed(0)]),
        ],
        outputs: vec![
            port("int", ElementType::I4, &[batch.clone(), fixed(5)]),
            port("", ElementType::C64, &[fixed(2)]),
            port("late", ElementType::F32, &[PortDim::Runtime, batch.clone()]),
        ],
        symbols: vec!["batch*/".into()],
    }
}

fn empty() -> Interface {
    Interface { name: "empty".into(), inputs: vec![], outputs: vec![], symbols: vec![] }
}

/// Compiles a C file that includes the headers, as C99 and as C++.
fn compile(headers: &[Interface], body: &str) {
    let directory = tempfile::tempdir().unwrap();
    let mut source = String::new();
    for interface in headers {
        fs::write(directory.path().join(format!("{}.h", interface.name)), header(interface)).unwrap();
        let _ = writeln!(source, "#include \"{}.h\"", interface.name);
    }
    source.push_str(body);
    let path = directory.path().join("use.c");
    fs::write(&path, source).unwrap();
    for language in [["-std=c99", "-xc"], ["-std=c++11", "-xc++"]] {
        check(Command::new("cc").args(language).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-c"]), &path);
    }
}

fn check(command: &mut Command, path: &Path) {
    let output = command.arg(path).arg("-o").arg(path.with_extension("o")).output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn headers_compile_as_c_and_cpp() {
    let body = "
int use(lithify_context *context, const float *image, const int64_t *numbers, const uint8_t *flag);
int use(lithify_context *context, const float *image, const int64_t *numbers, const uint8_t *flag) {
    uint8_t packed[2] = {0, 0};
    uint8_t nibbles[5];
    float pairs[4];
    lithify_value text = lithify_tensor(LITHIFY_STRING, NULL, 0, NULL, 0);
    lithify_value late = lithify_tensor(LITHIFY_F32, NULL, 0, NULL, 0);
    if (awkward_infer(context, image, numbers, flag, packed, &text, NULL, nibbles, pairs, &late, 2) != LITHIFY_OK) return 1;
    awkward_release(context, &late);
    return empty_infer(context);
}
";
    compile(&[awkward(), empty()], body);
}

#[test]
fn text_of_the_typed_function() {
    let text = header(&awkward());
    for part in [
        "const float tensor_53[64]",
        "const int64_t *x_1,",
        "const uint8_t x_1_2[1]",
        "const uint8_t class_[2]",
        "const lithify_value *a__b_,",
        "const float *context_2",
        "uint8_t *int_,",
        "float tensor[4]",
        "int64_t batch__)",
        "lithify_outputs[0] = lithify_tensor(22, int_, ((uint64_t)batch__ * (uint64_t)INT64_C(5) * 4 + 7) / 8,",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn structs_have_the_layout_of_the_stub() {
    let mut body = String::new();
    let mut check = |expression: String, value: usize| {
        let number = body.lines().count();
        let _ = writeln!(body, "typedef char check{number}[({expression}) == {value} ? 1 : -1];");
    };
    macro_rules! layout {
        ($($c:ident = $rust:ident { $($field:ident),* })*) => { $(
            check(format!("sizeof({})", stringify!($c)), size_of::<$rust>());
            $(check(format!("offsetof({}, {})", stringify!($c), stringify!($field)), offset_of!($rust, $field));)*
        )* };
    }
    layout! {
        lithify_value = Value { kind, element_type, data, bytes, dims, rank, flags, items, count }
        lithify_port = Port { name, kind, element_type, dims, rank, reserved }
        lithify_options = Options {
            size, workspace, workspace_bytes, threads, reserved, parallel_for, parallel_user
        }
        lithify_model = Model {
            abi_version, size, name, build, input_count, output_count, inputs, outputs, symbols, symbol_count,
            reserved, cpu_features, create, destroy, run, error, workspace_bytes, release
        }
    }
    let numbers = [
        ("LITHIFY_OK", Status::Ok as i64),
        ("LITHIFY_INVALID_ARGUMENT", Status::InvalidArgument as i64),
        ("LITHIFY_WRONG_TYPE", Status::WrongType as i64),
        ("LITHIFY_WRONG_RANK", Status::WrongRank as i64),
        ("LITHIFY_WRONG_SHAPE", Status::WrongShape as i64),
        ("LITHIFY_BUFFER_TOO_SMALL", Status::BufferTooSmall as i64),
        ("LITHIFY_OVERLAPPING_BUFFERS", Status::OverlappingBuffers as i64),
        ("LITHIFY_OUT_OF_MEMORY", Status::OutOfMemory as i64),
        ("LITHIFY_WORKSPACE_TOO_SMALL", Status::WorkspaceTooSmall as i64),
        ("LITHIFY_UNSUPPORTED_CPU", Status::UnsupportedCpu as i64),
        ("LITHIFY_INDEX_OUT_OF_RANGE", Status::IndexOutOfRange as i64),
        ("LITHIFY_CHECK_FAILED", Status::CheckFailed as i64),
        ("LITHIFY_INVALID_VALUE", Status::InvalidValue as i64),
        ("LITHIFY_VERSION_MISMATCH", Status::VersionMismatch as i64),
        ("LITHIFY_ABI_VERSION", ABI_VERSION.into()),
        ("LITHIFY_ALLOCATED", FLAG_ALLOCATED.into()),
        ("LITHIFY_F8E4M3FN", 17),
    ];
    assert_eq!(DIM_AT_RUN_TIME, i64::MIN);
    for (name, number) in numbers {
        let _ = writeln!(body, "typedef char check_{name}[{name} == {number} ? 1 : -1];");
    }
    compile(&[empty()], &body);
}
