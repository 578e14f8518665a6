"""`figures.tape` and `figures.profile`: the contents of a tape, and the counts of a profile, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.public import public
from gradtape._src.core.values.aval import bytes_of
from gradtape._src.explain import source as text
from gradtape._src.figures.canvas import DARK, LIGHT, MOST, bars
from gradtape._src.profile.profile import Profile

if TYPE_CHECKING:
    from gradtape._src.explain.pictures.record import Group


@public
def tape(tape: GradientTape) -> Any:
    """Draw the bytes recorded by a tape: a row for each line of the program, with the bytes kept for the backward pass.

    If there are more than 40 lines, those with the most bytes are shown, in the order of the program. Returns a matplotlib
    Figure. ImportError without matplotlib (`pip install '.[pictures]'`).

    >>> import gradtape as tf
    >>> x = tf.Variable(tf.ones([100]))
    >>> with tf.GradientTape() as tape:
    ...     hidden = tf.tanh(x)
    ...     y = tf.reduce_sum(hidden)
    >>> tf.figures.tape(tape).axes[0].get_title(loc="left")
    '2 ops, 400 B kept for the backward pass'
    """
    from gradtape._src.explain.pictures.record import Record  # slow to import
    from gradtape._src.explain.pictures.words import place, size

    record = Record(tape)
    groups = record.groups(fold=True)
    largest = {id(g) for g in sorted(groups, key=_bytes, reverse=True)[:MOST]}
    shown = [group for group in groups if id(group) in largest]
    kept = [float(sum(op.kept for op in group)) for group in shown]
    rest = [max(_bytes(group) - k, 0.0) for group, k in zip(shown, kept, strict=True)]
    labels = [f"{place(*group[0].where)}  {text.text(group[0].line) or ''}" for group in shown]
    count, total = len(record.ops), sum(op.kept for op in record.ops)
    title = f"{count:,} op{'' if count == 1 else 's'}, {size(total)} kept for the backward pass"
    return bars(labels, [("kept", DARK, kept), ("other results", LIGHT, rest)], title, "bytes")


def _bytes(group: Group) -> float:
    return float(sum([bytes_of(op.aval) for op in group if op.aval is not None]))


@public
def profile(profile: Profile) -> Any:
    """Draw the FLOPs of a profile: a row for each line of the program, forward and backward, most expensive first.

    `profile` is the result of `tf.profiler.profile`; at most 40 lines are shown. Returns a matplotlib Figure. ImportError without
    matplotlib (`pip install '.[pictures]'`).

    >>> import gradtape as tf
    >>> x = tf.Variable(tf.ones([8, 8]))
    >>> with tf.GradientTape(persistent=True) as tape:
    ...     y = tf.reduce_sum(x @ x)
    >>> tf.figures.profile(tf.profiler.profile(tape, y, sources=x)).axes[0].get_xlabel()
    'FLOPs'
    """
    if not isinstance(profile, Profile):
        raise TypeError(f"`profile` is what tf.profiler.profile returns, received {profile!r}.")
    forward, backward = profile.forward.by_line, profile.backward.by_line
    flops = {line: [work.get(line, {}).get("flops", 0) for work in (forward, backward)] for line in {**forward, **backward}}
    shown = sorted(flops, key=lambda line: -sum(flops[line]))[:MOST]
    series = [("forward", DARK, [flops[line][0] for line in shown]), ("backward", LIGHT, [flops[line][1] for line in shown])]
    title = f"{profile.forward.flops:,} FLOPs forward, {profile.backward.flops:,} backward"
    return bars(shown, series, title, "FLOPs")
