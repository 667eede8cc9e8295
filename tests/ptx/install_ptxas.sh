#!/usr/bin/env bash
# Installs the pinned ptxas (CUDA 13.5) from PyPI under target/cuda and prints the folder to put on PATH.
# NVIDIA's licence applies to it: it is a tool for checking, never committed nor shipped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}/cuda
version=13.5.37
if [ ! -x "$target/$version/nvidia/cu13/bin/ptxas" ]; then
    # The wheel names the CUDA runtime as a dependency; ptxas needs none of it.
    python3 -m pip install --quiet --no-deps --only-binary=:all: --upgrade --target "$target/$version" \
        "nvidia-cuda-nvcc==$version"
fi
"$target/$version/nvidia/cu13/bin/ptxas" --version >/dev/null
echo "$target/$version/nvidia/cu13/bin"
