"""The nonlinear regression sets of NIST's Statistical Reference Datasets: data, models, starting points, certified values.

`nist.json` holds the 27 sets as they are published (https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml): observations, two
starting points, certified parameters and standard deviations (11 digits), certified residual sums of squares.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Problem:
    """A set: residuals are `model(functions, parameters, x) - y`, where `functions` has exp, cos, sin and atan."""

    name: str
    model: object
    x: np.ndarray
    y: np.ndarray
    starts: list[list[float]]
    certified: np.ndarray
    standard_deviations: np.ndarray
    residual_sum_of_squares: float


def rise(m, b, x):
    return b[0] * (1 - m.exp(-b[1] * x))


def decay(m, b, x):
    return m.exp(-b[0] * x) / (b[1] + b[2] * x)


def peaks(m, b, x):
    first, second = (x - b[3]) / b[4], (x - b[6]) / b[7]
    return b[0] * m.exp(-b[1] * x) + b[2] * m.exp(-(first**2)) + b[5] * m.exp(-(second**2))


def cubics(m, b, x):
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def exponentials(m, b, x):
    return b[0] * m.exp(-b[1] * x) + b[2] * m.exp(-b[3] * x) + b[4] * m.exp(-b[5] * x)


def cycles(m, b, x):
    a = 2 * math.pi * x
    year = b[0] + b[1] * m.cos(a / 12) + b[2] * m.sin(a / 12)
    return year + b[4] * m.cos(a / b[3]) + b[5] * m.sin(a / b[3]) + b[7] * m.cos(a / b[6]) + b[8] * m.sin(a / b[6])


MODELS = {
    "Bennett5": lambda m, b, x: b[0] * (b[1] + x) ** (-1 / b[2]),
    "BoxBOD": rise,
    "Chwirut1": decay,
    "Chwirut2": decay,
    "DanWood": lambda m, b, x: b[0] * x ** b[1],
    "ENSO": cycles,
    "Eckerle4": lambda m, b, x: b[0] / b[1] * m.exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    "Gauss1": peaks,
    "Gauss2": peaks,
    "Gauss3": peaks,
    "Hahn1": cubics,
    "Kirby2": lambda m, b, x: (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2),
    "Lanczos1": exponentials,
    "Lanczos2": exponentials,
    "Lanczos3": exponentials,
    "MGH09": lambda m, b, x: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
    "MGH10": lambda m, b, x: b[0] * m.exp(b[1] / (x + b[2])),
    "MGH17": lambda m, b, x: b[0] + b[1] * m.exp(-x * b[3]) + b[2] * m.exp(-x * b[4]),
    "Misra1a": rise,
    "Misra1b": lambda m, b, x: b[0] * (1 - (1 + b[1] * x / 2) ** -2),
    "Misra1c": lambda m, b, x: b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5),
    "Misra1d": lambda m, b, x: b[0] * b[1] * x / (1 + b[1] * x),
    "Nelson": lambda m, b, x: b[0] - b[1] * x[0] * m.exp(-b[2] * x[1]),  # of the logarithm of y
    "Rat42": lambda m, b, x: b[0] / (1 + m.exp(b[1] - b[2] * x)),
    "Rat43": lambda m, b, x: b[0] / (1 + m.exp(b[1] - b[2] * x)) ** (1 / b[3]),
    "Roszman1": lambda m, b, x: b[0] - b[1] * x - m.atan(b[2] / (x - b[3])) / math.pi,
    "Thurber": cubics,
}


def problems():
    """All 27 sets."""
    data = json.loads(Path(__file__).with_name("nist.json").read_text())
    return [_problem(name, data[name]) for name in MODELS]


def _problem(name, data):
    x, y = np.array(data["x"]), np.array(data["y"])
    return Problem(
        name,
        MODELS[name],
        x[0] if len(x) == 1 else x,
        np.log(y) if name == "Nelson" else y,
        data["starts"],
        np.array(data["certified"]),
        np.array(data["standard_deviations"]),
        data["residual_sum_of_squares"],
    )
