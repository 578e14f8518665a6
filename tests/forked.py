"""Python processes with gradtape already imported: forks of a server that has imported it and computed nothing.

`run` replaces `subprocess.run` for a program that begins by importing gradtape. It cannot test imports, the end of a process, or
environment variables that are read during imports.
"""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def run(command, cwd=None, env=None):
    """Run `[sys.executable, "-c" or "-m" or a script, …]` to its end, with its output as text."""
    if sys.platform != "linux":  # other systems have no fork, or libraries that fail after one
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    assert command[0] == sys.executable
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("out", "err")]
        request = [[str(word) for word in command[1:]], str(cwd or Path.cwd()), dict(env or os.environ), files]
        process = server()
        print(json.dumps(request), file=process.stdin, flush=True)
        code = int(process.stdout.readline())
        return subprocess.CompletedProcess(command, code, *[Path(file).read_text("utf-8") for file in files])


@functools.cache
def server():
    """Start the server of this process; it ends with the process."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)
    atexit.register(process.communicate)
    return process


def serve():
    """Fork a process for each request line and print its exit code. Return the request in the fork, None in the server."""
    for line in iter(sys.stdin.readline, ""):
        process = os.fork()
        if process == 0:
            return json.loads(line)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def begin(words, cwd, env, files):
    """Set up this fork as the requested process, and run its program."""
    for number, file in enumerate([os.devnull, *files]):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    runtime.forked = False  # the fork may compute, because the server has not
    signal.alarm(120)
    way, *rest = words
    sys.argv = [way, *rest[1:]] if way == "-c" else rest if way == "-m" else words
    sys.path[0] = "" if way.startswith("-") else str(Path(way).parent)
    if way == "-c":
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif way == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(way, run_name="__main__")


if __name__ == "__main__":
    import gc
    import runpy
    import signal

    import gradtape._src.cli.commands  # noqa: F401  most programs run by it
    from gradtape._src.core.platform import runtime

    gc.freeze()
    request = serve()
    if request is not None:
        begin(*request)
