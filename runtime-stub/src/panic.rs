//! The panic handler of the stub that is linked into models. Under `std` (tests, the compiler's own process) the
//! standard library's handler is used, so this file is compiled only with `--cfg stub_standalone`.

use core::panic::PanicInfo;

/// A panic in the stub is a defect: every failure a caller can cause is reported as an error code. Stop at once,
/// without unwinding into a foreign frame and without a message that would pull formatting code into every model.
#[panic_handler]
fn stop(_information: &PanicInfo<'_>) -> ! {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    // SAFETY: `ud2` raises an invalid-opcode exception and never continues.
    unsafe {
        core::arch::asm!("ud2", options(noreturn, nomem, nostack))
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `brk` raises a breakpoint exception; nothing resumes after it.
    unsafe {
        core::arch::asm!("brk #1", options(noreturn, nomem, nostack))
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    loop {
        core::hint::spin_loop();
    }
}
