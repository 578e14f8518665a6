"""The table of lowerings: by which rule something is computed on which device, and which options XLA's compiler gets for it.

    @lowered("a sum along an axis")
    def total(x, *, axis):
        return jnp.sum(x, axis)

    lowering(total, platform="cpu", when=lambda x, *, axis: x.ndim > 8, rule=by_reshaping, because="XLA's compiler is slow there")

Whoever calls `total` gets the first rule that holds; `gradtape info --lowerings` lists them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import is_on_host, lax

if TYPE_CHECKING:
    from gradtape._src.core.programs.program import Program
    from gradtape._src.core.programs.traits import Trait

HOST = "host"  # the platform of kernels that compute with NumPy; without a rule of its own it has that of "cpu"
ELSEWHERE = "other than cpu"  # the platform of compiler options for GPUs and TPUs

# ---------------------------------------------------------------------------------------------------------------------
# Rules


class Rule(NamedTuple):
    """A way to compute something on a platform, where `when` holds: a function of arrays, as the plain one is.

    `platform` is one of `jax.lax.platform_dependent` ("cpu", "cuda", "rocm", "tpu"), `HOST`, or None for each.
    """

    platform: str | None
    when: Callable[..., bool] | None
    rule: Callable[..., Any]
    because: str


class Lowered:
    """A function of arrays that has several rules. Attributes are keyword-only; by them and by the shapes a rule is chosen."""

    def __init__(self, what: str, plain: Callable[..., Any]) -> None:
        functools.update_wrapper(self, plain)
        self.what, self.plain = what, plain
        self.rules: list[Rule] = []
        self._of: dict[str | None, list[Rule]] = {None: [], HOST: []}

    def add(self, row: Rule) -> None:
        """Enter a rule behind those that are there."""
        self.rules.append(row)
        for platform in {None, HOST, *[rule.platform for rule in self.rules]}:
            self._of[platform] = [rule for rule in self.rules if rule.platform in (platform, None)]
        self._of[HOST] += [rule for rule in self.rules if rule.platform == "cpu"]

    def chosen(self, platform: str | None, *arrays: Any, **attributes: Any) -> Callable[..., Any]:
        """Return the rule for a platform: the first that holds for arrays of these shapes, or else the plain function.

        Where extents are symbols, as in an exported program, a rule holds only if it does for all that they may be.
        """
        for row in self._of.get(platform, self._of[None]):
            if row.when is None or xla.surely(row.when, *arrays, **attributes):
                return row.rule
        return self.plain

    def __call__(self, *arrays: Any, **attributes: Any) -> Any:
        if is_on_host():
            rule = self.chosen(HOST, *arrays, **attributes) if self._of[HOST] else self.plain
            return rule(*arrays, **attributes)
        default = self.chosen(None, *arrays, **attributes)
        rules = {p: self.chosen(p, *arrays, **attributes) for p in self._of if p not in (None, HOST)}
        others: Any = {p: functools.partial(rule, **attributes) for p, rule in rules.items() if rule is not default}
        plain = functools.partial(default, **attributes)
        return lax.platform_dependent(*arrays, default=plain, **others) if others else plain(*arrays)


table: list[Lowered] = []  # all that have rules, in the order of their declaration


def lowered(what: str) -> Callable[[Callable[..., Any]], Lowered]:
    """Decorate the plain rule of something that has others; `what` names it for the list."""

    def decorate(plain: Callable[..., Any]) -> Lowered:
        table.append(Lowered(what, plain))
        return table[-1]

    return decorate


def lowering(
    of: Lowered,
    *,
    rule: Callable[..., Any],
    because: str,
    platform: str | None = None,
    when: Callable[..., bool] | None = None,
) -> None:
    """Enter a rule into the table, behind those that are there: on `platform`, where `when(*arrays, **attributes)` holds."""
    of.add(Rule(platform, when, rule, because))


# ---------------------------------------------------------------------------------------------------------------------
# Options of the compiler


class Options(NamedTuple):
    """Options for what is compiled for a platform where `when(program, quick)` holds; the Program of a kernel is None.

    `when` may be a trait: a Program that has an op with it. `quick`: it shall be compiled in a short time. A jaxlib may lack
    options unless they are `sure`: then they are left out.
    """

    platform: str
    flags: dict[str, Any]
    when: Trait | Callable[[Program | None, bool], bool]
    because: str
    sure: bool


compiling: dict[str, Options] = {}  # by name; `tiers` joins them


def compiled_with(
    name: str,
    platform: str,
    when: Trait | Callable[[Program | None, bool], bool],
    because: str,
    *,
    sure: bool = False,
    **flags: Any,
) -> None:
    """Enter options into the table."""
    compiling[name] = Options(platform, flags, when, because, sure)


# ---------------------------------------------------------------------------------------------------------------------
# The list


def listed() -> Iterator[tuple[str, str, str, str]]:
    """Yield for each rule, and for each set of options: the platform, what it is for, by what, and where and why."""
    for of in table:
        for row in of.rules:
            yield row.platform or "each", of.what, _named(row.rule), row.because
    for name, options in compiling.items():
        flags = ", ".join([f"{flag}={value}" for flag, value in options.flags.items()])
        yield options.platform, f"compiler options, {name}", flags, options.because


def _named(rule: Any) -> str:
    while isinstance(rule, functools.partial):
        rule = rule.func
    return f"{rule.__module__.rpartition('.')[2]}.{rule.__name__.lstrip('_')}"
