"""Branches that did not run, loops without a trip, and functions that were not called, with the source in them."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.structured import BRANCH, LOOP, StructuredOp
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import MADE, scope_of, statements_under_tape
from gradtape._src.explain.codes.instead import uses_under_tape
from gradtape._src.explain.codes.unused import Unknown, Unused, not_used
from gradtape._src.explain.evidence import Evidence, Said, of_no_way
from gradtape._src.explain.history import History, Name, Step
from gradtape._src.explain.holders import holders
from gradtape._src.explain.ran import Ran
from gradtape._src.explain.syntax import FUNCTIONS, callee, enclosing, named_in, within
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View

CHOICES = {"cond", "case", "switch_case"}
ABOUT = {"name", "shape", "dtype", "device", "trainable", "path"}  # attributes that do not use a variable's value
LONGEST = 60  # characters of a condition that an answer repeats
LOOPS = (ast.For, ast.comprehension)
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class BranchNotTaken(Evidence):
    code, named = "branch_not_taken", "the condition, loop or `except`"
    when = "the source is used in a branch that did not run; also in a loop that never came to it, or in a `try` that failed"
    harmless = True
    of: Literal["branch", "loop", "try", "one", "rest"]  # a loop skipped this item ("one"), or ended before it ("rest")
    flag: str | None = None  # the argument that selects the branch, such as `training=True`
    by_value: bool = True  # the condition is a tensor
    wanted: str | None = None  # the setting that selects the branch: "`self.deep` true"

    def said(self, w: Words) -> Said:
        match self.of:
            case "try":
                cause = f"{w.source} is used in a `try` that failed, and `{text.text(self.line)}` hides its error"
                return Said(cause, "print the error, or leave the except clause out, and do what the error says")
            case "loop":
                zeros = "" if self.step is not None else ", or ask for `unconnected_gradients='zero'`"  # a function returns zeros
                cause = f"{w.source} is used in the loop {self.written}, which made no trip"
                return Said(cause, f"let the loop run once at least{zeros}")
            case "one":
                cause = f"{w.source} is held by what the loop around {self.written} goes through, and is passed over there"
                return Said(cause, f"let the condition take it in, or leave {w.source} out of the sources")
            case "rest":
                cause = f"{w.source} is held by what the loop {self.written} goes through, and the loop ended before it"
                ends = "look where it begins and ends: `zip` ends with the shortest of what it is given"
                return Said(cause, f"{ends}; or leave {w.source} out of the sources")
            case "branch" if self.flag is not None:
                name, _, wanted = self.flag.partition("=")
                call = _call_with(self.line, w.asked, self.flag)
                was = "was None" if wanted == "…" else f"was not {wanted}"
                cause = f"{w.source} is used in a branch of {self.written} that did not run, as {name} {was}"
                return Said(cause, f"call with `{self.flag if call is None else call[1]}`", call and text.span(call[0]))
            case "branch":
                cause = f"{w.source} is used in a branch of {self.written} that did not run"
                soft = "where both sides are to learn, add them with soft weights, tf.sigmoid(…)"
                if self.wanted is not None:
                    make = f"make {self.wanted}, or leave {w.source} out of the sources until then"
                    return Said(cause, f"{make}; {soft}" if self.by_value else make, whole=False)
                return Said(cause, f"look at the condition: the side that does not run has no gradient, or zeros; {soft}")


def _of_a_function(b: Evidence, w: Words, function: str) -> Said:
    mend = f"call `{function}` and compute {w.target} from what it gives, or leave {w.source} out of the sources"
    return not_used(w, f": `{function}`, which uses it, did not run under the tape", mend)


@of_no_way(40)
def not_taken(case: Apart) -> Evidence | None:
    """Return the condition, loop or `try` that kept code with one of the names from running; None if all of it may have run.

    Code in the asking frame counts up to the gradient call. A name such as ".head" stands for an attribute of any object.
    """
    view, names, frame = case.view, case.names, case.frame
    ran = Ran(_lines(view, case.used), None if view.tape is None else view.tape.lines)
    files = [Unrun(name, file_of(tree), ran, frame) for name in ran.files if (tree := text.tree(name)) is not None]
    found = next((b for file in files if names and (b := file.first(names)) is not None), None)
    if found is not None or not files:
        return found
    variable, used = case.source.variable, view.history.used_variables(case.used)
    every = holders(variable, frame, set())
    beside = set() if uses_under_tape(view, case.source.names) else every - holders(variable, frame, used)  # hold used ones, too
    passes = [(file, held, held is beside) for held in (every, beside) for file in files if held]
    return next((b for file, held, ended in passes if (b := file.passed_over(held, ended)) is not None), None)


@of_no_way(125)
def _never_called(case: Apart) -> Evidence | None:
    """Find the function by the lines that the interpreter noted; ops alone do not tell that it was not called."""
    noted, name = None if case.view.tape is None else case.view.tape.lines, text.file(case.made)
    tree = text.tree(name)
    if noted is None or name is None or tree is None or uses_under_tape(case.view, case.source.names):
        return None
    ran, file = Ran((), noted), file_of(tree)
    functions = [function for use in file.uses(tree, frozenset(case.names)) if (function := file.function(use)) is not None]
    idle = [function for function in functions if function.name not in MADE and not ran.saw(name, function.body, function.lineno)]
    return Unused(case.made, tell=functools.partial(_of_a_function, function=idle[0].name)) if idle else None


def _lines(view: View, used: dict[Name, None]) -> Iterator[Line]:
    """Yield the lines at which ops and conditions ran, under the tape, or for the target and in files of its ops."""
    lines = [step.line for step in view.history.steps.values() if view.sees(step.at) or step.name in used]
    files = set(map(text.file, lines))
    yield from lines
    for left in view.history.exits:
        since = text.file(left.line) in files if view.tape is None else left.number > view.tape.number
        if left.how == "bool" and since:
            yield left.line


class Unrun:
    """The uses of names in a file that did not run, and the conditions that decided it. `frame` is the frame that asks."""

    def __init__(self, name: str, file: File, ran: Ran, frame: FrameType | None) -> None:
        self._name, self._file, self._ran = name, file, ran
        here = frame is not None and frame.f_code.co_filename == name
        self._asking = frame.f_lineno if here and frame is not None else 0
        self._asker = next(reversed(enclosing(file.tree, self._asking, FUNCTIONS)), None)
        self._seen: set[ast.AST] = set()
        self._ran_of: dict[Any, bool] = {}  # whether any part of a function ran

    def first(self, names: set[str]) -> BranchNotTaken | None:
        """Return the evidence for the first use of a name, or of a parameter or loop variable with its value."""
        waiting: list[tuple[ast.AST, frozenset[str]]] = [(self._file.tree, frozenset(names))]
        for root, called in waiting:
            for use in self._file.uses(root, called):
                choice = self._decided(use)
                if choice is not None:
                    return self._evidence(choice)
                waiting += [given for given in self._file.given(use) if given not in waiting]
        return None

    def passed_over(self, holders: set[str], ended: bool) -> BranchNotTaken | None:
        """Return the evidence for a condition in a loop over the parts of a holder, which may skip the source.

        With `ended`, a loop without a condition that ran for other parts ended before the source.
        """
        for loop in self._file.loops(holders):
            for use in self._file.uses(loop.part, loop.names):
                function, choices, _ = self._file.way(use)
                within_it = [c.part for c in choices if isinstance(c.part, ast.If) and loop.part in self._file.above(c.part)]
                inside = within_it or [loop.part] * loop.chooses
                ran = inside or (ended and self._ran.saw(self._name, *loop.body))
                if ran and self._entered(function) and self._counts(use, function, loop.part):
                    at = inside[-1] if inside else loop.part
                    return BranchNotTaken(text.line_in(self._name, at.lineno), of="one" if inside else "rest")
        return None

    def _evidence(self, choice: Choice) -> BranchNotTaken:
        part: Any = choice.part
        if isinstance(part, ast.Try):
            return BranchNotTaken(text.line_in(self._name, part.handlers[0].lineno), of="try")
        loop = isinstance(part, (ast.While, ast.For)) or callee(part) == "while_loop"
        line = text.line_in(self._name, part.lineno)
        asked = next((getattr(part, name) for name in ("test", "iter", "subject") if hasattr(part, name)), None)
        by_value = asked is None or self._ran.saw(self._name, [asked], sys.maxsize)
        flag, wanted = _setting(line, part, choice.branch)
        return BranchNotTaken(line, of="loop" if loop else "branch", flag=flag, by_value=by_value, wanted=wanted)

    def _decided(self, use: ast.AST, deferred: ast.AST | None = None) -> Choice | None:
        """Return the choice that kept a use from running; None if it may have run.

        A `deferred` function is called later, or never. For a function that did not run at all, it is the choice that kept the
        function from being called, if known.
        """
        function, choices, deferred = self._file.way(use, deferred)
        if use in self._seen:
            return None
        self._seen.add(use)
        choices = [c for c in choices if self._counts(use, function, c.part)]
        own: Choice | None = next((c for c in reversed(choices) if not self._ran_in(c)), None)
        if self._entered(function) and own is not None:
            return own
        named = [] if function in (None, self._asker) else self._file.mentions(function.name, self._file.scope(function))
        calls = self._file.mentions(*self._file.kept_in(deferred))
        tried = [n for n in named if any(isinstance(c.part, ast.Try) for c in self._file.way(n)[1])]
        calls += tried if self._entered(function) else named
        decided = (self._decided(call, call) for call in calls)
        reached = self._ran.noted is None and any(self._entered(self._file.function(call)) for call in named)
        return next((d for d in decided if d is not None), own if reached else None)

    def _entered(self, function: Any) -> bool:
        if function not in self._ran_of:
            self._ran_of[function] = function is None or self._ran.saw(self._name, function.body, function.lineno)
        return self._ran_of[function]

    def _ran_in(self, choice: Choice) -> bool:
        """Return whether the branch of a choice is known to have run."""
        if isinstance(choice.part, ast.Try) and self._ran.noted is not None:
            return not any(handler.lineno in self._ran.noted.get(self._name, ()) for handler in choice.part.handlers)
        return self._ran.saw(self._name, choice.branch, sys.maxsize if isinstance(choice.part, ast.Call) else choice.part.lineno)

    def _counts(self, use: ast.AST, function: Any, part: Any) -> bool:
        """Return whether a use is under a tape, and the part of the asking function around it ends before the gradient call.

        In a function that opens no tape every use counts, as it may be called there.
        """
        asks = bool(self._asking) and function is self._asker and self._asking <= (part.end_lineno or 0)
        tapes = self._file.tapes.get(function, ())
        return not asks and ((not tapes and function is not None) or any(n in tapes for n in self._file.above(use)))


class Choice(NamedTuple):
    """A statement, or a call of one of several functions such as `tf.cond`, that decides whether a `branch` runs."""

    part: Any
    branch: Sequence[ast.AST]


class Loop(NamedTuple):
    """A `for` statement or a comprehension: its loop variables, its body and the line above that, and whether it has an `if`."""

    part: Any
    names: frozenset[str]
    body: tuple[Sequence[ast.AST], int]
    chooses: bool


class File:
    """The syntax tree of a file, with the path from each use of a name to the choices around it."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents: dict[ast.AST, ast.AST] = {child: n for n in ast.walk(tree) for child in ast.iter_child_nodes(n)}
        self._functions: dict[str, list[ast.FunctionDef]] = {}
        self._loads: dict[str, list[ast.expr]] = {}  # reads of names, by their last part
        self.tapes: dict[Any, list[ast.With]] = {}  # function or module → the tape blocks that it opens itself
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self._functions.setdefault(node.name, []).append(node)
            elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load):
                self._loads.setdefault(_last(node), []).append(node)
            elif isinstance(node, ast.With) and any("GradientTape(" in ast.unparse(item) for item in node.items):
                self.tapes.setdefault(self.function(node), []).append(node)

    def function(self, node: ast.AST) -> Any:
        """Return the function around a node; None for the module."""
        return next((n for n in self.above(node) if isinstance(n, FUNCTIONS)), None)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the innermost first."""
        while (found := self.parents.get(node)) is not None:
            yield found
            node = found

    def scope(self, function: ast.AST) -> ast.AST:
        """Return the scope in which a function's name is visible: the function around it; the whole file for a method."""
        around = self.parents[function]
        return self.tree if isinstance(around, ast.ClassDef) else self.function(function) or self.tree

    def mentions(self, name: str | None, scope: ast.AST) -> list[ast.expr]:
        """Return the reads of a name, or of an attribute of any object, in a part of the file."""
        return [n for n in self._loads.get(name or "", ()) if scope is self.tree or scope in self.above(n)]

    def uses(self, root: ast.AST, names: frozenset[str]) -> list[ast.expr]:
        """Return the reads of these names in a part of the file: plain names, `self.w`, or ".head" for any object's attribute."""
        found = []
        for last in {re.split(r"[.\[]", name)[-1 if "[" not in name else 0] for name in names}:
            for node in self._loads.get(last, ()):
                about = getattr(self.parents[node], "attr", "") in ABOUT
                if not about and _written(node) & names and (root is self.tree or root in self.above(node)):
                    found.append(node)
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    def loops(self, holders: set[str]) -> Iterator[Loop]:
        """Yield the loops over the parts of a holder."""
        for n in self.parents:
            if isinstance(n, LOOPS) and any(_written(part) & holders for part in within(n.iter, ast.expr)):
                yield self._loop(n)

    def _loop(self, n: ast.For | ast.comprehension) -> Loop:
        names = frozenset(named_in(n.target))
        if isinstance(n, ast.For):
            return Loop(n, names, (n.body, n.lineno), False)
        part: Any = self.parents[n]
        return Loop(part, names, ([part], part.lineno - 1), bool(n.ifs))

    def given(self, use: ast.expr) -> list[tuple[ast.AST, frozenset[str]]]:
        """Return the loop or functions that receive a use, each with the name under which it is known there."""
        around = self.parents[use]
        if isinstance(around, LOOPS) and use is around.iter:
            return [self._loop(around)[:2]]
        if not isinstance(around, ast.Call) or use not in around.args:
            return []
        at = around.args.index(use)
        functions = self._functions.get(callee(around) or "", ())
        named = [(f, [a.arg for a in f.args.args if a.arg != "self"][at : at + 1]) for f in functions]
        return [(function, frozenset(names)) for function, names in named if names]

    def kept_in(self, deferred: ast.AST | None) -> tuple[str | None, ast.AST]:
        """Return the name to which a lambda, a function or a table of them is assigned, or None, and the scope of that name."""
        match None if deferred is None else next((n for n in self.above(deferred) if isinstance(n, ast.stmt)), None):
            case ast.Assign(targets=[ast.Name(name)]) as statement:
                return name, self.scope(statement)
        return None, self.tree

    def way(self, use: ast.AST, deferred: ast.AST | None = None) -> tuple[Any, list[Choice], ast.AST | None]:
        """Return the function around a use, the choices in between (innermost first), and the outermost lambda, or `deferred`."""
        choices: list[Choice] = []
        node = use
        for around in self.above(use):
            if isinstance(node, ast.stmt):
                block = next(b for _, b in ast.iter_fields(around) if isinstance(b, list) and node in b)
                for k, before in reversed([*enumerate(block[: block.index(node)])]):
                    if isinstance(before, ast.If) and isinstance(before.body[-1], LEAVING):
                        choices.append(Choice(before, block[k + 1 :]))
            if isinstance(around, FUNCTIONS) and node in around.body:
                return around, choices, deferred
            deferred = node if isinstance(node, ast.Lambda) else deferred
            choices += self._choice(around, node, deferred)
            node = around
        return None, choices, deferred

    def _choice(self, around: ast.AST, node: Any, deferred: ast.AST | None) -> Iterator[Choice]:
        """Yield a Choice if `around` decides whether `node` in it runs."""
        match around:
            case ast.If(body=body, orelse=other) if node in body or node in other:
                yield Choice(around, body if node in body else other)
            case ast.IfExp(test=test) if node is not test:
                yield Choice(around, [node])
            case ast.While(body=body) | ast.For(body=body) | ast.Try(body=body, handlers=[_, *_]) if node in body:
                yield Choice(around, body)
            case ast.match_case(body=body) if node in body:
                yield Choice(self.parents[around], body)
            case ast.Call(args=given) if deferred is not None and node is not around.func:
                if callee(around) in CHOICES or (callee(around) == "while_loop" and node in given[1:2]):
                    yield Choice(around, [deferred])


file_of = functools.lru_cache(64)(File)  # many questions share the File of a syntax tree


def _written(node: ast.AST) -> set[str]:
    """Return the source text of a name such as `self.w`, and of an attribute also ".w"."""
    if isinstance(node, ast.Attribute):
        return {ast.unparse(node), f".{node.attr}"}
    return {ast.unparse(node)} if isinstance(node, (ast.Name, ast.Subscript)) else set()


def _last(node: ast.expr) -> str:
    """Return the name under which a node is indexed: the last part of `self.w`, the first of `weights[0]`."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last(value)
    return ""


def _setting(line: Line, node: ast.AST, missed: Sequence[ast.AST]) -> tuple[str | None, str | None]:
    """Return the argument with which a branch would have run, "deep=True"; else the setting, in words: "`self.deep` true"."""
    match node:
        case ast.If(test=asked, body=body) | ast.IfExp(test=asked, body=body):
            wanted = missed in (body, [body])
        case ast.Call(args=[asked, *sides]) if missed[0] in sides:
            wanted = missed[0] is sides[0]
        case ast.Match(subject=asked):
            return None, f"`{ast.unparse(asked)}` match that case"
        case _:
            return None, None
    while isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
        asked, wanted = asked.operand, not wanted
    value, words = str(wanted), str(wanted).lower()
    match asked:
        case ast.Compare(left, [ast.Is() | ast.IsNot() as how], [ast.Constant(None)]):
            asked, (value, words) = left, ("None", "None") if isinstance(how, ast.Is) == wanted else ("…", "other than None")
    arguments = getattr(scope_of(line), "args", None)
    given = [a.arg for a in [*arguments.args, *arguments.kwonlyargs]] if isinstance(arguments, ast.arguments) else []
    if isinstance(asked, ast.Name) and asked.id in given:
        return f"{asked.id}={value}", None
    written = ast.unparse(asked)
    return None, f"`{written}` {words} there" if len(written) <= LONGEST else None


def _call_with(line: Line, asked: Line, flag: str) -> tuple[ast.Call, str] | None:
    """Return the only call of a line's function under the tape that lacks an argument, and the same call with it; else None."""
    name, called = flag.partition("=")[0], getattr(scope_of(line), "name", "")
    parts = [n for statement in statements_under_tape(asked) for n in within(statement, ast.Call)]
    if called in ("call", "__call__"):
        found = [n for n in parts if not ast.unparse(n.func).startswith("tf.")]
    else:
        found = [n for n in parts if callee(n) == called]
    found = [n for n in found if not any(k.arg in (name, None) for k in n.keywords)]
    if len(found) != 1 or text.file(line) != text.file(asked):
        return None
    return found[0], f"{ast.unparse(found[0])[:-1]}, {flag})"


def untaken(history: History, way: Sequence[tuple[Name, Step]]) -> Evidence:
    """Return the branch or loop of a function that uses the source and did not run."""
    for kind in (BRANCH, LOOP):
        for _, step in way:
            for length in range(len(step.name), 1, -1):
                around = history.steps.get(step.name[:length])
                if around is not None and isinstance(around.op, StructuredOp) and around.op.kind is kind:
                    made = text.statement(around.line)
                    tests = [n.args[0] for n in within(made, ast.Call) if callee(n) == "cond"]
                    tests = [made.test] if isinstance(made, ast.If) else tests
                    wanted = f"`{ast.unparse(tests[0])}` come out the other way" if len(tests) == 1 else None
                    of: Literal["loop", "branch"] = "loop" if kind is LOOP else "branch"
                    return BranchNotTaken(around.line, around.how, around, of=of, wanted=wanted)
    return Unknown(text.NO_LINE)
