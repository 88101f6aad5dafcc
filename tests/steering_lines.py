"""Lines of the log of steering, as the one who steers writes them."""

import json
from typing import Any


def line(number: int, **changed: Any) -> bytes:
    """A line."""
    said = {
        "time": 1.7e9 + number,
        "rule": "unfolded",
        "event": "fired",
        "sequence": number,
        "step": 10 * number,
        "frame_time": 0.5 * number,
        "values": {"rmsd": 3.5},
        "action": None,
        "message": f"number {number}",
    }
    return json.dumps(said | changed).encode() + b"\n"
