"""The demo's picture: digits, their predictions, and the pixels that decided these."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

COLUMNS, ROWS = 6, 4
TILE, GAP, CAPTION = 96, 12, 30
PAPER, INK, RIGHT, WRONG = "#ffffff", "#202124", "#137333", "#c5221f"
# Saliency runs from white through orange to dark red.
HEAT = np.array([[255, 255, 255], [253, 174, 97], [165, 0, 38]], np.float32)


def draw_digits(images, labels, predictions, saliency) -> Image.Image:
    """Return a sheet of digits, mistakes first, each beside the saliency of its pixels and above `label → prediction`.

    `images` and `saliency` are [N, 8, 8], `labels` and `predictions` [N]; at most COLUMNS × ROWS digits are drawn.
    """
    chosen = np.argsort(labels == predictions, kind="stable")[: COLUMNS * ROWS]
    cell_width, cell_height = 2 * TILE + 2 * GAP, TILE + CAPTION + GAP
    sheet = Image.new("RGB", (COLUMNS * cell_width + GAP, -(-len(chosen) // COLUMNS) * cell_height + GAP), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=18)
    for place, index in enumerate(chosen):
        row, column = divmod(place, COLUMNS)
        left, top = GAP + column * cell_width, GAP + row * cell_height
        sheet.paste(tile(255 * (1 - images[index, ..., np.newaxis].repeat(3, axis=-1))), (left, top))
        sheet.paste(tile(heat(saliency[index])), (left + TILE, top))
        draw.rectangle((left - 1, top - 1, left + 2 * TILE, top + TILE), outline=INK)
        right = labels[index] == predictions[index]
        caption = f"{labels[index]} read as {predictions[index]}"
        draw.text((left + TILE, top + TILE + 4), caption, fill=RIGHT if right else WRONG, font=font, anchor="ma")
    return sheet


def heat(saliency: np.ndarray) -> np.ndarray:
    """Return colours [8, 8, 3] for `saliency` [8, 8], the largest of which becomes the darkest."""
    position = saliency / max(saliency.max(), np.finfo(np.float32).tiny) * (len(HEAT) - 1)
    return np.stack([np.interp(position, range(len(HEAT)), channel) for channel in HEAT.T], axis=-1)


def tile(colours: np.ndarray) -> Image.Image:
    """Draw colours [8, 8, 3] between 0 and 255 as a square of TILE pixels."""
    return Image.fromarray(colours.astype(np.uint8)).resize((TILE, TILE), Image.Resampling.NEAREST)
