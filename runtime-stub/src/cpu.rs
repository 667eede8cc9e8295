//! Which instructions the processor has.

/// SSE up to 4.2 and POPCNT (x86-64-v2).
pub const X86_V2: u64 = 1;
/// AVX2, FMA, BMI1, BMI2 and LZCNT (x86-64-v3).
pub const X86_V3: u64 = 2;
/// AVX-512 F, BW, CD, DQ and VL (x86-64-v4).
pub const X86_V4: u64 = 4;

/// The features of this processor that the operating system lets programs use.
#[cfg(target_arch = "x86_64")]
pub fn features() -> u64 {
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    let has = |register: u32, bits: &[u32]| bits.iter().all(|bit| register & (1 << bit) != 0);
    let highest = __cpuid(0).eax;
    let basic = __cpuid(1);
    let mut features = 0;
    // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT.
    if has(basic.ecx, &[0, 9, 13, 19, 20, 23]) {
        features |= X86_V2;
    }
    // OSXSAVE: the operating system tells through XCR0 which registers it saves.
    if features == 0 || !has(basic.ecx, &[27]) || highest < 7 {
        return features;
    }
    // SAFETY: OSXSAVE says that the instruction exists.
    let saved = unsafe { xgetbv() };
    #[target_feature(enable = "xsave")]
    unsafe fn xgetbv() -> u64 {
        // SAFETY: the caller has checked OSXSAVE.
        unsafe { _xgetbv(0) }
    }
    let structured = __cpuid_count(7, 0);
    let extended = if __cpuid(0x8000_0000).eax >= 0x8000_0001 { __cpuid(0x8000_0001).ecx } else { 0 };
    // AVX, FMA, MOVBE, F16C; AVX2, BMI1, BMI2; LZCNT.
    if saved & 6 == 6 && has(basic.ecx, &[28, 12, 22, 29]) && has(structured.ebx, &[3, 5, 8]) && has(extended, &[5]) {
        features |= X86_V3;
        // F, DQ, CD, BW, VL.
        if saved & 0xe6 == 0xe6 && has(structured.ebx, &[16, 17, 28, 30, 31]) {
            features |= X86_V4;
        }
    }
    features
}

/// The features of this processor; none are needed beyond the base.
#[cfg(not(target_arch = "x86_64"))]
pub fn features() -> u64 {
    0
}
