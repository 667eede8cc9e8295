#!/usr/bin/env python3
"""Generate the benchmark models and their inputs.

    models.py OUT_DIR [NAME ...] [--zoo DIR]

Writes OUT_DIR/NAME.onnx and OUT_DIR/NAME.inputs/ for each NAME (all when none is given), runs each model once with
onnxruntime to see that its output is fit for comparisons, and records what it wrote in OUT_DIR/models.json. Weights and
inputs come from a seed made of the model's name, so a model is the same whether it is generated alone or with others.

The models marked "zoo" in --list are real ones: give the folder that tests/zoo/fetch.py filled with --zoo. Without it they
are left out when no NAME is given.

Exit status: 0 when every model is in place, 1 when one or more failed, 2 when the command line is wrong.
"""

import argparse
import json
import sys
import time
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from modelgen import inputs, layers, light, macs, zoo

BUILDERS = {
    "mlp": layers.mlp,
    "mobilenetv2": layers.mobilenetv2,
    "bert_base": layers.bert,
    "bert_small4": partial(layers.bert, layers=4, width=512, heads=8, hidden=2048),
    "resnet50": light.build,
    "squeezenet": light.build,
    "densenet121": light.build,
    "vgg19": light.build,
}
NAMES = (*BUILDERS, *zoo.MODELS)

# An output with fewer distinct values than this (or than half its size) cannot tell right from wrong.
MIN_DISTINCT = 50
# A softmax output above this is one-hot: the weights saturate it.
MAX_PROBABILITY = 0.99


def generator(name, purpose):
    return np.random.default_rng(zlib.crc32(f"{name}/{purpose}".encode()))


def build(name, zoo_folder):
    """The model and the shapes of its inputs."""
    if name in zoo.MODELS:
        return zoo.build(name, zoo_folder)
    model = BUILDERS[name](name, generator(name, "weights"))
    return model, inputs.shapes_of(model)


def check_output(path, arrays):
    """Runs the model; returns (fault or None, description) of its first output."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    output = session.run(None, arrays)[0]
    distinct = len(np.unique(output))
    description = f"output {list(output.shape)}, {distinct} distinct values, deviation {output.std():.3g}"
    if output.dtype != np.float32:
        return f"the first output is {output.dtype}, not float32", description
    if not np.isfinite(output).all():
        return "the output is not finite", description
    if distinct < min(MIN_DISTINCT, max(3, output.size // 2)):
        return "the output is degenerate", description
    is_distribution = output.min() >= 0 and abs(output.sum() - 1) < 1e-2
    if is_distribution and output.max() > MAX_PROBABILITY:
        return "the softmax is saturated", description
    return None, description


def generate(name, out, zoo_folder):
    model, shapes = build(name, zoo_folder)
    path = out / f"{name}.onnx"
    onnx.save(model, path)
    arrays = inputs.write(
        model, shapes, out / f"{name}.inputs", generator(name, "inputs"), text=name in zoo.READ_TEXT_IMAGES
    )
    multiply_accumulates = macs.count(model)
    del model
    fault, description = check_output(path, arrays)
    print(f"{name:18} {path.stat().st_size / 1e6:8.2f} MB  {description}", flush=True)
    if fault:
        raise ValueError(fault)
    return {
        "precision": "f32",
        "weights": "real" if name in zoo.MODELS else "generated",
        "gmac": multiply_accumulates and round(multiply_accumulates / 1e9, 6),
        "size_bytes": path.stat().st_size,
    }


def main():
    parser = argparse.ArgumentParser(description="Generate the benchmark models and their inputs.")
    parser.add_argument("out", type=Path, nargs="?", metavar="OUT_DIR", help="folder to write to")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to generate (default: all)")
    parser.add_argument("--zoo", type=Path, help="folder filled by tests/zoo/fetch.py")
    parser.add_argument("--list", action="store_true", help="list the models and stop")
    options = parser.parse_intermixed_args()
    if options.list:
        for name in NAMES:
            origin = f"zoo ({zoo.MODELS[name][0]})" if name in zoo.MODELS else "generated"
            print(f"{name:18} {origin}")
        return 0
    if options.out is None:
        parser.error("OUT_DIR is missing")
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"unknown model: {', '.join(unknown)} (see --list)")
    names = list(dict.fromkeys(options.names)) or [n for n in NAMES if options.zoo or n not in zoo.MODELS]
    if options.zoo is None and any(name in zoo.MODELS for name in names):
        parser.error("models of the zoo need --zoo DIR (fill it with tests/zoo/fetch.py)")

    options.out.mkdir(parents=True, exist_ok=True)
    record = options.out / "models.json"
    entries = json.loads(record.read_text()) if record.exists() else {}
    failed = []
    for name in names:
        started = time.monotonic()
        try:
            entries[name] = generate(name, options.out, options.zoo)
        except Exception as error:  # the other models are still wanted
            failed.append(name)
            entries.pop(name, None)
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            continue
        entries[name]["seconds_to_generate"] = round(time.monotonic() - started, 1)
        record.write_text(json.dumps(entries, indent=1) + "\n")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
