"""The page of a table: the printed number, ours, their difference in standard errors, and why where they differ."""

from gnomon.experiments._cells import APART, pair


def page(about, table, rows, command, versions, n_left=0, picture=None, seconds=None):
    """The page in Markdown; `picture` is a file beside it that shows the numbers, `seconds` what the cells took."""
    told = [row for row in rows if row.z is not None]
    near = sum(abs(row.z) <= APART for row in told)
    made = ", ".join(f"{name} {version}" for name, version in versions.items())
    took = "" if seconds is None else f" Its cells took {_duration(seconds)} of one core."
    lines = [f"# {about.rstrip('.')}", "", f"{table.paper}.", "", f"Made by `{command}` with {made}.{took}", ""]
    if n_left:
        lines += [f"{n_left} cells were not finished; the numbers are of the others.", ""]
    if told:
        lines += [f"Within {APART:g} standard errors of what is printed: {near} of {len(told)} numbers.", ""]
    if picture is not None:
        shown = "Ours against printed, a dot for each cell, with one standard deviation over draws of each"
        lines += [f"![{shown}.]({picture})", "", f"{shown}; on the line they are the same.", ""]
    if any(row.best for row in rows):
        lines += [
            f"A star marks the method that is better than each other one of its row (rank sums, p < {0.01:g}).",
            "",
        ]
    lines += ["| task | method | K | score | printed | ours | draws | difference, standard errors | remark |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(_line(row, table) for row in rows), ""])


def _duration(seconds):
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} seconds"


def _line(row, table):
    apart = row.printed is not None and row.mean != row.printed.mean if row.z is None else abs(row.z) > APART
    remark = table.remarks(row.task, row.method, row.k) if apart or row.printed is None else ""
    if row.n_failed:
        remark = f"{row.n_failed} draws failed. {remark}".rstrip()
    parts = (
        row.task,
        row.method,
        "" if row.k is None else row.k,
        row.score,
        "" if row.printed is None else pair(row.printed.mean, row.printed.sd),
        pair(row.mean, row.sd) + ("*" if row.best else ""),
        row.n_draws,
        "" if row.z is None else f"{row.z:+.1f}",
        remark or ("not explained" if apart else ""),
    )
    return "| " + " | ".join(map(str, parts)) + " |"
