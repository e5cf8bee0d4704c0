"""Fits of a tensor on a GPU: time, bandwidth beside a copy on the same card, and the numbers beside those of the CPU.

Needs PyTorch. Without a GPU it says so and runs the same on PyTorch's CPU device, at a fiftieth of the rows and without
limits. `--rows 1000000` is 4 GB.
"""

import argparse
import sys
import time

import numpy as np
from common import record

from gnomon import PPCA, SPPCA
from gnomon.rows.local import LocalRows

COLUMNS, RANK, K, Q, LABELED = 1_024, 40, 20, 3, 1_000
BLOCK = 50_000  # rows made at once
SHARE_MISSING = 0.2
REPEATS = 5


class Card:
    """A device of PyTorch, and a clock that waits for it."""

    def __init__(self, torch):
        self.torch, self.there = torch, torch.cuda.is_available()
        self.device = torch.device("cuda" if self.there else "cpu")

    @property
    def name(self):
        """What it is called."""
        return self.torch.cuda.get_device_name() if self.there else "PyTorch's CPU device"

    def seconds(self, task, repeats=REPEATS):
        """Median time of a task, after one that is not counted."""
        found = []
        for _ in range(repeats + 1):
            self.wait()
            start = time.perf_counter()
            task()
            self.wait()
            found.append(time.perf_counter() - start)
        return float(np.median(found[1:]))

    def copied(self, X):
        """Bytes a second that a copy of a tensor reads and writes."""
        other = self.torch.empty_like(X)
        return 2 * size_of(X) / self.seconds(lambda: other.copy_(X))

    def wait(self):
        """Let everything finish that was begun."""
        if self.there:
            self.torch.cuda.synchronize()


def planted(card, n, p=COLUMNS, missing=0.0, seed=0):
    """Rows of more factors than are fitted, in single precision on the card, and outputs of a few rows on the host."""
    torch = card.torch
    generator = torch.Generator(card.device).manual_seed(seed)
    draw = {"generator": generator, "device": card.device, "dtype": torch.float32}
    strength = torch.linspace(1.5, 0.4, RANK, device=card.device)[:, None]
    loadings, outputs = strength * torch.randn((RANK, p), **draw), torch.randn((RANK, Q), **draw)
    X, Y = torch.empty((n, p), device=card.device), np.full((n, Q), np.nan)
    for start in range(0, n, BLOCK):
        some = X[start : start + BLOCK]
        Z = torch.randn((len(some), RANK), **draw)
        some.copy_(Z @ loadings + torch.randn(some.shape, **draw))
        if missing:
            some[torch.rand(some.shape, **draw) < missing] = torch.nan
        if start == 0:
            Y[:LABELED] = (Z @ outputs)[:LABELED].cpu().numpy()
    Y[:LABELED] += 0.5 * np.random.default_rng(seed).standard_normal((min(LABELED, n), Q))
    return X, Y


def size_of(X):
    """Bytes."""
    return X.numel() * X.element_size()


def reads(card, X, copied):
    """Rows of the table of results: single reads of X, beside a copy."""
    products = LocalRows(X)
    standard = products.standard(products.summarize())
    V = np.random.default_rng(0).standard_normal((COLUMNS, K + 10))
    tasks = {
        "X'X V, 30 columns": (lambda: standard.gram_product(V), -0.6),
        "means and squares": (products.summarize, -0.6),
        "second moments": (lambda: products.summarize(second=True, rough=True), None),
    }
    return [
        (f"a read for {what}, of that bandwidth, negated", -size_of(X) / card.seconds(read) / copied, limit)
        for what, (read, limit) in tasks.items()
    ]


def complete(card, n):
    """Rows of a table without missing entries."""
    X, Y = planted(card, n)
    copied = card.copied(X)
    rows = [("bandwidth of a copy, GB/s", copied / 1e9, None), *reads(card, X, copied)]
    host, fits, times = X.cpu().numpy(), {}, {}
    for solver in ("auto", "subspace"):
        times[solver] = card.seconds(lambda s=solver: fits.__setitem__(s, SPPCA(K, solver=s).fit(X, Y)), 3)
    start = time.perf_counter()
    reference = SPPCA(K).fit(host, Y)
    on_host = time.perf_counter() - start
    peers = {
        niter: card.seconds(lambda n=niter: card.torch.pca_lowrank(X, q=K + 10, niter=n), 3)
        for niter in {round(model.n_passes_) for model in fits.values()}
    }
    for solver, model in fits.items():
        passes, what = model.n_passes_, f"SPPCA({K}, solver={solver!r})"
        moved = size_of(X) * passes / times[solver] / copied
        apart = abs(model.log_likelihood_ / reference.log_likelihood_ - 1.0)
        rows += [
            (f"{what}, seconds", times[solver], None),
            (f"{what}, reads", passes, None),
            (f"{what}, bytes of X x reads / time, of a copy, negated", -moved, None),
            *(
                (
                    f"{what} / torch.pca_lowrank(q=30, niter={n})",
                    times[solver] / peer,
                    1.0 if n == round(passes) else None,
                )
                for n, peer in sorted(peers.items())
            ),
            (f"{what} on the card / SPPCA({K}) on NumPy", times[solver] / on_host, None),
            (f"{what}: log-likelihood beside NumPy's, relative", apart, 1e-6),
        ]
    return [(f"{n:,} x {COLUMNS} float32: {what}", value, limit) for what, value, limit in rows]


def masked(card, n, p=200, k=10):
    """Rows of which a fifth of the entries is missing."""
    X, Y = planted(card, n, p, SHARE_MISSING)
    name, found = f"{n:,} x {p}, a fifth missing", {}

    def fit(X, where):
        start = time.perf_counter()
        found[where] = PPCA(k).fit(X)
        card.wait()
        return time.perf_counter() - start

    fit(X[:2_000], "warm")
    on_card, on_host = fit(X, "card"), fit(X.cpu().numpy(), "host")
    apart = abs(found["card"].log_likelihood_ / found["host"].log_likelihood_ - 1.0)
    return [
        (f"{name}: PPCA({k}), seconds", on_card, None),
        (f"{name}: PPCA({k}), reads", found["card"].n_passes_, None),
        (f"{name}: PPCA({k}) on the card / on NumPy", on_card / on_host, None),
        (f"{name}: log-likelihood beside NumPy's, relative", apart, 1e-6),
    ]


def main():
    """Run and record."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--masked-rows", type=int, default=200_000)
    asked = options.parse_args()
    try:
        import torch
    except ImportError:
        sys.stdout.write("bench_gpu: PyTorch is not installed; pip install torch. Nothing was measured.\n")
        return
    card = Card(torch)
    if not card.there:
        sys.stdout.write("bench_gpu: no GPU here; the same on PyTorch's CPU device, with a fiftieth of the rows.\n")
    share = 1 if card.there else 50
    rows = complete(card, asked.rows // share) + masked(card, asked.masked_rows // share)
    if not card.there:
        rows = [(what, value, limit if "log-likelihood" in what else None) for what, value, limit in rows]
    sys.stdout.write(f"on {card.name}, PyTorch {torch.__version__}\n")
    record("gpu", [{"what": what, "value": value, "limit": limit} for what, value, limit in rows])


if __name__ == "__main__":
    main()
