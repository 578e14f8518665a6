"""The mend that is proposed, applied to the program by rule, makes the gradient exist."""

import inspect
import re
import textwrap

import pytest

import gradtape as tf
from tests.explain.programs import branches, callers, functions, outside, questions, sources, values
from tests.explain.table import answers, marked, programs_of

# The codes whose mend can be applied without understanding the program, and how.


def quoted(diagnosis):
    """The first piece of code in the mend."""
    return re.search(r"`([^`]*)`", diagnosis.mend)[1]


def indent_of(line):
    return re.match(r" *", line)[0]


def tape_line(lines):
    return next(i for i in reversed(range(len(lines))) if "GradientTape(" in lines[i] and lines[i].rstrip().endswith(":"))


def insert_watch(lines, at, diagnosis):
    first = tape_line(lines) + 1
    statement = re.search(r"`(\w+\.watch\([^`]*\))`", diagnosis.mend)[1]
    return [*lines[:first], indent_of(lines[first]) + statement, *lines[first:]]


def move_into_tape(lines, at, diagnosis):
    line = lines[at]
    assert quoted(diagnosis) == line.split("  #")[0].strip()
    rest = lines[:at] + lines[at + 1 :]
    opened = tape_line(rest)
    place = opened + 1
    if at > opened:  # after the block; before its first line otherwise
        while place < len(rest) and len(indent_of(rest[place])) > len(indent_of(rest[opened])):
            place += 1
    return [*rest[:place], indent_of(rest[opened]) + "    " + line.strip(), *rest[place:]]


def out_of_pause(lines, at, diagnosis):
    pause = next(i for i in range(len(lines)) if "stop_recording" in lines[i])
    return [*lines[:pause], indent_of(lines[pause]) + lines[at].strip(), *lines[at + 1 :]]


def write_instead(lines, at, diagnosis):
    return [*lines[:at], indent_of(lines[at]) + quoted(diagnosis), *lines[at + 1 :]]


def leave_out(text):
    def change(lines, at, diagnosis):
        assert quoted(diagnosis) == text
        return [*lines[:at], lines[at].replace(text, "", 1), *lines[at + 1 :]]

    return change


def as_floats(lines, at, diagnosis):
    return [*lines[:at], re.sub(r"\)(?= *#)", ", dtype=tf.float32)", lines[at]), *lines[at + 1 :]]


def without_cast(lines, at, diagnosis):
    return [*lines[:at], re.sub(r"tf\.cast\((\w+), tf\.int32\)", r"\1", lines[at]), *lines[at + 1 :]]


def persistent(lines, at, diagnosis):
    return [line.replace("tf.GradientTape()", quoted(diagnosis)) for line in lines]


def without_reset(lines, at, diagnosis):
    return [*lines[:at], *lines[at + 1 :]]


def straight_through(lines, at, diagnosis):
    return [*lines[:at], re.sub(r"=\s*tf\.\w+\((\w+)\)", "= " + quoted(diagnosis), lines[at]), *lines[at + 1 :]]


def trainable_only(lines, at, diagnosis):
    return [line.replace("model.variables", quoted(diagnosis)) for line in lines]


MENDS = [
    (sources.a_constant_that_nobody_watched, insert_watch),
    (sources.an_array_that_nobody_watched, insert_watch),
    (sources.a_computed_tensor_that_nobody_watched, insert_watch),
    (sources.variables_are_not_watched, insert_watch),
    (sources.one_watched_variable_of_two, insert_watch),
    (sources.not_trainable, insert_watch),
    (questions.every_variable_of_a_model_with_batch_norm, trainable_only),
    (sources.watched_too_late, insert_watch),
    (sources.rebound_before_the_tape, write_instead),
    (sources.a_variable_became_a_tensor, write_instead),
    (sources.the_list_still_holds_the_variable, write_instead),
    (sources.clipped_in_place, write_instead),
    (sources.a_step_without_assign, write_instead),
    (sources.an_integer_constant, as_floats),
    (outside.a_stacked_loss_indexed_outside, move_into_tape),
    (outside.a_stacked_loss_gathered_outside, move_into_tape),
    (outside.losses_added_outside, move_into_tape),
    (outside.an_op_before_the_tape, move_into_tape),
    (outside.mapped_losses_indexed_outside, move_into_tape),
    (outside.a_saliency_used_outside, move_into_tape),
    (outside.unstacked_outside, move_into_tape),
    (outside.after_other_training_steps, move_into_tape),
    (outside.one_tape_for_two_orders, move_into_tape),
    (outside.losses_averaged_by_a_helper_outside, move_into_tape),
    (callers.a_loss_function_called_after, move_into_tape),
    (callers.a_model_of_a_class_called_before, move_into_tape),
    (callers.a_module_called_while_recording_paused, out_of_pause),
    (outside.recording_paused, out_of_pause),
    (outside.the_scale_was_computed_while_recording_paused, out_of_pause),
    (outside.a_tape_used_twice, persistent),
    (outside.a_tape_that_was_reset, without_reset),
    (outside.a_watch_that_was_reset, without_reset),
    (values.numpy_in_the_tape, write_instead),
    (values.numpy_gave_the_target, write_instead),
    (values.the_numpy_method, write_instead),
    (values.a_python_float, write_instead),
    (values.an_array_of_the_same_name, leave_out("squared = np.array(squared)")),
    (values.a_detour_through_integers, without_cast),
    (values.a_stopped_gradient, leave_out("tf.stop_gradient")),
    (values.stopped_in_a_lambda, leave_out("tf.stop_gradient")),
    (values.rounding, straight_through),
    (functions.stopped_in_a_function, leave_out("tf.stop_gradient")),
    (functions.a_function_called_outside_of_the_tape, move_into_tape),
    (branches.a_helper_gave_a_tensor, write_instead),
    (branches.two_that_became_tensors, write_instead),
    (branches.normalised_before_the_tape, move_into_tape),
    (branches.a_scalar_type_of_numpy, write_instead),
    (branches.an_array_in_an_op, write_instead),
    (branches.an_array_in_numpy, write_instead),
]


@pytest.mark.parametrize("program, apply", MENDS, ids=[program.__name__ for program, _ in MENDS])
def test_the_mend_mends(program, apply, count, tmp_path):
    diagnosis = next(d for _, d in answers(program) if not d.connected)
    lines, first = inspect.getsourcelines(program)
    lines = textwrap.dedent("".join(lines)).splitlines()
    mended = "\n".join(apply(lines, marked(program)[1] - first, diagnosis))
    path = tmp_path / "mended.py"
    path.write_text(mended + "\n")
    names = dict(vars(inspect.getmodule(program)))
    exec(compile(mended, str(path), "exec"), names)
    for gradient, again in answers(names[program.__name__]):
        assert gradient is not None, mended
        assert again.connected, f"{mended}\n{again}"
    count("mends applied")


def test_every_code_with_a_mechanical_mend_is_tried():
    tried = {marked(program)[0] for program, _ in MENDS}
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
