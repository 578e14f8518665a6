"""The libraries whose own tests run on gradtape: which release, what it needs, and which of its tests."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """A release on PyPI, and how its tests are run."""

    name: str  # on PyPI
    version: str
    tests: tuple[str, ...]  # folders and files, from the folder of the release on
    share: float  # of the tests that pass on TensorFlow, how many must pass here
    sample: tuple[str, ...]  # the arguments of the sample that CI runs; none: the library is not in it
    needs: tuple[str, ...] = ()  # what is installed beside it; its own requirements would install TensorFlow
    sdist: bool = False  # the tests are in the sdist; else in the wheel
    files: str = ""  # an archive beside this file, of what its repository has for the tests and the release lacks
    options: tuple[str, ...] = ()  # pytest's
    every: dict[str, int] = field(default_factory=dict)  # of the tests of a file, only every n-th


LIBRARIES = (
    Library(
        "dm-sonnet",
        "2.0.2",
        tests=("sonnet",),
        share=0.97,
        sample=("sonnet/src/linear_test.py", "sonnet/src/base_test.py"),
        needs=("absl-py", "attrs", "dm-tree==0.1.10", "tabulate", "wrapt"),
        # Checkpoints that TensorFlow wrote, of Sonnet's repository (Apache License 2.0); without resnet50, which takes 100 MB.
        files="sonnet_checkpoints.tar.xz",
    ),
    Library(
        "tensornetwork",
        "0.4.6",
        tests=(
            "tensornetwork/backends/tensorflow",
            "tensornetwork/tests",
            "tensornetwork/matrixproductstates",
            "tensornetwork/tn_keras",
        ),
        share=0.97,
        sample=(
            "tensornetwork/backends/tensorflow/decompositions_test.py",
            "tensornetwork/backends/tensorflow/tensordot2_test.py",
        ),
        needs=("graphviz",),
        # They import PyTorch, for their tests of its backend.
        options=tuple(
            f"--ignore=tensornetwork/tests/{name}_test.py"
            for name in "network_components_free network tensornetwork_symmetric tensornetwork".split()
        ),
    ),
    Library(
        "tf-keras-vis",
        "0.8.7",
        tests=("tests",),
        share=0.95,
        sample=("tests/tf_keras_vis/utils/scores_test.py", "tests/tf_keras_vis/activation_maximization/input_modifiers_test.py"),
        needs=("deprecated", "imageio", "wrapt"),
        # Of its 8,000 tests nearly all are two, on every combination of models and options; one of them takes seconds each time.
        every={"attentions_test.py": 20, "activation_maximization_test.py": 400, "scorecam_test.py": 5},
    ),
    Library(
        "einops",
        "0.8.2",
        tests=("einops/tests",),
        share=0.97,
        sample=("einops/tests/test_layers.py",),
    ),
    Library(
        "tensorflow-constrained-optimization",
        "0.2",
        tests=("tensorflow_constrained_optimization",),
        share=0.97,
        sample=(),
        needs=("six",),
    ),
    Library(
        "pymanopt",
        "2.2.1",
        tests=("tests/backends/test_tensorflow.py",),
        share=0.95,
        sample=(),
        sdist=True,
        options=("--noconftest",),  # it imports PyTorch and autograd, for the other backends
    ),
    Library(
        "tensorflow-privacy",
        "0.9.0",
        tests=tuple(
            f"tensorflow_privacy/privacy/dp_query/{name}_query_test.py"
            for name in "gaussian nested no_privacy normalized quantile_adaptive_clip_sum restart".split()
        ),
        share=0.97,
        sample=(),
        needs=("attrs", "dm-tree", "dp-accounting", "immutabledict", "mpmath"),
    ),
    Library(
        "adapt",
        "0.4.5",
        tests=("tests",),
        share=0.95,
        sample=(),
        needs=("cvxopt", "scikeras==0.13.0"),
        sdist=True,
        options=("--ignore=tests/test_metrics.py",),  # does not end on TensorFlow 2.21
    ),
    Library(
        "thinc",
        "9.1.1",
        tests=("thinc/tests/layers/test_tensorflow_wrapper.py",),
        share=0.95,
        sample=(),
        needs=tuple(
            """
            annotated-types blis catalogue confection cymem murmurhash pydantic pydantic-core preshed srsly typing-inspection
            wasabi
            """.split()
        ),
        options=("-p", "thinc.tests.enable_tensorflow"),
    ),
    Library(
        "gpflow",
        "2.11.2",
        tests=tuple(
            f"tests/gpflow/{name}.py"
            for name in """
                optimizers/test_natural_gradient optimizers/test_scipy optimizers/test_mcmc models/test_gplvm models/test_gpr
                models/test_svgp models/test_vgp models/test_variational models/test_training_mixins test_base test_base_training
                test_kullback_leiblers kernels/test_kernels utilities/test_training_loop utilities/test_bijectors
            """.split()
        ),
        share=0.97,
        sample=(),
        needs=tuple(
            """
            check-shapes cloudpickle decorator deprecated dm-tree dropstackframe gast lark multipledispatch six tabulate
            tensorflow-probability==0.25.0 wrapt
            """.split()
        ),
        files="gpflow_tests.tar.xz",  # an empty tests/__init__.py: without it the tests are a package gpflow, too
    ),
    Library(
        "autoray",
        "0.11.0",
        tests=tuple(f"tests/test_{name}.py" for name in ("autocompile", "autoray", "grad", "linalg")),
        share=0.97,
        sample=("tests/test_grad.py",),
        sdist=True,
        options=("-k", "tensorflow"),
    ),
    Library(
        "pot",
        "0.9.7.post1",
        tests=tuple(
            f"test/test_{name}.py"
            for name in "1d_solver backend circle_solver dmmot gmm lowrank optim ot sgot stochastic utils weak".split()
        ),
        share=0.97,
        sample=("test/test_backend.py", "test/test_ot.py"),
        # Tests of its sdist and the conftest.py of its repository (MIT License), which the sdist lacks.
        files="pot_tests.tar.xz",
        options=("-k", "nx1 or tf or backend or gradient"),  # nx1 is TensorFlow
    ),
    Library(
        "tensorcircuit-ng",
        "1.9.1",
        tests=tuple(f"tests/test_{name}.py" for name in "backends interfaces u1circuit".split()),
        share=0.97,
        sample=(),
        needs=tuple("graphviz mpmath networkx pytest-lazy-fixtures sympy tensornetwork-ng".split()),
        # Tests of its repository (Apache License 2.0), and the name of a plugin of pytest that its successor stands for.
        files="tensorcircuit_tests.tar.xz",
        options=("-k", "tfb"),
    ),
    Library(
        "pyhf",
        "0.7.6",
        tests=tuple(
            f"tests/test_{name}.py"
            for name in "combined_modifiers constraints infer interpolate optim pdf probability tensor".split()
        ),
        share=0.97,
        sample=(),
        needs=tuple(
            """
            attrs click cloudpickle decorator dm-tree gast iminuit jsonpatch jsonpointer jsonschema jsonschema-specifications
            pytest-mock pyyaml referencing rpds-py six tensorflow-probability==0.25.0 tqdm wrapt
            """.split()
        ),
        # Tests of its repository (Apache License 2.0), without the lines that name the backends of PyTorch and JAX.
        files="pyhf_tests.tar.xz",
        options=("-k", "tensorflow"),
    ),
    Library(
        "tf-quant-finance",
        "0.0.1.dev34",
        tests=tuple(
            f"tf_quant_finance/math/{name}"
            for name in """
                custom_loops_test.py diff_ops_test.py gradient_test.py jacobian_test.py pad_test.py piecewise_test.py
                segment_ops_test.py interpolation qmc root_search random_ops/stateless_test.py random_ops/uniform_test.py
            """.split()
        ),
        share=0.97,
        sample=("tf_quant_finance/math/gradient_test.py",),
        needs=tuple(
            """
            attrs cloudpickle decorator dm-tree==0.1.10 gast protobuf six tensorflow-probability==0.25.0 wrapt
            """.split()
        ),
        files="tf_quant_finance_tests.tar.xz",  # tests of its repository (Apache License 2.0), which the wheel lacks
    ),
)
