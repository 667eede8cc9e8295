#!/usr/bin/env python3
"""Compile benchmark models and measure what that costs.

    compile.py LITHIFY MODELS_DIR OUT_DIR NAME ...

Writes OUT_DIR/NAME.so for each model, and OUT_DIR/compile.json with seconds, peak memory and sizes. Each is compiled three
times; the median time counts. Also times examples/digits, a call and a compilation.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import onnx

REPEATS = 3


def run(command):
    """Seconds and peak resident MiB of a process."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: {process.stderr.read().decode(errors='replace').strip()}")
    return seconds, usage.ru_maxrss / 1024


def weight_bytes(path):
    model = onnx.load(path)
    return sum(len(tensor.raw_data) or tensor.ByteSize() for tensor in model.graph.initializer)


def compile_model(lithify, model, library):
    measured = [run([lithify, "compile", model, "-o", library]) for _ in range(REPEATS)]
    weights = weight_bytes(model)
    return {
        "seconds": median(seconds for seconds, _ in measured),
        "peak_mib": max(peak for _, peak in measured),
        "artifact_bytes": library.stat().st_size,
        "weight_bytes": weights,
    }


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    lithify, models, out = (Path(argument).resolve() for argument in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    report = {}
    print("| model | compile s | peak MiB | artifact KiB over weights |\n|---|---|---|---|")
    digits = Path(__file__).resolve().parent.parent / "examples" / "digits" / "digits.onnx"
    for name, model in [(n, models / f"{n}.onnx") for n in sys.argv[4:]] + [("digits", digits)]:
        entry = report[name] = compile_model(lithify, model, out / f"{name}.so")
        over = (entry["artifact_bytes"] - entry["weight_bytes"]) / 1024
        print(f"| {name} | {entry['seconds']:.2f} | {entry['peak_mib']:.0f} | {over:.0f} |", flush=True)
    answer = subprocess.run(
        [lithify, "bench", out / "digits.so", "--json"], check=True, capture_output=True, text=True
    )
    report["digits"]["call_us"] = json.loads(answer.stdout)["median_us"]
    print(f"\nexamples/digits: {report['digits']['call_us']:.2f} us a call, median")
    (out / "compile.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
