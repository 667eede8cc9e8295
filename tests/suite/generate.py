#!/usr/bin/env python3
"""Write the ONNX backend test suite as files that the Rust tests read.

    python3 generate.py [--out DIR] [--force]

The suite is the one of the `onnx` package that tests/requirements.txt pins. Its families:

    node                one operator each, built by Python code in the package
    simple              small models
    pytorch-converted   layers exported by PyTorch
    pytorch-operator    operators exported by PyTorch
    light               well-known networks whose weights are constants; inputs and tolerances as the package's own runner
                        gives them

Every case is a folder DIR/FAMILY/NAME with `model.onnx` and, for each data set N, `data_N/input_I.pb` and
`data_N/output_I.pb`: a TensorProto, SequenceProto or OptionalProto, by the `kind` of that input or output in
DIR/index.json. Input I is the model's input number I, not counting inputs that have an initializer.

DIR/index.json has a `stamp`, `onnx_version` and `cases`: a list of objects with `name`, `family`, `folder`, `rtol`, `atol`,
`opset` (version of the default domain, null when it is not imported), `data_sets` (how many), and `inputs` and `outputs`
(`name`, `kind`, and `element_type`: the ONNX number of a tensor's elements, 0 when it is not a tensor).

The output is a function of the pinned packages. A folder whose stamp is current is left alone.
"""

import argparse
import hashlib
import json
import shutil
import sys
import warnings
from collections import Counter
from pathlib import Path

import ml_dtypes
import numpy
import onnx
import onnx.backend.test
from onnx import numpy_helper

FAMILIES = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
DEFAULT_RTOL, DEFAULT_ATOL = 1e-3, 1e-7
PACKAGE_DATA = Path(onnx.backend.test.__file__).parent / "data"


def stamp():
    """Changes whenever the output could."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update(f"onnx {onnx.__version__} numpy {numpy.__version__} ml_dtypes {ml_dtypes.__version__}".encode())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------------------- values


def fed_inputs(model):
    """The inputs that a caller gives: those without an initializer."""
    initialized = {initializer.name for initializer in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in initialized]


def describe(value_info):
    kind = value_info.type.WhichOneof("value").removesuffix("_type")
    if kind not in ("tensor", "sequence", "optional"):
        raise ValueError(f"{value_info.name}: values of kind {kind} have no file form")
    element_type = value_info.type.tensor_type.elem_type if kind == "tensor" else 0
    return {"name": value_info.name, "kind": kind, "element_type": element_type}


def serialized(value, value_info):
    """The bytes of one input or output file."""
    kind, name = describe(value_info)["kind"], value_info.name
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString(deterministic=True)
    if kind == "sequence":
        proto = numpy_helper.from_list(value, name)
    elif kind == "optional":
        proto = numpy_helper.from_optional(value, name)
    else:
        proto = numpy_helper.from_array(numpy.asarray(value), name)
    return proto.SerializeToString(deterministic=True)


# -------------------------------------------------------------------------------------------------------------- cases


def write_case(out, family, name, model, data_sets, rtol, atol):
    """Write one case; `data_sets` holds (input files' bytes, output files' bytes). Returns its entry of the index."""
    folder = out / family / name
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    for number, (inputs, outputs) in enumerate(data_sets):
        data = folder / f"data_{number}"
        data.mkdir()
        for index, content in enumerate(inputs):
            (data / f"input_{index}.pb").write_bytes(content)
        for index, content in enumerate(outputs):
            (data / f"output_{index}.pb").write_bytes(content)
    inputs, outputs = fed_inputs(model), model.graph.output
    for given_inputs, given_outputs in data_sets:
        if (len(given_inputs), len(given_outputs)) != (len(inputs), len(outputs)):
            raise ValueError(f"{name}: the number of values differs from the number of inputs or outputs")
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    return {
        "name": name,
        "family": family,
        "folder": f"{family}/{name}",
        "rtol": rtol,
        "atol": atol,
        "opset": opsets.get("", opsets.get("ai.onnx")),
        "data_sets": len(data_sets),
        "inputs": [describe(value) for value in inputs],
        "outputs": [describe(value) for value in outputs],
    }


def node_cases(out):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases compute NaN and infinities on purpose
        from onnx.backend.test.case import node

        cases = node.collect_testcases()
    for case in cases:
        model = case.model
        data_sets = [
            (
                [serialized(value, info) for value, info in zip(inputs, fed_inputs(model), strict=True)],
                [serialized(value, info) for value, info in zip(outputs, model.graph.output, strict=True)],
            )
            for inputs, outputs in case.data_sets
        ]
        yield write_case(out, "node", case.name, model, data_sets, case.rtol, case.atol)


def stored_cases(out, family):
    """Cases that the package stores as files."""
    for case in sorted((PACKAGE_DATA / family).iterdir()):
        if not (case / "model.onnx").is_file():
            continue
        settings = json.loads((case / "data.json").read_text()) if (case / "data.json").is_file() else {}
        data_sets = []
        for data in sorted(case.glob("test_data_set_*"), key=lambda path: int(path.name.rpartition("_")[2])):
            sides = []
            for side in ("input", "output"):
                count = len(list(data.glob(f"{side}_*.pb")))
                sides.append([(data / f"{side}_{index}.pb").read_bytes() for index in range(count)])
            data_sets.append(tuple(sides))
        model = onnx.load(case / "model.onnx")
        rtol, atol = settings.get("rtol", DEFAULT_RTOL), settings.get("atol", DEFAULT_ATOL)
        yield write_case(out, family, case.name, model, data_sets, rtol, atol)


def light_input(value_info):
    """The input that the package's runner feeds to these networks: a ramp from 0 to just below 1."""
    if value_info.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
        raise ValueError(f"{value_info.name}: only float inputs are defined for light models")
    dims = value_info.type.tensor_type.shape.dim
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else 1 for dim in dims)
    count = numpy.prod(shape)
    return (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)


def light_cases(out):
    """Networks named by a `data.json`, with the model and its outputs in another folder of the package."""
    for case in sorted(path.parent for path in (PACKAGE_DATA / "real").glob("*/data.json")):
        settings = json.loads((case / "data.json").read_text())
        path = PACKAGE_DATA / "light" / Path(settings["url"]).name
        if not path.is_file():
            continue
        model = onnx.load(path)
        inputs = [serialized(light_input(info), info) for info in fed_inputs(model)]
        outputs = [
            path.with_name(f"{path.stem}_output_{index}.pb").read_bytes() for index in range(len(model.graph.output))
        ]
        rtol, atol = settings.get("rtol", DEFAULT_RTOL), settings.get("atol", DEFAULT_ATOL)
        yield write_case(out, "light", case.name, model, [(inputs, outputs)], rtol, atol)


def all_cases(out):
    yield from node_cases(out)
    for family in ("simple", "pytorch-converted", "pytorch-operator"):
        yield from stored_cases(out, family)
    yield from light_cases(out)


# --------------------------------------------------------------------------------------------------------------- main


def is_current(index_path):
    try:
        return json.loads(index_path.read_text())["stamp"] == stamp()
    except (OSError, ValueError, KeyError):
        return False


def report(cases):
    counts = Counter(case["family"] for case in cases)
    print(", ".join(f"{family} {counts[family]}" for family in FAMILIES) + f", total {len(cases)}")


def main():
    parser = argparse.ArgumentParser(description="Write the ONNX backend test suite as files.")
    parser.add_argument("--out", type=Path, default=Path("target/suite"), help="folder to write (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="write again even when the stamp is current")
    options = parser.parse_args()
    index_path = options.out / "index.json"
    if not options.force and is_current(index_path):
        print(f"{options.out} is current: ", end="")
        report(json.loads(index_path.read_text())["cases"])
        return 0
    # The index goes first and comes back last: a folder with an index is complete.
    index_path.unlink(missing_ok=True)
    for family in FAMILIES:
        shutil.rmtree(options.out / family, ignore_errors=True)
    options.out.mkdir(parents=True, exist_ok=True)
    cases = sorted(all_cases(options.out), key=lambda case: (FAMILIES.index(case["family"]), case["name"]))
    names = Counter(case["name"] for case in cases)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"names used by several cases: {', '.join(repeated)}")
    index = {"stamp": stamp(), "onnx_version": onnx.__version__, "cases": cases}
    index_path.write_text(json.dumps(index, indent=1) + "\n")
    print(f"wrote {options.out}: ", end="")
    report(cases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
