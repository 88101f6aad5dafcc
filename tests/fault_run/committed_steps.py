"""State that a member of a group commits: which steps it has done, and the sum of their digests."""

from dataclasses import dataclass, field
from typing import Self

_DIGEST = (1 << 64) - 1


@dataclass
class CommittedSteps:
    """Numbers of the frames that a member has processed. Each number may occur only once.

    Attributes
    ----------
    digests : int
        Sum of the digests of the frames, modulo 2**64.
    n_late : int
        Number of frames that had gone before the member took its first one.
    """

    digests: int = 0
    n_late: int = 0
    _bits: bytearray = field(default_factory=bytearray)

    @classmethod
    def from_blob(cls, blob: bytes | None) -> Self:
        """Return the state of a commit, or the first state without one."""
        if blob is None:
            return cls()
        return cls(int.from_bytes(blob[:8], "little"), int.from_bytes(blob[8:16], "little"), bytearray(blob[16:]))

    def blob(self) -> bytes:
        """Return the state for a commit."""
        return self.digests.to_bytes(8, "little") + self.n_late.to_bytes(8, "little") + bytes(self._bits)

    def add(self, number: int, digest: int) -> None:
        """Add a frame. Raise AssertionError if it was done before."""
        at, bit = divmod(number, 8)
        if at >= len(self._bits):
            self._bits.extend(bytes(at + 1 - len(self._bits)))
        assert not self._bits[at] >> bit & 1, f"repeated: frame {number} was done before"
        self._bits[at] |= 1 << bit
        self.digests = self.digests + digest & _DIGEST

    def numbers(self) -> set[int]:
        """Return the numbers of the frames."""
        return {8 * at + bit for at, byte in enumerate(self._bits) for bit in range(8) if byte >> bit & 1}


def sum_of_digests(digests: "list[int]") -> int:
    """Return the sum that a member has that has done frames with these digests."""
    return sum(digests) & _DIGEST
