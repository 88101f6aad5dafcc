"""Tables and summaries of values over time."""

from typing import TYPE_CHECKING

import numpy as np

from mdreel.results.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray


def series_columns(frame: "NDArray[np.float64] | NDArray[np.int64]", time: "NDArray[np.float64]") -> list[Column]:
    """Return the first columns of a table of frames: the frame numbers and the times in ps."""
    return [Column("frame", "", frame.astype(np.int64)), Column("time", "ps", time)]


def series_summary(name: str, unit: str, time: "NDArray[np.float64]", values: "NDArray[np.float64]") -> str:
    """Return lines of text with the lowest, the mean and the highest value, and with times in ps."""
    lowest, highest = values.argmin(), values.argmax()
    indent = " " * len(name)
    return "\n".join(
        (
            f"{'frames':<{len(name) + 8}}{len(values):>10,}   {time[0]:,.6g} to {time[-1]:,.6g} ps",
            f"{name} lowest {values[lowest]:>10.3f} {unit}  at {time[lowest]:,.6g} ps",
            f"{indent} mean   {values.mean():>10.3f} {unit}",
            f"{indent} highest{values[highest]:>10.3f} {unit}  at {time[highest]:,.6g} ps",
        )
    )
