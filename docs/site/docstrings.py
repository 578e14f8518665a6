"""The docstrings of the reference as Markdown, with a list of the parameters: their types and descriptions.

A sentence that begins with the name of a parameter describes it, and moves from the prose to the list.
"""

import enum
import inspect
import re
from collections.abc import Mapping
from typing import Any

import gradtape
from gradtape._src.core.programs.op import Op

EXAMPLE = re.compile(r"^>>> .*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"#+ (.+)")
OPENING = re.compile(r"^(\s*)(?:[-*+]|\d+\.) ")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[`A-Z])|(?<=;)\s+(?=`)")
LEAD = re.compile(r"`\*{0,2}(\w+)(?:=[^`]*)?`")
# A sentence with such a word belongs to the parameter of the sentence before it, unless it begins with another subject.
GOES_ON = re.compile(r"(?!The |Returns |Raises |\w+Error )(?:None|Both|Then|Else|Otherwise|.*\b[Ii]ts?\b|.*\b[Tt]he(?:y|m|ir)\b)")
CODE_OR_LIST = re.compile(r"\s|>>>|```|[-*|] |\d+\. |#")
# Names of parameters that are tensors, and of those that are dtypes, in functions without annotations.
TENSORS = """
    a b image images indices input input_tensor labels logits predictions segment_ids tensor x x1 x2 y
""".split()
TYPES = dict.fromkeys(TENSORS, "Tensor") | {"dtype": "DType", "out_type": "DType", "keepdims": "bool"}


def split(doc: str, names: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Split a docstring into its prose and the sentences that describe parameters, by parameter.

    The first paragraph always stays in the prose.
    """
    first, *paragraphs = re.split(r"\n\s*\n", doc)
    kept, about_each, fenced = [first], dict.fromkeys(names, ""), False
    for paragraph in paragraphs:
        inside, fenced = fenced, fenced ^ paragraph.count("```") % 2
        if inside or fenced or CODE_OR_LIST.match(paragraph):
            kept.append(paragraph)
            continue
        rest, about = [], ""
        for sentence in SENTENCE.split(" ".join(paragraph.split())):
            lead = LEAD.match(sentence)
            about = lead[1] if lead and lead[1] in names else about if GOES_ON.match(sentence) else ""
            if about:
                about_each[about] = f"{about_each[about]} {sentence}".strip()
            else:
                rest.append(sentence)
        kept += [" ".join(rest)] if rest else []
    return "\n\n".join(kept), {name: re.sub(r";$", ".", text) for name, text in about_each.items() if text}


def types_of(value: Any, parameters: Mapping[str, inspect.Parameter]) -> dict[str, str]:
    """Return the known types of parameters: by annotation, else as an operand of an op, by default value or by name."""
    op = getattr(value, "op", None)
    operands = inspect.signature(op.kernel).parameters.values() if isinstance(op, Op) else ()
    known = TYPES | {p.name: "Tensor" for p in operands if p.kind is not p.KEYWORD_ONLY}
    found = {}
    for name, parameter in parameters.items():
        annotation, default = _plain(parameter.annotation), parameter.default
        if annotation is not parameter.empty:
            found[name] = repr(annotation)
        elif isinstance(default, bool | int | float | str):
            found[name] = type(default).__name__
        elif parameter.annotation is parameter.empty and name in known:
            found[name] = known[name]
    return found


def told(value: Any) -> str:
    """Return the docstring of a callable as Markdown, with the list of its parameters before the first example."""
    doc = inspect.getdoc(value) or ""
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return prose(doc)
    rest, about = split(doc, parameters)
    types = types_of(value, parameters)
    fields = []
    for name in [name for name in parameters if name in about or (name in types and name != "name")]:
        text = re.sub(rf"^`\*{{0,2}}{name}`(?::| is| are) ", "", about.get(name, ""))
        fields.append(f":param {name}: {escaped(text)}".rstrip())
        fields += [f":type {name}: `{types[name]}`"] if name in types else []
    before, example, after = re.split(r"((?:^[^\n]*:\n\n)?^>>> |\Z)", rest, maxsplit=1, flags=re.MULTILINE)
    return "\n\n".join(filter(None, [prose(before), "\n".join(fields), prose(example + after)]))


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: examples become code blocks, and characters of Markdown's markup are escaped."""
    parts, start = [], 0
    for found in EXAMPLE.finditer(docstring):
        parts += [escaped(docstring[start : found.start()]), f"```pycon\n{found[0].rstrip()}\n```\n"]
        start = found.end()
    return "".join([*parts, escaped(docstring[start:])]).strip()


def escaped(text: str) -> str:
    """Escape Markdown's markup in a text, except in code and lists."""
    lines, fenced = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        opening = OPENING.match(line)
        lead = opening[0] if opening else ""
        if fenced or fence or (not opening and line.startswith("    ")):  # code
            lines.append(line)
            continue
        if heading := HEADING.match(line):  # headings become bold, because an entry has none
            lines.append(f"**{heading[1]}**")
            continue
        pieces = re.split(r"(`+[^`]*`+)", line[len(lead) :])
        pieces[::2] = [re.sub(r"([*<\[\]]|__|^#|(?<=\s)_|_(?=\s))", r"\\\1", piece) for piece in pieces[::2]]
        lines.append(lead + "".join(pieces))
    return "\n".join(lines)


def signature(value: Any, *, method: bool = False) -> str:
    """Return the signature of a function or class as in Python, with annotations and defaults made readable."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    parameters = [p for i, p in enumerate(found.parameters.values()) if not (method and i == 0 and p.name in ("self", "cls"))]
    parameters = [p.replace(annotation=_plain(p.annotation), default=_shown(p.default)) for p in parameters]
    result = inspect.Signature.empty if inspect.isclass(value) else _plain(found.return_annotation)
    return str(found.replace(parameters=parameters, return_annotation=result))


def _plain(annotation: Any) -> Any:
    """Return the short form of an annotation; none for an annotation without information."""
    if annotation in (inspect.Parameter.empty, Any, "Any"):
        return inspect.Parameter.empty
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__qualname__", None) or str(annotation)
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text if "[" not in str(annotation) else str(annotation))
    return inspect.Parameter.empty if re.search(r"[<>~]", text) else _Written(text.replace("'", ""))


class _Written:
    """A default or annotation with a text of its own."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return default
    if isinstance(default, gradtape.DType):
        return _Written(f"tf.{default.name}")
    if isinstance(default, enum.Enum):
        return _Written(f"{type(default).__name__}.{default.name}")
    text = repr(default)
    return _Written("…" if re.search(r"[<>]", text) or len(text) > 40 else text)
