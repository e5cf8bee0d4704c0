"""In which order the gallery shows its examples: tables and answers first, then trust, then what is inside."""

ORDER = (
    "wine", "spectra", "genes", "text", "digits", "missing", "suggest_labels", "how_many_labels", "reliability",
    "typicality", "outliers", "odd_spectrum", "columns_of_a_row", "loadings", "selection", "convergence", "mixture",
)  # fmt: skip


def in_order(file):
    """The place of an example by the name of its file; ValueError for one that has none."""
    return ORDER.index(file.removeprefix("plot_").removesuffix(".py"))
