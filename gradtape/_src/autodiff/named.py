"""Look-up of tensors on a tape by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradtape._src.core.base.errors import UnknownNameError
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors import noted
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor

if TYPE_CHECKING:
    from gradtape._src.autodiff.recording import Recording

MOST = 8  # the most names, or lines, in an error


def find(tape: Recording, name: str, index: int | None) -> Tensor:
    """Return the tensor recorded under `name`; `index` selects one of several."""
    if not isinstance(name, str):
        raise TypeError(f"A name is a string, received {name!r}.")
    if tape._used or not tape._entered:
        raise RuntimeError(
            f"The tape was used up (or never opened), and {name!r} is forgotten. Ask before gradient is called, or "
            "use tf.GradientTape(persistent=True)."
        )
    graph = engine.graph_around()
    if graph is not None:
        return _of_graph(graph, name)
    stem, output = _parts(name)
    given = list(_given(tape))
    whole = {full for full, _ in given if full == stem} or {full for full, _ in given if full.endswith(f"/{stem}")}
    if not whole:
        raise UnknownNameError(_unknown(tape, stem, [full for full, _ in given]))
    if len(whole) > 1:
        raise ValueError(f"Several names on this tape end in {stem!r}: {', '.join(map(repr, sorted(whole)))}. Give a whole one.")
    found = [nodes for full, nodes in given if full in whole]
    if index is None and len(found) > 1:
        raise ValueError(_several(name, found))
    try:
        nodes = found[index or 0]
    except IndexError:
        raise ValueError(f"index {index} for {len(found)} tensors of the name {name!r}.") from None
    if output is None and len(nodes) > 1:
        raise ValueError(f"{name!r} has {len(nodes)} outputs: say which, {name + ':0'!r} to '{name}:{len(nodes) - 1}'.")
    if (output or 0) >= len(nodes):
        raise ValueError(f"{stem!r} has {len(nodes)} output(s), and none of number {output}.")
    node = nodes[output or 0]
    handle = node.handle() if node.handle is not None else None
    return handle if isinstance(handle, Tensor) else EagerTensor(node)


def _of_graph(graph: Any, name: str) -> Tensor:
    try:
        tensor: Tensor = graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
    except KeyError as error:
        raise ValueError(str(error.args[0])) from None
    return tensor


def _parts(name: str) -> tuple[str, int | None]:
    stem, _, number = name.rpartition(":")
    return (stem, int(number)) if stem and number.isdecimal() else (name, None)


def _given(tape: Recording) -> Iterator[tuple[str, list[Node]]]:
    """Yield the names on the tape and their nodes, in the order of recording."""
    seen = set()
    for segment in tape._segments:
        for position, name, nodes in segment.trace.names:
            if nodes and segment.start <= position <= segment.until and (name, nodes[0]) not in seen:
                seen.add((name, nodes[0]))
                yield name, list(nodes)


def _unknown(tape: Recording, name: str, names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    parts = {full.rpartition("/")[2]: full for full in names}
    near = [parts.get(close, close) for close in difflib.get_close_matches(name, [*names, *parts], MOST)] or names[:MOST]
    message = f"No tensor of the name {name!r} is on this tape, "
    message += f"but there is {', '.join(map(repr, dict.fromkeys(near)))}." if near else "nor any other that has a name."
    if any(variable.name.partition(":")[0] == name for variable in tape.watched_variables()):
        return f"{message} A variable has that name: give the variable itself."
    inside = next((line for full, line in noted.traced.items() if full == name or full.endswith(f"/{name}")), None)
    if inside is not None:
        return (
            f"{message} {name!r} was recorded at {_place(inside)}, inside of a function, branch or loop that was compiled: "
            "the tape outside sees one call. Return the tensor from there, or open a tape in there."
        )
    return f"{message} Names are given under the tape: write tf.identity(x, name={name!r}), or name a Keras layer."


def _several(name: str, found: list[list[Node]]) -> str:
    lines = list(dict.fromkeys([_place((nodes[0].code, nodes[0].offset)) for nodes in found]))
    shown = ", ".join(lines[:MOST]) + (", …" if len(lines) > MOST else "")
    return (
        f"{len(found)} tensors were recorded under the name {name!r} (at {shown}), in a loop or by calls of one function. Say "
        f"which: tape.get_tensor_by_name({name!r}, index=0) is the first, index=-1 the last."
    )


def _place(line: journal.Line) -> str:
    file, number = journal.file_and_number(line)
    return "a line that is not known" if file is None else place(file, number, short=True)
