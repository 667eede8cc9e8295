"""Weights for models whose package ships the graph without them: seeded normal numbers of the right shapes."""

import math

import numpy
import onnx


def write_weights(model_path, file_name, recipe, target):
    """Fill the external data file `file_name` of a model.

    Numbers are drawn for every external initializer in graph order, so that they do not depend on how the initializers
    are spread over files. `recipe` gives `seed` and `scale`; weights of normalizations are 1 plus that.
    """
    random = numpy.random.default_rng(recipe["seed"])
    for tensor in onnx.load(model_path, load_external_data=False).graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        place = {entry.key: entry.value for entry in tensor.external_data}
        values = random.standard_normal(math.prod(tensor.dims), dtype=numpy.float32) * numpy.float32(recipe["scale"])
        is_normalization = tensor.name.endswith("gamma") or ("norm" in tensor.name and "weight" in tensor.name)
        if len(tensor.dims) == 1 and is_normalization:
            values += numpy.float32(1)
        if place["location"] == file_name:
            target.seek(int(place.get("offset") or 0))
            target.write(values.astype("<f4").tobytes())
