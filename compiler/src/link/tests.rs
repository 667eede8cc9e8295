//! Tiny models, made with Cranelift, through every way of linking and into hosts in C and Rust.

use super::*;
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataDescription, Linkage, Module};
use cranelift_object::{ObjectBuilder, ObjectModule};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A model with one entry point, `PREFIX_run(destination: *mut u64, source: *const u64) -> u64`: it copies eight bytes
/// through libc's `memcpy` and returns the stub's sum of that number and a weight, through a table of pointers.
fn model(prefix: &str, weight: u64) -> Vec<u8> {
    let mut flags = settings::builder();
    flags.set("is_pic", "true").unwrap();
    flags.set("opt_level", "speed").unwrap();
    let isa = cranelift_native::builder().unwrap().finish(settings::Flags::new(flags)).unwrap();
    let builder = ObjectBuilder::new(isa, prefix, cranelift_module::default_libcall_names()).unwrap();
    let mut module = ObjectModule::new(builder);
    let pointer = module.target_config().pointer_type();

    let mut weights = DataDescription::new();
    weights.define(weight.to_le_bytes().repeat(8).into_boxed_slice());
    weights.set_align(64);
    let weights_id = module.declare_data("weights", Linkage::Local, false, false).unwrap();
    module.define_data(weights_id, &weights).unwrap();
    let mut table = DataDescription::new();
    table.define(vec![0; 8].into_boxed_slice());
    let target = module.declare_data_in_data(weights_id, &mut table);
    table.write_data_addr(0, target, 8);
    let table_id = module.declare_data("table", Linkage::Local, false, false).unwrap();
    module.define_data(table_id, &table).unwrap();

    let mut copy = module.make_signature();
    copy.params.extend([AbiParam::new(pointer); 3]);
    copy.returns.push(AbiParam::new(pointer));
    let copy_id = module.declare_function("memcpy", Linkage::Import, &copy).unwrap();
    let mut sum = module.make_signature();
    sum.params.extend([AbiParam::new(types::I64); 2]);
    sum.returns.push(AbiParam::new(types::I64));
    let sum_id = module.declare_function("lithify_stub_probe", Linkage::Import, &sum).unwrap();
    let mut run = module.make_signature();
    run.params.extend([AbiParam::new(pointer); 2]);
    run.returns.push(AbiParam::new(types::I64));
    let run_id = module.declare_function(&format!("{prefix}_run"), Linkage::Export, &run).unwrap();

    let mut context = module.make_context();
    context.func.signature = run;
    let mut frontend = FunctionBuilderContext::new();
    let mut code = FunctionBuilder::new(&mut context.func, &mut frontend);
    let block = code.create_block();
    code.append_block_params_for_function_params(block);
    code.switch_to_block(block);
    code.seal_all_blocks();
    let (destination, source) = (code.block_params(block)[0], code.block_params(block)[1]);
    let eight = code.ins().iconst(pointer, 8);
    let callee = module.declare_func_in_func(copy_id, code.func);
    code.ins().call(callee, &[destination, source, eight]);
    let table = module.declare_data_in_func(table_id, code.func);
    let table = code.ins().symbol_value(pointer, table);
    let weights = code.ins().load(pointer, MemFlagsData::new(), table, 0);
    let weight = code.ins().load(types::I64, MemFlagsData::new(), weights, 0);
    let number = code.ins().load(types::I64, MemFlagsData::new(), destination, 0);
    let callee = module.declare_func_in_func(sum_id, code.func);
    let call = code.ins().call(callee, &[number, weight]);
    let result = code.inst_results(call)[0];
    code.ins().return_(&[result]);
    code.finalize(module.isa().frontend_config());
    module.define_function(run_id, &mut context).unwrap();
    module.finish().emit().unwrap()
}

fn prelinked(prefix: &str, weight: u64) -> Vec<u8> {
    let object = model(prefix, weight);
    let exports = [format!("{prefix}_run")];
    let allowed = default_allowed_imports();
    let input = PrelinkInput { object: &object, stub: stub::ARCHIVE, exports: &exports, allowed_imports: &allowed };
    prelink(&input).unwrap()
}

/// Loads the library and calls the model.
fn call(library: &Path, prefix: &str, number: u64) -> u64 {
    // SAFETY: the library was made by these tests, has no constructors, and the entry point has this type.
    unsafe {
        let library = libloading::Library::new(library).unwrap();
        let run: libloading::Symbol<'_, unsafe extern "C" fn(*mut u64, *const u64) -> u64> =
            library.get(format!("{prefix}_run").as_bytes()).unwrap();
        let mut copy = 0;
        let result = run(&mut copy, &number);
        assert_eq!(copy, number);
        result
    }
}

fn check_library(library: &Path, prefix: &str) {
    let report = verify(&fs::read(library).unwrap()).unwrap();
    assert_eq!(report.kind, ArtifactKind::Shared);
    assert_eq!(report.imports, ["memcpy"]);
    assert_eq!(report.exports, [format!("{prefix}_run")]);
    assert_eq!(report.needed, [""; 0]);
    assert_eq!(report.soname.as_deref(), Some("libmodel.so"));
    assert!(!report.has_constructors && !report.has_thread_local_storage && !report.has_text_relocations);
    assert!(!report.has_executable_stack && !report.has_writable_code);
}

fn options(linker: LinkerChoice) -> SharedOptions {
    SharedOptions { linker, soname: Some("libmodel.so".to_owned()), keep_symbols: false }
}

/// Runs a command and gives its messages when it fails.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Whether a tool that some hosts lack can be run.
fn have(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn prelinked_object_shows_its_exports_only() {
    let report = verify(&prelinked("a", 5)).unwrap();
    assert_eq!(report.kind, ArtifactKind::Object);
    assert_eq!(report.exports, ["a_run"]);
    assert_eq!(report.imports, ["memcpy"]);
    assert!(!report.has_executable_stack);
}

#[test]
fn stub_code_that_is_not_used_is_dropped() {
    assert!(prelinked("a", 5).len() < 8192);
}

#[cfg(feature = "wild")]
#[test]
fn built_in_linker_makes_a_library_that_runs() {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("libmodel.so");
    shared(&prelinked("a", 5), &library, &options(LinkerChoice::Wild)).unwrap();
    check_library(&library, "a");
    assert_eq!(call(&library, "a", 37), 42);
    let again = directory.path().join("again.so");
    shared(&prelinked("a", 5), &again, &options(LinkerChoice::Wild)).unwrap();
    assert!(fs::read(library).unwrap() == fs::read(again).unwrap(), "the same input gives the same bytes");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no temporary files stay");
}

#[test]
fn system_linker_makes_a_library_that_runs() {
    if !have("cc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("libmodel.so");
    shared(&prelinked("a", 5), &library, &options(LinkerChoice::System("cc".into()))).unwrap();
    check_library(&library, "a");
    assert_eq!(call(&library, "a", 37), 42);
}

/// The program that [`shared_in_child`] starts in tests: a script that hands its arguments to [`child_side`].
#[cfg(feature = "wild")]
fn child_program(directory: &Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join("child.sh");
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\ntest \"$1\" = {CHILD_SUBCOMMAND} || exit 9\nshift\n\
         LITHIFY_TEST_LINK=\"$(printf '%s\\n' \"$@\")\" exec '{}' --exact link::tests::child_side --nocapture\n",
        this.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Links when it is run by the script of [`child_program`], and passes otherwise.
#[cfg(feature = "wild")]
#[test]
fn child_side() {
    if let Ok(arguments) = std::env::var("LITHIFY_TEST_LINK") {
        let code = run_child(arguments.lines().map(Into::into));
        assert_eq!(code, std::process::ExitCode::SUCCESS);
    }
}

#[cfg(feature = "wild")]
#[test]
fn a_child_links_and_its_failure_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let program = child_program(directory.path());
    let library = directory.path().join("libmodel.so");
    shared_in_child(&program, &prelinked("a", 5), &library, &options(LinkerChoice::Wild)).unwrap();
    check_library(&library, "a");
    assert_eq!(call(&library, "a", 37), 42);
    let other = directory.path().join("other.so");
    let result = shared_in_child(Path::new("/bin/false"), &prelinked("a", 5), &other, &options(LinkerChoice::Wild));
    assert!(matches!(result, Err(LinkError::Linker { .. })), "{result:?}");
    assert!(!other.exists());
}

#[cfg(feature = "wild")]
#[test]
fn python_loads_a_library() {
    if !have("python3") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("libmodel.so");
    shared(&prelinked("a", 5), &library, &options(LinkerChoice::Wild)).unwrap();
    let script = "import ctypes, sys
copy, number = ctypes.c_uint64(0), ctypes.c_uint64(37)
run = ctypes.CDLL(sys.argv[1]).a_run
run.restype = ctypes.c_uint64
assert run(ctypes.byref(copy), ctypes.byref(number)) == 42 and copy.value == 37";
    run(Command::new("python3").arg("-c").arg(script).arg(&library));
}

#[test]
fn a_missing_linker_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let choice = LinkerChoice::System("no-such-cc".into());
    let error = shared(&prelinked("a", 5), &directory.path().join("m.so"), &options(choice)).unwrap_err();
    assert!(error.to_string().contains("no-such-cc"), "{error}");
}

#[test]
fn missing_symbols_and_exports_are_named() {
    let object = model("a", 5);
    let allowed = default_allowed_imports();
    let with = |exports: &[String], allowed_imports: &[String]| {
        prelink(&PrelinkInput { object: &object, stub: stub::ARCHIVE, exports, allowed_imports })
            .unwrap_err()
            .to_string()
    };
    assert!(with(&["a_walk".to_owned()], &allowed).contains("`a_walk`"));
    assert!(with(&["a_run".to_owned()], &[]).contains("`memcpy`, referred to by the model's object"));
}

#[test]
fn truncated_objects_are_errors() {
    let object = model("a", 5);
    let (exports, allowed_imports) = (["a_run".to_owned()], default_allowed_imports());
    for length in (0..object.len()).step_by(7) {
        let input = PrelinkInput {
            object: &object[..length],
            stub: stub::ARCHIVE,
            exports: &exports,
            allowed_imports: &allowed_imports,
        };
        assert!(prelink(&input).is_err(), "cut to {length} bytes");
    }
}

#[test]
fn other_formats_are_refused() {
    let mach =
        [0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let input = PrelinkInput { object: &mach, stub: stub::ARCHIVE, exports: &[], allowed_imports: &[] };
    let error = prelink(&input).unwrap_err();
    assert!(matches!(error, LinkError::Unsupported(_)), "{error}");
}

/// Writes `liba.a` and `libb.a`.
fn two_archives(directory: &Path) {
    for (prefix, weight) in [("a", 5), ("b", 50)] {
        let library = archive(&prelinked(prefix, weight), &format!("{prefix}.o")).unwrap();
        let report = verify(&library).unwrap();
        assert_eq!((report.kind, &report.exports[..]), (ArtifactKind::Archive, &[format!("{prefix}_run")][..]));
        fs::write(directory.join(format!("lib{prefix}.a")), library).unwrap();
    }
}

#[test]
fn two_models_in_one_c_program() {
    if !have("cc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    two_archives(directory.path());
    let source = "#include <stdint.h>
        uint64_t a_run(uint64_t *, const uint64_t *); uint64_t b_run(uint64_t *, const uint64_t *);
        int main(void) {
            uint64_t copy = 0, one = 1;
            return a_run(&copy, &one) == 6 && b_run(&copy, &one) == 51 && copy == 1 ? 0 : 1;
        }";
    let path = directory.path().join("main.c");
    fs::write(&path, source).unwrap();
    let program = directory.path().join("main");
    run(Command::new("cc").arg(&path).arg("-o").arg(&program).arg("-L").arg(directory.path()).args(["-la", "-lb"]));
    run(&mut Command::new(program));
}

#[test]
fn two_models_in_one_rust_program() {
    if !have("rustc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    two_archives(directory.path());
    let source = r#"
        #[link(name = "a", kind = "static")] unsafe extern "C" { fn a_run(to: *mut u64, from: *const u64) -> u64; }
        #[link(name = "b", kind = "static")] unsafe extern "C" { fn b_run(to: *mut u64, from: *const u64) -> u64; }
        fn main() {
            let (mut copy, one) = (0, 1);
            let results = unsafe { (a_run(&mut copy, &one), b_run(&mut copy, &one)) };
            assert_eq!((results, copy), ((6, 51), 1));
            assert!(std::panic::catch_unwind(|| panic!("the host's own panics still work")).is_err());
        }"#;
    let path = directory.path().join("main.rs");
    fs::write(&path, source).unwrap();
    let program = directory.path().join("main");
    let mut command = Command::new("rustc");
    command.arg("--edition=2024").arg(&path).arg("-o").arg(&program).arg("-L").arg(directory.path());
    run(&mut command);
    run(&mut Command::new(program));
}
