"""Shell code that copies the trajectory to the storage of the nodes before the analysis."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mdreel.errors import MismatchError

_FOLDER = re.compile(r"(?:\$\{?([A-Za-z_]\w*)\}?)?((?:/.*)?)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class StageIn:
    """Copies of the trajectory in a folder of each node.

    Attributes
    ----------
    folder : str
        Folder that each node has for itself: an absolute path, or a variable of the job such as ``$TMPDIR``, which an
        absolute path can follow.
    trajectories : tuple of Path
        Files of the trajectory, in their order.
    places : tuple of int
        Positions of these files among the arguments of the job.

    Raises
    ------
    MismatchError
        If the folder has a different form.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mdreel.cluster import StageIn
    >>> StageIn("$TMPDIR/mdreel", (Path("adk.xtc"),), (3,)).parent
    '"${TMPDIR:?the job has no such variable (--stage-in)}"/mdreel'
    """

    folder: str
    trajectories: tuple[Path, ...]
    places: tuple[int, ...]

    def __post_init__(self) -> None:
        found = _FOLDER.fullmatch(self.folder)
        if found is None or not self.folder:
            message = "must be an absolute path, or a variable of the job such as $TMPDIR"
            raise MismatchError(f"the folder for the copies of the trajectory {message}, not {self.folder!r}")

    @property
    def parent(self) -> str:
        """The folder as a word of bash code."""
        found = _FOLDER.fullmatch(self.folder)
        assert found is not None
        variable = f'"${{{found[1]}:?the job has no such variable (--stage-in)}}"' if found[1] else ""
        return variable + (shlex.quote(found[2]) if found[2] else "")

    def words(self, arguments: Sequence[str]) -> str:
        """Return the arguments of the job as bash code, with the copies instead of the files."""
        numbers = {place: number for number, place in enumerate(self.places, 1)}
        return " ".join(
            f'"$staged"/{numbers[i]}/{shlex.quote(Path(word).name)}' if i in numbers else shlex.quote(word)
            for i, word in enumerate(arguments)
        )


def place_of_copies(staging: StageIn | None) -> list[str]:
    """Return the lines that name the folder of the copies, if there are any.

    The ranks keep the frame index of the copies there, too.
    """
    if staging is None:
        return []
    lines = (
        "# Copies of the trajectory on the nodes (--stage-in).",
        f"staged={staging.parent}/mdreel-$$-$RANDOM || exit 1",
        'settings+=(MDREEL_CACHE_DIR="$staged/cache")',
        'export "${settings[@]}"',
    )
    return ["\n".join(lines)]


def stage_in(staging: StageIn | None, n_nodes: int, n_ranks_per_node: int, start_on_nodes: str) -> list[str]:
    """Return the lines that copy the trajectory to the nodes, and remove the copies when the script ends.

    Parameters
    ----------
    staging : StageIn or None
        The copies, if there are any.
    n_nodes, n_ranks_per_node : int
        Number of nodes, and number of ranks per node.
    start_on_nodes : str
        Command that runs another one on every node. If it runs it on every rank, the first rank of a node works.
    """
    if staging is None:
        return []
    files = " ".join(shlex.quote(str(path)) for path in staging.trajectories)
    text = f"""\
# A node copies the files that its ranks read, and has links to the others. All ranks find all files at the same paths.
# shellcheck disable=SC2317 # nodes call it
stage_in() {{
    local staged=$1 files=({files}) sizes=() number at=0 total=0 needed=0 least free
    local rank=${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-${{PALS_RANKID:-${{PMIX_RANK:-0}}}}}}}}
    local node=${{SLURM_NODEID:-$((rank / {n_ranks_per_node}))}} wanted=()
    [ "${{OMPI_COMM_WORLD_LOCAL_RANK:-${{MPI_LOCALRANKID:-${{PALS_LOCAL_RANKID:-0}}}}}}" = 0 ] || return 0
    for number in "${{!files[@]}}"; do
        sizes[number]=$(stat --dereference --format=%s -- "${{files[number]}}") || return 1
        total=$((total + sizes[number]))
    done
    # Bytes of the ranks of this node. An overlap of less than one percent is not copied.
    local begin=$((total * node / {n_nodes})) end=$((total * (node + 1) / {n_nodes})) from to
    for number in "${{!files[@]}}"; do
        from=$((at > begin ? at : begin))
        at=$((at + sizes[number]))
        to=$((at < end ? at : end))
        least=$((sizes[number] < end - begin ? sizes[number] : end - begin))
        wanted[number]=$((100 * (to - from) > least))
        [ "${{wanted[number]}}" = 0 ] || needed=$((needed + sizes[number]))
    done
    if ! mkdir -- "$staged"; then
        echo "$HOSTNAME: $staged cannot be created: --stage-in needs a folder that each node has for itself" >&2
        return 1
    fi
    free=$(df --output=avail --block-size=1 -- "$staged" | tail -n 1)
    if [ "$free" -lt "$needed" ]; then
        echo "$HOSTNAME: the copies of the trajectory need $needed bytes, and $staged has $free: choose another" \\
            "folder (--stage-in), or leave out --stage-in" >&2
        return 1
    fi
    for number in "${{!files[@]}}"; do
        mkdir -- "$staged/$((number + 1))" || return 1
        if [ "${{wanted[number]}}" = 1 ]; then
            cp --dereference --preserve=timestamps -- "${{files[number]}}" "$staged/$((number + 1))/" || return 1
        else
            ln -s -- "$(realpath -- "${{files[number]}}")" "$staged/$((number + 1))/${{files[number]##*/}}" || return 1
        fi
    done
    echo "$HOSTNAME: $needed of $total bytes of the trajectory were copied to $staged" >&2
}}
# shellcheck disable=SC2317 # the trap calls it
remove_copies() {{
    {start_on_nodes} rm -rf -- "$staged" < /dev/null
}}
trap remove_copies EXIT
{start_on_nodes} \\
    bash -c "$(declare -f stage_in); stage_in \\"\\$1\\"" stage_in "$staged" < /dev/null || {{
    echo "nothing was analysed: see the messages of the nodes above" >&2
    exit 1
}}"""
    return [text]
