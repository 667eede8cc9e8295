#!/usr/bin/env python3
"""Write the inputs and reference outputs that the Rust tests compare compiled models with.

    python3 reference.py [--zoo DIR] [--tier TIER] [--force] [NAME ...]

For each model in DIR (written by fetch.py; all of the tier when no NAME is given) it writes DIR/NAME.npz, and
DIR/NAME.second.npz where models.json gives a second size for inputs with symbolic dimensions. Where golden/NAME.npz beside
this program exists, DIR/NAME.npz is a copy of it; otherwise inputs follow the recipe of models.json and outputs are those
of onnxruntime on one thread. A file whose stamp is current is left alone.

Keys of the archives, all arrays little-endian in C order, without pickle:

    in:NAME                 the value of an input
    out:INDEX:NAME          output number INDEX, from 0
    map:INDEX:NAME:keys     of an output that is a sequence of maps: the keys of every map,
    map:INDEX:NAME:values   and one row of values for each element of the sequence

Recipes (`fill` of an input, with `shape` and `second`): uniform in 0..1, normal times `scale`, tone (a sine with noise),
integers from `low` up to but not including `high`, mask (ones, then zeros at the end of every row but the first), zeros, values
(as given in `values` and `second_values`), golden (the first size from golden/NAME.npz, the second a cut of it).

Exit status: 0 when every file is in place, 1 when a model failed.
"""

import argparse
import hashlib
import json
import shutil
import sys
import zlib
from pathlib import Path

import numpy
import onnxruntime

from fetch import add_selection, selected

GOLDEN = Path(__file__).resolve().with_name("golden")


def golden_of(name):
    path = GOLDEN / f"{name}.npz"
    return path if path.is_file() else None


def filled(recipe, name, size, random):
    """One input array; `size` is "shape" or "second"."""
    fill, dtype = recipe["fill"], recipe["dtype"]
    if fill == "values":
        values = recipe["values"] if size == "shape" else recipe["second_values"]
        return numpy.array(values, dtype="U" if dtype == "string" else dtype)
    shape = recipe[size]
    if fill == "uniform":
        value = random.random(shape)
    elif fill == "normal":
        value = random.standard_normal(shape) * recipe.get("scale", 1)
    elif fill == "tone":
        seconds = numpy.arange(shape[-1]) / 16000
        value = 0.3 * numpy.sin(2 * numpy.pi * 440 * seconds) + 0.02 * random.standard_normal(shape)
    elif fill == "integers":
        value = random.integers(recipe["low"], recipe["high"], shape)
    elif fill == "mask":
        value = numpy.ones(shape)
        for row in range(1, shape[0]):
            value[row, shape[1] * row // shape[0] :] = 0
    elif fill == "zeros":
        value = numpy.zeros(shape)
    elif fill == "golden":
        with numpy.load(golden_of(name)) as golden:
            value = golden[f"in:{recipe['name']}"][tuple(slice(0, dim) for dim in shape)]
    else:
        raise ValueError(f"unknown fill {fill!r}")
    return numpy.ascontiguousarray(value, dtype=dtype)


def inputs_of(entry, size):
    random = numpy.random.default_rng([zlib.crc32(entry["name"].encode()), len(size)])
    return {recipe["name"]: filled(recipe, entry["name"], size, random) for recipe in entry["inputs"]}


def has_second(entry):
    return any("second" in recipe or "second_values" in recipe for recipe in entry["inputs"])


def outputs_of(session, inputs):
    """The outputs under their keys of the archive."""
    feeds = {name: value.astype(object) if value.dtype.kind == "U" else value for name, value in inputs.items()}
    arrays = {}
    for index, (output, value) in enumerate(zip(session.get_outputs(), session.run(None, feeds), strict=True)):
        if isinstance(value, list):
            keys = sorted(value[0])
            arrays[f"map:{index}:{output.name}:keys"] = numpy.array(keys)
            arrays[f"map:{index}:{output.name}:values"] = numpy.array(
                [[row[key] for key in keys] for row in value], dtype=numpy.float32
            )
        else:
            arrays[f"out:{index}:{output.name}"] = value.astype("U") if value.dtype == object else value
    return arrays


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def stamp(entry):
    """Changes whenever the archives of the model could."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update(json.dumps(entry, sort_keys=True).encode())
    digest.update(f"onnxruntime {onnxruntime.__version__} numpy {numpy.__version__}".encode())
    if golden := golden_of(entry["name"]):
        digest.update(golden.read_bytes())
    return digest.hexdigest()


def write_references(entry, zoo, force=False):
    """Put the archives of one model in place; returns whether anything had to be written."""
    name = entry["name"]
    first, second, stamp_path = zoo / f"{name}.npz", zoo / f"{name}.second.npz", zoo / f"{name}.stamp"
    wanted = [first] + ([second] if has_second(entry) else [])
    current = stamp(entry)
    if not force and all(path.is_file() for path in wanted) and stamp_path.is_file():
        if stamp_path.read_text() == current:
            return False
    stamp_path.unlink(missing_ok=True)
    session = None
    for path, size in ((first, "shape"), (second, "second")):
        if path not in wanted:
            path.unlink(missing_ok=True)
        elif path == first and (golden := golden_of(name)):
            shutil.copyfile(golden, first)
        else:
            session = session or open_session(zoo / f"{name}.onnx")
            inputs = inputs_of(entry, size)
            arrays = {f"in:{key}": value for key, value in inputs.items()}
            numpy.savez_compressed(path, **arrays, **outputs_of(session, inputs))
    stamp_path.write_text(current)
    return True


def write_all(entries, zoo, force=False):
    """Write the archives of `entries`; returns the names of the models that failed."""
    failed = []
    for entry in entries:
        try:
            state = "written" if write_references(entry, zoo, force) else "current"
            print(f"{entry['name']}: reference {state}", flush=True)
        except Exception as error:  # onnxruntime raises many kinds, and one model must not stop the others
            failed.append(entry["name"])
            print(f"{entry['name']}: reference FAILED: {error}", file=sys.stderr, flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description="Write inputs and reference outputs of the zoo's models.")
    parser.add_argument("--zoo", type=Path, default=Path("target/zoo"), help="folder of the models (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="write again even when the stamp is current")
    add_selection(parser)
    options = parser.parse_args()
    failed = write_all(selected(parser, options), options.zoo, options.force)
    if failed:
        print(f"{len(failed)} models failed: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
