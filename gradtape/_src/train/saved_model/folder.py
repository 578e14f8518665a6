"""The folder of a saved model: one JSON file, and files of arrays and programs with a common token in their names.

A save writes its files under a new token, beside those of an older save. It is complete when its JSON file replaces the old
one atomically. Only then are the files with the older token removed. Files with other tokens were left by a killed save, and
the next save removes them. Files are removed only by their names in two folders, never by a list in a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gradtape._src.core.base.errors import AlreadyExistsError, FailedPreconditionError, UnimplementedError
from gradtape._src.files.whole import remove_parts, replacing, writing

FORMAT = "gradtape saved model 2"
FILE = "saved_model.json"
TENSORFLOWS = ("saved_model.pb", "saved_model.pbtxt")
DATA = {"variables": ".safetensors", "stablehlo": ".bin"}  # the folders of a saved model, and the suffixes of their files
TOKEN = r"[0-9a-f]{16}"


class Paths:
    """The files of one save."""

    def __init__(self, folder: str, token: Any) -> None:
        if type(token) is not str or not re.fullmatch(TOKEN, token):
            raise ValueError(f"{token!r} is no token of a saved model")
        self.folder, self.token = folder, token
        self.variables = os.path.join(folder, "variables", f"variables-{token}")
        self.constants = os.path.join(folder, "variables", f"constants-{token}")

    def stablehlo(self, signature: str) -> str:
        """Return the file name, within the folder, of a signature's StableHLO."""
        return f"stablehlo/{re.sub(r'[^A-Za-z0-9_.]', '_', signature)}-{self.token}.bin"

    def remove(self) -> None:
        """Remove these files, and the folders that become empty."""
        _remove(self.folder, re.escape(self.token))


def _remove(folder: str, tokens: str, kept: str | None = None) -> None:
    """Remove the files whose token matches `tokens` and is not `kept`, and the folders that become empty."""
    for name, end in DATA.items():
        inside = Path(folder, name)
        for path in [*inside.iterdir()] if inside.is_dir() else ():
            found = re.fullmatch(rf".+-({tokens}){re.escape(end)}", path.name)
            if found and found[1] != kept:
                path.unlink()
        with contextlib.suppress(OSError):
            inside.rmdir()


def _clear(folder: str) -> None:
    """Remove the leftovers of killed saves from a folder that holds a saved model or nothing else."""
    remove_parts(folder)
    before = _before(folder)
    if before is not None or not {*os.listdir(folder)} - {*DATA}:
        _remove(folder, TOKEN, None if before is None else before.token)


@contextlib.contextmanager
def written(folder: str) -> Iterator[tuple[Paths, dict[str, Any]]]:
    """Yield the files to write, and a dict for the JSON file, which is written last.

    An error leaves the folder unchanged. AlreadyExistsError if it holds a saved model of another format.
    """
    if not folder:
        raise ValueError("export_dir must be the path of a folder, and is an empty string.")
    target = os.path.abspath(folder)
    if os.path.exists(target) and not os.path.isdir(target):
        raise FailedPreconditionError.saying(f"{folder} is not a directory")
    before = _before(target)
    created = not os.path.isdir(target)
    paths = Paths(target, secrets.token_hex(8))
    model: dict[str, Any] = {}
    os.makedirs(target, exist_ok=True)
    with writing(target, _clear):
        try:
            for name in DATA:
                os.makedirs(os.path.join(target, name), exist_ok=True)
            yield paths, model
            given = {"format": FORMAT, "token": paths.token, "crc32": checksum(model), "model": model}
            text = json.dumps(given, allow_nan=False)
            with replacing(os.path.join(target, FILE)) as part:
                Path(part).write_text(text, "utf-8")
        except BaseException:
            paths.remove()
            if created:
                with contextlib.suppress(OSError):
                    os.rmdir(target)
            raise
        if before is not None:
            before.remove()


def _before(folder: str) -> Paths | None:
    """Return the files of the save in a folder; AlreadyExistsError if this version of gradtape did not write it."""
    foreign = [name for name in (*TENSORFLOWS, FILE) if os.path.lexists(os.path.join(folder, name))]
    if foreign == [FILE]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            given = json.loads(Path(folder, FILE).read_text("utf-8"))
            if given["format"] == FORMAT:
                return Paths(folder, given["token"])
    if foreign:
        raise AlreadyExistsError.saying(
            f"{folder} holds a file {foreign[0]} that tf.saved_model.save did not write. Nothing was changed. Give another "
            "folder."
        )
    return None


def checksum(model: Any) -> int:
    """Return the checksum of a model's JSON data."""
    return zlib.crc32(json.dumps(model, sort_keys=True, separators=(",", ":")).encode())


def read(folder: str) -> tuple[Paths, Any]:
    """Return the files and the JSON data of a saved model; ValueError if they are damaged."""
    given = json.loads(Path(folder, FILE).read_text("utf-8"))
    if given["format"] != FORMAT:
        raise ValueError(f"its format is {given['format']!r}, this version of gradtape reads {FORMAT!r}")
    if given["crc32"] != checksum(given["model"]):
        raise ValueError("its checksum is wrong")
    return Paths(folder, given["token"]), given["model"]


def refuse(folder: str) -> None:
    """Raise the error for a folder without a saved model of gradtape."""
    found = [name for name in TENSORFLOWS if os.path.isfile(os.path.join(folder, name))]
    if found:
        raise UnimplementedError.saying(
            f"{folder} holds TensorFlow's SavedModel ({found[0]}), a format that gradtape does not read. In TensorFlow save the "
            "model with model.save('model.keras'), or its weights with model.save_weights or as NumPy arrays, and load those."
        )
    raise OSError(f"SavedModel file does not exist at: {folder}/{FILE}")
