#!/usr/bin/env python3
"""Writes probabilities.onnx, which turns scores into probabilities. Needs the package onnx; tests/setup.sh installs it."""

from pathlib import Path

import onnx

MODEL = """
<ir_version: 8, opset_import: ["" : 13]>
probabilities (float[rows, 10] scores) => (float[rows, 10] probabilities)
{
    probabilities = Softmax <axis = -1> (scores)
}
"""

model = onnx.parser.parse_model(MODEL)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, Path(__file__).resolve().parent / "probabilities.onnx")
