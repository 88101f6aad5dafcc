"""Search that also works where the pages are opened as files, without a server."""

from typing import Any

from sphinx.application import Sphinx

# Browsers refuse to fetch one file from another, so excerpts of the pages found are shown by a server only.
_SCRIPT = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_js_file(None, body=_SCRIPT, priority=210)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
