#!/usr/bin/env bash
# Builds a Rust program that contains the digits model, and reads digits with it.
#
# Usage: examples/rust-host/run.sh [IMAGE.pgm...]
source "$(dirname "$0")/../lithify.sh"
example=$root/examples/rust-host

# The build script starts the compiler, so it must be built before.
if [ -z "${LITHIFY:-}" ]; then
    cargo build --quiet --manifest-path "$root/Cargo.toml" --bin lithify
    export LITHIFY=${CARGO_TARGET_DIR:-$root/target}/debug/lithify
fi
[ $# -gt 0 ] || set -- "$root"/examples/digits/samples/*.pgm
CARGO_TARGET_DIR=$out cargo run --quiet --manifest-path "$example/Cargo.toml" -- "$@"
