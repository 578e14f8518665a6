"""The gallery: a picture and the run time of each example and notebook: `python -m docs.site.gallery [NAME …]`.

Each runs in its own process. The pictures are written to `docs/gallery`, the table to `docs/gallery.md`.
"""

import base64
import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from docs.site.project import ROOT

PAGE, PICTURES = ROOT / "docs/gallery.md", ROOT / "docs/gallery"
BEGIN, END = "<!-- Written by docs/site/gallery.py -->\n", "<!-- Until here -->\n"
SIZE, DOTS = (3.2, 2.0), 100  # inches, and dots per inch
RUN = "import sys; from docs.site.gallery import drawn; drawn(sys.argv[1])"

Draw = Callable[[Any, Any, Sequence[Any]], None]


def curve(title: str, *parts: Any, names: Sequence[str] = ()) -> Draw:
    """Return a function that draws losses: the parts of the result at these indices, or the whole result."""

    def draw(figure: Any, result: Any, images: Sequence[Any]) -> None:
        axes = figure.subplots()
        for place, part in enumerate(parts or [None]):
            losses = result if part is None else result[part]
            axes.plot(np.linspace(0, 100, len(losses)), losses, label=names[place] if names else None)
        axes.set_title(title)
        axes.set_xlabel("% of the training")
        if names:
            axes.legend()

    return draw


def bars(title: str, heights: Callable[[Any], dict[str, float]]) -> Draw:
    """Return a function that draws a few named numbers as bars."""

    def draw(figure: Any, result: Any, images: Sequence[Any]) -> None:
        axes = figure.subplots()
        found = heights(result)
        drawn_bars = axes.bar(list(found), list(found.values()), width=0.5, color="#4a7ab0")
        axes.bar_label(drawn_bars, fmt="%.3g")
        axes.margins(y=0.2)
        axes.set_title(title)

    return draw


def digits(title: str) -> Draw:
    """Return a function that draws the images which the example prints as text."""

    def draw(figure: Any, result: Any, images: Sequence[Any]) -> None:
        for axes, image in zip(figure.subplots(len(images) // 3 or 1, 3).flat, images, strict=False):
            axes.imshow(np.squeeze(image), cmap="gray")
            axes.set_axis_off()
        figure.suptitle(title)

    return draw


# The examples: the caption of each, and the function that draws its result.
EXAMPLES: dict[str, tuple[str, Draw]] = {
    "train_step": ("`fit` with a `train_step` of its own", curve("loss on mixtures of digits", 0)),
    "custom_loop": ("a loop from scratch", curve("loss", 0)),
    "gan": ("two networks, two optimizers, one step", digits("digits that the generator made")),
    "vae": ("an autoencoder with a random layer", digits("three digits, and what four numbers tell of them")),
    "grad_cam": ("where a network looks", digits("three digits, and where the net looked")),
    "distillation": (
        "a small network learns from a large one",
        bars("accuracy on digits it has not seen", lambda result: result[1]),
    ),
    "gradient_penalty": (
        "a gradient inside the loss",
        bars("distance of made points from the ring", lambda result: {"before": result[0], "after": result[1]}),
    ),
    "saliency_loss": (
        "a classifier that must not look at a hint",
        bars("accuracy where the hint lies", lambda result: {f"penalty × {weight:g}": r[0] for weight, r in result.items()}),
    ),
    "tensor_parallel": (
        "a transformer on a mesh of devices",
        bars("loss", lambda result: {f"epoch {n}": loss for n, loss in enumerate(result[0], 1)}),
    ),
    "accumulation": (
        "accumulation in mixed precision",
        curve("loss", "by_fit", "by_hand", names=("by fit", "by hand")),
    ),
}
NOTEBOOKS = {
    "first_steps": "tensors, a tape, a training loop",
    "broken_tape": "a network that does not learn, and why",
    "gan": "a GAN on eight clusters",
    "physics_informed": "second derivatives inside the loss",
    "levenberg_marquardt": "a fit to data of the NIST",
}


def drawn(name: str) -> None:
    """Run an example, or a notebook (`notebooks/name`), and write its picture."""
    file = PICTURES / f"{_file(name)}.png"
    if name.startswith("notebooks/"):
        file.write_bytes(_of_notebook(ROOT / f"docs/{name}.ipynb"))
        return
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams.update({"font.size": 8, "axes.titlesize": 9, "figure.titlesize": 9})
    module = importlib.import_module(f"examples.{name}")
    images: list[Any] = []
    if hasattr(module, "picture"):
        module.picture = lambda *shown: images.extend(shown) or ""  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()):
        result = module.main()
    figure = Figure(figsize=SIZE, dpi=DOTS, layout="constrained")
    EXAMPLES[name][1](figure, result, images)
    figure.savefig(file)


def _file(name: str) -> str:
    return name.replace("/", "-")


def _of_notebook(path: Path) -> bytes:
    """Run a notebook and return the last picture in its outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return base64.b64decode(pictures[-1])


def written(seconds: dict[str, float]) -> str:
    """Return the page with its pictures, and with new CPU times where `seconds` has them."""
    page = PAGE.read_text("utf-8")
    found = re.findall(r"\(gallery/(\S+)\.png\).* (\d+) s \|$", page, re.MULTILINE)
    known = {name: float(taken) for name, taken in found} | {_file(name): taken for name, taken in seconds.items()}
    entries = [(_file(name), f"[{name}](../examples/{name}.py)", words) for name, (words, _) in EXAMPLES.items()]
    entries += [(_file(f"notebooks/{n}"), f"the notebook [{n}](notebooks/{n}.ipynb)", words) for n, words in NOTEBOOKS.items()]
    rows = [f"| ![{words}](gallery/{f}.png) | {link}: {words} | {known.get(f, 0):.0f} s |" for f, link, words in entries]
    before, _, rest = page.partition(BEGIN)
    table = "\n".join(["| what it shows | program | CPU |", "|---|---|--:|", *rows])
    return f"{before}{BEGIN}\n{table}\n\n{END}{rest.partition(END)[2]}"


def main(names: Sequence[str]) -> None:
    """Run the examples of these names, or all, and write the pictures and the page."""
    PICTURES.mkdir(exist_ok=True)
    seconds = {}
    for name in names or [*EXAMPLES, *[f"notebooks/{name}" for name in NOTEBOOKS]]:
        start = os.times()
        subprocess.run([sys.executable, "-c", RUN, name], cwd=ROOT, check=True)
        end = os.times()
        seconds[name] = end.children_user + end.children_system - start.children_user - start.children_system
        print(json.dumps({name: round(seconds[name])}), flush=True)
    PAGE.write_text(written(seconds), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
