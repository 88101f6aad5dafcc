"""Configuration of the documentation site; `./task docs` builds it."""

import gc
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "_ext"))

import mdreel  # noqa: E402 (the extensions are found from here on)

# Most new objects belong to pages, which stay. Looking for garbage among them takes a sixth of the time of a build.
gc.set_threshold(100_000)

_project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "mdreel"
author = "The mdreel developers"
project_copyright = "The mdreel developers"
version = release = mdreel.__version__
repository_url = _project.get("urls", {}).get("Repository", "").removesuffix(".git")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "benchmark_plots",
    "class_members",
    "command_pages",
    "known_names",
    "mathml",
    "page_order",
    "repository_files",
    "search_from_files",
]
# A separate extension makes the pictures of the gallery.
if (DOCS / "_ext" / "gallery.py").exists():
    extensions.append("gallery")

exclude_patterns = ["_ext", "_static", "_templates", "**/.ipynb_checkpoints", "gallery/*.py"]
templates_path = ["_templates"]
needs_sphinx = "8.1"
nitpicky = False
suppress_warnings = [
    "config.cache",  # functions of the configuration, which nothing reads again
    "ref.python",  # attributes of the same name, which the sections of several classes describe
]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist", "html_image"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
highlight_language = "text"
smartquotes = False  # two dashes belong to options
pygments_style = "tango"

# Notebooks: run when they have changed, each in at most three minutes.
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "notebooks")
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

# The reference of the Python package
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the sections of numpydoc describe types, shapes and units
autodoc_class_signature = "mixed"
autodoc_member_order = "groupwise"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # links only for the names below
numpydoc_xref_aliases = {
    "ndarray": "numpy.ndarray",
    "MDAnalysis.AtomGroup": "MDAnalysis.core.groups.AtomGroup",
    "AtomGroup": "MDAnalysis.core.groups.AtomGroup",
    "MDAnalysis.Universe": "MDAnalysis.core.universe.Universe",
    "Universe": "MDAnalysis.core.universe.Universe",
    "Figure": "matplotlib.figure.Figure",
    "Axes": "matplotlib.axes.Axes",
}
add_module_names = False
python_use_unqualified_type_names = True

# Links to other projects come from short lists of names in `_ext/names`, so that the site is built offline.
intersphinx_timeout = 5

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True

# The look
html_theme = "pydata_sphinx_theme"
html_title = "mdreel"
html_static_path = ["_static"]
html_css_files = ["mdreel.css"]
html_js_files = ["benchmark_plots.js"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
        "alt_text": "mdreel: home of the documentation",
    },
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "show_prev_next": False,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "github-light-high-contrast",
    "pygments_dark_style": "github-dark-high-contrast",
    "back_to_top_button": True,
}
if repository_url:
    html_theme_options["icon_links"] = [
        {"name": "Source code", "url": repository_url, "icon": "fa-brands fa-github", "type": "fontawesome"}
    ]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_sidebars = {"index": [], "search": []}
