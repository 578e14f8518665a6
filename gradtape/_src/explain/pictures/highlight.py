"""The coloured parts of a source file on a page: keywords, strings, numbers and comments."""

import builtins
import contextlib
import io
import keyword
import tokenize
from collections.abc import Sequence

NAMES = dict.fromkeys(keyword.kwlist, "keyword") | {
    name: "builtin" for name in dir(builtins) if name.islower() and name[0] != "_"
}
KINDS = {tokenize.COMMENT: "comment", tokenize.NUMBER: "digits", tokenize.STRING: "string"} | {
    getattr(tokenize, name): "string" for name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END") if hasattr(tokenize, name)
}


def coloured(lines: Sequence[str]) -> list[list[tuple[int, int, str]]]:
    """Return the coloured parts of each line as `(start, end, kind)`, in order; none from the first syntax error on."""
    found: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    before = ""
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO("\n".join([*lines, ""])).readline):
            kind = KINDS.get(token.type, NAMES.get(token.string, "") if token.type == tokenize.NAME and before != "." else "")
            before = token.string
            (first, start), (last, end) = token.start, token.end
            for row in range(first, last + 1) if kind else ():
                stop = end if row == last else len(lines[row - 1])
                found[row - 1].append((start if row == first else 0, stop, kind))
    return found
