"""Dataclasses that travel as a line of JSON."""

import json
from dataclasses import asdict
from typing import Any, Self


class JsonLine:
    """A dataclass that one process writes as a line of JSON for another."""

    def to_json(self) -> str:
        """Return the line."""
        values: Any = self
        return json.dumps(asdict(values))

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Return what `to_json` has made a line of."""
        return cls(**json.loads(text))
