"""The command `gradtape`: its arguments, and how `gradtape run` runs a script written for TensorFlow."""

import argparse
import builtins
import difflib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import sys
import types
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from gradtape._src.core.allocator import tune_allocator


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line `arguments`, by default those of the process."""
    parser = argparse.ArgumentParser(prog="gradtape", description="Automatic differentiation of TensorFlow programs.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="train a small network on real handwritten digits")
    demo.add_argument("--epochs", type=positive, default=15, help="passes over the data (default: 15)")
    demo.add_argument("--seed", type=natural, default=0, help="of the weights and the batches (default: 0)")
    demo.add_argument("--out", type=Path, default=Path("digits.png"), help="the picture (default: digits.png)")
    demo.set_defaults(command=demo_command)

    run = commands.add_parser("run", help="run a script that says `import tensorflow as tf` on gradtape")
    run.add_argument("script", help="path of the script")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script finds in sys.argv[1:]")
    run.set_defaults(command=run_command)

    why = commands.add_parser(
        "why",
        help="run a script, and say why gradients in it are None, zero or NaN",
        usage="gradtape why [-h] [--html FILE] script [--html FILE] ...",
    )
    why.add_argument("--html", type=Path, metavar="FILE", help="write a page with the source, the tapes and the reasons")
    why.add_argument("script", help="path of the script")
    why.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script finds in sys.argv[1:]")
    why.set_defaults(command=why_command)

    parsed = parser.parse_args(arguments)
    parsed.command(parsed)


def at_least(least: int, text: str) -> int:
    """`text` as an integer of at least `least`, or argparse's error."""
    if text.isdecimal() and int(text) >= least:
        return int(text)
    raise argparse.ArgumentTypeError(f"received {text!r}, expected an integer of at least {least}")


natural, positive = partial(at_least, 0), partial(at_least, 1)


def demo_command(parsed: argparse.Namespace) -> None:
    """`gradtape demo`."""
    tune_allocator()
    try:
        from gradtape._src.demo.train import run_demo
    except ModuleNotFoundError as error:
        if error.name not in ("PIL", "sklearn"):
            raise
        raise SystemExit(f"gradtape demo needs {error.name}: pip install 'gradtape[demo]'") from None

    run_demo(parsed.epochs, parsed.seed, parsed.out)


def run_command(parsed: argparse.Namespace) -> None:
    """`gradtape run`. Processes that the script spawns are new ones: in them `tensorflow` is what is installed."""
    path, source = script_of(parsed, "gradtape run")
    prepare()
    run_script(path, source, parsed.arguments)


def why_command(parsed: argparse.Namespace) -> None:
    """`gradtape why`: as `gradtape run`, and at the end the reasons. Exit code 1 if something was missing."""
    take_html(parsed)
    path, source = script_of(parsed, "gradtape why")
    prepare()
    from gradtape._src.explain.pictures.page import pictured
    from gradtape._src.explain.report import watching
    from gradtape._src.profile.profile import costs

    with watching() as report, pictured(report, path, parsed.html, costs):
        try:
            run_script(path, source, parsed.arguments)
        except SystemExit as ended:
            print(report, flush=True)
            raise SystemExit(ended.code or int(report.missing)) from None
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            print(report, flush=True)
            raise SystemExit(1) from None
    print(report, flush=True)
    raise SystemExit(int(report.missing))


def take_html(parsed: argparse.Namespace) -> None:
    """Let `--html FILE` stand behind the script too; with one before it, all behind it is the script's."""
    if parsed.html is None:
        option = argparse.ArgumentParser(prog="gradtape why", add_help=False, allow_abbrev=False)
        option.add_argument("--html", type=Path)
        taken, parsed.arguments = option.parse_known_args(parsed.arguments)
        parsed.html = taken.html
    if parsed.html is not None:
        parsed.html = parsed.html.absolute()  # the script may change the directory
        try:
            parsed.html.open("a").close()
        except OSError as error:
            print(f"gradtape why: cannot write {str(parsed.html)!r}: {error.strerror}", file=sys.stderr)
            raise SystemExit(2) from None


def script_of(parsed: argparse.Namespace, command: str) -> tuple[Path, bytes]:
    """The script that a command was given, and what it holds."""
    path = Path(parsed.script)
    try:
        return path, read_script(path)
    except OSError as error:
        print(f"{command}: cannot open {parsed.script!r}: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None


def prepare() -> None:
    """Make the process ready to run a script that imports `tensorflow`, and perhaps Keras for it."""
    tune_allocator()
    if os.environ.get("KERAS_BACKEND") in (None, "tensorflow"):
        os.environ["KERAS_BACKEND"] = "gradtape"
    sys.meta_path.insert(0, TensorflowFinder())


def read_script(path: Path) -> bytes:
    """The bytes of the script at `path`, read as Python reads its own code."""
    with io.open_code(str(path.absolute())) as file:
        return file.read()


def run_script(path: Path, source: bytes, arguments: Sequence[str]) -> None:
    """Run `source` as Python runs the script at `path`: its name, sys.argv, sys.path and tracebacks.

    What the script raises is raised again, so that Python ends the process as it would have; only the frames of this
    runner are left out where the traceback is printed.
    """
    file = str(path.absolute())
    module = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", file)
    vars(module).update(__annotations__={}, __builtins__=builtins, __cached__=None, __file__=file, __loader__=loader)
    sys.modules["__main__"] = module
    sys.argv[:] = [str(path), *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(path.resolve().parent)
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except SystemExit:
        raise
    except BaseException:
        sys.excepthook = without_runner_frames(sys.excepthook)
        raise


def without_runner_frames(show):
    """The except hook `show`, given tracebacks that begin in the script."""

    def excepthook(kind, error, traceback):
        entry = traceback
        while entry is not None and entry.tb_frame.f_code is not run_script.__code__:
            entry = entry.tb_next
        if entry is not None:
            traceback = entry.tb_next
        show(kind, error.with_traceback(traceback), traceback)

    return excepthook


class TensorflowFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Resolves `tensorflow` and its submodules to gradtape's modules of the same names.

    They are the same module objects, so classes, registries and state are shared by both names. A name that gradtape
    lacks is a ModuleNotFoundError even where TensorFlow is installed: the two never mix.
    """

    def find_spec(self, fullname, path=None, target=None):
        """The spec of gradtape's module for `tensorflow…`; None for every other name."""
        root, dot, submodule = fullname.partition(".")
        if root != "tensorflow":
            return None
        name = f"gradtape{dot}{submodule}"
        if not self.is_public(name):
            near = difflib.get_close_matches(submodule, public_modules(), n=1)
            raise ModuleNotFoundError(
                f"gradtape has no module for {fullname!r}, which `gradtape run` looked for as {name!r}."
                + (f" Did you mean 'tensorflow.{near[0]}'?" if near else f" It has: {', '.join(public_modules())}."),
                name=fullname,
            )
        return importlib.machinery.ModuleSpec(fullname, self, origin=name)

    @staticmethod
    def is_public(name: str) -> bool:
        """Whether `name` is importable and no part of it private."""
        if any(part.startswith("_") for part in name.split(".")):
            return False
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            return False

    def create_module(self, spec):
        """Gradtape's own module; its spec is kept, as the import system is about to replace it by `spec`."""
        module = importlib.import_module(spec.origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """The module has run already: give it back its own spec."""
        module.__spec__ = module.__spec__.loader_state


def public_modules() -> list[str]:
    """The names of gradtape's public modules, without the leading `gradtape.`."""
    import gradtape

    found = pkgutil.walk_packages(gradtape.__path__, "gradtape.")
    names = (module.name.removeprefix("gradtape.") for module in found)
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))


if __name__ == "__main__":
    main()
