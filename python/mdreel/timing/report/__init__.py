"""Reports: a run as one page for a browser, which needs nothing but itself."""

from mdreel.timing.report.page import check_report, write_report

__all__ = ["check_report", "write_report"]
