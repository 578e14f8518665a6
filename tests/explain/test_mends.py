"""The code of a fix, written where it belongs, makes the gradient exist."""

import pytest

import gradtape as tf
from gradtape._src.explain.edits import applied
from tests.explain.programs import branches, callers, functions, outside, sources, values
from tests.explain.table import answers, marked, programs_of

MENDED = [
    sources.a_constant_that_nobody_watched,
    sources.an_array_that_nobody_watched,
    sources.a_computed_tensor_that_nobody_watched,
    sources.variables_are_not_watched,
    sources.one_watched_variable_of_two,
    sources.not_trainable,
    sources.watched_too_late,
    sources.rebound_before_the_tape,
    sources.a_variable_became_a_tensor,
    sources.the_list_still_holds_the_variable,
    sources.clipped_in_place,
    sources.a_step_without_assign,
    sources.an_integer_constant,
    outside.a_stacked_loss_indexed_outside,
    outside.a_stacked_loss_gathered_outside,
    outside.losses_added_outside,
    outside.an_op_before_the_tape,
    outside.mapped_losses_indexed_outside,
    outside.a_saliency_used_outside,
    outside.unstacked_outside,
    outside.after_other_training_steps,
    outside.one_tape_for_two_orders,
    outside.losses_averaged_by_a_helper_outside,
    callers.a_loss_function_called_after,
    callers.a_model_of_a_class_called_before,
    callers.a_module_called_while_recording_paused,
    outside.recording_paused,
    outside.the_scale_was_computed_while_recording_paused,
    outside.a_tape_used_twice,
    outside.a_tape_that_was_reset,
    outside.a_watch_that_was_reset,
    values.numpy_in_the_tape,
    values.numpy_gave_the_target,
    values.the_numpy_method,
    values.a_python_float,
    values.an_array_of_the_same_name,
    values.a_detour_through_integers,
    values.a_stopped_gradient,
    values.stopped_in_a_lambda,
    values.rounding,
    functions.stopped_in_a_function,
    functions.a_function_called_outside_of_the_tape,
    branches.a_helper_gave_a_tensor,
    branches.two_that_became_tensors,
    branches.normalised_before_the_tape,
    branches.a_scalar_type_of_numpy,
    branches.an_array_in_an_op,
    branches.an_array_in_numpy,
]


@pytest.mark.parametrize("program", MENDED, ids=lambda program: program.__name__)
def test_the_fix_mends(program, count, tmp_path):
    at, diagnosis = next((k, d) for k, (_, d) in enumerate(answers(program)) if not d.connected)
    assert diagnosis.label == "fix"
    (mended,) = applied(diagnosis._fixes[0], {}).values()
    path = tmp_path / "mended.py"
    path.write_text(mended)
    names = {"__name__": program.__module__}
    exec(compile(mended, str(path), "exec"), names)
    gradient, again = answers(names[program.__name__])[at]
    assert gradient is not None and again.connected, f"{diagnosis}\n{again}"
    count("mends applied")


def test_every_code_with_a_mechanical_mend_is_tried():
    tried = {marked(program)[0] for program in MENDED}
    every = {marked(p.values[0])[0] for p in programs_of(functions, outside, sources, values)}
    by_hand = {"unused", "wrong_object", "branch_not_taken", "state", "other_thread", "no_gradient_registered"}
    assert tried == every - by_hand


def test_the_mend_names_the_tape_that_is_asked():
    x = tf.Variable(2.0)
    with tf.GradientTape() as first:
        y = x**3
    slope = first.gradient(y, x)
    with tf.GradientTape() as second:
        z = slope * 2.0
    assert second.gradient(z, x) is None
    assert tf.autodiff.explain(z, x).mend.endswith("into the `with` block of second.")
