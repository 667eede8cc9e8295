//! Small kernels, each about a few instructions.

mod support;

use lithify_ptx_interpreter::{FaultReason, Memory, Module, Options, Param};
use support::{kernel, run_words};

/// Registers, the buffer's address in `%rd0`, and the address of the thread's word in `%rd1`.
const START: &str =
    ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %d<4>;
    ld.param.u64 %rd0, [buffer]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 4, %rd0;\n";

fn run(body: &str, threads: u32, input: &[u32], words: usize) -> Vec<u32> {
    run_words(&format!("{START}{body}\nret;"), threads, input, words).unwrap_or_else(|fault| panic!("{fault}\n{body}"))
}

/// What one thread leaves in `%r1`.
fn word(body: &str) -> u32 {
    run(&format!("{body}\nst.global.u32 [%rd0], %r1;"), 1, &[], 1)[0]
}

#[test]
fn integers_at_their_edges() {
    assert_eq!(word("mov.u32 %r2, 0x80000000; div.s32 %r1, %r2, -1;"), 0x8000_0000);
    assert_eq!(word("mov.u32 %r2, -7; rem.s32 %r1, %r2, 4;"), (-3i32) as u32);
    assert_eq!(word("mov.u32 %r2, -7; div.s32 %r1, %r2, 2;"), (-3i32) as u32);
    assert_eq!(word("mov.u32 %r2, 1; shl.b32 %r1, %r2, 32;"), 0);
    assert_eq!(word("mov.u32 %r2, 0x80000000; shr.s32 %r1, %r2, 99;"), u32::MAX);
    assert_eq!(word("mov.u32 %r2, 0x80000000; abs.s32 %r1, %r2;"), 0x8000_0000);
    assert_eq!(word("mov.u32 %r2, -1; mul.hi.u32 %r1, %r2, %r2;"), 0xFFFF_FFFE);
    assert_eq!(word("mov.u32 %r2, -1; mul.wide.s32 %rd2, %r2, 3; cvt.u32.u64 %r1, %rd2;"), (-3i32) as u32);
    assert_eq!(word("mov.u32 %r2, 0; clz.b32 %r1, %r2;"), 32);
    assert_eq!(word("mov.u64 %rd2, 0xF0F0000000000001; popc.b64 %r1, %rd2;"), 9);
    assert_eq!(word("mov.u32 %r2, 0x12345678; brev.b32 %r3, %r2; brev.b32 %r1, %r3; xor.b32 %r1, %r1, %r2;"), 0);
    assert_eq!(word("mov.u32 %r2, 0xAB; mov.u32 %r3, 0x11111111; bfi.b32 %r1, %r2, %r3, 8, 8;"), 0x1111_AB11);
    assert_eq!(word("mov.u32 %r2, 0x00F0; bfe.s32 %r1, %r2, 4, 4;"), u32::MAX);
    assert_eq!(word("mov.u32 %r2, 0x03020100; prmt.b32 %r1, %r2, 0x07060504, 0x7531;"), 0x0705_0301);
    assert_eq!(word("mov.u32 %r2, 0xF0; lop3.b32 %r1, %r2, 0xCC, 0xAA, 0x96;"), 0x96);
    assert_eq!(word("mov.u32 %r2, 0x01FF02FE; dp4a.s32.s32 %r1, %r2, 0x01010101, 10;"), 10);
    assert_eq!(word("mov.b16 %h0, 0xFFFF; mov.b16 %h1, 2; mad.lo.s16 %h2, %h0, %h1, 5; cvt.s32.s16 %r1, %h2;"), 3);
    assert_eq!(word("mov.u32 %r2, 0x7FFFFFFF; add.sat.s32 %r1, %r2, 1;"), 0x7FFF_FFFF);
    assert_eq!(word("mov.u32 %r2, -1; setp.lt.s32 %p0|%p1, %r2, 0; selp.b32 %r1, 5, 6, %p1;"), 6);
    assert_eq!(word("mov.u32 %r2, -1; slct.u32.s32 %r1, 5, 6, %r2;"), 6);
    assert_eq!(word("mov.u32 %r2, 3; set.eq.u32.u32 %r1, %r2, 3;"), u32::MAX);
}

#[test]
fn floats_and_conversions() {
    let float = |body: &str| f32::from_bits(word(&format!("{body} mov.b32 %r1, %f0;")));
    assert_eq!(float("mov.f32 %f1, 0f3F800001; fma.rn.f32 %f0, %f1, %f1, 0fBF800002;"), 2f32.powi(-46));
    assert_eq!(float("mov.f32 %f1, 0f40800000; sqrt.rn.f32 %f0, %f1;"), 2.0);
    assert_eq!(float("mov.f32 %f1, 0f7FC00000; max.f32 %f0, %f1, 0f3F800000;"), 1.0);
    assert!(float("mov.f32 %f1, 0f7FC00000; max.NaN.f32 %f0, %f1, 0f3F800000;").is_nan());
    assert_eq!(float("mov.f32 %f1, 0f40490FDB; cvt.rni.f32.f32 %f0, %f1;"), 3.0);
    assert_eq!(float("mov.f32 %f1, 0f40490FDB; add.sat.f32 %f0, %f1, %f1;"), 1.0);
    assert_eq!(float("mov.f64 %d0, 0d3FB999999999999A; cvt.rn.f32.f64 %f0, %d0;"), 0.1);
    assert_eq!(float("mov.f64 %d0, 0d3FB999999999999A; cvt.rz.f32.f64 %f0, %d0;"), 0.1f32.next_down());
    assert_eq!(float("mov.f32 %f1, 0fC0200000; mov.f32 %f2, 0f40000000; copysign.f32 %f0, %f1, %f2;"), -2.0);
    assert_eq!(word("mov.f32 %f1, 0f7F800000; cvt.rzi.s32.f32 %r1, %f1;"), i32::MAX as u32);
    assert_eq!(word("mov.f32 %f1, 0fC0200000; cvt.rmi.s32.f32 %r1, %f1;"), (-3i32) as u32);
    assert_eq!(word("mov.f32 %f1, 0f43960000; cvt.rni.sat.u8.f32 %r1, %f1;"), 255);
    assert_eq!(word("mov.f32 %f1, 0f7FC00000; testp.notanumber.f32 %p0, %f1; selp.b32 %r1, 1, 0, %p0;"), 1);
    assert_eq!(
        word(
            "mov.f32 %f1, 0f3F800000; setp.gt.and.f32 %p0|%p1, %f1, 0f00000000, !%p2; selp.b32 %r1, 1, 0, %p0;"
                .replacen("setp", "setp.eq.u32 %p2, %r0, 9; setp", 1)
                .as_str()
        ),
        1
    );
}

#[test]
fn halves_are_converted_and_packed() {
    // A word of two halves is doubled as f16x2; its parts are converted one by one.
    let body = "ld.global.u32 %r2, [%rd1]; mov.b32 {%h0, %h1}, %r2;
        cvt.f32.f16 %f0, %h0; cvt.f32.f16 %f1, %h1;
        add.f32 %f0, %f0, %f0; add.f32 %f1, %f1, %f1;
        cvt.rn.f16.f32 %h2, %f0; cvt.rn.f16.f32 %h3, %f1;
        mov.b32 %r3, {%h2, %h3};
        add.f16x2 %r4, %r2, %r2;
        sub.u32 %r5, %r3, %r4;
        cvt.rn.f16x2.f32 %r6, %f1, %f0;
        sub.u32 %r7, %r6, %r3;
        or.b32 %r5, %r5, %r7;
        st.global.u32 [%rd1], %r5;
        cvt.rn.bf16.f32 %h4, %f0; cvt.f32.bf16 %f2, %h4; st.global.f32 [%rd1+128], %f2;";
    let input: Vec<u32> = (0..32).map(|lane| (lane * 0x0401 + 0x3C00) << 16 | (0x3C00 + lane)).collect();
    let words = run(body, 32, &input, 64);
    assert_eq!(words[..32], [0; 32]);
    assert_eq!(f32::from_bits(words[32]), 2.0);
    assert_eq!(word("ld.param.u16 %h0, [buffer]; mov.u32 %r1, 1;"), 1);
    // A half moves through memory as 16 bits.
    let words = run("mov.b16 %h0, 0x3C00; st.global.b16 [%rd0], %h0; st.global.b16 [%rd0+2], %h0;", 1, &[], 1);
    assert_eq!(words, [0x3C00_3C00]);
}

#[test]
fn narrow_loads_extend_into_their_registers() {
    let words = run(
        "ld.global.s8 %r1, [%rd0]; ld.global.u8 %r2, [%rd0]; ld.global.s16 %rd2, [%rd0]; shr.u64 %rd2, %rd2, 32;
         cvt.u32.u64 %r3, %rd2; st.global.v2.u32 [%rd0+8], {%r1, %r2}; st.global.u32 [%rd0+4], %r3;",
        1,
        &[0x80F0],
        4,
    );
    assert_eq!(words, [0x80F0, u32::MAX, 0xFFFF_FFF0, 0xF0]);
}

#[test]
fn lanes_leave_a_loop_one_by_one_and_meet_again() {
    // Collatz lengths; then all lanes add them up together.
    let body = "add.u32 %r1, %r0, 1; mov.u32 %r2, 0;
        $loop: setp.eq.u32 %p0, %r1, 1; @%p0 bra $done;
        add.u32 %r2, %r2, 1; and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0;
        @%p1 bra $even;
        mad.lo.u32 %r1, %r1, 3, 1; bra.uni $loop;
        $even: shr.u32 %r1, %r1, 1; bra.uni $loop;
        $done: redux.sync.add.u32 %r4, %r2, 0xffffffff; st.global.u32 [%rd1], %r2;
        setp.ge.u32 %p2, %r0, 4; vote.sync.ballot.b32 %r5, %p2, -1; activemask.b32 %r6;
        @!%p2 exit;
        st.global.u32 [%rd1+128], %r4; activemask.b32 %r7; st.global.u32 [%rd0+256], %r5;
        st.global.u32 [%rd0+260], %r6; st.global.u32 [%rd0+264], %r7;";
    let zeros = [0; 67];
    let words = run(body, 32, &zeros, 67);
    let length = |mut n: u32| {
        let mut steps = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    };
    let expected: Vec<u32> = (1..=32).map(length).collect();
    assert_eq!(words[..32], expected);
    assert_eq!(words[36..64], [expected.iter().sum::<u32>(); 28]);
    assert_eq!(words[32..36], [0; 4]);
    assert_eq!(words[64..], [0xFFFF_FFF0, u32::MAX, 0xFFFF_FFF0]);
}

#[test]
fn atomics_of_many_warps() {
    let body = "atom.global.add.u32 %r1, [%rd0], 1;
        red.global.max.s32 [%rd0+4], %r0; cvt.rn.f32.u32 %f0, %r0; red.global.add.f32 [%rd0+8], %f0;
        red.relaxed.gpu.global.or.b32 [%rd0+12], %r0; atom.global.cas.b32 %r2, [%rd0+16], 7, %r0;
        atom.global.inc.u32 %r3, [%rd0+20], 9; atom.global.exch.b32 %r4, [%rd0+24], %r0;
        cvt.u64.u32 %rd2, %r0; red.global.add.u64 [%rd0+32], %rd2;
        mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd0, %rd3; st.global.u32 [%rd3+64], %r0;";
    let words = run(body, 96, &[0, -5i32 as u32, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 112);
    assert_eq!(words[..2], [96, 95]);
    assert_eq!(f32::from_bits(words[2]), 4560.0);
    assert_eq!(words[3..6], [127, 0, 6]);
    assert_eq!((words[8], words[9]), (4560, 0));
    // Each thread got a place of its own.
    let mut places = words[16..].to_vec();
    places.sort_unstable();
    assert_eq!(places, (0..96).collect::<Vec<_>>());
}

#[test]
fn shuffles_within_segments() {
    let body = "shfl.sync.up.b32 %r1|%p0, %r0, 1, 0, -1; selp.b32 %r2, 100, 0, %p0; add.u32 %r1, %r1, %r2;
        st.global.u32 [%rd1], %r1; shfl.sync.idx.b32 %r3, %r0, 3, 0x181f, -1; st.global.u32 [%rd1+128], %r3;";
    let words = run(body, 32, &[], 64);
    assert_eq!(words[..3], [0, 100, 101]);
    assert_eq!((words[31], words[32], words[40], words[63]), (130, 3, 11, 27));
}

#[test]
fn spaces_and_generic_addresses() {
    let text = kernel(
        ".param .u64 buffer, .param .align 8 .b8 pair[16]",
        ".reg .b32 %r<8>; .reg .b64 %rd<8>; .shared .u32 fixed[3]; .local .align 8 .b8 own[16];
        ld.param.u64 %rd0, [buffer]; ld.param.v2.u32 {%r0, %r1}, [pair+8];
        mov.u32 %r2, %tid.x; st.local.u32 [own+4], %r2;
        mov.u64 %rd1, own; cvta.local.u64 %rd2, %rd1; ld.u32 %r3, [%rd2+4];
        mad.wide.u32 %rd3, %r2, 4, 0; mov.u64 %rd4, dynamic; add.u64 %rd4, %rd4, %rd3;
        cvta.shared.u64 %rd5, %rd4; st.u32 [%rd5], %r3; bar.sync 0;
        cvta.to.shared.u64 %rd6, %rd5; ld.shared.u32 %r4, [%rd6];
        ld.const.u32 %r5, [table+4]; ld.global.u32 %r6, [scale];
        add.u32 %r4, %r4, %r5; mad.lo.u32 %r4, %r4, %r6, %r1;
        add.u64 %rd0, %rd0, %rd3; st.u32 [%rd0], %r4; st.global.u32 [scale], 9; ret;"
            .replace("st.global.u32 [scale], 9", "st.global.u32 [scale], %r1")
            .as_str(),
    )
    .replace(
        ".visible",
        ".extern .shared .align 16 .b8 dynamic[];\n.const .u32 table[2] = {10, 20};\n.global .u32 scale = 3;\n.visible",
    );
    let module = Module::parse(&text).unwrap();
    let mut memory = Memory::new();
    let buffer = memory.allocate(64 * 4);
    let pair = Param::Bytes([0u32, 0, 1, 5].iter().flat_map(|word| word.to_le_bytes()).collect());
    let params = [Param::Pointer(buffer), pair];
    let options = Options::default();
    module.launch("k", [1; 3], [64, 1, 1], 256, &params, &mut memory, &options).unwrap();
    for thread in 0..64u32 {
        let expected = ((thread + 20) * if thread < 32 { 3 } else { 5 } + 5).to_le_bytes();
        assert_eq!(memory.read(buffer.offset(u64::from(thread) * 4), 4).unwrap(), expected, "{thread}");
    }
    // The module's variables keep their values; dynamic shared memory must be large enough.
    let scale = module.variable("scale", &mut memory).unwrap();
    assert_eq!(memory.read(scale, 4).unwrap(), [5, 0, 0, 0]);
    let fault = module.launch("k", [1; 3], [64, 1, 1], 128, &params, &mut memory, &options).unwrap_err();
    assert!(matches!(fault.reason, FaultReason::OutOfBounds { space: "shared", .. }), "{fault}");
}

#[test]
fn calls_pass_variables_and_registers() {
    let text = kernel(
        ".param .u64 buffer",
        ".reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p<1>;
        ld.param.u64 %rd0, [buffer]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 4, %rd0; mov.u32 %r1, 0;
        setp.lt.u32 %p0, %r0, 8;
        { .param .b32 argument; .param .b32 result;
          st.param.b32 [argument], %r0;
          @%p0 call.uni (result), square, (argument);
          @%p0 ld.param.b32 %r1, [result]; }
        st.global.u32 [%rd1], %r1; ret;",
    );
    let functions = ".func (.reg .b32 %out) product(.reg .b32 %a, .reg .b32 %b) { mul.lo.u32 %out, %a, %b; ret; }
        .func (.param .b32 out) square(.param .b32 in) {
            .reg .b32 %r<3>; .reg .pred %p<1>;
            ld.param.b32 %r0, [in]; call (%r1), product, (%r0, %r0);
            setp.gt.u32 %p0, %r0, 5; @%p0 bra $big; st.param.b32 [out], %r1; ret;
            $big: mov.u32 %r2, 1000; st.param.b32 [out], %r2; ret; }\n.visible";
    let module = Module::parse(&text.replace(".visible", functions)).unwrap();
    assert!(Module::parse(&(text + &functions.replace(".visible", ""))).unwrap_err().message.contains("before"));
    let mut memory = Memory::new();
    let buffer = memory.allocate(128);
    module.launch("k", [1; 3], [32, 1, 1], 0, &[Param::Pointer(buffer)], &mut memory, &Options::default()).unwrap();
    let words: Vec<u8> = memory.read(buffer, 128).unwrap().iter().step_by(4).copied().collect();
    assert_eq!(words[..10], [0, 1, 4, 9, 16, 25, (1000 % 256) as u8, (1000 % 256) as u8, 0, 0]);
}

#[test]
fn named_barriers_hand_over_between_warps() {
    // Warp 0 produces and only arrives; warp 1 waits for it.
    let body =
        ".shared .u32 box[32]; mov.u32 %r1, %warpid; mov.u32 %r2, %laneid; shl.b32 %r3, %r2, 2; mov.u32 %r4, box;
        add.u32 %r4, %r4, %r3; setp.eq.u32 %p0, %r1, 1; @%p0 bra $consume;
        st.shared.u32 [%r4], %r2; bar.arrive 1, 64; ret;
        $consume: bar.sync 1, 64; xor.b32 %r4, %r4, 4; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1+-128], %r5;";
    let words = run(body, 64, &[], 32);
    assert_eq!(words, (0..32).map(|lane| lane ^ 1).collect::<Vec<_>>());
}
