"""The package keeps the rules of the house, and each rule finds the sample that breaks it."""

import re
import sys
import tomllib

import pytest

from tests.architecture.rules import CORE_LEVELS, OURS, ROOT, Source, sources, violations

PACKAGES = OURS


@pytest.mark.parametrize("source", sources(*PACKAGES), ids=lambda source: source.path)
def test_file_keeps_the_rules(source):
    assert not violations(source), "\n" + "\n".join(violations(source))


CORE, OPS, TAPE = "gradtape/_src/core/engine/engine.py", "gradtape/_src/ops/math.py", "gradtape/_src/autodiff/tape.py"
HOST = "gradtape/_src/core/host/arrays.py"
EXPLAIN, CLI, PUBLIC = "gradtape/_src/explain/report.py", "gradtape/_src/cli/run.py", "gradtape/math.py"

BROKEN = [
    # imports point downwards
    (CORE, "from gradtape._src.ops import math", "floor 1 .* imports gradtape._src.ops.math of floor 2"),
    (CORE, "import gradtape", "imports gradtape of floor 8"),
    (CORE, "from gradtape import math", "imports gradtape.math of floor 8"),
    (CORE, "def run():\n    from gradtape._src.autodiff.tape import GradientTape", "engine.py:2: .* of floor 3"),
    (CORE, "from ...ops.math import sin", "imports gradtape._src.ops.math.sin of floor 2"),
    (CORE, "from ... import ops", "imports gradtape._src.ops of floor 2"),
    ("gradtape/_src/core/__init__.py", "from ..ops import math", "imports gradtape._src.ops.math of floor 2"),
    (CORE, "import importlib\nimportlib.import_module('gradtape._src.ops.math')", "engine.py:2: .* of floor 2"),
    (CORE, "from importlib import import_module as load\nload('gradtape.nn')", "imports gradtape.nn of floor 8"),
    (OPS, "import gradtape._src.autodiff.tape as tape", "floor 2 .* of floor 3"),
    (TAPE, "from gradtape._src.control.function import function", "floor 3 .* of floor 4"),
    (EXPLAIN, "from gradtape._src.profile.flops import count", "its neighbour on floor 5"),
    (EXPLAIN, "import keras_gradtape", "its neighbour on floor 5"),
    (EXPLAIN, "from gradtape._src.cli import commands", "of floor 8"),
    (EXPLAIN, "from gradtape._src.attic import junk", "imports gradtape._src.attic.junk, which has no floor"),
    ("gradtape/_src/attic.py", "x = 1", "this file has no floor"),
    ("gradtape/_src/__init__.py", "from gradtape._src.core.engine import engine", "imports nothing"),
    # what is filled in from above
    (
        TAPE,
        "from gradtape._src.core.tensors.tensor import Tensor\nTensor.log = log",
        "changes .*Tensor of floor 1 from floor 3; fill in",
    ),
    (
        TAPE,
        "from gradtape._src.core.engine import engine\nengine.local.trace = None",
        "changes gradtape._src.core.engine.engine.local of floor 1",
    ),
    (
        TAPE,
        "from gradtape._src.core.engine import execution\nexecution.counters.plans += 1",
        "tape.py:2: changes .*counters of floor 1",
    ),
    (
        OPS,
        "from gradtape._src.core.tensors.tensor import Tensor\nfor k in (Tensor,):\n    setattr(k, name, f)",
        "math.py:3: changes .*Tensor",
    ),
    (
        EXPLAIN,
        "from gradtape._src.core.programs import journal\njournal.calls.append(call)",
        "changes gradtape._src.core.programs.journal.calls",
    ),
    (
        CLI,
        "from gradtape._src.core.programs import journal as j\ndel j.calls[0]",
        "changes gradtape._src.core.programs.journal.calls",
    ),
    # folders of ops
    ("gradtape/_src/ops/math/clip.py", "from gradtape._src.ops.nn.losses import l2_loss", "ops/math imports .* not below it"),
    ("gradtape/_src/ops/image/resize.py", "from gradtape._src.ops.signal import fourier", "ops/image imports .* not below it"),
    # one way into another trace
    (TAPE, "engine.local.trace = outer", "tape.py:1: sets the trace of the thread"),
    (TAPE, "state.trace, state.tapes = outer, []", "sets the trace of the thread"),
    # levels of core
    (
        CORE,
        "from gradtape._src.core.tensors import tensor",
        "core/engine imports gradtape._src.core.tensors.tensor of core/tensors, which .*; move what it",
    ),
    (
        "gradtape/_src/core/host/arrays.py",
        "from gradtape._src.core.values.aval import aval",
        "core/host imports .* of core/values, which stands above it",
    ),
    ("gradtape/_src/core/attic.py", "x = 1", "core/attic has no level; put it into a folder of CORE_LEVELS"),
    # gradients are our own
    (OPS, "import jax\njax.grad(f)", "math.py:2: uses jax.grad; gradients are rules of this library"),
    (OPS, "from jax import vjp", "uses jax.vjp"),
    # devices are told apart in one table
    (
        OPS,
        "from gradtape._src.core.platform.arrays import lax\nlax.platform_dependent(x, cpu=f, default=g)",
        "enter the rule into the table",
    ),
    (OPS, "import jax\njax.lax.platform_dependent(x, cpu=f, default=g)", "uses jax.lax.platform_dependent"),
    (
        OPS,
        "from gradtape._src.core.platform.arrays import is_on_host",
        "uses gradtape._src.core.platform.arrays.is_on_host to choose",
    ),
    (OPS, "import jax as j\nrule = j.custom_vjp", "uses jax.custom_vjp"),
    (TAPE, "import jax\n@jax.custom_jvp\ndef f(x): return x", "uses jax.custom_jvp"),
    (TAPE, "import jax\njax.linearize(f, x)", "uses jax.linearize"),
    (TAPE, "from jax.interpreters import ad", "uses jax.interpreters.ad"),
    (CLI, "import jax\njax.value_and_grad(f)", "uses jax.value_and_grad"),
    # dependencies by their public names
    (CORE, "from jax._src import core", "uses jax._src.core; _src is private to jax"),
    (CORE, "import jax\njax._src.core", "engine.py:2: uses jax._src"),
    (CORE, "import jax._src.core", "_src is private to jax"),
    (CORE, "import numpy as np\nnp._core.umath", "_core is private to numpy"),
    (CORE, "import optree\noptree._C.flatten(x)", "_C is private to optree"),
    # no code from data
    (CORE, "import pickle", "imports pickle, which runs code from a file"),
    (CORE, "def load():\n    from pickle import loads", "engine.py:2: imports pickle.loads"),
    (CORE, "eval('1')", "calls eval"),
    (CORE, "exec('x = 1')", "calls exec"),
    (CORE, "import builtins\nbuiltins.exec('x = 1')", "calls builtins.exec"),
    (CLI, "eval('1')", "calls eval"),
    (CORE, "import numpy as np\nnp.load(path, allow_pickle=True)", "passes allow_pickle"),
    # public modules hold no logic
    (PUBLIC, "def sin(x): return x", "holds `from gradtape._src.* and no logic"),
    ("gradtape/compat/v1.py", "x = 1", "no logic"),
    (PUBLIC, "from gradtape._src.core.x import range_ as range", ":1: imports range_ as range, which type checkers"),
    ("gradtape/__init__.py", "if True:\n    from gradtape._src.core.tensors.tensor import Tensor as Tensor", "no logic"),
    # kernels state their dtypes
    (OPS, "import jax.numpy as jnp\njnp.ones((2, 3))", "math.py:2: jnp.ones without dtype="),
    (OPS, "from jax import numpy as jnp\njnp.zeros(shape)", "jnp.zeros without dtype="),
    (OPS, "from gradtape._src.core.platform.arrays import jnp\njnp.zeros(shape)", "jnp.zeros without dtype="),
    (OPS, "from jax.numpy import arange\narange(0, 10, 2)", "jnp.arange without dtype="),
    (OPS, "import jax\njax.numpy.asarray(0.5)", "jnp.asarray without dtype="),
    (OPS, "import jax.numpy as jnp\njnp.full((2,), 1.0)", "jnp.full without dtype="),
    (OPS, "import jax.numpy as jnp\njnp.linspace(0, 1, 5)", "jnp.linspace without dtype="),
    (OPS, "import jax.numpy as jnp\njnp.eye(3)", "jnp.eye without dtype="),
    (OPS, "import jax\njax.nn.one_hot(x, 3)", "one_hot without dtype="),
    (OPS, "import numpy as np\nnp.sqrt(2.0)", "np.sqrt gives a NumPy float64"),
    (OPS, "import numpy\nnumpy.prod(x.shape)", "np.prod gives a NumPy"),
    (OPS, "import numpy as np\nnp.sqrt(2.0)  # host-side:", "np.sqrt gives a NumPy float64"),
    # products by one thread
    (OPS, "@op('Square')\ndef square(x):\n    return x @ x", "math.py:3: `@` on NumPy arrays may use several threads"),
    (OPS, "x @= y", "math.py:1: `@` on NumPy arrays"),
    (HOST, "import numpy as np\nnp.tensordot(x, y)", "arrays.py:2: numpy.tensordot on NumPy arrays"),
    (HOST, "from numpy import einsum\neinsum('ij,jk', x, y)", "numpy.einsum on NumPy arrays"),
]


@pytest.mark.parametrize(("path", "text", "message"), BROKEN)
def test_a_broken_rule_is_found(path, text, message):
    with pytest.raises(AssertionError, match=message):
        test_file_keeps_the_rules(Source(path, text))


KEPT = [
    (OPS, "from gradtape._src.core.values import dtypes\nfrom gradtape._src.ops import array"),
    (OPS, "from . import array\nfrom ..core.values import dtypes"),
    (
        CORE,
        "from gradtape._src.core.engine import slices\nfrom gradtape._src.core.programs import program",
    ),
    (CORE, "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gradtape._src.core.tensors.tensor import Tensor"),
    ("gradtape/_src/ops/math/clip.py", "from gradtape._src.ops.array.cast import cast"),
    (EXPLAIN, "from gradtape._src.core.base import hooks\nhooks.gradients.missing = missing\nhooks.attach(Tensor, log=log)"),
    (EXPLAIN, "from gradtape._src.core.base.hooks import watch as w\nw.asked, w.ran = asked, ran"),
    (CORE, "from gradtape._src.core.engine import tiers\ntiers.early = True"),
    (TAPE, "from gradtape._src.ops.math import arithmetic\narithmetic.add(x, y)\nx.y = 1\ntotal = {}\ntotal[x] = 1"),
    ("gradtape/_src/ops/array/creation.py", "from gradtape._src.ops.math.compare import equal"),
    ("gradtape/_src/ops/nn/dropout.py", "from gradtape._src.ops.random import draws\nfrom gradtape._src.ops import shapes"),
    (EXPLAIN, "from gradtape._src.control.function import function\nfrom gradtape._src.explain import report"),
    (CLI, "import gradtape as tf\nexec(code, names)"),
    (PUBLIC, '"""Mathematics."""\n\nfrom gradtape._src.ops.math import sin as sin'),
    ("gradtape/__init__.py", "from gradtape import math as math, nn as nn\n\n__version__ = '0.1.0'"),
    (PUBLIC, "from gradtape._src.ops.array.creation import range_ as _range\n\nrange = _range"),
    (PUBLIC, "from typing import TYPE_CHECKING as _TYPE_CHECKING\nif _TYPE_CHECKING:\n    from keras import *"),
    ("gradtape/_src/__init__.py", '"""What the public modules re-export."""'),
    (TAPE, "import jax\njax.vmap(f)\njax.jit(f)\njax.eval_shape(f)\nself.hessian = tape.jacobian\nmodel.eval()"),
    (CORE, "import jax, sys\nfrom __future__ import annotations\nsys._getframe(1)\nself._value\njax.__version__"),
    (OPS, "import jax.numpy as jnp\njnp.ones(shape, x.dtype)\njnp.zeros(shape, dtype=x.dtype)\njnp.ones_like(x)"),
    (OPS, "import jax.numpy as jnp\njnp.full(shape, 0, x.dtype)\njnp.arange(0, n, 1, x.dtype)\njnp.eye(n, **options)"),
    (OPS, "import numpy as np\nnp.dtype('int32')\nnp.ndarray\nnp.log(rate)  # host-side: chooses the number of terms"),
    (CORE, "import numpy as np\nimport jax.numpy as jnp\nnp.prod(shape)\njnp.zeros(shape)"),
    (OPS, "import jax.numpy as jnp\njnp.matmul(x, y)\njnp.einsum('ij,jk', x, y)"),
    (HOST, "from gradtape._src.core.host.products import product\nproduct(x, y)"),
    ("gradtape/_src/core/host/products.py", "import numpy as np\nnp.matmul(x, y)"),
    (TAPE, "x @ y"),
]


def test_each_file_of_core_stands_in_a_folder_and_in_the_readme():
    core = ROOT / "gradtape" / "_src" / "core"
    assert {path.name for path in core.iterdir() if path.name != "__pycache__"} == {*CORE_LEVELS, "__init__.py", "README.md"}
    page = (core / "README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)/` \| ([^|]+) \|", page, re.MULTILINE))
    assert list(rows) == CORE_LEVELS
    for folder, files in rows.items():
        assert set(re.findall(r"`(\w+)`", files)) == {path.stem for path in (core / folder).glob("*.py")} - {"__init__"}


@pytest.mark.parametrize(("path", "text"), KEPT)
def test_a_kept_rule_is_left_alone(path, text):
    test_file_keeps_the_rules(Source(path, text))


def declared(*names):
    """The names of the package's dependencies and of these extras and dependency groups."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    of = stated["project"]["optional-dependencies"] | stated["dependency-groups"]
    lines = stated["project"]["dependencies"] + [line for name in names for line in of[name] if type(line) is str]
    return {re.match(r"[\w-]+", line).group() for line in lines} - {"gradtape"}


def test_every_import_is_a_declared_dependency():
    modules = {
        "pillow": "PIL",
        "scikit-learn": "sklearn",
        "diastatic-malt": "malt",
        "absl-py": "absl",
        "orbax-checkpoint": "orbax",
    }
    packages = {modules.get(name, name) for name in declared("checkpoints", "demo", "pictures", "summary")}
    available = packages | set(sys.stdlib_module_names) | {"compression"}  # which Python 3.14 added
    imported = {name.partition(".")[0] for source in sources("gradtape") for _, name in source.imports}
    assert imported - {*OURS} <= available


def test_every_dependency_is_justified():
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    justified = set(re.findall(r"^\| `([\w-]+)`", page, re.MULTILINE))
    names = "checkpoints demo export files pictures summary test browser docs lint notebooks release".split()
    assert justified == declared(*names) | {"tensorflow", "torch"}  # the peers of `make bench`
