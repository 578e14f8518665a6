"""Code objects whose lines are those of another file: so that tracebacks of transformed code show the user's own lines."""

from __future__ import annotations

import types
from collections.abc import Mapping

PREFIX = "tf__"  # of the names of transformed functions, as in TensorFlow


def relocated(code: types.CodeType, lines: Mapping[int, int], filename: str, default: int) -> types.CodeType:
    """Move `code` and all code in it to other lines: line n becomes `lines[n]` of `filename`."""
    constants = tuple([relocated(c, lines, filename, default) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    first = lines.get(code.co_firstlineno, default)
    table, current = bytearray(), first
    mapped = first
    for start, end, line in code.co_lines():
        if line is not None:
            mapped = lines.get(line, mapped)
        units = (end - start) // 2
        delta = mapped - current
        current = mapped
        while units > 0:
            count = min(units, 8)
            # An entry of kind 13, "no column": a line delta (PEP 657; CPython's Objects/locations.md).
            table += bytes([0x80 | 13 << 3 | count - 1]) + _signed(delta)
            delta = 0
            units -= count
    return code.replace(
        co_name=code.co_name.removeprefix(PREFIX),
        co_filename=filename,
        co_firstlineno=first,
        co_linetable=bytes(table),
        co_consts=constants,
    )


def _signed(value: int) -> bytes:
    number = -value << 1 | 1 if value < 0 else value << 1
    result = bytearray()
    while number >= 64:
        result.append(64 | number & 63)
        number >>= 6
    result.append(number)
    return bytes(result)
