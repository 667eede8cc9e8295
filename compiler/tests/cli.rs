//! The program `lithify` as users call it.

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use support::{command, fail, json, lithify, succeed, write_model};

/// A directory with `add.onnx`, which computes z = relu(x + y).
fn with_model() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    write_model(&directory.path().join("add.onnx"), &[("Add", &["x", "y"], "s"), ("Relu", &["s"], "z")]);
    directory
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_command_has_help_with_examples() {
    let directory = tempfile::tempdir().unwrap();
    assert!(succeed(directory.path(), "--help").contains("Examples:"));
    for name in ["compile", "inspect", "check", "run", "bench"] {
        let help = succeed(directory.path(), &format!("{name} --help"));
        assert!(help.contains("Examples:") && help.contains(&format!("lithify {name}")), "{help}");
    }
    assert!(succeed(directory.path(), "--version").starts_with("lithify "));
}

#[test]
fn compile_writes_what_is_asked_for() {
    let directory = with_model();
    let here = directory.path();
    assert_eq!(succeed(here, "compile add.onnx"), "");
    assert_eq!(names(here), ["add.h", "add.onnx", "add.so"]);
    assert!(fs::read_to_string(here.join("add.h")).unwrap().contains("add_run"));
    fs::create_dir(here.join("out")).unwrap();
    succeed(here, "compile add.onnx -o out --emit a,o,rust,so --name sum --dim batch=2");
    assert_eq!(names(&here.join("out")), ["add.a", "add.o", "add.rs", "add.so"]);
    let first = json(here, "inspect out/add.so --json");
    assert_eq!(first["name"], "sum");
    assert_eq!(first["inputs"][0]["shape"], serde_json::json!([2, 4]));
    assert_eq!(first["build"]["dims"]["batch"], 2);
    assert!(first["exports"].as_array().unwrap().contains(&"sum_run".into()));
    for file in ["add.a", "add.o"] {
        let report = json(here, &format!("inspect out/{file} --json"));
        assert_eq!(report["exports"], first["exports"], "{file}");
    }
    let timings = json(here, "compile add.onnx --timings --json");
    assert!(timings["codegen"].as_f64().unwrap() > 0.0);
    assert!(succeed(here, "compile add.onnx --timings").contains("total"));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let directory = with_model();
    succeed(directory.path(), "compile add.onnx -o a.so --emit so");
    succeed(directory.path(), "compile add.onnx -o b.so --emit so --name add");
    let read = |name| fs::read(directory.path().join(name)).unwrap();
    assert!(read("a.so") == read("b.so"));
}

#[test]
fn stages_are_printed() {
    let directory = with_model();
    let stages = [
        ("graph", "Add-18"),
        ("shape", "f32[batch, 4]"),
        ("loops", "kernel"),
        ("memory", "arena"),
        ("clif", "function"),
    ];
    for (stage, word) in stages {
        let text = succeed(directory.path(), &format!("compile add.onnx --dump {stage}"));
        assert!(text.contains(word), "{stage}: {text}");
    }
    assert_eq!(names(directory.path()), ["add.onnx"]);
}

#[test]
fn problems_of_files_end_with_1_and_of_arguments_with_2() {
    let directory = with_model();
    let here = directory.path();
    fs::write(here.join("bad.onnx"), "not a model").unwrap();
    for name in ["compile", "inspect", "bench"] {
        assert!(fail(here, &format!("{name} bad.onnx"), 1).contains("bad.onnx"), "{name}");
        assert!(fail(here, &format!("{name} missing.onnx"), 1).contains("missing.onnx"), "{name}");
    }
    fail(here, "check bad.onnx", 1);
    assert!(fail(here, "run bad.onnx --random 1", 1).contains("bad.onnx"));
    assert!(fail(here, "compile add.onnx --emit ptx", 1).contains("ptx"));
    assert!(fail(here, "compile add.onnx --target riscv64gc-unknown-linux-gnu", 1).contains("riscv64"));
    assert!(fail(here, "compile add.onnx --dim width=3", 1).contains("[batch]"));
    assert!(fail(here, "compile add.onnx --name 2x", 2).contains("--name"));
    assert!(fail(here, "compile add.onnx -o add.onnx", 2).contains("overwrite"));
    for arguments in ["", "compile", "compile add.onnx --cpu i386", "compile add.onnx --dim batch", "run add.onnx"] {
        fail(here, arguments, 2);
    }
    assert_eq!(names(here), ["add.onnx", "bad.onnx"]);
}

#[test]
fn check_lists_all_problems() {
    let directory = with_model();
    let here = directory.path();
    assert!(succeed(here, "check add.onnx").contains("no problems"));
    assert_eq!(json(here, "check add.onnx --json")["compiles"], true);
    write_model(&here.join("odd.onnx"), &[("Strange", &["x"], "s"), ("Odd", &["y"], "t"), ("Add", &["s", "t"], "z")]);
    let output = lithify(here, "check odd.onnx --json");
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{report}");
    assert!(problems[0]["message"].as_str().unwrap().contains("Strange"));
    assert!(problems[1]["node"].as_str().unwrap().contains("node_t"));
    let errors = fail(here, "compile odd.onnx", 1);
    assert!(errors.contains("Strange") && errors.contains("Odd"), "{errors}");
    assert_eq!(json(here, "inspect odd.onnx --json")["compiles"], false);
}

#[test]
fn models_are_inspected() {
    let directory = with_model();
    let report = json(directory.path(), "inspect add.onnx --json --dim batch=3");
    assert_eq!(report["operators"]["Add"], 1);
    assert_eq!(report["outputs"][0]["shape"], serde_json::json!([3, 4]));
    assert_eq!(report["multiply_accumulates"], 0);
    let text = succeed(directory.path(), "inspect add.onnx");
    assert!(text.contains("f32[batch, 4]") && text.contains("Relu"), "{text}");
}

#[test]
fn models_and_libraries_run_alike() {
    let directory = with_model();
    let here = directory.path();
    succeed(here, "compile add.onnx");
    let model = succeed(here, "run add.onnx --random 7 --dim batch=3");
    assert!(model.starts_with("z: f32[3, 4] "), "{model}");
    assert_eq!(succeed(here, "run add.so --random 7 --input-shape x=3,4 --outputs z.npz"), model);
    assert!(fail(here, "run add.so --random 1 --dim height=3", 2).contains("[batch]"));
    // The output as input: relu(z + z) doubles what is never negative.
    let note = lithify(here, "run add.so --random 7");
    assert!(String::from_utf8_lossy(&note.stderr).contains("batch"));
    let missing = fail(here, "run add.so --inputs z.npz", 1);
    assert!(missing.contains("`x`") && missing.contains('z'), "{missing}");
    let report = json(here, "run add.onnx --random 7 --json");
    assert_eq!(report["outputs"][0]["shape"], serde_json::json!([1, 4]));
}

#[test]
fn bench_reports_times() {
    let directory = with_model();
    let report = json(directory.path(), "bench add.onnx --seconds 0.05 --json");
    assert!(report["median_us"].as_f64().unwrap() >= report["min_us"].as_f64().unwrap());
    assert!(report["runs"].as_u64().unwrap() > 0);
    assert!(succeed(directory.path(), "bench add.onnx --seconds 0").contains("median"));
}

#[test]
fn bench_serves_as_a_worker() {
    let directory = with_model();
    let here = directory.path();
    let inputs = here.join("inputs");
    fs::create_dir(&inputs).unwrap();
    // In another order than the model's.
    fs::write(inputs.join("spec.txt"), "y f32 1,4 1.bin\nx f32 1,4 0.bin\n").unwrap();
    let bytes = |values: [f32; 4]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    fs::write(inputs.join("0.bin"), bytes([1.0, -2.0, 3.0, 4.0])).unwrap();
    fs::write(inputs.join("1.bin"), bytes([0.5, 0.5, 0.5, 0.5])).unwrap();
    let mut child = command(here, "bench add.onnx --worker --inputs inputs --dump out.bin --threads 1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut requests = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let loaded = answers.next().unwrap().unwrap();
    assert!(loaded.strip_prefix("LOADED ").unwrap().parse::<f64>().unwrap() > 0.0);
    assert_eq!(fs::read(here.join("out.bin")).unwrap(), bytes([1.5, 0.0, 3.5, 4.5]));
    for count in [1, 5] {
        writeln!(requests, "{count}").unwrap();
        let times = answers.next().unwrap().unwrap();
        let times: Vec<f64> = times.split(' ').map(|time| time.parse().unwrap()).collect();
        assert_eq!(times.len(), count);
    }
    drop(requests);
    assert!(child.wait().unwrap().success());
}
