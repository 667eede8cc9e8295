#!/usr/bin/env bash
# Prepares what the tests read, and passes them all: unit tests, file tests, examples, real models, the ONNX backend suite.
#
# Usage: tests/run.sh
#
# Needs Rust, a C compiler, Python 3.11 or newer, and access to crates.io and PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
tests/setup.sh --expected
cargo test --workspace
cargo run --quiet --bin zoo -- --jobs "$(nproc)"
cargo run --quiet --bin suite -- --jobs "$(nproc)"
