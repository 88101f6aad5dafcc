"""Report pages for the results of an analysis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from mdreel.analysis.base.result_output import ResultOutput
from mdreel.analysis.base.run_description import frames_text, plotted
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.urls import without_secrets
from mdreel.timing.run_description import AnalysisDescription, RunDescription


class ReportOutput(ResultOutput):
    """Output methods of `ResultOutput`, and a method that writes the report page of a run."""

    @checked_arguments
    def report(
        self, path: str | PathLike[str], force: bool = False, *, others: Sequence[ReportOutput] | None = None
    ) -> Path:
        """Write a web page that shows what the last run computed and how it spent its time.

        Parameters
        ----------
        path : path
            The page, with the extension ``.html`` or ``.htm``. The file appears only once it is complete, and the page
            does not load any external resources.
        force : bool
            Whether to replace an existing file.
        others : sequence of Analysis, optional
            Other analyses in the same pass (see `mdreel.run`). The page also shows their results.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        AttributeError
            If the analysis has not been run yet.
        UnsupportedError
            If the file has a different extension.
        OSError
            If the file exists and `force` is false, or if it cannot be written. No partial file remains.

        Examples
        --------
        >>> import tempfile
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run(step=40)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(rmsd.report(f"{folder}/run.html").name)
        run.html
        """
        from mdreel.timing.environment import environment_of
        from mdreel.timing.record import Record
        from mdreel.timing.report.page import check_report, write_report

        self._check_results()
        path = Path(path)
        check_report(path, force)
        described = tuple(one._describe_results() for one in (self, *(others or ())))  # noqa: SLF001 (of this class)
        facts = {name: without_secrets(str(fact)) for name, fact in self._input_facts().items()}
        topology, trajectory = facts.get("topology", ""), facts.get("trajectory", "")
        frames = frames_text(self.frames, self.times)
        run = RunDescription(self._call, topology, trajectory, frames, described)
        names = ", ".join(dict.fromkeys(one.title for one in described))
        title = f"{names} of {Path(trajectory).name}" if trajectory else names
        # Without files: the page cache now contains what the run has read, which would be misleading.
        write_report(Record(self.timing, environment_of([]), None, title, run), path, force)
        return path

    @property
    def _call(self) -> str:
        """Python code of the last run, if it is known."""
        return f"{type(self).__name__}(...).run()"

    def _atoms_text(self) -> str:
        """Return a description of the atoms, which is empty if there is nothing to add to their number."""
        return ""

    def _describe_results(self) -> AnalysisDescription:
        """Return a description of the finished analysis, with numbers and a plot."""
        self._check_results()
        rows = [("", "lowest", "mean", "highest"), *self._key_numbers()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows)
        summary = "\n".join(line.rstrip() for line in lines) if len(rows) > 1 else ""
        n_atoms = int(self._input_facts().get("n_atoms", 0))
        described = AnalysisDescription(type(self).__name__, self._atoms_text(), n_atoms, summary)
        return plotted(described, partial(self.draw, "", None))
