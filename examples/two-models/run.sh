#!/usr/bin/env bash
# Links two models into one C program: every symbol of a library starts with the model's name.
source "$(dirname "$0")/../lithify.sh"
example=$root/examples/two-models

lithify compile "$root/examples/digits/digits.onnx" --emit a,header -o "$out/digits.a"
lithify compile "$example/probabilities.onnx" --emit a,header -o "$out/probabilities.a"
cc -O2 -I "$out" "$example/host.c" "$out/digits.a" "$out/probabilities.a" -o "$out/two-models"
"$out/two-models"
