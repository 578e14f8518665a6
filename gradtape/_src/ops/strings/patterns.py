"""Regular expressions as TensorFlow has them: RE2's syntax, run by Python's `re`.

Patterns that both write alike mean the same; the rest is translated: classes of ASCII characters, `[[:punct:]]`, `\\pL`, `$`,
which in RE2 is the very end. Parts that RE2 refuses (lookaround, references in a pattern) are refused.
"""

import functools
import re
import string
import sys
import unicodedata

from gradtape._src.core.base.errors import InvalidArgumentError

CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ", "cntrl": "\\x00-\\x1F\\x7F", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": re.escape(string.punctuation), "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
ESCAPED = frozenset("afnrtvx")  # escapes with the same meaning
REFUSED = ("(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "(?#", "(?P=")


def _error(pattern, reason):
    return InvalidArgumentError(None, None, f"Invalid pattern: {pattern}, error: {reason}")


@functools.cache
def _category(name):
    """Return the characters of a general category of Unicode (`L`, `Lu`, …), as the inside of a class."""
    spans, last = [], -2
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if code != last + 1:
                spans.append([code, code])
            spans[-1][1] = last = code
    return "".join([f"\\U{first:08x}-\\U{end:08x}" for first, end in spans])


class _Translation:
    """A pattern during its translation, from left to right."""

    def __init__(self, pattern):
        self.pattern, self.place, self.written = pattern, 0, []
        self.lines = re.search(r"\(\?[a-zA-Z]*m", pattern) is not None

    def take(self, count=1):
        text = self.pattern[self.place : self.place + count]
        self.place += count
        return text

    def ahead(self, text):
        return self.pattern.startswith(text, self.place)

    def run(self):
        while self.place < len(self.pattern):
            self.written.append(self.piece())
        return "".join(self.written)

    def piece(self):
        for refused in REFUSED:
            if self.ahead(refused):
                raise _error(self.pattern, f"invalid perl operator: {refused}")
        if self.ahead("(?<"):
            self.take(3)
            return "(?P<"
        letter = self.take()
        if letter == "\\":
            return self.escape(inside=False)
        if letter == "[":
            return self.bracket()
        if letter == "$" and not self.lines:
            return r"\Z"
        if letter in "*+?}" and self.ahead("+"):
            raise _error(self.pattern, f"bad repetition operator: {letter}+")
        return letter

    def escape(self, inside):
        """Translate the character after a backslash, inside or outside of a class."""
        if self.place >= len(self.pattern):
            raise _error(self.pattern, "trailing \\")
        letter = self.take()
        lower = letter.lower()
        if lower in CLASSES:
            return self.of_class(CLASSES[lower], letter.isupper(), inside)
        if lower == "p":
            name = self.take()
            if name == "{":
                end = self.pattern.find("}", self.place)
                name = self.take(end - self.place) if end >= 0 else ""
                self.take()
            negated = name.startswith("^") != (letter == "P")
            found = _category(name.removeprefix("^"))
            if not found:
                raise _error(
                    self.pattern,
                    f"invalid character class range: \\p{{{name}}} (gradtape knows general categories such as L, Lu, N)",
                )
            return self.of_class(found, negated, inside)
        if letter == "Q":
            end = self.pattern.find("\\E", self.place)
            quoted = self.take((len(self.pattern) if end < 0 else end) - self.place)
            self.take(2)
            return re.escape(quoted)
        if letter == "x" and self.ahead("{"):
            code = self.pattern[self.place + 1 : self.pattern.find("}", self.place)]
            self.take(len(code) + 2)
            return f"\\U{int(code, 16):08x}"
        if letter == "z" and not inside:
            return r"\Z"
        if letter in "bBA" and not inside:
            return f"(?a:\\{letter})"
        if letter in ESCAPED or not letter.isalnum() or (letter == "0" and letter.isdigit()):
            return f"\\{letter}"
        raise _error(self.pattern, f"invalid escape sequence: \\{letter}")

    def of_class(self, members, negated, inside):
        if not negated:
            return members if inside else f"[{members}]"
        if inside:
            raise _error(self.pattern, "gradtape cannot run a negated class (such as \\D) inside of [...]: write its members")
        return f"[^{members}]"

    def bracket(self):
        """Translate a class in brackets, after its opening bracket."""
        found = ["[^" if self.ahead("^") else "["]
        self.take(len(found[0]) - 1)
        if self.ahead("]"):
            self.take()
            found.append(r"\]")
        while not self.ahead("]"):
            if self.place >= len(self.pattern):
                raise _error(self.pattern, f"missing ]: {self.pattern}")
            if self.ahead("[:"):
                end = self.pattern.find(":]", self.place)
                name = self.pattern[self.place + 2 : end]
                if end < 0 or name not in POSIX:
                    raise _error(self.pattern, f"invalid character class range: [:{name}:]")
                found.append(POSIX[name])
                self.place = end + 2
                continue
            letter = self.take()
            if letter == "\\":
                found.append(self.escape(inside=True))
            else:  # Python would read this as an operation on sets, RE2 reads a character
                found.append(f"\\{letter}" if letter in "[&~|" else letter)
        return "".join([*found, self.take()])


@functools.lru_cache(256)
def compiled(pattern):
    """Compile a pattern (text in RE2's syntax) with Python's `re`; InvalidArgumentError if it is invalid."""
    try:
        return re.compile(_Translation(pattern).run())
    except (re.error, ValueError, OverflowError) as error:
        raise _error(pattern, str(error)) from None


def text_of(data):
    """Decode bytes to text; invalid UTF-8 is preserved."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text):
    return text.encode("utf-8", "surrogateescape")


def _rewritten(rewrite, groups):
    """Split `rewrite` into pieces: text, and group numbers. None if RE2 would refuse it."""
    pieces, place = [], 0
    while place < len(rewrite):
        if rewrite[place] != "\\":
            pieces.append(rewrite[place])
            place += 1
            continue
        following = rewrite[place + 1 : place + 2]
        if following.isdigit() and int(following) <= groups:
            pieces.append(int(following))
        elif following == "\\":
            pieces.append("\\")
        else:
            return None
        place += 2
    return pieces


def replaced(data, pattern, rewrite, everywhere):
    """Replace the first match, or every match, of a compiled pattern in `data`. `\\1` in `rewrite` is a group."""
    pieces = _rewritten(text_of(rewrite), pattern.groups)
    if pieces is None:
        return data
    text = text_of(data)
    result, last = [], 0
    ended = None
    for match in pattern.finditer(text):
        if match.end() == match.start() == ended:  # RE2 does not match the empty string right behind a match
            continue
        result += [text[last : match.start()], *[p if isinstance(p, str) else match[p] or "" for p in pieces]]
        last = ended = match.end()
        if not everywhere:
            break
    return bytes_of("".join([*result, text[last:]]))
