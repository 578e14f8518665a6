"""Splitting of strings into words, bytes and characters, n-grams, and conversion of encodings.

The number of a string's parts depends on its value. So one string gives a vector, and several give a RaggedTensor, in eager
code.
"""

import codecs
from math import prod

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import not_differentiable, op, ran
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, emit, to_numpy
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import unknown
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.shapes import one_of, require, same
from gradtape._src.ops.strings.elements import NO_NUMBER, STRING, each, separator_of, texts


def _apart(function, input, attrs):
    """Apply `function` to one string, or to each string of a tensor: a RaggedTensor, or a tuple of them."""
    node = texts(input, function)
    shape = node.aval.shape
    if not shape:
        return ran(function, EagerTensor(node), attrs=attrs)
    if engine.local.trace.parent is not None:
        raise engine.NeedsValues(f"{function.op.type} of several strings gives rows of different lengths")
    found = [function.op.run([np.array(item, object)], attrs) for item in to_numpy(node).ravel()]
    kinds = function.op.result((aval((), STRING),), attrs)  # of the results for one string
    if isinstance(kinds, tuple):
        return tuple([_rows([parts[i] for parts in found], shape, kind.dtype) for i, kind in enumerate(kinds)])
    return _rows(found, shape, kinds.dtype)


def _rows(parts, shape, dtype=STRING):
    """Combine the vectors `parts` of `dtype`, one for each element of a tensor of `shape`, to a RaggedTensor."""
    values = tensor(np.concatenate(parts) if parts else np.empty(0, dtype))
    rows = RaggedTensor.from_row_lengths(values, [len(part) for part in parts])
    for axis in reversed(range(1, len(shape))):
        rows = RaggedTensor.from_uniform_row_length(rows, shape[axis], prod(shape[:axis]))
    return rows


def _row(parts):
    """Convert a list of bytes to a vector of strings."""
    result = np.empty(len(parts), object)
    result[:] = parts
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Words and bytes


def _some(input, **_):
    return aval((unknown(),), np.dtype(object))


def _some_with_places(dtype):
    def infer(input, **_):
        found = unknown()
        return aval((found,), np.dtype(dtype)), aval((found,), np.dtype(np.int64))

    return infer


@op("StringSplitV2", infer=_some, on_host=True)
def _split(input, *, sep, maxsplit):
    text = input.item()
    if not maxsplit:
        return _row([text])
    words = text.split(sep or None, maxsplit)
    if not sep and len(words) == maxsplit:
        words.append(b"")  # what is left behind the last word, if only white space, is a part, too
    return _row(words)


@public
def split(input, sep=None, maxsplit=-1, name=None):
    """Split a string at `sep` (by default white space of any length) into at most `maxsplit` + 1 parts: a vector of strings.

    For several strings the result is a RaggedTensor, in eager code.

    >>> tf.strings.split("a b  c").numpy().tolist()
    [b'a', b'b', b'c']
    """
    word = tensor(sep).numpy() if isinstance(sep, EagerTensor) else separator_of(sep or "")
    return _apart(_split, input, (word, int(maxsplit)))


@op("StringBytesSplit", infer=_some, on_host=True, traits="own")
def _bytes_split(input):
    data = input.item()
    return _row([data[place : place + 1] for place in range(len(data))])


@public
def bytes_split(input, name=None):
    """Split a string into its bytes, a vector of strings. Several strings give a RaggedTensor, in eager code.

    >>> tf.strings.bytes_split("abc").numpy().tolist()
    [b'a', b'b', b'c']
    """
    return _apart(_bytes_split, input, ())


# ---------------------------------------------------------------------------------------------------------------------
# n-grams


def _padding(width, padding_width, padded):
    """Return the number of pads on one side of an n-gram of `width`."""
    if not padded:
        return 0
    return width - 1 if padding_width is None else min(padding_width, width - 1)


def _spans(length, widths, padding_width, padded, preserve):
    """Return `(pads on each side, width)` of the n-grams of a row, for each width that fits."""
    found = []
    for width in widths:
        pads = _padding(width, padding_width, padded)
        found += [(pads, start, width) for start in range(length + 2 * pads - width + 1)]
    if preserve and not found and length:
        pads = _padding(widths[-1], padding_width, padded)
        found = [(pads, 0, length + 2 * pads)]
    return found


def _grams(data, widths, separator, pads, padding_width, preserve):
    count = len(_spans(data.shape[-1], widths, padding_width, pads is not None, preserve))
    return aval((*data.shape[:-1], count), STRING)


@op("StringNGrams", infer=_grams, on_host=True)
def _ngrams(data, *, widths, separator, pads, padding_width, preserve):
    spans = _spans(data.shape[-1], widths, padding_width, pads is not None, preserve)
    left, right = pads or (b"", b"")
    result = np.empty((*data.shape[:-1], len(spans)), object)
    for place in np.ndindex(data.shape[:-1]):
        row = data[place].tolist()
        for i, (count, start, width) in enumerate(spans):
            whole = [left] * count + row + [right] * count
            result[(*place, i)] = separator.join(whole[start : start + width])
    return result


@public
def ngrams(
    data, ngram_width, separator=" ", pad_values=None, padding_width=None, preserve_short_sequences=False, name=None
):  # fmt: skip
    """Return the n-grams along the last axis of `data`: `ngram_width` neighbours (an int, or each of a list) joined by
    `separator`.

    `pad_values`, a string or a pair (left, right), is added up to `padding_width` times at both ends. For a RaggedTensor the
    result has the n-grams of each innermost row.

    >>> tf.strings.ngrams(["a", "b", "c"], 2).numpy().tolist()
    [b'a b', b'b c']
    """
    if isinstance(data, RaggedTensor):
        options = separator, pad_values, padding_width, preserve_short_sequences
        if isinstance(data.values, RaggedTensor):
            return data.with_values(ngrams(data.values, ngram_width, *options))
        rows = [ngrams(row, ngram_width, *options).numpy() for row in data]
        return _rows(rows, (len(rows),))
    node = texts(data, _ngrams)
    if not node.aval.ndim:
        raise ValueError("Data must have rank>0")
    widths = tuple([int(w) for w in ngram_width]) if isinstance(ngram_width, (list, tuple)) else (int(ngram_width),)
    if min(widths, default=0) < 1:
        raise ValueError(f"All ngram_widths must be greater than or equal to 1. Received: {ngram_width}")
    if padding_width is not None and (padding_width < 1 or pad_values is None):
        raise ValueError(f"padding_width must be greater than 0, and have pad_values: {padding_width} and {pad_values!r}.")
    pads = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
    if pads is not None:
        if not isinstance(pads, list | tuple) or len(pads) != 2 or not all(isinstance(pad, str | bytes) for pad in pads):
            raise TypeError(f"pad_values must be a string, tuple of strings, or None, received {pad_values!r}.")
        pads = separator_of(pads[0]), separator_of(pads[1])
    attrs = widths, separator_of(separator), pads, padding_width, bool(preserve_short_sequences)
    return emit(_ngrams.op, (node,), attrs)


# ---------------------------------------------------------------------------------------------------------------------
# Unicode

WRITTEN = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
ERRORS = ("strict", "replace", "ignore")
MARKS = {
    "utf-16": {codecs.BOM_UTF16_BE: "-be", codecs.BOM_UTF16_LE: "-le"},
    "utf-32": {codecs.BOM_UTF32_BE: "-be", codecs.BOM_UTF32_LE: "-le"},
}


def _codec(name):
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise invalid(f"Could not create converter for input encoding: {name}") from None


def _order(data, encoding):
    """Return the encoding with its byte order, and the length of the mark that states it; without a mark it is big-endian."""
    for mark, order in MARKS.get(encoding, {}).items():
        if data.startswith(mark):
            return encoding + order, len(mark)
    return encoding + "-be" if encoding in MARKS else encoding, 0


def _characters(data, encoding, errors, replacement, control):
    """Decode a string to `(characters, offsets)`. Invalid bytes are replaced, left out or an error."""
    found, places = [], []
    encoding, mark = _order(data, encoding)
    start = mark
    while start < len(data):
        try:
            text, wrong = data[start:].decode(encoding), None
        except UnicodeDecodeError as error:
            text, wrong = data[start : start + error.start].decode(encoding), (error.start, max(error.end, error.start + 1))
        at = start
        for character in text:
            wanted = not control or ord(character) > 0x1F
            if wanted or errors != "ignore":
                found.append(character if wanted else replacement)
                places.append(at if at > mark else 0)
            at += len(character.encode(encoding))
        if wrong is None:
            break
        if errors == "strict":
            raise InvalidArgumentError.saying(f"Invalid formatting on input string {data!r}")
        if errors == "replace":
            found.append(replacement)
            places.append(start + wrong[0])
        start += wrong[1]
    return found, places


@op("UnicodeDecodeWithOffsets", infer=_some_with_places(np.int32), on_host=True)
def _decode(input, *, encoding, errors, replacement, control):
    found, places = _characters(input.item(), encoding, errors, replacement, control)
    return np.array([ord(c) for c in found], np.int32), np.array(places, np.int64)


@op("UnicodeSplitWithOffsets", infer=_some_with_places(object), on_host=True, traits="own")
def _characters_of(input, *, encoding, errors, replacement):
    found, places = _characters(input.item(), encoding, errors, replacement, False)
    return _row([c.encode(encoding) for c in found]), np.array(places, np.int64)


def _reading(encoding, errors, replacement_char):
    return _codec(encoding), one_of(errors, ERRORS, "errors"), _replacement(replacement_char)


def _replacement(code):
    if not _is_character(code):
        raise invalid(f"replacement_char out of unicode codepoint range: {code}")
    return chr(code)


def _is_character(code):
    return 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


@public
def unicode_decode(
    input, input_encoding, errors="replace", replacement_char=65533, replace_control_characters=False, name=None
):  # fmt: skip
    """Return the code points of a string, an int32 vector. Several strings give a RaggedTensor, in eager code.

    Invalid bytes are replaced by `replacement_char`, left out (`errors="ignore"`) or an InvalidArgumentError ("strict").

    >>> tf.strings.unicode_decode("né", "UTF-8").numpy().tolist()
    [110, 233]
    """
    return unicode_decode_with_offsets(input, input_encoding, errors, replacement_char, replace_control_characters)[0]


@public
def unicode_decode_with_offsets(
    input, input_encoding, errors="replace", replacement_char=65533, replace_control_characters=False, name=None
):  # fmt: skip
    """Decode like `unicode_decode`; return the byte offsets of the characters, an int64 vector, too.

    >>> characters, starts = tf.strings.unicode_decode_with_offsets("aé€", "UTF-8")
    >>> print(characters.numpy(), starts.numpy())
    [  97  233 8364] [0 1 3]
    """
    attrs = (*_reading(input_encoding, errors, replacement_char), bool(replace_control_characters))
    return _apart(_decode, input, attrs)


@public
def unicode_split(input, input_encoding, errors="replace", replacement_char=65533, name=None):
    """Split a string into its characters, a vector of strings. Several strings give a RaggedTensor, in eager code.

    >>> rows = tf.strings.unicode_split(["dü", "a"], "UTF-8").to_list()
    >>> print([[c.decode() for c in row] for row in rows])
    [['d', 'ü'], ['a']]
    """
    return unicode_split_with_offsets(input, input_encoding, errors, replacement_char)[0]


@public
def unicode_split_with_offsets(input, input_encoding, errors="replace", replacement_char=65533, name=None):
    """Split like `unicode_split`; return the byte offsets of the characters, an int64 vector, too.

    >>> characters, starts = tf.strings.unicode_split_with_offsets("aé€", "UTF-8")
    >>> print([c.decode() for c in characters.numpy()], starts.numpy())
    ['a', 'é', '€'] [0 1 3]
    """
    one_of(input_encoding, WRITTEN, "output_encoding")
    return _apart(_characters_of, input, _reading(input_encoding, errors, replacement_char))


@op("UnicodeEncode", infer=lambda input, encoding, errors, replacement: aval(input.shape[:-1], STRING), on_host=True)
def _encode(input, *, encoding, errors, replacement):
    def character(code):
        if _is_character(code):
            return chr(code)
        if errors == "strict":
            raise InvalidArgumentError.saying(
                f"Code point is out of range for Unicode, or is a surrogate: {code} [Op:UnicodeEncode]"
            )
        return replacement if errors == "replace" else ""

    result = np.empty(input.shape[:-1], object)
    for place in np.ndindex(result.shape):
        result[place] = "".join(map(character, input[place].tolist())).encode(encoding)
    return result


@public
def unicode_encode(input, output_encoding, errors="replace", replacement_char=65533, name=None):
    """Encode the code points, int32, along the last axis of `input` to strings in UTF-8, UTF-16-BE or UTF-32-BE.

    Each innermost row of a RaggedTensor becomes a string.

    >>> tf.strings.unicode_encode([71, 8364], "UTF-8").numpy().decode()
    'G€'
    """
    if isinstance(input, RaggedTensor):
        options = output_encoding, errors, replacement_char
        if isinstance(input.values, RaggedTensor):
            return input.with_values(unicode_encode(input.values, *options))
        return stack([unicode_encode(row, *options) for row in input])
    x = tensor(input)
    require(x.node.aval, ("int32",), "input_values")
    if not x.ndim:
        raise ValueError("input_tensor's rank must be at least 1.")
    encoding = _codec(one_of(output_encoding, WRITTEN, "output_encoding"))
    return emit(_encode.op, (x.node,), (encoding, one_of(errors, ERRORS, "errors"), _replacement(replacement_char)))


@op("UnicodeTranscode", infer=same, on_host=True)
def _transcode(input, *, encoding, errors, replacement, control, into):
    def written(data):
        return "".join(_characters(data, encoding, errors, replacement, control)[0]).encode(into)

    return each(written, input)


@public
def unicode_transcode(
    input, input_encoding, output_encoding, errors="replace", replacement_char=65533, replace_control_characters=False,
    name=None,
):  # fmt: skip
    r"""Convert each string from one encoding to another: UTF-8, UTF-16-BE or UTF-32-BE.

    >>> print(tf.strings.unicode_transcode("é", "UTF-8", "UTF-16-BE").numpy())
    b'\x00\xe9'
    """
    into = _codec(one_of(output_encoding, WRITTEN, "output_encoding"))
    attrs = (*_reading(input_encoding, errors, replacement_char), bool(replace_control_characters), into)
    return emit(_transcode.op, (texts(input, _transcode),), attrs)


not_differentiable(
    _split, _bytes_split, _ngrams, _decode, _characters_of, _encode, _transcode, because=NO_NUMBER
)  # fmt: skip
