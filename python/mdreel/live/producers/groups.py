"""Consumer groups that a producer creates before its first frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mdreel._core import channel_declare_group
from mdreel.errors import MismatchError


@dataclass(frozen=True)
class Group:
    """Consumer group that a producer creates before the first frame.

    Parameters
    ----------
    name : str
        Name of the group, which consists of up to 64 letters, digits, ``-`` and ``_``.
    share : bool
        Whether the members of the group should share the frames, instead of each receiving all of them.

    Examples
    --------
    >>> import mdreel
    >>> work = mdreel.live.Group("work", share=True)
    >>> producer = mdreel.live.Producer("run1", n_atoms=3, groups=["archive", work])
    """

    name: str
    share: bool = False

    def declare(self, channel: Path) -> None:
        """Create the group in an open channel if it does not exist.

        Raises
        ------
        MismatchError
            When the name is invalid, or the group already exists with a different value of `share`.
        """
        channel_declare_group(channel, self.name, self.share)


def parse_groups(groups: Sequence[str | Group]) -> tuple[Group, ...]:
    """Convert names to groups.

    Raises
    ------
    MismatchError
        If a name occurs twice, or `groups` is a single string.
    """
    if isinstance(groups, str):
        raise MismatchError(f"groups must be a sequence of names, such as [{groups!r}], not {groups!r}")
    parsed = tuple(Group(group) if isinstance(group, str) else group for group in groups)
    names = [group.name for group in parsed]
    if len(set(names)) < len(names):
        raise MismatchError(f"each group may be declared once, got {', '.join(names)}")
    return parsed
