"""TensorFlow's order of concatenating the IndexedSlices of one node."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gradtape._src.core.programs.program import ELEMENT, Node


def visiting_order(entries: Sequence[Any], active: Mapping[Node, int], targets: Collection[Node]) -> dict[int, int]:
    """Return the order in which TensorFlow's reverse pass visits the entries on which the targets depend: position → rank.

    An entry is ready when all users of its results were visited. Ready entries wait in a queue, the last target first. Sums do
    not depend on this order, so that gradtape simply goes backwards; only the rows of IndexedSlices show it.
    """
    uses: Counter[Node] = Counter()
    reached: dict[Node, int] = {}
    pending = list(targets)
    while pending:
        node = pending.pop()
        position = active[node]
        if node in reached or entries[position].node is not node:
            continue
        reached[node] = position
        uses.update(entries[position].inputs)
        pending += [source for source in entries[position].inputs if source in active]
    ready: deque[int] = deque()

    def release(node: Node) -> None:
        while node in reached and not uses[node]:
            if node.op is not ELEMENT:
                ready.append(reached[node])
                break
            node = entries[reached[node]].inputs[0]  # an output of an op is not visited by itself
            uses[node] -= 1

    for node in [n for n in reversed(list(targets)) if not uses[n]]:
        release(node)
    order: dict[int, int] = {}
    while ready:
        position = ready.popleft()
        order[position] = len(order)
        for source in entries[position].inputs:
            uses[source] -= 1
            release(source)
    return order
