"""Images of letters, and what the gradients of images say."""

from pathlib import Path

import matplotlib
import numpy as np
from scipy.ndimage import affine_transform, gaussian_filter

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: Fonts that come with matplotlib.
_FONTS = ("DejaVuSans", "DejaVuSerif", "STIXGeneral")
_STYLES = ("", "-Bold", "-Oblique", "-Italic", "-BoldOblique", "-BoldItalic")
_STYLES += ("Bol", "Italic", "BolIta", "Mono", "Mono-Bold")


def gradient_histograms(images, cell=4, n_directions=8):
    """Histograms of oriented gradients, (n_images, n_numbers), of gray images in [0, 1].

    Dalal, Triggs (2005). Gradients by central differences; each pixel's magnitude is shared by
    the two nearest of the directions; the histograms of 2 x 2 cells are divided by their length.
    """
    images = np.asarray(images, dtype=np.float32)
    side = images.shape[-1]
    images = images.reshape(-1, side, side)
    down = np.zeros_like(images)
    down[:, 1:-1] = images[:, 2:] - images[:, :-2]
    right = np.zeros_like(images)
    right[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    length = np.hypot(down, right)
    turn = np.arctan2(down, right) % (2 * np.pi) * n_directions / (2 * np.pi)
    first = np.floor(turn).astype(int)
    past_first = turn - first
    n_cells = side // cell
    histograms = np.empty((len(images), n_cells, n_cells, n_directions), np.float32)
    for direction in range(n_directions):
        share = np.where(first % n_directions == direction, 1 - past_first, 0)
        share += np.where((first + 1) % n_directions == direction, past_first, 0)
        by_cell = (length * share).reshape(-1, n_cells, cell, n_cells, cell)
        histograms[..., direction] = by_cell.sum(axis=(2, 4))
    blocks = [
        histograms[:, i : i + 2, j : j + 2].reshape(len(images), -1)
        for i in range(n_cells - 1)
        for j in range(n_cells - 1)
    ]
    return np.hstack([block / np.sqrt((block**2).sum(axis=1)[:, None] + 0.1) for block in blocks])


def letters(n_images, seed, alphabet=LETTERS):
    """Images of letters, (n_images, 28, 28), and their classes, (n_images,).

    Each is drawn in one of the fonts that come with matplotlib, turned, stretched, sheared, moved,
    blurred, and made noisy at random.
    """
    rng = np.random.default_rng(seed)
    glyphs = _glyphs(alphabet)
    font = rng.integers(len(glyphs), size=n_images)
    y = rng.integers(len(alphabet), size=n_images)
    images = np.empty((n_images, 28, 28), np.float32)
    for k in range(n_images):
        image = _moved(glyphs[font[k], y[k]], rng)
        image = gaussian_filter(image, rng.uniform(0.4, 1.2))
        images[k] = image + rng.normal(0, 0.04, image.shape)
    return images, y


def _glyphs(alphabet):
    """All letters in all fonts, (n_fonts, n_letters, 40, 40)."""
    from PIL import Image, ImageDraw, ImageFont

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    paths = [folder / f"{font}{style}.ttf" for font in _FONTS for style in _STYLES]
    drawn = []
    for path in filter(Path.exists, paths):
        font = ImageFont.truetype(path, 26)
        for letter in alphabet:
            image = Image.new("L", (40, 40))
            ImageDraw.Draw(image).text((20, 20), letter, font=font, fill=255, anchor="mm")
            drawn.append(np.asarray(image) / 255)
    return np.array(drawn).reshape(-1, len(alphabet), 40, 40)


def _moved(image, rng):
    """Turn, stretch, shear and move an image, and cut it to 28 x 28."""
    angle = rng.normal(0, 0.17)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shear = np.array([[1, 0], [rng.normal(0, 0.25), 1]])
    stretch = np.diag(np.exp(rng.normal(0, 0.13, 2)))
    matrix = 1.22 * turn @ shear @ stretch
    start = 19.5 - matrix @ (13.5 + rng.normal(0, 1.2, 2))
    return affine_transform(image, matrix, start, output_shape=(28, 28), order=1)
