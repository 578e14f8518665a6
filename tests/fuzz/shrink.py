"""Reduces a program to the fewest lines that still fail, and then to simpler expressions, shapes and numbers.

A program is its syntax tree: statements are left out by delta debugging, in each block; what holds a block gives way to the
block; a call to one of its operands. A candidate that fails in another way (a name that is missing, say) is rejected.
"""

import ast
import copy
from dataclasses import replace
from functools import partial

import numpy as np

TRIES = 300


def shrink(program, fails, tries=TRIES):
    """The smallest program that was found for which `fails(program)` holds; it is asked `tries` times at most."""
    return _Search(program, fails, tries).run()


class _Search:
    def __init__(self, program, fails, tries):
        self.program, self.fails, self.left = program, fails, tries
        self.tree = ast.parse(program.source)
        self.seen = {program.source}

    def run(self):
        passes = (self.statements, *[partial(self.simpler, of) for of in (_unwrapped, _operands, _constants)], self.numbers)
        changed = True
        while changed:
            changed = sum([reduce() for reduce in passes]) > 0
        return self.program

    def accept(self, tree=None, **changes):
        """Whether the candidate fails as well; if so, it is the program from now on."""
        tree = tree or self.tree
        candidate = replace(self.program, source=ast.unparse(ast.fix_missing_locations(tree)) + "\n", **changes)
        key = candidate.source + repr(changes)
        if key in self.seen or self.left == 0 or not _compiles(candidate.source):
            return False
        self.seen.add(key)
        self.left -= 1
        if not self.fails(candidate):
            return False
        self.program, self.tree = candidate, tree
        return True

    def statements(self):
        """Leave out runs of statements: a whole block's first, then ever shorter ones."""
        changed, number = False, 0
        while number < len(blocks(self.tree)):
            size = len(blocks(self.tree)[number])
            while size:
                changed |= self.runs(number, size)
                size //= 2
            number += 1
        return changed

    def runs(self, number, size):
        """Leave out what runs of `size` statements may be left out of a block."""
        changed, begin = False, 0
        while number < len(blocks(self.tree)) and begin < len(blocks(self.tree)[number]):
            tree = copy.deepcopy(self.tree)
            block = blocks(tree)[number]
            del block[begin : begin + size]
            if block and self.accept(tree):
                changed = True
            else:
                begin += size
        return changed

    def simpler(self, alternatives):
        """Put something simpler in the place of a node, the largest first."""
        changed, number = False, 0
        while number < len(list(ast.walk(self.tree))):
            found = len(alternatives(list(ast.walk(self.tree))[number]))
            for choice in range(found):
                tree = copy.deepcopy(self.tree)
                node = list(ast.walk(tree))[number]
                _put(tree, node, alternatives(node)[choice])
                if self.accept(tree):
                    changed = True
                    break
            number += 1
        return changed

    def numbers(self):
        """Simpler inputs and variables: ones, or fewer digits."""
        changed = False
        for field in ("inputs", "variables"):
            for i, array in enumerate(getattr(self.program, field)):
                for simpler in (np.ones_like(array), np.round(array), np.round(array, 1)):
                    arrays = list(getattr(self.program, field))
                    if not np.array_equal(arrays[i], simpler):
                        arrays[i] = simpler
                        if self.accept(**{field: arrays}):
                            changed = True
                            break
        return changed


def blocks(tree):
    """The lists of statements in a tree, outer ones first, but that of the module."""
    found = []
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and not isinstance(node, ast.Module) and block:
                found.append(block)
    return found


def _compiles(source):
    try:
        compile(source, "candidate", "exec")
    except SyntaxError:
        return False
    return True


def _put(tree, old, new):
    """Replace a node by another, or a statement by several."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(item is old for item in value):
                place = next(i for i, item in enumerate(value) if item is old)
                value[place : place + 1] = new if isinstance(new, list) else [new]


def _unwrapped(node):
    """A statement's blocks, in its place."""
    return [node.body] if isinstance(node, ast.If | ast.For | ast.While | ast.With) else []


def _operands(node):
    """What an expression is made of."""
    if isinstance(node, ast.Call):
        plain = [a for a in node.args if not isinstance(a, ast.Constant | ast.Lambda | ast.List | ast.Tuple)]
        return [a.body for a in node.args if isinstance(a, ast.Lambda) and not a.args.args] + plain
    if isinstance(node, ast.BinOp):
        return [operand for operand in (node.left, node.right) if not isinstance(operand, ast.Constant)]
    return [node.value] if isinstance(node, ast.Subscript) else []


def _constants(node):
    """Simpler numbers, shapes of lower rank, and the widest dtype."""
    if isinstance(node, ast.Tuple) and all(isinstance(e, ast.Constant) for e in node.elts):
        return [ast.Tuple(node.elts[:i] + node.elts[i + 1 :], node.ctx) for i in range(len(node.elts))]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0, 1):
        return [ast.Constant(type(node.value)(1))]
    if isinstance(node, ast.Constant) and node.value in ("float32", "float16", "bfloat16"):
        return [ast.Constant("float64")]
    return []
