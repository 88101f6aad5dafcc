"""Colours: everybody tells them apart."""

import numpy as np
import pytest

from mdreel.foundation.html.palette import COLOURS
from mdreel.timing.report.worker_bars import PARTS
from mdreel.timing.spans import KINDS

# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision deficiency" (2009):
# what linear RGB becomes where a kind of cones is missing.
VISIONS = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def oklab(colour: str, vision: np.ndarray) -> np.ndarray:
    """Ottosson's perceptual coordinates of a colour (2020)."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(vision) @ linear, 0, 1)
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(to_lab) @ np.cbrt(np.array(to_cones) @ seen)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kinds", [tuple(KINDS), tuple(PARTS)], ids=["spans", "parts"])
def test_colours_of_a_figure_are_told_apart_with_every_vision(vision: str, scheme: str, kinds: tuple[str, ...]) -> None:
    seen = {kind: oklab(getattr(COLOURS[kind], scheme), np.asarray(VISIONS[vision])) for kind in kinds}
    apart = {(a, b): float(np.linalg.norm(seen[a] - seen[b])) for a in kinds for b in kinds if a < b}
    alike = {pair: round(distance, 3) for pair, distance in apart.items() if distance < 0.08}
    assert not alike
