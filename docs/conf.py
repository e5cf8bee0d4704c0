"""How Sphinx builds the site: `make docs`. Nothing is fetched, in the build or by the pages."""

import sys
from pathlib import Path

import gnomon

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "gnomon"
author = "gnomon developers"
copyright = author
version = release = gnomon.__version__
extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "mathml",
    "public_links",
    "reference_pages",
    "section_pages",
]
exclude_patterns = ["_extensions", "gallery/*.ipynb", "gallery/*.py", "gallery/*.zip", "gallery/*.md5"]
default_role = "py:obj"
html_theme = "pydata_sphinx_theme"
html_title = "gnomon"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("index", "get_started", "which_model", "command_line")}  # they have no section
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
}
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": (),
    "write_computation_times": False,
    "within_subsection_order": "gallery_order.in_order",
}
