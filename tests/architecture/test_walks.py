"""How many functions and files somebody reads who follows a call through the library. The figures are upper bounds."""

import json
import os
import subprocess
import sys

from tests.architecture.rules import ROOT

# Of each call that records an op: functions entered, files, and of the entries those that convert operands.
OPS = {
    "tf.matmul(x, y)": (6, 6, 1),
    "tf.matmul(x, v)": (7, 7, 1),
    "tf.matmul(array, x)": (18, 9, 5),
    "tf.matmul(rows, x)": (20, 9, 6),
    "tf.matmul([rows], [rows])": (34, 9, 12),
    "x @ v": (5, 5, 0),
    "x + 1.0": (7, 5, 0),
    "v * 0.5": (9, 6, 0),
    "tf.add(x, y)": (6, 6, 1),
    "tf.add(x, 1.0)": (7, 6, 1),
    "tf.concat([x, y], 0)": (7, 6, 1),
    "tf.reduce_sum(x, axis=1)": (8, 6, 1),
    "tf.reshape(x, [-1, 2])": (9, 7, 2),
    "v.assign_sub(y)": (8, 3, 0),
}

# How many operands `node_of` converts, each in one visit; a shortcut takes those of the other calls.
VISITS = {"tf.matmul(array, x)": 1, "tf.matmul(rows, x)": 1, "tf.matmul([rows], [rows])": 2, "tf.reduce_sum(x, axis=1)": 1}

# Files entered the first time and the second time. What is aimed at for the first time: 20, 28 and 20.
FILES = {"gradient": (22, 8), "while": (31, 9), "session": (20, 10)}


def test_calls_are_short_walks():
    python = os.environ | {"GRADTAPE_PURE": "1"}  # in C the walks are shorter, but nobody reads C first
    found = subprocess.run([sys.executable, "-m", "tests.architecture.walks"], cwd=ROOT, capture_output=True, env=python)
    assert found.returncode == 0, found.stderr.decode()
    walks = json.loads(found.stdout)
    reached = {call: tuple([walks["ops"][call][figure] for figure in ("entries", "files", "conversions")]) for call in OPS}
    reached |= {call: tuple([walk["files"] for walk in walks[call]]) for call in FILES}
    bounds = OPS | FILES
    longer = {call: (figures, bounds[call]) for call, figures in reached.items() if any(map(int.__gt__, figures, bounds[call]))}
    assert not longer, "\n".join([f"{call}: {figures}, where {most} was reached" for call, (figures, most) in longer.items()])
    visits = {call: walks["ops"][call]["visits"] for call in OPS} | {"gradient": walks["gradient"][0]["visits"]}
    again = {call: times for call, times in visits.items() if times > VISITS.get(call, 0)}
    assert not again, f"operands are converted more than once: {again}"
