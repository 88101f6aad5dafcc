"""Formulas as MathML, which browsers show without a script and without fonts from elsewhere."""

import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from latex2mathml.exceptions import ExtraLeftOrMissingRightError, MissingEndError, MissingSuperScriptOrSubscriptError
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_BAD_FORMULA = (
    ExtraLeftOrMissingRightError,
    MissingEndError,
    MissingSuperScriptOrSubscriptError,
    ValueError,
    IndexError,
)
# As an operator, the bar of an absolute value would have space on both sides and another height before an exponent.
_BAR = re.compile(r'<mo(?: fence="false")?(?: stretchy="false")?>(&#x0007C;|&#x02016;)</mo>')
_log = logging.getLogger(__name__)


def mathml(formula: str, display: str) -> str:
    """Return a formula of LaTeX as MathML; `display` is "inline" or "block"."""
    return _BAR.sub(r"<mi>\1</mi>", convert(formula, display=display))


def _mathml(node: nodes.Element, display: str) -> str:
    """Convert a formula; one that cannot be converted is a warning and is shown as it was written."""
    formula = node.astext().strip()
    if display == "block" and r"\\" in formula and r"\begin" not in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    try:
        return mathml(formula, display)
    except _BAD_FORMULA as error:
        _log.warning("not a formula that MathML can show (%s): %s", error, formula, location=node)
        return f"<code>{escape(formula)}</code>"


def _visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(f'<span class="math notranslate">{_mathml(node, "inline")}</span>')
    raise nodes.SkipNode


def _visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math notranslate">{_mathml(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
