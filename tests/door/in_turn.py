"""Runs statements, each in a process of its own that has loaded gradtape and Keras, and nothing by TensorFlow's name.

A program for `gradtape run`: statements are read as a JSON list from stdin, and what each said is written as one to stdout: ""
where nothing was raised, else the error's class and message.
"""

import gc
import json
import os
import sys
import warnings

import gradtape.keras  # noqa: F401


def said(statement):
    """What `statement` said, in a child of this process."""
    receive, send = os.pipe()
    if os.fork():
        os.close(send)
        with open(receive) as pipe:
            text = pipe.read()
        os.wait()
        return text
    text = ""
    try:
        exec(statement, {"__name__": "__main__"})
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
    os.write(send, text.encode())
    os._exit(0)


if __name__ == "__main__":
    loaded = [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]
    assert not loaded, loaded
    warnings.simplefilter("ignore", RuntimeWarning)  # of JAX, about forks: the children run nothing
    gc.collect()
    gc.freeze()  # the children shall not go through what they share with their parent
    json.dump([said(statement) for statement in json.load(sys.stdin)], sys.stdout)
