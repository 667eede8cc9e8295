//! PTX, the code of NVIDIA GPUs.

#[cfg(feature = "ptxas")]
pub mod ptxas;
