"""Reports of runs as self-contained HTML pages."""

from mdreel.timing.report.page import check_report, write_report

__all__ = ["check_report", "write_report"]
