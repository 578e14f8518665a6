"""Write programs.json: what TensorFlow gives for each program. Run it where TensorFlow is installed."""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent


def plain(value):
    """Numbers of a nest, as JSON can hold them."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    array = np.asarray(value)
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": array.ravel().tolist()}


if __name__ == "__main__":
    import tensorflow as tf

    from tests.control.programs import PROGRAMS

    found = {}
    for name, function in PROGRAMS.items():
        try:
            found[name] = plain(function(tf))
        except Exception as error:
            found[name] = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
            print(name, found[name])
    lines = [f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in found.items()]
    (HERE / "programs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
