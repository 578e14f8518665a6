"""Constants of `tf.data`, and `Options`, which are checked as in TensorFlow. Most of them have no effect."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

from gradtape._src.core.base.public import public

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


class AutotuneAlgorithm(enum.Enum):
    """The ways to tune parallelism, for `autotune.autotune_algorithm` of `tf.data.Options`. They have no effect.

    >>> options = tf.data.Options()
    >>> options.autotune.autotune_algorithm = tf.data.experimental.AutotuneAlgorithm.HILL_CLIMB
    >>> options.autotune.autotune_algorithm.name
    'HILL_CLIMB'
    """

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class AutoShardPolicy(enum.IntEnum):
    """The ways to share elements among workers, for `experimental_distribute.auto_shard_policy` of `tf.data.Options`.

    They have no effect: processes share batches by rows.

    >>> options = tf.data.Options()
    >>> options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    >>> tf.data.Dataset.range(3).with_options(options).options().experimental_distribute.auto_shard_policy.name
    'DATA'
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """The ways to treat external state when a dataset is serialized. They have no effect, as datasets are not serialized.

    >>> options = tf.data.Options()
    >>> options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.FAIL
    >>> options.experimental_external_state_policy.name
    'FAIL'
    """

    WARN = 0
    IGNORE = 1
    FAIL = 2


class Settings:
    """Attributes of declared types, None until they are set.

    AttributeError for other names, TypeError for other types, and ValueError for setting the options of a dataset.
    """

    _types: ClassVar[dict[str, type]] = {}
    _defaults: ClassVar[dict[str, Callable[[], Any]]] = {}
    _other_names: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_set", {})
        object.__setattr__(self, "_fixed", False)

    @public
    def __getattr__(self, name: str) -> Any:
        name = self._other_names.get(name, name)
        if name not in self._types:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}; it has {', '.join(sorted(self._types))}.")
        if name not in self._set and name in self._defaults:
            self._set[name] = value = self._defaults[name]()
            if self._fixed and isinstance(value, Settings):
                value._fix()
        return self._set.get(name)

    @public
    def __setattr__(self, name: str, value: Any) -> None:
        if self._fixed:
            raise ValueError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no effect. Use "
                "`tf.data.Dataset.with_options(options)` to set or update dataset options."
            )
        name = self._other_names.get(name, name)
        if name not in self._types:
            raise AttributeError(
                f"Cannot set the property {name} on {type(self).__name__}; it has {', '.join(sorted(self._types))}."
            )
        if not isinstance(value, self._types[name]):
            raise TypeError(f'Property "{name}" must be of type {self._types[name]}, got: {value} (type: {type(value)})')
        self._set[name] = value

    def _fix(self) -> None:
        object.__setattr__(self, "_fixed", True)
        for value in self._set.values():
            if isinstance(value, Settings):
                value._fix()

    @public
    def merge(self, options: Self) -> Self:
        """Merge these options with those that are set in `options`, which take precedence."""
        if type(options) is not type(self):
            raise TypeError(f"Only options of one type can be merged, received {type(self)} and {type(options)}.")
        result = type(self)()
        for source in (self, options):
            for name, value in source._set.items():
                nested = isinstance(value, Settings)
                result._set[name] = result._set.get(name, type(value)()).merge(value) if nested else value
        return result

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in {*self._set, *other._set})

    __hash__ = None  # type: ignore[assignment]


def _of(kind: type, names: str) -> dict[str, type]:
    return dict.fromkeys(names.split(), kind)


class AutotuneOptions(Settings):
    """The options `autotune` of a `tf.data.Options`: `enabled`, budgets, parallelism. They are kept and have no effect.

    >>> options = tf.data.Options()
    >>> options.autotune.enabled = False
    >>> tf.data.Dataset.range(3).with_options(options).options().autotune.enabled
    False
    """

    _types = {
        **_of(bool, "enabled"),
        **_of(int, "cpu_budget ram_budget initial_parallelism min_parallelism"),
        "autotune_algorithm": AutotuneAlgorithm,
    }


class DistributeOptions(Settings):
    """The options `experimental_distribute` of a `tf.data.Options`. They are kept and have no effect.

    >>> tf.data.experimental.DistributeOptions().auto_shard_policy.name
    'AUTO'
    """

    _types = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}
    _defaults = {"auto_shard_policy": lambda: AutoShardPolicy.AUTO}


class OptimizationOptions(Settings):
    """The options `experimental_optimization` of a `tf.data.Options`, booleans. They are kept and have no effect.

    >>> options = tf.data.Options()
    >>> options.experimental_optimization.map_fusion = True
    >>> options.experimental_optimization.map_fusion, options.experimental_optimization.filter_fusion
    (True, None)
    """

    _types = _of(
        bool,
        "apply_default_optimizations filter_fusion filter_parallelization inject_prefetch map_and_batch_fusion"
        " map_and_filter_fusion map_fusion map_parallelization noop_elimination parallel_batch seq_interleave_prefetch"
        " shuffle_and_repeat_fusion",
    )


class ThreadingOptions(Settings):
    """The options `threading` of a `tf.data.Options`, numbers of threads. They are kept and have no effect.

    >>> options = tf.data.Options()
    >>> options.threading.private_threadpool_size = 4
    >>> options.threading.private_threadpool_size
    4
    """

    _types = _of(int, "max_intra_op_parallelism private_threadpool_size")


class Options(Settings):
    """Settings of a dataset: attributes, None until they are set.

    AttributeError for names that TensorFlow does not have, TypeError for values of another type. `deterministic = False` lets
    a parallel `map` return results in order of completion. The others have no effect.

    >>> options = tf.data.Options()
    >>> options.deterministic = True
    >>> print([int(x) for x in tf.data.Dataset.range(3).with_options(options)])
    [0, 1, 2]
    """

    _types = {
        **_of(bool, "deterministic experimental_slack experimental_symbolic_checkpoint experimental_warm_start"),
        "autotune": AutotuneOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_optimization": OptimizationOptions,
        "dataset_name": str,
        "framework_type": list,
        "threading": ThreadingOptions,
    }
    _defaults = {
        "autotune": AutotuneOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "threading": ThreadingOptions,
    }
    _other_names = {"experimental_deterministic": "deterministic", "experimental_threading": "threading"}


def merged_options(options: Iterable[Options]) -> Options:
    """Return the options of a dataset that combines several."""
    return functools.reduce(Options.merge, options, Options())
