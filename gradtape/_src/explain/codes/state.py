"""The code of a value that was stored in state: a variable, a metric, a layer's own variables."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from gradtape._src.control.scope import ASSIGNMENTS
from gradtape._src.core.programs.op import Op
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.codes.ops import without_gradient
from gradtape._src.explain.evidence import Evidence, Said, of_steps
from gradtape._src.explain.history import Name, Step
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.breaks import View


class State(Evidence):
    """`new`: the value initialized a Variable. `model` and `metric` are the name and object that hold the assigned variable."""

    code, when, named = "state", "the value went through an assignment", "the assignment"
    new: bool = False
    model: tuple[str, Any] | None = None
    metric: tuple[str, Any] | None = None

    @property
    def of_a_metric(self) -> bool:
        """Whether the assigned variable is the state of a metric."""
        return self.metric is not None or re.search(r"\.update_state\(|\.result\(", text.text(self.line) or "") is not None

    def said(self, w: Words) -> Said:
        if self.new:
            cause = f"{self.written} made a Variable of the value, and state stops gradients"
            return Said(cause, "use the tensor itself, without tf.Variable")
        if self.of_a_metric:
            cause = f"{self.written} updates a metric: the value went into the metric's state, and state stops gradients"
            other = "compute the loss from the tensor that the metric is given, or with one of Keras's losses"
            return Said(cause, self._loss() or f"{other}, and keep the metric beside it")
        fix = rewritten.without_assign(self.line)
        if re.search(r"\]\.assign\(", text.text(self.line) or ""):
            fix = "keep the new value in a tensor: tf.tensor_scatter_nd_update(x, at, part), or tf.where(mask, tf.pad(part), x)"
        if self.model is not None:
            name = self.model[0]
            called = f"`y, _ = {name}.stateless_call(values, {name}.non_trainable_variables, x)`"
            fix = f"keep the new values in a list, like `{name}.trainable_variables`, and call the model with it: {called}"
        return Said(f"the value went into a variable's state in {self.written}, and state stops gradients", fix)

    def _loss(self) -> str | None:
        """Return the advice to use the Keras loss that corresponds to a metric called as a loss; None if there is none."""
        name, metric = self.metric or ("", None)
        loss = type(metric).__name__.replace("Accuracy", "Crossentropy")
        written = text.text(self.line) or ""
        if f"{name}(" not in written or not hasattr(getattr(sys.modules.get("keras"), "losses", None), loss):
            return None
        instead = written.replace(f"{name}(", f"tf.keras.losses.{loss}()(")
        return f"use a loss of Keras's, and keep the metric beside it: `{instead}`"


@of_steps(20)
def _assigned(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    if op is None:
        return State(step.line, None, step, new=step.how == "variable") if step.how in ("variable", "assign") else None
    into = op in ASSIGNMENTS or op.type.startswith(("ResourceScatter", "ScatterNd_assign"))
    stops = without_gradient(op) and "state stops gradients" in (op.reason or "")
    return State(step.line, op.type, step) if into or stops else None
