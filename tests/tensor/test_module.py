"""`Module`: names, scopes, and the order in which variables and modules are found. All values are TensorFlow 2.21's."""

import collections

import pytest

import gradtape as tf

Pair = collections.namedtuple("Pair", "b a")


def variable(name, **settings):
    return tf.Variable(1.0, name=name, **settings)


def names(variables):
    assert type(variables) is tuple
    return " ".join(v.name.removesuffix(":0") for v in variables)


class Inner(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.b, self.a, self.fixed = variable("b"), variable("a"), variable("fixed", trainable=False)


class Outer(tf.Module):
    def __init__(self):
        super().__init__()
        self.z = variable("z")
        self.second = Inner("second")
        self.layers = [Inner("l0"), (Inner("t0"), variable("in_list"))]
        self.table = {"y": variable("dy"), "x": variable("dx"), "m": Inner("in_dict")}
        self.a = variable("own_a")
        self.shared = self.second.a
        self._private = variable("private")


class TestWhatIsFound:
    def test_own_attributes_by_name_then_those_of_modules(self):
        module = Outer()
        assert names(module.variables) == "private own_a in_list a dx dy z a b fixed a b fixed b fixed a b fixed"
        assert names(module.trainable_variables) == "private own_a in_list a dx dy z a b a b b a b"
        assert names(module.non_trainable_variables) == "fixed fixed fixed fixed"
        assert [m.name for m in module.submodules] == ["l0", "t0", "second", "in_dict"]

    @pytest.mark.parametrize(
        "attributes, expected",
        [
            ({"b": variable("1"), "a": variable("2"), "A": variable("3")}, "3 2 1"),
            ({"l10": variable("10"), "l9": variable("9")}, "10 9"),
            ({"l": [variable(str(i)) for i in range(12)]}, "0 1 2 3 4 5 6 7 8 9 10 11"),
            ({"p": Pair(variable("b"), variable("a"))}, "b a"),
            ({"d": {1: variable("one"), 0: variable("zero")}}, "zero one"),
            ({"d": collections.defaultdict(list, q=[variable("q")])}, "q"),
            ({"t": (1, [variable("r")]), "n": None, "k": 3}, "r"),
            ({"s": {variable("in_set").ref()}, "f": lambda: variable("made")}, ""),
        ],
    )
    def test_in(self, attributes, expected):
        module = tf.Module()
        for name, value in attributes.items():
            setattr(module, name, value)
        assert names(module.variables) == expected

    def test_what_is_added_later(self):
        module = Inner()
        before = module.variables
        module.new, module.list = variable("new"), []
        module.list.append(variable("appended"))
        del module.b
        assert names(module.variables) == "a fixed appended new"
        assert names(before) == "a b fixed"

    def test_a_cycle(self):
        module, other = tf.Module("one"), tf.Module("two")
        module.itself, module.other, other.back, module.v = module, other, module, variable("v")
        assert names(module.variables) == "v"
        assert module.submodules == (other,)

    def test_not_of_the_class_nor_through_properties(self):
        class WithClassVariable(tf.Module):
            shared = variable("of_class")

            def __init__(self):
                super().__init__()
                self._v = variable("v")

            @property
            def v(self):
                return self._v

        assert names(WithClassVariable().variables) == "v"

    def test_ignored_properties(self):
        class Ignoring(Inner):
            _TF_MODULE_IGNORED_PROPERTIES = frozenset(["a"]) | tf.Module._TF_MODULE_IGNORED_PROPERTIES

        assert names(Ignoring().variables) == "b fixed"

    def test_without_init(self):
        class Bare(tf.Module):
            def __init__(self):
                self.v = variable("v")

        assert names(Bare().variables) == "v"
        with pytest.raises(AttributeError, match="_name"):
            _ = Bare().name


class TestNames:
    @pytest.mark.parametrize(
        "class_name, expected",
        [
            ("ABC", "abc"), ("MyModule", "my_module"), ("HTTPServer", "http_server"), ("my_module", "my_module"),
            ("Layer2D", "layer2_d"), ("A", "a"), ("LSTMCell", "lstm_cell"), ("aB", "a_b"),
            ("Conv2DTranspose", "conv2_d_transpose"), ("X1Y2", "x1_y2"), ("_Private", "__private"), ("__Dunder", "___dunder"),
        ],
    )  # fmt: skip
    def test_from_the_class(self, class_name, expected):
        assert type(class_name, (tf.Module,), {})().name == expected

    @pytest.mark.parametrize("name", ["a b", "1a", "", "a/b", "a.b", "é"])
    def test_that_are_not_valid(self, name):
        with pytest.raises(ValueError, match=f"'{name}' is not a valid module name. Module names must be valid Python identif"):
            tf.Module(name=name)

    def test_that_are_no_strings(self):
        with pytest.raises(TypeError, match="expected string or bytes-like object, got 'int'"):
            tf.Module(name=3)

    def test_are_not_made_unique_and_cannot_be_changed(self):
        assert tf.Module("class").name == "class"
        assert (Inner().name, Inner().name) == ("inner", "inner")
        with pytest.raises(AttributeError, match="has no setter"):
            Inner().name = "x"


class Scoped(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        with self.name_scope:
            self.w = variable("w")

    @tf.Module.with_name_scope
    def __call__(self, x):
        """Makes a variable on the first call."""
        if not hasattr(self, "c"):
            self.c = variable("c")
        return x

    @tf.Module.with_name_scope
    def build(self):
        self.inner = Scoped("inside")
        self(self.inner(1))
        self.last = variable("last")
        return self.inner


class TestNameScopes:
    def test_variables_take_the_modules_name(self):
        module = Scoped()
        assert module.name_scope.name == "scoped/"
        assert module(5) == 5
        assert names(module.variables) == "scoped/c scoped/w"

    def test_of_modules_in_modules(self):
        module = Scoped()
        inner = module.build()
        assert (inner.name, inner.name_scope.name) == ("inside", "scoped/inside/")
        assert names(module.variables) == "scoped/c scoped/last scoped/w scoped/inside/c scoped/inside/w"
        assert variable("outside").name == "outside:0"

    def test_the_scope_is_that_in_which_the_module_was_made(self):
        with tf.name_scope("outer"):
            module = Scoped(name="foo")
        with tf.name_scope("elsewhere"):
            module(1)
        assert (module.name, module.name_scope.name) == ("foo", "outer/foo/")
        assert names(module.variables) == "outer/foo/c outer/foo/w"

    def test_methods_keep_their_names(self):
        assert Scoped.__call__.__name__ == "__call__"
        assert Scoped.__call__.__doc__ == "Makes a variable on the first call."


class TestFlatten:
    """`_flatten`, which classes derived from Module call to find other things than variables."""

    def test_leaves_of_any_kind_by_a_predicate(self):
        module = Outer()
        module.text, module.deep = "text", {"n": [1, "more"]}
        assert {"text", "more", "outer", "in_dict"} <= set(module._flatten(predicate=lambda leaf: isinstance(leaf, str)))
        assert [m.name for m in module._flatten(recursive=False, predicate=lambda leaf: isinstance(leaf, tf.Module))] == [
            m.name for m in module.submodules
        ]
        assert names(tuple(module._flatten(False, lambda leaf: isinstance(leaf, tf.Variable)))) == (
            "private own_a in_list a dx dy z"
        )

    def test_paths_name_a_shared_variable_each_time(self):
        module = Outer()
        found = list(module._flatten(predicate=lambda leaf: leaf is module.shared, with_path=True))
        assert [path for path, _ in found] == [("shared",), ("second", "a")]
        assert dict(module._flatten(predicate=lambda leaf: leaf is module.table["x"], with_path=True)) == {
            ("table", "x"): module.table["x"]
        }

    def test_modules_in_a_circle_end(self):
        one, two = Inner("one"), Inner("two")
        one.other, two.other = two, one
        paths = [path for path, _ in one._flatten(predicate=lambda leaf: leaf is one.a, with_path=True)]
        assert paths == [("a",), ("other", "other", "a")]

    def test_order_and_composites(self):
        module = tf.Module()
        module.a, module.b = tf.sparse.from_dense([1.0]), variable("b")
        tensors = list(module._flatten(predicate=tf.is_tensor, expand_composites=True))
        assert len(tensors) == 4 and tensors[3] is module.b
        last_first = module._flatten(predicate=tf.is_tensor, attribute_traversal_key=lambda name: -ord(name[0]))
        assert next(iter(last_first)) is module.b


def test_values_with_their_paths():
    """Libraries walk through modules by the private method of TensorFlow's."""
    module = tf.Module()
    module.w = tf.Variable(1.0)
    module.encoder = tf.Module()
    module.encoder.w = [({"k": module.w}, 3)]
    module.encoder.back = module
    flat = dict(module._flatten(predicate=lambda value: isinstance(value, tf.Variable), with_path=True))
    assert set(flat) == {("w",), ("encoder", "w", 0, 0, "k"), ("encoder", "back", "w")}
    assert list(module._flatten(recursive=False, predicate=lambda value: isinstance(value, tf.Module))) == [module.encoder]
    assert list(module._flatten(predicate=lambda value: value == 3 if isinstance(value, int) else False)) == [3]
    known = {"predicate": lambda value: value is module.w or value is module.encoder, "recursive": False}
    assert list(map(type, module._flatten(**known))) == [tf.Module, type(module.w)]
    backwards = module._flatten(attribute_traversal_key=lambda name: -ord(name[0]), **known)
    assert list(map(type, backwards)) == [type(module.w), tf.Module]


def test_variables_in_composite_attributes_and_one_scope():
    module = tf.Module("m")
    module.rows = tf.RaggedTensor.from_row_splits(tf.Variable([1.0, 2.0]), [0, 1, 2])
    module.v = tf.Variable(1.0)
    assert module.name_scope is module.name_scope
    assert any(v is module.v for v in module.variables)
