"""Random programs with functions, branches, loops and maps, as Python source: the text is the program, and what a failure shows.

All values are vectors of `WIDTH` float64 numbers. Every expression is smooth and no larger than its operands, so that
two right answers agree closely however deep loops nest; a comparison is with a number that no value meets by chance.
"""

import linecache
from dataclasses import dataclass

import numpy as np

WIDTH = 3
STATE = ("v0.value()", "v1.value()")

EXPRESSIONS = (
    "tf.tanh({a} - {b})",
    "tf.sin({a} * {b} + 0.3)",
    "0.6 * {a} + 0.4 * {b}",
    "0.5 * ({a} - {b})",
    "{a} * tf.cos({b})",
    "{a} / (1.5 + {b} * {b})",
    "tf.where({a} > 0.137, tf.sin({a}), 0.7 * {b})",
    "tf.sqrt(1.0 + {a} * {a}) - 1.0",
    "0.9 * tf.stop_gradient({a}) * tf.cos({b})",
    "tf.gather({a}, [2, 0, 1])",
    "tf.nn.softmax({a} + {b})",
    "0.5 * ({a} - tf.reduce_mean({b}))",
    "tf.cumsum({a}) / 3.0",
    "{a} * tf.sigmoid(tf.reduce_sum({b}))",
)
PREDICATES = (
    "tf.reduce_sum({a}) > 0.137",
    "tf.reduce_max({a}) < 0.637",
    "tf.reduce_sum({a} * {a}) > tf.reduce_sum(tf.abs({b})) - 0.237",
)
TRIPS = "tf.cast(2.5 + 2.0 * tf.sin(2.0 * tf.reduce_sum({a})), tf.int32)"  # 0 to 4 of them, as the data say
NUMBER = "(0.2 * tf.cast({i}, tf.float64) * x0)"


@dataclass
class Program:
    """`source` defines `program(…)` over the names `tf`, `v0` and `v1`; `inputs` and `variables` are arrays."""

    source: str
    inputs: list
    variables: list

    def made(self, tf, variables, **more):
        """The function `program` of a module `tf`, with these variables and more names; its source can be looked up, as
        autograph does."""
        name = f"random program {id(self)}"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(keepends=True), name)
        names = {"tf": tf, "__name__": "random_program"} | {f"v{i}": v for i, v in enumerate(variables)} | more
        exec(compile(self.source, name, "exec"), names)
        return names["program"]


def draw(seed):
    """The random program of a seed; what it nests is two deep, for every eighth seed three."""
    return Author(np.random.default_rng(seed)).program(3 if seed % 8 == 7 else 2)


@dataclass(frozen=True)
class Place:
    """Where a statement stands: the names that it may read and those that it may bind, how deep, and what is allowed there.

    `plain`: no statement that would need autograph, as in functions that are given to `vectorized_map` or `while_loop`.
    `pure`: no assignment to variables.
    """

    readable: tuple
    bound: tuple
    depth: int
    plain: bool = False
    pure: bool = False

    def inside(self, *names, **changes):
        """The same one level deeper, with more names to read."""
        values = {**vars(self), "readable": (*self.readable, *names), "depth": self.depth - 1, **changes}
        return Place(**values)


class Author:
    """Writes one program, statement by statement."""

    def __init__(self, random):
        self.random = random
        self.lines = []
        self.indent = 1
        self.number = 0
        self.begins = []  # where the bodies of the functions that are being written begin, and how far they are indented
        self.left = self.pick((1, 2, 2, 4))  # statements that may still be written

    def program(self, depth):
        arguments = [f"x{i}" for i in range(2)]
        self.lines.append("def program(x0, x1):")
        self.line("a, b = x0, x1")
        self.begins.append((len(self.lines), self.indent))
        place = Place((*arguments, "a", "b", *STATE), ("a", "b"), depth)
        self.statement(place, structured=True)
        self.statement(place, structured=self.chance(0.2))
        self.line("return tf.reduce_sum(a) + 0.5 * tf.reduce_sum(a * b) + 0.25 * tf.reduce_sum(b * v0.value())")
        numbers = [self.random.uniform(-1.5, 1.5, WIDTH) for _ in range(4)]
        return Program("\n".join(self.lines) + "\n", numbers[:2], numbers[2:])

    # -- words

    def pick(self, options):
        return options[self.random.integers(len(options))]

    def chance(self, probability):
        return self.random.random() < probability

    def name(self, what):
        self.number += 1
        return f"{what}{self.number}"

    def before(self, text):
        """A line at the beginning of the function that is being written: what loops bind has a value before any branch."""
        at, indent = self.begins[-1]
        self.lines.insert(at, "    " * indent + text)

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def filled(self, template, place):
        a, b = self.random.permutation(len(place.readable))[:2]
        return template.format(a=place.readable[a], b=place.readable[b])

    def expression(self, place):
        return self.filled(self.pick(EXPRESSIONS), place)

    def predicate(self, place):
        return self.filled(self.pick(PREDICATES), place)

    def trips(self, place, three="tf.constant(3)"):
        return self.pick((three, self.filled(TRIPS, place)))

    # -- statements

    def block(self, place, count):
        for _ in range(count):
            self.statement(place, self.chance(0.5))

    def statement(self, place, structured):
        self.left -= 1
        if place.depth == 0 or self.left < 0 or not structured:
            self.simple(place)
            return
        staged = [self.if_statement, self.while_statement, self.for_range, self.for_rows, self.tensor_array]
        called = [self.cond, self.while_loop, self.map_fn, self.vectorized_map, self.scan, self.foldl, self.function, self.custom]
        self.pick(called if place.plain else [*staged, *staged, *called])(place)

    def simple(self, place):
        kind = self.random.integers(8)
        if kind == 0 and not place.pure:
            self.line(f"{self.pick(('v0', 'v1'))}.assign({self.expression(place)})")
        elif kind == 1 and not place.pure:
            self.line(f"{self.pick(('v0', 'v1'))}.assign_add(0.1 * ({self.expression(place)}))")
        else:
            name = self.pick(place.bound)
            self.line(f"{name} = 0.7 * {name} + 0.3 * ({self.expression(place)})")

    def nested(self, header, place, count=None, after=()):
        """A header and an indented block; `after` are lines at its end."""
        self.line(header)
        self.indent += 1
        self.block(place, count or self.pick((1, 1, 2)))
        for text in after:
            self.line(text)
        self.indent -= 1

    def definition(self, name, parameters, place, result="{}", decorator=None):
        """A function that computes with a name of its own and gives `result` of it; `parameters` besides `i` are vectors."""
        own = self.name("t")
        if decorator:
            self.line(decorator)
        self.line(f"def {name}({', '.join(parameters)}):")
        self.indent += 1
        self.begins.append((len(self.lines), self.indent))
        place = place.inside(*[p for p in parameters if p != "i"], bound=(own,))
        self.line(f"{own} = {self.expression(place)}")
        self.block(place.inside(own, depth=place.depth), self.pick((0, 1, 1)))
        self.line(f"return {result.format(own)}")
        self.begins.pop()
        self.indent -= 1

    def if_statement(self, place):
        self.nested(f"if {self.predicate(place)}:", place.inside())
        if self.chance(0.3):
            self.nested(f"elif {self.predicate(place)}:", place.inside())
        if self.chance(0.7):
            self.nested("else:", place.inside())

    def leave(self, place):
        """Perhaps a `break` or a `continue` on a condition."""
        if self.chance(0.35):
            self.line(f"if {self.predicate(place)}:")
            self.indent += 1
            self.line(self.pick(("break", "continue")))
            self.indent -= 1

    def while_statement(self, place):
        i, n = self.name("i"), self.name("n")
        self.before(f"{i} = {n} = tf.constant(0)")
        self.line(f"{i} = tf.constant(0)")
        self.line(f"{n} = {self.trips(place)}")
        test = f" and {self.predicate(place)}" if self.chance(0.4) else ""
        self.line(f"while {i} < {n}{test}:")
        self.indent += 1
        self.line(f"{i} += 1")
        self.block(place.inside(NUMBER.format(i=i)), 1)
        self.leave(place)
        self.block(place.inside(NUMBER.format(i=i)), 1)
        self.indent -= 1

    def for_range(self, place):
        i = self.name("i")
        self.before(f"{i} = tf.constant(0)")
        self.line(f"for {i} in tf.range({self.trips(place, '3')}):")
        self.loop_body(place.inside(NUMBER.format(i=i)))

    def for_rows(self, place):
        row = self.name("row")
        self.before(f"{row} = x0")
        self.line(f"for {row} in {self.rows(place)}:")
        self.loop_body(place.inside(row))

    def loop_body(self, place):
        self.indent += 1
        self.block(place, 1)
        self.leave(place)
        self.block(place, self.pick((0, 1)))
        self.indent -= 1

    def rows(self, place):
        return f"tf.stack([{self.expression(place)}, {self.expression(place)}])"

    def tensor_array(self, place):
        array, i = self.name("array"), self.name("i")
        self.before(f"{i} = tf.constant(0)")
        self.line(f"{array} = tf.TensorArray(tf.float64, size=3)")
        self.line(f"for {i} in tf.range(3):")
        inner = place.inside(NUMBER.format(i=i))
        self.indent += 1
        self.block(inner, self.pick((0, 1)))
        self.line(f"{array} = {array}.write({i}, {self.expression(inner)})")
        self.indent -= 1
        self.line(f"{self.pick(place.bound)} = tf.reduce_mean({array}.stack(), 0)")

    def cond(self, place):
        then, orelse = self.name("then"), self.name("orelse")
        inside = place.inside(plain=True, depth=place.depth)
        self.definition(then, (), inside)
        self.definition(orelse, (), inside)
        self.line(f"{self.pick(place.bound)} = tf.cond({self.predicate(place)}, {then}, {orelse})")

    def while_loop(self, place):
        body, n = self.name("body"), self.name("n")
        self.before(f"{n} = tf.constant(0)")
        self.line(f"{n} = {self.trips(place)}")
        inside = place.inside(plain=True, depth=place.depth)
        self.definition(body, ("i", "y"), inside, "i + 1, {}")
        most = ", maximum_iterations=2" if self.chance(0.3) else ""
        start = f"(tf.constant(0), {self.expression(place)})"
        self.line(f"_, {self.pick(place.bound)} = tf.while_loop(lambda i, y: i < {n}, {body}, {start}{most})")

    def mapped(self, place, call, pure):
        function = self.name("each")
        inside = place.inside(plain=True, pure=place.pure or pure, depth=place.depth)
        self.definition(function, ("row",), inside)
        self.line(f"{self.pick(place.bound)} = tf.reduce_mean(tf.{call}({function}, {self.rows(place)}), 0)")

    def map_fn(self, place):
        self.mapped(place, "map_fn", False)

    def vectorized_map(self, place):
        self.mapped(place, "vectorized_map", True)

    def folded(self, place, call, result):
        function = self.name("step")
        inside = place.inside(plain=True, depth=place.depth)
        self.definition(function, ("state", "row"), inside)
        start = f", initializer={self.expression(place)}" if self.chance(0.5) else ""
        self.line(f"{self.pick(place.bound)} = {result.format(f'tf.{call}({function}, {self.rows(place)}{start})')}")

    def scan(self, place):
        self.folded(place, "scan", "tf.reduce_mean({}, 0)")

    def foldl(self, place):
        self.folded(place, "foldl", "{}")

    def function(self, place):
        function = self.name("function")
        inside = Place(("p", "q", *STATE), (), place.depth, plain=place.pure, pure=place.pure)
        self.definition(function, ("p", "q"), inside, decorator="@tf.function")
        once, again = [f"{function}({self.pick(place.readable)}, {self.pick(place.bound)})" for _ in range(2)]
        self.line(f"{self.pick(place.bound)} = 0.6 * {once} - 0.4 * {again}")

    def custom(self, place):
        function = self.name("custom")
        self.line("@tf.custom_gradient")
        self.line(f"def {function}(p, q):")
        self.line("    def gradient(dy):")
        self.line("        return dy * tf.sin(q), dy * p * 0.5")
        self.line("    return tf.tanh(p) * tf.cos(q), gradient")
        self.line(f"{self.pick(place.bound)} = {function}({self.pick(place.bound)}, {self.pick(place.bound)})")
