"""Random programs whose expressions call rows of the op table, in branches, loops, functions, tapes and custom gradients.

What a program keeps besides its value, in `kept`, may hold NaN and infinities and has any shape: it is compared, too, and
goes into nothing else.
"""

from dataclasses import dataclass

import numpy as np

from tests.fuzz.control_programs import STATE, Author, Place, Program
from tests.fuzz.table import CONVENTIONS, ELEMENTWISE, ROWS, SMOOTH, USABLE

SHAPES = (
    *((), (3,), (2, 3), (1,), (0,), (2, 1), (1, 3), (2, 0, 3), (2, 1, 3), (1, 2, 1, 3)),
    *((2, 1, 1, 3, 1), (1, 2, 1, 1, 3, 1), (1, 0, 1, 2, 1, 1)),
)
REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
CHUNK = 100  # programs that draw from the same few rows and shapes, so that kernels are found again


@dataclass
class Pool:
    """The rows, element-wise rows and shapes that the programs of a chunk draw from, and the dtype of each row."""

    rows: list
    free: list
    shapes: list
    dtypes: dict

    @classmethod
    def of(cls, chunk, rows=10, free=3, shapes=3):
        """Neighbours in a random order of all rows, so that some 100 chunks draw from all."""
        random = np.random.default_rng(chunk)
        order = np.random.default_rng(0).permutation(USABLE).tolist()
        chosen = [order[(chunk * rows + i) % len(order)] for i in range(rows)]
        free = [ELEMENTWISE[(chunk * free + i) % len(ELEMENTWISE)] for i in range(free)]
        dtypes = {name: random.choice(holding(ROWS[name])).item() for name in chosen}
        floating = {name: [d for d in ROWS[name].dtypes if d.startswith(("float", "bfloat"))] for name in free}
        dtypes |= {name: random.choice(kinds).item() for name, kinds in floating.items()}
        return cls(chosen, free, [SHAPES[i] for i in random.permutation(len(SHAPES))[:shapes]], dtypes)


def holding(row):
    """The dtypes of a row that can hold its arguments: a cast of a negative number to unsigned gives anything."""
    negative = any(array.dtype.kind in "fi" and (array < 0).any() for array in row.args)
    return [dtype for dtype in row.dtypes if not (negative and dtype.startswith("uint"))] or ["float64"]


def draw(seed, pool=None):
    """The random program of a seed."""
    return OpAuthor(np.random.default_rng([seed, 17]), pool or Pool.of(seed // CHUNK)).program()


class OpAuthor(Author):
    """Writes a program of calls; a third of them in control flow."""

    def __init__(self, random, pool):
        super().__init__(random)
        self.pool = pool
        self.smooth = False  # inside of a function whose gradient is a value of the program

    def program(self):
        self.lines.append("def program(x0, x1):")
        self.line("kept = []")
        self.line("a, b = x0, x1")
        self.begins.append((len(self.lines), self.indent))
        place = Place(("x0", "x1", "a", "b", *STATE), ("a", "b"), 2)
        statements = [
            self.simple,
            self.simple,
            self.keep,
            self.keep_indexed,
            self.keep_slope,
            self.slope,
            self.pause,
            self.structured,
        ]
        for _ in range(self.pick((2, 2, 3))):
            self.pick(statements)(place)
        self.line("value = tf.reduce_sum(a) + 0.5 * tf.reduce_sum(a * b) + 0.25 * tf.reduce_sum(b * v0.value())")
        self.line("return value, kept")
        numbers = [self.random.uniform(-1.5, 1.5, 3) for _ in range(4)]
        return Program("\n".join(self.lines) + "\n", numbers[:2], numbers[2:])

    # -- expressions

    def expression(self, place):
        return self.call(place) if self.chance(0.6) else super().expression(place)

    def call(self, place):
        names = [name for name in self.pool.rows if not self.smooth or name in SMOOTH]
        if not names:
            return super().expression(place)
        name = self.pick(names)
        return self.filled(f'call("{name}", "{self.pool.dtypes[name]}", {{a}}, {{b}})', place)

    # -- statements

    def structured(self, place):
        self.left = self.pick((1, 2))
        self.statement(place, structured=True)

    def kept(self, text, own=False):
        self.line(f"kept.append({f'own({text})' if own else text})")

    def tensor(self, place, shape):
        """The name of a tensor, as a rule with special values in it."""
        name = self.name("t")
        self.line(f"{name} = {self.filled(f'fit({{a}}, {shape})', place)}")
        if self.chance(0.7):
            self.line(f"{name} = spice({name}, {self.random.integers(8)})")
        return name

    def keep(self, place):
        """An element-wise row on special values, and its gradient."""
        name, shape = self.pick(self.pool.free), self.pick(self.pool.shapes)
        own = name.startswith(CONVENTIONS)
        operands = [self.tensor(place, shape) for _ in ROWS[name].args]
        start = f'free("{name}", "{self.pool.dtypes[name]}", '
        self.kept(f"{start}{', '.join(operands)})", own)
        if name in SMOOTH:
            which = self.random.integers(len(operands))
            arguments = ", ".join(["p" if i == which else operand for i, operand in enumerate(operands)])
            self.kept(f"slope(lambda p: {start}{arguments}), {operands[which]})", own)

    def keep_indexed(self, place):
        """A part of a tensor of some rank with special values, reductions of it, and its gradient."""
        shape = self.pick(self.pool.shapes)
        name = self.tensor(place, shape)
        index = self.index(shape)
        self.kept(f"{name}[{index}]")
        self.kept(f"slope(lambda p: p[{index}] * {self.pick(('p', name))}[{index}], {name})")
        self.kept(f"tf.{self.pick(REDUCTIONS)}({name}, {self.pick(('None', '()', *range(len(shape))))})")

    def index(self, shape):
        """The words of an index into a tensor of this shape."""
        words = []
        for extent in shape[: self.random.integers(len(shape) + 1)]:
            at = self.random.integers(extent) if extent else None
            words.append(self.pick((":", "::-1", "1:", ":-1", "::2") if at is None else (":", "::-1", "1:", f"{at}", "-1")))
        words.insert(self.random.integers(len(words) + 1), "tf.newaxis") if self.chance(0.3) else None
        return ", ".join([*words, "..."])

    def keep_slope(self, place):
        """A gradient of a gradient of a tensor of some rank."""
        shape = self.pick(self.pool.shapes)
        template = self.pick(("tf.tanh({p}) * {p}", "tf.sin({p}) + tf.reduce_sum({p} * {p})", "tf.exp(-{p} * {p})"))
        how = self.pick(("slope", "curve"))
        self.kept(f"{how}(lambda p: {template.format(p='p')}, {self.filled(f'fit({{a}}, {shape})', place)})")

    def slope(self, place):
        """The gradient of a function of the program, by a tape in its tape."""
        function, self.smooth = self.name("inner"), True
        self.definition(function, ("p",), place.inside(plain=True, pure=True))
        self.smooth = False
        how = self.pick(("slope({}, {})", "slope({}, {}, persistent=True)", "curve({}, {})"))
        name = self.pick(place.bound)
        self.line(f"{name} = 0.7 * {name} + 0.3 * tf.tanh({how.format(function, self.pick(place.readable))})")

    def pause(self, place):
        name = self.pick(place.bound)
        self.line(f"{name} = {name} * paused(lambda: {self.expression(place)})")
