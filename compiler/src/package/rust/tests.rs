//! Compiles generated modules, and runs one against a model written in C.

use std::fs;
use std::process::Command;

use super::*;

fn port(name: &str, element: ElementType, dims: &[PortDim]) -> InterfacePort {
    InterfacePort { name: name.into(), element, dims: dims.to_vec() }
}

fn model(inputs: Vec<InterfacePort>, outputs: Vec<InterfacePort>) -> Interface {
    let symbols = if inputs.len() > 1 { vec!["batch".into()] } else { vec![] };
    Interface { name: "awkward".into(), inputs, outputs, symbols }
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A model that reports the bytes of its inputs in its outputs.
const LIBRARY: &str = r#"
#include <stdlib.h>
#include <string.h>
int32_t awkward_create(const lithify_options *o, lithify_context **c) { *c = malloc(1); return o ? 1 : 0; }
void awkward_destroy(lithify_context *c) { free(c); }
const char *awkward_error(const lithify_context *c) { return c ? "model awkward: refused" : ""; }
void awkward_release(lithify_context *c, lithify_value *v) { (void)c; free(v->data); v->data = NULL; }
int32_t awkward_run(lithify_context *c, const lithify_value *in, size_t n, lithify_value *out, size_t m) {
    if (c == NULL || n != 3 || m != 2 || in[0].dims[1] != 2 || in[2].bytes != 2 || out[1].rank != 2) return 1;
    if (((const float *)in[0].data)[0] < 0) return 4;
    memcpy(out[0].data, in[0].data, out[0].bytes);
    out[1].data = malloc(16);
    ((int64_t *)out[1].data)[0] = 7;
    ((int64_t *)out[1].data)[1] = (int64_t)in[1].bytes;
    out[1].dims[0] = 2;
    out[1].dims[1] = 1;
    out[1].bytes = 16;
    out[1].flags = LITHIFY_ALLOCATED;
    return 0;
}
"#;

const PROGRAM: &str = r#"
mod awkward;
fn main() {
    let mut model = awkward::Model::new().unwrap();
    let mut y = [0.0; 4];
    let late = model.run(&[1.0, 2.0, 3.0, 4.0], &[1, 0, 1], &[0x21, 0x03], &mut y, 2).unwrap();
    assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!((late.dims, late.data), (vec![2, 1], vec![7, 3]));
    let error = model.run(&[-1.0, 2.0, 3.0, 4.0], &[1, 0, 1], &[0x21, 0x03], &mut y, 2).unwrap_err();
    assert_eq!((error.code, error.to_string()), (4, "model awkward: refused".to_string()));
    println!("{}", model.run(&[1.0], &[1, 0, 1], &[0x21, 0x03], &mut y, 2).unwrap_err());
}
"#;

#[test]
fn a_module_calls_its_model() {
    let (batch, fixed) = (PortDim::Symbol("batch".into()), PortDim::Fixed);
    let interface = model(
        vec![
            port("53", ElementType::F32, &[batch.clone(), fixed(2)]),
            port("type", ElementType::Bool, &[fixed(3)]),
            port("packed*/", ElementType::U4, &[fixed(3)]),
        ],
        vec![
            port("outputs", ElementType::F32, &[batch, fixed(2)]),
            port("late", ElementType::I64, &[PortDim::Runtime, fixed(1)]),
        ],
    );
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("awkward.rs"), rust_module(&interface).unwrap()).unwrap();
    fs::write(path("main.rs"), PROGRAM).unwrap();
    fs::write(path("awkward.c"), crate::package::header(&interface) + LIBRARY).unwrap();
    succeed(Command::new("cc").args(["-c", "-fPIC", "-o"]).arg(path("awkward.o")).arg(path("awkward.c")));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2021", "-Dwarnings", "-o"]).arg(path("main")).arg(path("main.rs"));
    succeed(rustc.arg("-C").arg(format!("link-arg={}", path("awkward.o").display())));
    let message = succeed(&mut Command::new(path("main")));
    assert_eq!(message, "model awkward: tensor_53: the slice has 1 elements, but its dimensions need 4\n");
}

#[test]
fn models_of_all_sizes_compile() {
    let late = port("x", ElementType::F16, &[PortDim::Runtime]);
    let interfaces =
        [model(vec![], vec![]), model(vec![port("x", ElementType::F64, &[])], vec![late.clone(), late.clone()])];
    for interface in interfaces {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("awkward.rs");
        fs::write(&path, rust_module(&interface).unwrap()).unwrap();
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "-Dwarnings", "--crate-type=lib", "--emit=metadata", "-o"]);
        succeed(rustc.arg(directory.path().join("awkward.rmeta")).arg(&path));
    }
    let text = port("x", ElementType::String, &[]);
    assert!(rust_module(&model(vec![late], vec![])).is_err());
    assert!(rust_module(&model(vec![], vec![text])).is_err());
}
