"""`gradtape why --html`: the notes about each gradient call while a script runs, and the page made from them."""

from __future__ import annotations

import contextlib
import html
import itertools
import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from rich.console import Console

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base import hooks
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Asked
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import bytes_of
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import View
from gradtape._src.explain.diagnosis import Diagnosis, by_cause, listed
from gradtape._src.explain.edits import lines_of
from gradtape._src.explain.explain import Question, held_node
from gradtape._src.explain.history import History, Name
from gradtape._src.explain.pictures.chosen import chosen
from gradtape._src.explain.pictures.highlight import coloured
from gradtape._src.explain.pictures.record import Group, Record, Recorded
from gradtape._src.explain.pictures.words import described, place, size
from gradtape._src.explain.probe import Probe, array, own_trace
from gradtape._src.explain.report import Finding, Report, symbolic, values_of
from gradtape._src.files.whole import replacing

MOST_CALLS = 100
MOST_OPS = 20_000  # on a page; a larger tape gets no norms of gradients, which would take longer than the script
MOST_SOURCES = 500  # sources of a call; flawed ones come first
STATES = ["unrecorded", "recorded", "path", "also", "break"]  # states of a line; a later one overrides
Costs = Callable[[GradientTape, Sequence[Any], Sequence[Any]], list[dict[str, Any]]]


class Page:
    """The gradient calls of a run, each at its first time, or at its first time with a new flaw.

    `costs` returns the FLOPs of a call by name scope, by line and by op.
    """

    def __init__(self, script: str, report: Report, costs: Costs | None) -> None:
        self._script, self._report, self._costs = script, report, costs
        self._calls: dict[journal.Line, dict[str, Any]] = {}
        self._files: dict[str, None] = {script: None}
        self._room = MOST_OPS

    def asked(
        self, call: Asked, tape: GradientTape, targets: Sequence[Any], sources: Sequence[Any], results: Sequence[Any] | None
    ) -> None:
        """Note the results of a gradient call, or None if it raises. The tape still holds its record."""
        before = len(self._report.findings)
        question = self._report.asked(call, tape, targets, sources, results)
        results = results or [None] * len(sources)
        known = self._calls.get(call.line)
        if known is not None and len(self._report.findings) == before:
            known["times"] += not symbolic()
        elif known is not None or len(self._calls) < MOST_CALLS:
            said = f"gradtape why: looking at the gradient call in line {text.number(call.line)} …"
            with Console(stderr=True).status(said, spinner="line"):  # only on a terminal
                self._calls[call.line] = self._scene(question, call, tape, targets, sources, results)
            self._calls[call.line]["times"] = known["times"] + (not symbolic()) if known is not None else 1

    def __str__(self) -> str:
        calls = list(self._calls.values())
        for call in calls:
            self._mark(call)
        shown = {name: lines_of(name, {}) for name in self._files}
        data = {
            "script": self._script,
            "headline": self._report.headline(self._script),
            "faults": _faults({(c["file"], c["line"]): k for k, c in enumerate(calls)}, self._report.findings),
            "calls": calls,
            "files": [{"name": name, "lines": lines, "coloured": coloured(lines)} for name, lines in shown.items()],
        }
        written, report = json.dumps(data, default=lambda finding: _said(finding.diagnosis)), str(self._report)
        files: set[str | None] = {self._script}
        json.loads(written, object_hook=lambda part: files.add(part.get("file")))  # all that has a place
        for file, name in _names(filter(None, files)).items():
            written, report = written.replace(json.dumps(file), json.dumps(name)), report.replace(file, name)
        part = resources.files(__package__).joinpath
        return Template(part("page.html").read_text("utf-8")).substitute(
            title=html.escape(Path(self._script).name),
            style=part("page.css").read_text("utf-8"),
            costs=part("costs.js").read_text("utf-8"),
            script=part("page.js").read_text("utf-8"),
            data=written.replace("<", "\\u003c"),  # no text of the user's can close the script element
            report=html.escape(report),
        )

    # -- one gradient call

    def _mark(self, call: dict[str, Any]) -> None:
        """Mark the lines of a call's breaks, and its sources; in a function these are known only after it ran."""
        findings = self._report.by_place.get((call["file"], call["line"]), [])
        states: dict[Any, str] = {(file, line): state for file, line, state in call["lines"]}
        marks = [("also", d) for f in findings for d in f.diagnosis.also] + [("break", f.diagnosis) for f in findings]
        states |= {(d.file, d.line): state for state, d in marks if d.line is not None}
        shown = {self._script, *[file for (file, _), state in states.items() if state != "unrecorded"]}
        self._files.update(dict.fromkeys(sorted(shown)))
        call["lines"] = [[file, line, state] for (file, line), state in states.items() if file in shown]
        for source in call["sources"]:
            found = next((f for f in findings if f.source == source["name"]), None)
            # a tried fix changes the reason at the end
            source |= {"what": "" if found is None else found.what, "diagnosis": found}
        call["sources"] = sorted(call["sources"], key=lambda source: not source["what"])[:MOST_SOURCES]

    def _scene(
        self,
        question: Question | None,
        call: Asked,
        tape: GradientTape,
        targets: Sequence[Any],
        sources: Sequence[Any],
        results: Sequence[Any],
    ) -> dict[str, Any]:
        where = text.where(call.line)
        said = [d for f in self._report.by_place.get(where, ()) for d in (*f.diagnosis.also, f.diagnosis)]
        question = question or Question(list(targets), tape)
        record = Record(tape, question.history, question.name_of)
        way = _way(record.history, targets, sources)
        norms = {} if len(record.ops) > MOST_OPS else _norms(tape, targets, sources)
        states = _line_states(record.view, way)
        groups = [list(ops) for _, ops in itertools.groupby(record.ops, lambda op: (op.where, op.layer))]
        faulty = set(map(id, _faulty(groups, said)))
        shown_groups = list(chosen([(len(group), id(group) in faulty) for group in groups], self._room))
        self._room -= sum(ops for _, ops, _ in shown_groups)
        return {
            "call": text.text(call.line) or "a gradient call",
            "file": where[0],
            "line": where[1],
            "sources": [
                {"name": question.name_of(s), "value": described(held_node(s).aval), "norm": _norm(values_of(r))}
                for s, r in zip(sources, results, strict=True)
            ],
            "all_sources": len(sources),
            "lines": [[file, line, state] for (file, line), state in states.items()],
            "watched": [{"name": w.name, "value": described(w.aval)} for w in record.watched],
            "groups": [_group(groups[k], id(groups[k]) in faulty, way, norms, ops, gap) for k, ops, gap in shown_groups],
            "left_out": len(groups) - (shown_groups[-1][0] + 1 if shown_groups else 0),
            "ops": len(record.ops),
            "norms": bool(norms) or not record.ops,
            "costs": self._flops(tape, targets, sources),
        }

    def _flops(self, tape: GradientTape, targets: Sequence[Any], sources: Sequence[Any]) -> list[dict[str, Any]]:
        if self._costs is not None:
            with contextlib.suppress(Exception), contextlib.nullcontext() if symbolic() else own_trace():
                return self._costs(tape, targets, [s for s in sources if held_node(s).aval.inexact])
        return []


def _faults(numbers: dict[tuple[str | None, int | None], int], findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the faults of all calls, each cause once; `numbers` are those of the calls on the page, by line."""
    faults = []
    for group, diagnosis in by_cause([(f, f.diagnosis) for f in findings if f.place in numbers]):
        first, names = group[0], listed([f.source for f in group])
        faults.append(_said(diagnosis) | {"call": numbers[first.place], "what": first.what, "of": first.of, "sources": names})
    return faults


def _said(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a Diagnosis as a dict, with its place, its label and the code of its fix."""
    shown = {"place": place(diagnosis.file, diagnosis.line), "label": diagnosis.label, "copy": _code(diagnosis)}
    return diagnosis.to_dict() | shown | {"also": [_said(other) for other in diagnosis.also]}


def _code(diagnosis: Diagnosis) -> str:
    """Return the lines of a fix to copy: those that its diff adds, or that its first change writes."""
    added = [line[1:] for line in diagnosis.mend.splitlines() if line.startswith("+")]
    lines = added or [line for fix in diagnosis._fixes[:1] for edit in fix for line in edit.lines]
    return textwrap.dedent("\n".join(lines)) if diagnosis.label.startswith("fix") else ""


def _faulty(groups: Sequence[Group], said: Sequence[Diagnosis]) -> list[Group]:
    """Return the groups at the lines of breaks; on one line, those with the op, if any."""
    found = []
    for diagnosis in said:
        at = [group for group in groups if group[0].where == (diagnosis.file, diagnosis.line)]
        found += [group for group in at if any(op.op == diagnosis.op for op in group)] or at
    return found


def _group(group: Group, faulty: bool, way: set[Name], norms: dict[Name, str], ops: int, gap: int) -> dict[str, Any]:
    """Return a group of ops of one line and layer, at most `ops` of them; `gap` lines before it are left out."""
    file, line = group[0].where
    on_way = any(op.active and op.name in way for op in group)
    return {
        "file": file,
        "line": line,
        "layers": [name for name in group[0].layer.split("/") if name],
        "place": place(file, line),
        "source": text.text(group[0].line) or "",
        "state": "break" if faulty else "path" if on_way else "recorded",
        "ops": [_op(op, norms) for op in group[:ops]],
        "more": len(group) - ops,
        "gap": gap,
    }


def _op(op: Recorded, norms: dict[Name, str]) -> dict[str, Any]:
    return {
        "number": op.number,
        "op": op.op,
        "value": described(op.aval),
        "bytes": size(0 if op.aval is None else bytes_of(op.aval)),
        "kept": size(op.kept) if op.kept else "",
        "norm": norms.get(op.name, ""),
        "inputs": op.inputs,
    }


# -- states of lines


def _way(history: History, targets: Sequence[Any], sources: Sequence[Any]) -> set[Name]:
    """Return the values between sources and targets, also on broken paths."""
    ends = [journal.origin_of(held_node(t)) for t in targets]
    held = [history.holdings(s._uid) if isinstance(s, Variable) else [journal.origin_of(s.node)] for s in sources]
    return set(history.before(ends)) & set(history.after(itertools.chain(*held)))


def _line_states(view: View, way: set[Name]) -> dict[text.Place, str]:
    """Return the state of each of the user's lines with ops, inside of functions as well."""
    states: dict[text.Place, str] = {}
    for step in view.history.steps.values():
        at = text.where(step.line)
        if step.op is None or None in at or any(c.start <= step.at < c.stop for c in view.calls):
            continue
        state = "unrecorded" if not view.sees(step.at) else "path" if step.name in way else "recorded"
        states[at] = max(states.get(at, state), state, key=STATES.index)
    return states


# -- norms of gradients


def _norms(tape: GradientTape, targets: Sequence[Any], sources: Sequence[Any]) -> dict[Name, str]:
    """Return the norm of the target's gradient with respect to each value on a tape that can be run again."""
    norms: dict[Name, str] = {}
    entries, _ = tape._entries()
    if symbolic() or any(e.node.op.effect for e in entries):  # a second run would repeat the side effects
        return norms
    with contextlib.suppress(Exception), own_trace():  # a picture must never break a running program
        probe = Probe(tape, sources)
        probe.backward(targets)
        for entry in entries:
            cotangent = probe.total.get(probe._at(entry.node))
            if cotangent is not None:
                norms[journal.origin_of(entry.node)] = _norm(array(cotangent))
    return norms


def _norm(values: np.ndarray | None) -> str:
    if values is None:
        return ""
    if values.dtype.kind not in "fc":
        values = values.astype(np.float64)
    with np.errstate(all="ignore"):
        return f"{np.sqrt(np.square(np.abs(values), dtype=np.float64).sum()):.3g}"  # host-side: a number for a page


def _names(paths: Iterable[str]) -> dict[str, str]:
    """Return a name for each file on the page: the shortest end of its path that is unique."""
    files = {str(Path(file)): file for file in paths if not file.startswith("<")}
    names: dict[str, str] = {}
    for path, file in files.items():
        parts = Path(path).parts
        ends = ("/".join(parts[-k:]) for k in range(1, len(parts) + 1))
        names[file] = next(end for end in ends if sum(f"/{other}".endswith(f"/{end}") for other in files) == 1)
    return names


@contextlib.contextmanager
def pictured(report: Report, script: Path, path: Path | None, costs: Costs | None = None) -> Iterator[None]:
    """Note the gradient calls in the context, in addition to `report`, and write the page at its end."""
    if path is None:
        yield
        return
    page = Page(str(script.absolute()), report, costs)
    try:
        with hooks.filled(hooks.watch, asked=page.asked):
            yield
    finally:
        with replacing(str(path), save=False) as part:
            Path(part).write_text(str(page), "utf-8", errors="replace")
