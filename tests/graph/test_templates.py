"""`make_template`, and the names of what optimizers and assignments record; TensorFlow's answers."""

import gradtape as tf

v1 = tf.compat.v1


def linear(x, k=1.0):
    v1.get_local_variable("seen", [1], initializer=v1.zeros_initializer())
    return x * v1.get_variable("w", initializer=2.0) * k


def test_a_template_shares_its_variables():
    with tf.Graph().as_default():
        template, other = v1.make_template("t", linear), v1.make_template("t", linear, k=5.0)
        assert template.variable_scope is None and template.variables == []
        first, second, third = template(1.0), template(2.0, k=3.0), other(1.0)
        assert [v.name for v in v1.global_variables()] == ["t/w:0", "t_1/w:0"]
        assert [y.name for y in (first, second, third)] == ["t/mul_1:0", "t_1/mul_1:0", "t_2/mul_1:0"]
        assert [v.name for v in template.variables] == ["t/w:0", "t/seen:0"]
        assert [v.name for v in other.trainable_variables] == ["t_1/w:0"]
        assert (template.name, template.variable_scope.name, other.variable_scope_name) == ("t", "t", "t_1")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            assert session.run([first, second, third]) == [2.0, 12.0, 10.0]


def test_where_the_variables_of_a_template_stand():
    with tf.Graph().as_default():
        with v1.variable_scope("s"):
            now = v1.make_template("t", linear, create_scope_now_=True)
        late, named = v1.make_template("t", linear), v1.make_template("t", linear, unique_name_="mine")
        with v1.variable_scope("z"):
            for template in (now, late, named):
                template(1.0)
        assert [v.name for v in v1.global_variables()] == ["s/t/w:0", "z/t/w:0", "z/mine/w:0"]


def test_an_optimizer_s_operation_has_the_name_that_it_is_given():
    with tf.Graph().as_default():
        v, step = v1.get_variable("v", initializer=1.0), v1.train.create_global_step()
        adam, descent = v1.train.AdamOptimizer(0.1), v1.train.GradientDescentOptimizer(0.1)
        made = [adam.minimize(v * v, step, name="train"), adam.minimize(v * v, step), adam.minimize(v * v)]
        made += [descent.apply_gradients(descent.compute_gradients(v * v), name="apply")]
        with v1.variable_scope("s"):
            made.append(descent.minimize(v * v, name="inner"))
        assert [operation.name for operation in made] == ["train", "Adam", "Adam_1", "apply", "s/inner"]


def test_an_assignment_has_the_name_that_it_is_given():
    with tf.Graph().as_default():
        v = v1.get_variable("v", initializer=1.0)
        made = [v.assign(2.0, name="a"), v.assign_add(2.0, name="b"), v.assign_sub(2.0, name="c"), v.assign_add(1.0)]
        assert [assignment.op.name for assignment in made] == ["a", "b", "c", "AssignAddVariableOp"]
