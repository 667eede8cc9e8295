//! The runtime stub, built by the build script and embedded in the compiler.

/// The stub as a static library (`ar` archive of relocatable objects) for [`TARGET`].
pub const ARCHIVE: &[u8] = include_bytes!(env!("LITHIFY_STUB_ARCHIVE"));

/// The Rust target triple that [`ARCHIVE`] was built for.
pub const TARGET: &str = env!("LITHIFY_STUB_TARGET");
