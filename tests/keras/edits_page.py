"""Print `docs/keras.md` with the table of gradtape's changes of Keras as the code has it now. With `--write`, into the file."""

import sys
from pathlib import Path

from keras_gradtape.edits import rows

PAGE = Path(__file__).parents[2] / "docs" / "keras.md"
BEGIN = "<!-- Written from keras_gradtape/edits.py: make snapshot -->\n"
END = "<!-- Until here -->\n"


def page() -> str:
    """The whole page."""
    above, begin, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, end, below = rest.partition(END)
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows())
    return f"{above}{begin}\n| module | why | goes when |\n|---|---|---|\n{table}\n{end}{below}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        sys.stdout.write(page())
