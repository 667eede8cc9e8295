//! What libraries are made of, whatever program uses them.

use std::fs;
use std::mem::offset_of;

use lithify::host::{HostError, Library, SessionOptions};
use lithify::link::{self, ArtifactKind};
use lithify::pipeline::CompileOptions;
use lithify::target::CpuLevel;
use lithify_runtime_stub::abi::{ABI_VERSION, Model, Status};
use lithify_tests::models;

use super::{compile, folder, package, share};

#[test]
fn they_import_libc_alone() {
    let allowed = link::default_allowed_imports();
    for name in ["shifted", "sums", "kept"] {
        for (file, kind) in [("a", ArtifactKind::Archive), ("so", ArtifactKind::Shared)] {
            let report = link::verify(&fs::read(folder().join(format!("lib{name}.{file}"))).unwrap()).unwrap();
            assert_eq!(report.kind, kind);
            for import in &report.imports {
                let allowed = allowed.iter().any(|allowed| match allowed.strip_suffix('*') {
                    Some(beginning) => import.starts_with(beginning),
                    None => import == allowed,
                });
                assert!(allowed, "lib{name}.{file} imports {import}");
            }
            let functions = ["create", "destroy", "error", "model", "release", "run", "workspace_bytes"];
            assert_eq!(report.exports, functions.map(|function| format!("{name}_{function}")));
            assert!(report.needed.is_empty() && !report.has_constructors && !report.has_thread_local_storage);
            assert!(!report.has_text_relocations && !report.has_executable_stack && !report.has_writable_code);
        }
    }
}

#[test]
fn the_same_model_gives_the_same_bytes() {
    for (name, model) in [("shifted", models::shifted()), ("sums", models::sums()), ("kept", models::kept())] {
        let again = tempfile::tempdir().unwrap();
        package(&compile(&model, &CompileOptions::host(name)), again.path());
        for file in [format!("lib{name}.a"), format!("lib{name}.so"), format!("{name}.h"), format!("{name}.rs")] {
            let (first, second) =
                (fs::read(folder().join(&file)).unwrap(), fs::read(again.path().join(&file)).unwrap());
            assert!(first == second, "{file} differs");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_for_old_processors_runs() {
    let mut options = CompileOptions::host("old");
    options.target.level = CpuLevel::X86V2;
    let artifact = compile(&models::shifted(), &options);
    let place = folder().join("libold.so");
    share(&artifact.object, &place);
    let library = Library::open(&place).unwrap();
    assert_eq!(library.cpu_features(), ["x86-64-v2"]);
    let x = lithify::graph::Tensor {
        element: lithify::graph::ElementType::F32,
        dims: vec![2, 3],
        data: lithify::graph::TensorData::Bytes(vec![0; 24].into()),
    };
    let y = library.session(&SessionOptions::default()).unwrap().run(&[x]).unwrap();
    let wanted: Vec<u8> = [1.0f32, 0.0, 0.5, 1.0, 0.0, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(y[0].bytes().unwrap(), wanted);
}

#[test]
fn processors_without_the_instructions_are_refused() {
    let mut object = compile(&models::shifted(), &CompileOptions::host("foreign")).object;
    // The table's first words; addresses are filled in by the linker.
    let table = [ABI_VERSION, size_of::<Model>() as u32, 0, 0, 0, 0, 1, 1].map(u32::to_le_bytes).concat();
    let found: Vec<usize> =
        (0..object.len() - table.len()).filter(|&at| object[at..at + table.len()] == table[..]).collect();
    let [place] = found[..] else { panic!("{} tables", found.len()) };
    object[place + offset_of!(Model, cpu_features) + 7] |= 0x80;
    let library = folder().join("libforeign.so");
    share(&object, &library);
    let error = Library::open(&library).unwrap().session(&SessionOptions::default()).unwrap_err();
    let HostError::Call { function, status, message } = error else { panic!("{error}") };
    assert_eq!((function, status), ("create", Status::UnsupportedCpu as i32));
    assert!(message.contains("processor"), "{message}");
}
