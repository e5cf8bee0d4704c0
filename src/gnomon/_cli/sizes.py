"""How many components a fit gets: what was asked for, what the targets span, or what labels or variances say."""

from typing import Any

import numpy as np

from gnomon._cli.choosing import named_model, traits_of
from gnomon._cli.commands import AUTO, OPEN, one_line
from gnomon.rows.spare import of_one_unit, spare_rank
from gnomon.selection import choose_components
from gnomon.targets import Targets

MOST_DEFAULT = 10
TRIED = (1, 2, 3, 4, 5, 7, 10, 15, 20)


def default_components(targets: Targets | None, X: Any, model: str) -> int | None:
    """As many dimensions as the targets span, between 2 and 10, and fewer than the table can carry.

    None, the model's own default, for a model that knows better.
    """
    if traits_of(model).own_size:
        return None
    columns = () if targets is None else targets.columns
    spanned = sum(1 if column.classes is None else max(1, len(column.classes) - 1) for column in columns)
    return max(1, min(max(2, spanned), MOST_DEFAULT, spare_rank(of_one_unit(X) if traits_of(model).own_scale else X)))


def settled(
    asked: int | str | None, model: str, targets: Targets | None, X: Any, y: Any,
    seed: int, more: dict[str, Any], reading: dict[str, Any], jobs: int,
) -> tuple[int | None, str | None]:  # fmt: skip
    """The number of components of a fit, and a note where "auto" made it."""
    if asked is not None and asked != AUTO:
        return int(asked), None
    usual = default_components(targets, X, model)
    if asked is None:
        return usual, None
    if model in OPEN or usual is None:
        return usual, None  # predictions hardly depend on it, or the model's own default is the rule
    sizes = [k for k in TRIED if k <= max(1, spare_rank(X))]
    if not traits_of(model).guided:
        bics = [named_model(model, k, seed, more, reading).fit(X).bic(X) for k in sizes]
        return sizes[int(np.argmin(bics))], f"--components {AUTO}: the least bic among {_listed(sizes)} components."
    try:
        model_of_any_size = named_model(model, usual, seed, more, {})
        options = {"n_permutations": 0, "random_state": seed, "n_jobs": jobs, **reading}
        search = choose_components(model_of_any_size, X, y, values=sizes, **options)
    except (ValueError, TypeError) as error:
        return usual, f"--components {AUTO}: no choice, so {usual}: {one_line(error)}"
    chosen = int(search.results_.chosen_row["settings"]["n_components"])
    return chosen, f"--components {AUTO} tried {_listed(sizes)}. {search.results_.verdict}"


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes))
