//! Wrong kernels, which an assembler accepts, and the report each of them gets.

mod support;

use lithify_ptx_interpreter::{Fault, FaultReason, Memory, Module, Options, Param};
use support::{kernel, numbers, run_words};

/// Runs a text of `kernels/softmax.ptx` on one row.
fn softmax(text: &str) -> Result<(), Fault> {
    let module = Module::parse(text).unwrap();
    let mut memory = Memory::new();
    let (x, y) = (memory.allocate(411 * 4), memory.allocate(411 * 4));
    memory.write_f32(x, &numbers(411, 5)).unwrap();
    let params = [Param::Pointer(x), Param::Pointer(y), Param::U32(411)];
    module.launch("softmax", [1, 1, 1], [128, 1, 1], 0, &params, &mut memory, &Options::default()).map(drop)
}

/// The softmax kernel with one place changed.
fn changed(from: &str, to: &str) -> String {
    let text = include_str!("kernels/softmax.ptx");
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

fn line_of(text: &str, what: &str) -> u32 {
    text.lines().position(|line| line.contains(what)).unwrap() as u32 + 1
}

#[test]
fn a_missing_barrier_is_a_race() {
    let text = changed("bar.sync 0; // partial maxima are written", "");
    // The first warp reads what the others have not written yet: that alone is reported.
    let fault = softmax(&text).unwrap_err();
    assert!(matches!(fault.reason, FaultReason::UninitializedMemory { space: "shared", .. }), "{fault}");

    let text = changed("bar.sync 0; // partial maxima are read", "");
    let fault = softmax(&text).unwrap_err();
    let FaultReason::Race { address: 0 | 4, other_line, write, .. } = fault.reason else { panic!("{fault}") };
    assert!(!write || other_line == line_of(&text, "ld.shared.v4.f32"), "{other_line}");
    assert_eq!(fault.kernel, "softmax");
}

#[test]
fn accesses_out_of_bounds() {
    let text = changed(
        "setp.ge.u32 %p1, %r8, %r0;\n    @%p1 bra $maximum_done",
        "setp.gt.u32 %p1, %r8, %r0;\n    @%p1 bra $maximum_done",
    );
    let fault = softmax(&text).unwrap_err();
    let FaultReason::OutOfBounds { space: "global", bytes: 4, available: 1644, address } = fault.reason else {
        panic!("{fault}")
    };
    assert_eq!(address & 0xFFFF, 411 * 4);
    // Column 411 belongs to thread 411 % 128 = 27.
    assert_eq!((fault.warp, fault.lane, fault.line), (0, 27, line_of(&text, "ld.global.nc.f32 %f1, [%rd3]")));
    let report = fault.to_string();
    assert!(report.contains("softmax") && report.contains("lane 27") && report.contains("1644 bytes"), "{report}");

    let text = changed(".f32 partial[4]", ".f32 partial[3]");
    assert!(matches!(softmax(&text).unwrap_err().reason, FaultReason::OutOfBounds { space: "shared", .. }));
}

#[test]
fn uninitialized_registers_and_memory() {
    let text = changed("mov.f32 %f7, 0f00000000;", "");
    assert_eq!(softmax(&text).unwrap_err().reason, FaultReason::UninitializedRegister("%f7".into()));
    let text = changed("setp.eq.u32 %p0, %r4, 0;", "");
    assert_eq!(softmax(&text).unwrap_err().reason, FaultReason::UninitializedRegister("%p0".into()));

    let body = ".reg .b64 %rd<1>; .reg .b32 %r<1>;
        ld.param.u64 %rd0, [buffer]; ld.global.u32 %r0, [%rd0+8]; st.global.u32 [%rd0], %r0; ret;";
    let fault = run_words(body, 1, &[1, 2], 3).unwrap_err();
    assert!(matches!(fault.reason, FaultReason::UninitializedMemory { space: "global", .. }), "{fault}");
}

#[test]
fn a_misaligned_vector_access() {
    let text = changed(
        "ld.shared.v4.f32 {%f3, %f4, %f5, %f6}, [partial];\n    max",
        "ld.shared.v4.f32 {%f3, %f4, %f5, %f6}, [partial+4];\n    max",
    );
    let fault = softmax(&text).unwrap_err();
    assert_eq!(fault.reason, FaultReason::Misaligned { space: "shared", address: 4, bytes: 16 });
}

#[test]
fn deadlocks_and_endless_loops() {
    // The first warp waits at another barrier than the rest.
    let body = ".reg .b32 %r<2>; .reg .pred %p<1>; .reg .b64 %rd<1>;
        mov.u32 %r0, %warpid; setp.eq.u32 %p0, %r0, 0;
        @%p0 bra $first;
        bar.sync 1, 64;
        bra $end;
        $first: bar.sync 0;
        $end: ret;";
    let fault = run_words(body, 64, &[0], 1).unwrap_err();
    let FaultReason::Deadlock(warps) = &fault.reason else { panic!("{fault}") };
    assert_eq!(warps.iter().map(|warp| (warp.warp, warp.barrier)).collect::<Vec<_>>(), [(0, 0), (1, 1)]);

    let fault = run_words("$loop: bra $loop;", 32, &[0], 1).unwrap_err();
    assert_eq!(fault.reason, FaultReason::StepLimit(1_000_000));
}

#[test]
fn barriers_and_shuffles_that_part_of_a_warp_reaches() {
    let divergent = |instruction: &str| {
        format!(
            ".reg .b32 %r<3>; .reg .pred %p<2>;
            mov.u32 %r0, %laneid; setp.lt.u32 %p0, %r0, 16; setp.eq.u32 %p1, %r0, 99;
            @%p0 bra $half;
            {instruction}
            $half: ret;"
        )
    };
    for instruction in [
        "bar.sync 0;",
        "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;",
        "vote.sync.any.pred %p1, %p1, 0xffffffff;",
        "redux.sync.add.u32 %r1, %r0, 0xffffffff;",
        "bar.warp.sync 0xffffffff;",
    ] {
        let fault = run_words(&divergent(instruction), 32, &[0], 1).unwrap_err();
        let expected = FaultReason::Divergent { active: 0xFFFF_0000, required: 0xFFFF_FFFF };
        assert_eq!(fault.reason, expected, "{instruction}");
    }
    // The mask does not name a lane that executes.
    let fault = run_words(&divergent("shfl.sync.idx.b32 %r1, %r0, 0, 31, 0x0000ffff;"), 32, &[0], 1).unwrap_err();
    assert!(matches!(fault.reason, FaultReason::BadOperand(_)));
    // The source lane is not there: what is read is unspecified.
    let body = divergent("shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffff0000; add.u32 %r2, %r1, 1;");
    assert_eq!(run_words(&body, 32, &[0], 1).unwrap_err().reason, FaultReason::UninitializedRegister("%r1".into()));
}

#[test]
fn writes_to_constants_and_unspecified_quotients() {
    let text = kernel(
        "",
        ".reg .b64 %rd<1>; .reg .b32 %r<1>; mov.u64 %rd0, table; mov.u32 %r0, 1; st.global.u32 [%rd0], %r0; ret;",
    )
    .replace(".visible", ".const .u32 table[2] = {5, 6};\n.visible");
    let module = Module::parse(&text).unwrap();
    let mut memory = Memory::new();
    let fault = module.launch("k", [1; 3], [32, 1, 1], 0, &[], &mut memory, &Options::default()).unwrap_err();
    assert!(matches!(fault.reason, FaultReason::ReadOnly { .. }));

    let body = ".reg .b32 %r<3>; mov.u32 %r0, %laneid; div.u32 %r1, 6, %r0; add.u32 %r2, %r1, 1; ret;";
    let fault = run_words(body, 32, &[0], 1).unwrap_err();
    assert_eq!((fault.lane, fault.reason), (0, FaultReason::UninitializedRegister("%r1".into())));
}

#[test]
fn launches_that_do_not_fit() {
    let module = Module::parse(include_str!("kernels/softmax.ptx")).unwrap();
    let mut memory = Memory::new();
    let x = memory.allocate(64);
    let right = [Param::Pointer(x), Param::Pointer(x), Param::U32(1)];
    let mut launch = |name: &str, block: [u32; 3], shared: u32, params: &[Param]| {
        let fault = module.launch(name, [1; 3], block, shared, params, &mut memory, &Options::default()).unwrap_err();
        let FaultReason::Launch(message) = fault.reason else { panic!("{fault}") };
        message
    };
    assert!(launch("other", [128, 1, 1], 0, &right).contains("no kernel"));
    assert!(launch("softmax", [64, 1, 1], 0, &right).contains("requires"));
    assert!(launch("softmax", [128, 1, 1], 1 << 20, &right).contains("shared memory"));
    assert!(launch("softmax", [128, 1, 1], 0, &right[..2]).contains("2 parameters"));
    let wrong = [Param::U32(1), Param::Pointer(x), Param::U32(1)];
    assert!(launch("softmax", [128, 1, 1], 0, &wrong).contains("4 bytes given"));
    let wrong = [Param::Pointer(x.offset(4)), Param::Pointer(x), Param::U32(1)];
    assert!(launch("softmax", [128, 1, 1], 0, &wrong).contains("multiple of 16"));
}

#[test]
fn texts_that_an_assembler_refuses() {
    for (body, expected) in [
        ("add.f32 %f0, %f1, %u;", "%u is declared U32"),
        ("add.u32 %r0, %r1, %rd0;", "reads U32"),
        ("mov.u32 %r0, %nowhere;", "%nowhere is not declared"),
        ("bra $nowhere;", "there is no label $nowhere"),
        ("mul.u32 %r0, %r0, 2;", ".lo, .hi or .wide"),
        ("add.f32.fast %f0, %f0, %f0;", "modifier .fast"),
        ("cvt.f16.f32 %h0, %f0;", ".rn"),
        ("ld.global.u32 %r0, [%r0];", "does not hold an address"),
        ("ld.shared.u32 %r0, [buffer];", "Parameter memory"),
        ("mma.sync %r0, %r1, %r0, %r1;", "needs a type"),
    ] {
        let body = format!(
            ".reg .f32 %f<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .b16 %h<2>;\n.reg .u32 %u;\n{}\nret;",
            body
        );
        let error = Module::parse(&kernel(".param .u64 buffer", &body)).unwrap_err();
        assert!(error.message.contains(expected), "{body}: {error}");
        assert_eq!(error.line, 7, "{error}");
    }
}
