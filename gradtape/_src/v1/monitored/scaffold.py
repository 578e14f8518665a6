"""`Scaffold`: the parts of a graph needed for training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.ops.grouping import group
from gradtape._src.v1.graphs.collections import (
    GraphKeys,
    add_to_collection,
    get_collection,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)
from gradtape._src.v1.graphs.graph import get_default_graph
from gradtape._src.v1.saver import Saver
from gradtape._src.v1.summary import merge_all


class Scaffold:
    """The operations that initialize a graph and check whether it is ready, its summary and its saver.

    Missing parts come from the graph's collections, or are created by `finalize`. `init_fn(scaffold, session)` is called after
    `init_op` has run.
    """

    @public
    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        given = {
            "init_op": init_op,
            "init_feed_dict": init_feed_dict,
            "init_fn": None if init_fn is None else lambda session: init_fn(self, session),
            "ready_op": ready_op,
            "ready_for_local_init_op": ready_for_local_init_op,
            "local_init_op": local_init_op,
            "summary_op": summary_op,
            "saver": saver,
            "local_init_feed_dict": local_init_feed_dict,
        }
        self.init_op: Any
        self.init_feed_dict: Any
        self.init_fn: Any
        self.ready_op: Any
        self.ready_for_local_init_op: Any
        self.local_init_op: Any
        self.summary_op: Any
        self.saver: Any
        self.local_init_feed_dict: Any
        for name, value in given.items():
            setattr(self, name, getattr(copy_from_scaffold, name, None) if value is None else value)

    @public
    def finalize(self) -> Scaffold:
        """Create missing parts, and finalize the graph."""
        parts: dict[str, tuple[Any, Callable[[], Any]]] = {
            "init_op": (GraphKeys.INIT_OP, global_variables_initializer),
            "ready_op": (GraphKeys.READY_OP, report_uninitialized_variables),
            "ready_for_local_init_op": (
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            ),
            "local_init_op": (GraphKeys.LOCAL_INIT_OP, self.default_local_init_op),
            "summary_op": (GraphKeys.SUMMARY_OP, merge_all),
            "saver": (GraphKeys.SAVERS, lambda: Saver(allow_empty=True)),
        }
        for name, (key, make) in parts.items():
            if getattr(self, name) is None:
                setattr(self, name, self.get_or_default(name, key, make))
        get_default_graph().finalize()
        return self

    @staticmethod
    @public
    def get_or_default(arg_name: str, collection_key: Any, default_constructor: Callable[[], Any]) -> Any:
        """Return the only element of a collection, or the result of `default_constructor`, added to the collection."""
        elements = get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f"More than one item in the collection {collection_key!r}. Please indicate which one to use by passing it to the "
                f"tf.train.Scaffold constructor as:  tf.train.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Return the op that initializes local variables and tables."""
        return group(local_variables_initializer(), tables_initializer())
