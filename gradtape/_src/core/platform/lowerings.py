"""The table of lowerings: the rules by which a computation is done on each device, and the options for XLA's compiler.

    @lowered("a sum along an axis")
    def total(x, *, axis):
        return jnp.sum(x, axis)

    lowering(total, platform="cpu", when=lambda x, *, axis: x.ndim > 8, rule=by_reshaping, because="XLA's compiler is slow there")

A call of `total` uses the first rule that applies; `gradtape info --lowerings` lists them.
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

HOST = "host"  # the platform of kernels on NumPy; its fallback is "cpu"
ELSEWHERE = "other than cpu"  # the platform of compiler options for GPUs and TPUs

# ---------------------------------------------------------------------------------------------------------------------
# Rules


class Rule(NamedTuple):
    """One implementation of a computation, for a platform and inputs for which `when` holds.

    `platform` is one of `jax.lax.platform_dependent` ("cpu", "cuda", "rocm", "tpu"), `HOST`, or None for all.
    """

    platform: str | None
    when: Callable[..., bool] | None
    rule: Callable[..., Any]
    because: str


class Lowered:
    """A function of arrays with several rules, chosen by platform, shapes and keyword-only attributes."""

    def __init__(self, what: str, plain: Callable[..., Any]) -> None:
        functools.update_wrapper(self, plain)
        self.what, self.plain = what, plain
        self.rules: list[Rule] = []
        self._of: dict[str | None, list[Rule]] = {None: [], HOST: []}
        self._on_host = plain  # what is called there

    def add(self, row: Rule) -> None:
        """Append a rule."""
        self.rules.append(row)
        for platform in {None, HOST, *[rule.platform for rule in self.rules]}:
            self._of[platform] = [rule for rule in self.rules if rule.platform in (platform, None)]
        self._of[HOST] += [rule for rule in self.rules if rule.platform == "cpu"]
        first = next(iter(self._of[HOST]), None)
        self._on_host = self.plain if first is None else self._chosen_on_host if first.when else first.rule

    def chosen(self, platform: str | None, *arrays: Any, **attributes: Any) -> Callable[..., Any]:
        """Return the first rule for a platform that applies to arrays of these shapes, or else the plain function.

        For symbolic extents, as in an exported program, a rule applies only if it does for all their values.
        """
        for row in self._of.get(platform, self._of[None]):
            if row.when is None or xla.surely(row.when, *arrays, **attributes):
                return row.rule
        return self.plain

    def _chosen_on_host(self, *arrays: Any, **attributes: Any) -> Any:
        return self.chosen(HOST, *arrays, **attributes)(*arrays, **attributes)

    def __call__(self, *arrays: Any, **attributes: Any) -> Any:
        if is_on_host():
            return self._on_host(*arrays, **attributes)
        default = self.chosen(None, *arrays, **attributes)
        rules = {p: self.chosen(p, *arrays, **attributes) for p in self._of if p not in (None, HOST)}
        others: Any = {p: functools.partial(rule, **attributes) for p, rule in rules.items() if rule is not default}
        plain = functools.partial(default, **attributes)
        return lax.platform_dependent(*arrays, default=plain, **others) if others else plain(*arrays)


table: list[Lowered] = []  # all functions with rules, in the order of declaration


def lowered(what: str) -> Callable[[Callable[..., Any]], Lowered]:
    """Decorate the plain implementation of a computation with several rules; `what` names it in the list."""

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
    """Append a rule to `of` for `platform`, used if `when(*arrays, **attributes)` holds."""
    of.add(Rule(platform, when, rule, because))


# ---------------------------------------------------------------------------------------------------------------------
# Options of the compiler


class Options(NamedTuple):
    """Compiler options for a platform, used if `when(program, quick)` holds; the Program of a single kernel is None.

    `when` may be a trait, for Programs that have an op with it. `quick` asks for a short compilation. Options unknown to the
    installed jaxlib are left out, unless they are `sure`.
    """

    platform: str
    flags: dict[str, Any]
    when: Trait | Callable[[Program | None, bool], bool]
    because: str
    sure: bool


compiling: dict[str, Options] = {}  # by name; `tiers` combines them


def compiled_with(
    name: str,
    platform: str,
    when: Trait | Callable[[Program | None, bool], bool],
    because: str,
    *,
    sure: bool = False,
    **flags: Any,
) -> None:
    """Add compiler options to the table."""
    compiling[name] = Options(platform, flags, when, because, sure)


# ---------------------------------------------------------------------------------------------------------------------
# The list


def listed() -> Iterator[tuple[str, str, str, str]]:
    """Yield for each rule and each set of options: the platform, what is computed, how, and when and why."""
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
