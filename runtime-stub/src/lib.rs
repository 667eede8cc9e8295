//! The runtime stub.
#![no_std]
