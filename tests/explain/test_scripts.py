"""Whole scripts as users ask about them: `gradtape why` names code and line, and what it shows as a fix was seen to mend."""

import contextlib
from pathlib import Path

import pytest

from gradtape._src.cli.copies import run_copy
from gradtape._src.cli.program import of_script
from gradtape._src.explain.report import watching
from gradtape._src.explain.tried import try_fixes
from tests.explain.table import MARK

FOLDER = Path(__file__).parent / "scripts"
ADVICE = {  # where the change of a line does not mend, a part of the sentence
    "all_padding": "check the mask",
    "counts": "tf.sigmoid(self(x))",
    "distilled": "let it run once before you ask",
    "hinge_met": "try harder examples",
    "huge_inputs": "scale its input down",
    "no_gain": "start alpha at other values",
    "one_class": "try tf.sigmoid for one output",
    "policy": "open the tape before the loop in line 8",
    "ranks": "write the function with the tf.* counterparts",
    "target_critic": "call `critic` there",
    "vocabulary": "weigh the rows by a soft choice",
    "accuracy": "an accuracy only counts",
    "additive_mask": "mask with a large negative number",
    "cached": "by `@property`",
    "forgotten_loss": "add critic_loss to loss",
    "paused": "leave out `@quiet`",
    "unbuilt": "build the model before",
    "adapter": "start model.layers[0].up",
    "attention": "mask with a large negative number",
    "centers": "logarithms",
    "dead_units": "tf.nn.leaky_relu",
    "diverging": "a smaller rate",
    "drawn_point": "interpolate",
    "experts": "a soft choice",
    "flag": "call with `train_it=True`",
    "hidden_error": "do what the error says",
    "matched": "let it run once before you ask",
    "returned_input": "let it run once before you ask",
    "skipped_layers": "let the condition take it in",
    "warmup": "let it run once before you ask",
    "gate": "start gate at other values",
    "normalized": "more than one element",
    "padding": "check the mask",
    "pixels": "scale its input down",
    "probabilities": "give the loss the logits",
    "ratio": "fewer steps with the same ones",
    "siamese": "check the signs",
    "squared_scale": "another value",
    "threshold": "tf.sigmoid(x - self.threshold)",
    "tokens": "the gradient of what is taken",
    "two_heads": "use what the target takes",
    "weights_before": "leave it out of the sources",
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_the_script(path, count):
    program = of_script(str(path))
    lines = enumerate(path.read_text().splitlines(), 1)
    marks = {(found[1], number) for number, line in lines if (found := MARK.search(line))}
    with watching() as report, contextlib.suppress(Exception):  # of a step without a gradient
        run_copy(program, [], {}, None)
    try_fixes(report, lambda files, seconds: run_copy(program, [], files, seconds), None)
    if path.stem.startswith("right_"):
        assert not report.missing and report.calls, str(report)
        count("right scripts with nothing missing")
        return
    first = report.findings[0].diagnosis
    told = {(d.code, d.line) for d in (first, *first.also)}
    assert (first.code, first.line) in marks <= told, str(report)
    if path.stem in ADVICE:
        assert first.label.startswith("advice") and ADVICE[path.stem] in first.mend, str(report)
    else:
        assert first.label.startswith("fix, tried"), str(report)
    count("broken scripts explained")
