"""How Sphinx builds the documentation: `make docs`, offline, with warnings as errors."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from twins import write_twins  # noqa: E402

import catbayes  # noqa: E402
from reference import write_reference  # noqa: E402

project = "catbayes"
author = "The catbayes developers"
copyright = author  # noqa: A001, Sphinx's own name
version = release = catbayes.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path: list[str] = []
exclude_patterns = ["gallery/*.md5", "**.ipynb"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
default_role = "literal"  # `fit` in a docstring is code
python_display_short_literal_types = True

# ------------------------------------------------------------------ the reference

autodoc_typehints = "none"  # the docstrings tell the types, in words
autodoc_member_order = "bysource"
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]
numpydoc_show_class_members = False  # docs/reference.py lists our own members, and not those of scikit-learn
numpydoc_class_members_toctree = False

# ---------------------------------------------------------------------- the pages

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# -------------------------------------------------------------------- the gallery

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_" if find_spec("torch") else "/plot_(?!neural)",
    "within_subsection_order": "order.Order",
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib",
    "doc_module": ("catbayes",),
    "backreferences_dir": "api/examples",
    "reference_url": {"catbayes": None},
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (400, 280),
    "copyfile_regex": r"^$",
}

# ----------------------------------------------------------------------- the look

html_theme = "pydata_sphinx_theme"
html_title = "catbayes"
html_static_path = ["_static"]
html_css_files = ["catbayes.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "logo": {"text": "catbayes"},
}
html_sidebars = {
    name: []
    for name in (
        "index",
        "get_started",
        "how_it_works",
        "coming_from",
        "scale",
        "results",
        "quality",
        "other_tables",
        "uncertainty",
        "speed",
        "architecture",
        "policy",
        "contributing",
        "changelog",
    )
}


def setup(app: Any) -> None:
    """Write the pages of the reference before Sphinx looks for pages."""
    write_reference(HERE / "api", HERE.parent / "examples")
    app.connect("doctree-read", trim_blocks)
    app.connect("build-finished", write_text_pages)


def write_text_pages(app: Any, error: Exception | None) -> None:
    """Write Markdown twins of the pages, and llms.txt."""
    if error is None and app.builder.format == "html":
        write_twins(HERE, sorted(app.env.found_docs), Path(app.outdir))


def trim_blocks(app: Any, doctree: Any) -> None:
    """Drop the blank line that ends the output of a doctest in Markdown."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        if block.rawsource == block.astext() != text:
            block.rawsource, block.children = text, []
            block += nodes.Text(text)
