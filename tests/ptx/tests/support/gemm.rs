//! A matrix product in PTX: blocks of 16 x 16 threads, each with a 4 x 4 tile, through shared memory.

use std::fmt::Write;

/// The text of kernel `gemm`: C (m x n) = A (m x k) B (k x n), row-major, all sizes multiples of 64 (k of 16).
pub fn text() -> String {
    let mut body = String::new();
    let mut line = |text: &str| writeln!(body, "    {text}").unwrap();
    for declaration in [".reg .pred %p<2>;", ".reg .b32 %r<32>;", ".reg .b64 %rd<16>;", ".reg .f32 %f<40>;"] {
        line(declaration);
    }
    line(".shared .align 16 .f32 tile_a[16][64];");
    line(".shared .align 16 .f32 tile_b[16][64];");
    for (register, parameter) in [("%rd0", "a"), ("%rd1", "b"), ("%rd2", "c")] {
        line(&format!("ld.param.u64 {register}, [{parameter}];"));
    }
    line("ld.param.u32 %r0, [n];");
    line("ld.param.u32 %r1, [k];");
    line("mov.u32 %r2, %tid.x;");
    line("mov.u32 %r3, %tid.y;");
    line("mad.lo.u32 %r4, %r3, 16, %r2;");
    line("mov.u32 %r5, %ctaid.x;");
    line("mov.u32 %r6, %ctaid.y;");
    // Each thread copies four elements of A (transposed) and four of B.
    line("shr.u32 %r7, %r4, 2;");
    line("and.b32 %r8, %r4, 3;");
    line("shl.b32 %r8, %r8, 2;");
    line("mad.lo.u32 %r9, %r6, 64, %r7;");
    line("mad.lo.u32 %r9, %r9, %r1, %r8;");
    line("mad.wide.u32 %rd3, %r9, 4, %rd0;");
    line("shr.u32 %r10, %r4, 4;");
    line("and.b32 %r11, %r4, 15;");
    line("shl.b32 %r11, %r11, 2;");
    line("mad.lo.u32 %r12, %r5, 64, %r11;");
    line("mad.lo.u32 %r12, %r10, %r0, %r12;");
    line("mad.wide.u32 %rd4, %r12, 4, %rd1;");
    line("mul.wide.u32 %rd5, %r0, 64;");
    line("mov.u32 %r13, tile_a;");
    line("mov.u32 %r14, tile_b;");
    line("mad.lo.u32 %r15, %r8, 64, %r7;");
    line("mad.lo.u32 %r15, %r15, 4, %r13;");
    line("mad.lo.u32 %r16, %r10, 64, %r11;");
    line("mad.lo.u32 %r16, %r16, 4, %r14;");
    line("mad.lo.u32 %r17, %r3, 16, %r13;");
    line("mad.lo.u32 %r18, %r2, 16, %r14;");
    for accumulator in 0..16 {
        line(&format!("mov.f32 %f{accumulator}, 0f00000000;"));
    }
    line("$step:");
    line("ld.global.nc.v4.f32 {%f24, %f25, %f26, %f27}, [%rd3];");
    line("ld.global.nc.v4.f32 {%f28, %f29, %f30, %f31}, [%rd4];");
    for element in 0..4 {
        line(&format!("st.shared.f32 [%r15+{}], %f{};", element * 256, 24 + element));
    }
    line("st.shared.v4.f32 [%r16], {%f28, %f29, %f30, %f31};");
    line("bar.sync 0; // tiles are written");
    for depth in 0..16 {
        line(&format!("ld.shared.v4.f32 {{%f16, %f17, %f18, %f19}}, [%r17+{}];", depth * 256));
        line(&format!("ld.shared.v4.f32 {{%f20, %f21, %f22, %f23}}, [%r18+{}];", depth * 256));
        for accumulator in 0..16 {
            let (row, column) = (16 + accumulator / 4, 20 + accumulator % 4);
            line(&format!("fma.rn.f32 %f{accumulator}, %f{row}, %f{column}, %f{accumulator};"));
        }
    }
    line("bar.sync 0; // tiles are read");
    line("add.u64 %rd3, %rd3, 64;");
    line("add.u64 %rd4, %rd4, %rd5;");
    line("sub.u32 %r1, %r1, 16;");
    line("setp.ne.u32 %p0, %r1, 0;");
    line("@%p0 bra $step;");
    line("mad.lo.u32 %r20, %r6, 16, %r3;");
    line("shl.b32 %r20, %r20, 2;");
    line("mad.lo.u32 %r21, %r5, 16, %r2;");
    line("shl.b32 %r21, %r21, 2;");
    line("mad.lo.u32 %r22, %r20, %r0, %r21;");
    line("mad.wide.u32 %rd6, %r22, 4, %rd2;");
    line("mul.wide.u32 %rd7, %r0, 4;");
    for row in 0..4 {
        let first = 4 * row;
        let list = [first, first + 1, first + 2, first + 3].map(|index| format!("%f{index}")).join(", ");
        line(&format!("st.global.v4.f32 [%rd6], {{{list}}};"));
        line("add.u64 %rd6, %rd6, %rd7;");
    }
    line("ret;");
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry gemm(\n    \
         .param .u64 .ptr .global .align 16 a,\n    .param .u64 .ptr .global .align 16 b,\n    \
         .param .u64 .ptr .global .align 16 c,\n    .param .u32 n,\n    .param .u32 k\n)\n\
         .reqntid 16, 16, 1\n{{\n{body}}}\n"
    )
}
