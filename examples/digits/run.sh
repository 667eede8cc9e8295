#!/usr/bin/env bash
# Compiles digits.onnx to a static library, links it into a C program, and reads a digit with it.
#
# Usage: examples/digits/run.sh [IMAGE.pgm]
source "$(dirname "$0")/../lithify.sh"
example=$root/examples/digits

lithify compile "$example/digits.onnx" --emit a,header -o "$out/digits.a"
cc -O2 -I "$out" "$example/host.c" "$out/digits.a" -o "$out/digits"
"$out/digits" "${1:-$example/samples/digit-3.pgm}"
