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
FLAGS = re.compile(r"\(\?([ims-]+)\)")  # set for the rest of a group
TIMES = re.compile(r"\{(\d+)(,(\d*))?\}")
MOST = 1000  # repetitions
ESCAPED = frozenset("afnrtvx")  # escapes with the same meaning
REFUSED = ("(?x", "(?a", "(?L", "(?u", "(?U", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "(?#", "(?P=")


def _error(pattern, reason):
    return InvalidArgumentError.saying(f"Invalid pattern: {pattern}, error: {reason}")


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


@functools.cache
def _others(members):
    """Return the characters that are not in a class, as the inside of a class."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    return "".join([f"\\U{ord(run[0][0]):08x}-\\U{ord(run[0][-1]):08x}" for run in re.finditer(f"[^{members}]+", every)])


class _Translation:
    """A pattern during its translation, from left to right."""

    def __init__(self, pattern):
        self.pattern, self.place, self.written = pattern, 0, []
        self.flags = [[]]  # for each open group those set in it, which hold until its end
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
        return "".join([*self.written, ")" * len(self.flags[0])])

    def piece(self):
        for refused in REFUSED:
            if self.ahead(refused):
                raise _error(self.pattern, f"invalid perl operator: {refused}")
        flags = FLAGS.match(self.pattern, self.place)
        if flags:
            self.place = flags.end()
            self.flags[-1].append(f"(?{flags[1]}:")
            return self.flags[-1][-1]
        if self.ahead("(?<"):
            self.take(3)
            self.flags.append([])
            return "(?P<"
        letter = self.take()
        if letter in "(|)":
            return self.grouped(letter)
        if letter == "{":
            return self.repeated()
        if letter == "\\":
            return self.escape(inside=False)
        if letter == "[":
            return self.bracket()
        if letter == "$" and not self.lines:
            return r"\Z"
        if letter in "*+?}" and self.ahead("+"):
            raise _error(self.pattern, f"bad repetition operator: {letter}+")
        return letter

    def grouped(self, letter):
        """Begin or end a group, or an alternative of one: Python has flags for a part of it only as groups of their own."""
        if letter == "(":
            self.flags.append([])
            return letter
        flags = self.flags[-1] if letter == "|" or len(self.flags) == 1 else self.flags.pop()
        return ")" * len(flags) + letter + ("".join(flags) if letter == "|" else "")

    def repeated(self):
        """Translate an opening brace, which is a character unless it begins a number of repetitions."""
        times = TIMES.match(self.pattern, self.place - 1)
        if times is None:
            return r"\{"
        if any(number and int(number) > MOST for number in times.group(1, 3)):
            raise _error(self.pattern, f"invalid repetition size: {times[0]}")
        return "{"

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
        if inside:
            return _others(members) if negated else members
        return f"[^{members}]" if negated else f"[{members}]"

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
                members = POSIX.get(name.removeprefix("^"))
                if end < 0 or members is None:
                    raise _error(self.pattern, f"invalid character class range: [:{name}:]")
                found.append(self.of_class(members, name.startswith("^"), inside=True))
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


def _rewritten(rewrite, groups, everywhere):
    """Split `rewrite` into pieces: text, and group numbers. None if RE2 would refuse it.

    In a replacement of every match RE2 refuses only a group that is missing, and leaves out what begins with a wrong escape.
    """
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
        elif following.isdigit() or not everywhere:
            return None
        else:
            break
        place += 2
    return pieces


def replaced(data, pattern, rewrite, everywhere):
    """Replace the first match, or every match, of a compiled pattern in `data`. `\\1` in `rewrite` is a group."""
    pieces = _rewritten(text_of(rewrite), pattern.groups, everywhere)
    if pieces is None:
        return data
    text = text_of(data)
    result, place, ended = [], 0, -1
    while place <= len(text):
        match = pattern.search(text, place)
        if match is None:
            break
        result.append(text[place : match.start()])
        if match.end() == match.start() == ended:  # RE2 does not match the empty string right behind a match
            result.append(text[ended : ended + 1])
            place = ended + 1
            continue
        result += [p if isinstance(p, str) else match[p] or "" for p in pieces]
        place = ended = match.end()
        if not everywhere:
            break
    return bytes_of("".join([*result, text[place:]]))
