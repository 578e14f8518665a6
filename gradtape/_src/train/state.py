"""The file `checkpoint` of a folder: the list of its checkpoints, and the latest one."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import DataLossError
from gradtape._src.core.base.public import public
from gradtape._src.files.whole import replacing
from gradtape._src.train import bundle_writer
from gradtape._src.train.sources import is_there

FILE = "checkpoint"
Saved = tuple[str, float | None]  # path, and time of saving (seconds since 1970) if it is known


def update_state(folder: str, saved: Sequence[Saved], kept_until: float | None = None, filename: str = FILE) -> None:
    """Write the checkpoints of a folder, the latest last. `kept_until` is the time of the last one that is kept permanently."""
    entries = [{"name": os.path.basename(path), "time": time} for path, time in saved]
    state = {"format": "gradtape checkpoints 1", "checkpoints": entries, "kept_until": kept_until}
    text = _for_tensorflow(state) if bundle_writer.is_wanted() and entries else json.dumps(state, indent=1)
    file = os.path.join(folder, filename)

    def write() -> None:
        with replacing(file) as part:
            Path(part).write_text(text + "\n", "utf-8")

    hooks.clients.once(file, write)


def read_state(folder: str, filename: str = FILE) -> tuple[list[Saved], float | None]:
    """Read the file of `update_state`, without lost checkpoints; empty if it is missing. DataLossError if it is damaged."""
    path = os.path.join(folder, filename)
    try:
        text = Path(path).read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return [], None
    except ValueError as error:
        raise _damaged(path, error) from error
    try:
        state = json.loads(text) if text.lstrip().startswith("{") else _of_tensorflow(text)
        saved = [(os.path.join(folder, _name(entry["name"])), _time(entry["time"])) for entry in state["checkpoints"]]
        return [entry for entry in saved if is_there(entry[0])], _time(state["kept_until"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, error) from error


def _for_tensorflow(state: dict[str, Any]) -> str:
    """Format the state as TensorFlow's text message. Unknown times become now, as each entry needs one."""
    entries = state["checkpoints"]
    lines = [f"model_checkpoint_path: {json.dumps(entries[-1]['name'], ensure_ascii=False)}"]
    lines += [f"all_model_checkpoint_paths: {json.dumps(entry['name'], ensure_ascii=False)}" for entry in entries]
    lines += [f"all_model_checkpoint_timestamps: {entry['time'] or time.time()}" for entry in entries]
    return "\n".join([*lines, *([] if state["kept_until"] is None else [f"last_preserved_timestamp: {state['kept_until']}"])])


def _of_tensorflow(text: str) -> dict[str, Any]:
    """Parse TensorFlow's text message. A path to another folder is not followed: its name is looked up in this folder."""
    found: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        field, separator, value = line.partition(": ")
        if not separator:
            raise ValueError(f"{line!r} is no field with a value")
        found.setdefault(field, []).append(value)
    latest = _text(found["model_checkpoint_path"][0])
    paths = [_text(path) for path in found.get("all_model_checkpoint_paths", [])]
    times: list[Any] = found.get("all_model_checkpoint_timestamps", [])
    dated = dict(zip(paths, times, strict=True)) if times else dict.fromkeys(paths)
    dated = {path: time for path, time in dated.items() if path != latest} | {latest: dated.get(latest)}
    entries = [{"name": re.split(r"[/\\\\]", path)[-1], "time": time} for path, time in dated.items()]
    return {"checkpoints": entries, "kept_until": found.get("last_preserved_timestamp", [None])[0]}


def _text(value: str) -> str:
    """Return the content of a quoted string."""
    if len(value) < 2 or value[0] not in "\"'" or value[-1] != value[0]:
        raise ValueError(f"{value} is no string")
    return value[1:-1].encode().decode("unicode_escape").encode("latin-1").decode()


def _damaged(path: str, error: Exception) -> DataLossError:
    return DataLossError(
        None, None, f"The file {path} is damaged, or not one of gradtape's: {error}. Remove it; the checkpoints stay usable."
    )


def _name(name: Any) -> str:
    """Validate the name of a checkpoint, which must be in the same folder, so that the file cannot refer elsewhere."""
    if not isinstance(name, str) or not name or name in (".", "..") or set(name) & {"/", "\\", "\0"}:
        raise ValueError(f"{name!r} is not the name of a checkpoint in its folder")
    return name


def _time(value: Any) -> float | None:
    return None if value is None else float(value)


class CheckpointState(NamedTuple):
    """The state of a folder of checkpoints: the paths of the latest checkpoint and of all, and their times."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: list[str]
    all_model_checkpoint_timestamps: list[float | None]
    last_preserved_timestamp: float | None


@public
def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> CheckpointState | None:
    """Return the state of the checkpoints in a folder, or None if there is none.

    >>> path = tf.train.Checkpoint(w=tf.Variable(1.0)).save("stated/ckpt")
    >>> print(tf.train.get_checkpoint_state("stated").model_checkpoint_path)
    stated/ckpt-1
    """
    saved, kept_until = read_state(os.fspath(checkpoint_dir), latest_filename or FILE)
    if not saved:
        return None
    return CheckpointState(saved[-1][0], [path for path, _ in saved], [time for _, time in saved], kept_until)


@public
def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return the path of the latest checkpoint in a folder, or None if there is none.

    >>> checkpoint = tf.train.Checkpoint(w=tf.Variable(1.0))
    >>> path = checkpoint.save("latest/ckpt")
    >>> print(tf.train.latest_checkpoint("latest"))
    latest/ckpt-1
    """
    saved, _ = read_state(os.fspath(checkpoint_dir), latest_filename or FILE)
    return saved[-1][0] if saved else None


@public
def checkpoints_iterator(
    checkpoint_dir: Any, min_interval_secs: float = 0, timeout: float | None = None, timeout_fn: Callable[[], bool] | None = None
) -> Iterator[str]:
    """Yield the path of each new checkpoint of a folder, at most one in `min_interval_secs`.

    It ends after `timeout` seconds without a new one (None: never), unless `timeout_fn` is given and does not return True.

    >>> path = tf.train.Checkpoint(w=tf.Variable(1.0)).save("watched/ckpt")
    >>> list(tf.train.checkpoints_iterator("watched", timeout=0))
    ['watched/ckpt-1']
    """
    last = None
    while True:
        found, until = latest_checkpoint(checkpoint_dir), None if timeout is None else time.monotonic() + timeout
        while (found is None or found == last) and (until is None or time.monotonic() < until):
            time.sleep(1 if until is None else min(1, max(0, until - time.monotonic())))
            found = latest_checkpoint(checkpoint_dir)
        if found is None or found == last:
            if timeout_fn is None or timeout_fn():
                return
            continue
        began, last = time.monotonic(), found
        yield found
        time.sleep(max(0, began + min_interval_secs - time.monotonic()))
