"""Acceleration of fixed-point maps; a proposal is the driver's to accept or reject."""

import numpy as np

from .._types import Array

NO_WAY = 0.9  # of the length of a step two depths ago: where it is longer, the other of two accelerators is tried
FEW_SINCE = 20  # proposals since a rejection: another one within so many changes over


class Anderson:
    """Anderson mixing of depth `depth`: the affine combination of past steps with the smallest residual.

    `propose(x, fx)` takes a point and its image under the map and returns the next point to try. The
    least-squares problem is solved in unit columns, so its ridge has no scale.
    """

    def __init__(self, depth: int = 8) -> None:
        self.depth = depth
        self.points: list[Array] = []
        self.images: list[Array] = []

    def reset(self) -> None:
        """Forget the past; the next proposal is the plain step."""
        self.points.clear()
        self.images.clear()

    def propose(self, x: Array, fx: Array) -> Array:
        """Return the next point to try."""
        self.points.append(x)
        self.images.append(fx)
        if len(self.points) > self.depth + 1:
            del self.points[0], self.images[0]
        if len(self.points) < 2:
            return fx
        images = np.array(self.images)
        residuals = images - np.array(self.points)
        dF = np.diff(residuals, axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->i", dF, dF))
        keep = lengths > 0
        if not keep.any():
            return fx
        unit = dF[keep] / lengths[keep, None]
        # unit columns: the ridge of 1e-12 acts only on directions that repeat one another to six digits
        gram = unit @ unit.T
        gram.flat[:: len(gram) + 1] += 1e-12
        weights = np.linalg.solve(gram, unit @ residuals[-1]) / lengths[keep]
        return np.asarray(fx - weights @ np.diff(images, axis=0)[keep])


class Squarem:
    """SQUAREM (squared extrapolation): from two plain steps, one long step along their difference and curvature.

    A step is at most `longest` times as long; that is a quarter of one that was rejected, and twice one that was not.
    """

    def __init__(self) -> None:
        self.trail: list[Array] = []
        self.longest = self.last = np.inf
        self.to_and_fro = False  # whether the last two plain steps turned back, where longer ones are none

    def reset(self) -> None:
        """Forget the past, after a rejected proposal; the next one is the plain step."""
        self.longest = max(0.25 * self.last, 1.0)
        self.trail.clear()

    def propose(self, x: Array, fx: Array) -> Array:
        """Return the next point to try: the plain step once, then the extrapolated one."""
        if not self.trail:
            self.trail = [x]
            return fx
        start = self.trail.pop()
        first, second = x - start, (fx - x) - (x - start)
        size = float(np.linalg.norm(second))
        if size == 0.0:
            return fx
        ratio = float(np.linalg.norm(first)) / size
        self.to_and_fro = ratio < 1.0
        self.last = min(max(1.0, ratio), self.longest)
        self.longest = max(self.longest, 2.0 * self.last)
        return np.asarray(start + 2.0 * self.last * first + self.last**2 * second)


class Alternating:
    """Anderson mixing and SQUAREM in turns: until two proposals are rejected soon after one another or make no way.

    Anderson mixing is the faster of the two near a maximum. On a plateau, where a noise variance leaves zero by a small
    factor a step or loadings turn by a small angle, its proposals are rejected one after another, or are no longer than
    plain steps; SQUAREM's long steps get across. Where steps turn back it has none longer, and Anderson mixing is next.
    """

    def __init__(self, depth: int = 8) -> None:
        self.active: Anderson | Squarem = Anderson(depth)
        self.resting: Anderson | Squarem = Squarem()
        self.depth = depth
        self.lengths: list[float] = []  # of the steps of the map since the last change or rejection
        self.since = FEW_SINCE  # the last rejection: proposals, of which the first is the plain step

    def reset(self) -> None:
        """Forget the past, after a rejected proposal; change over soon after another one."""
        self.active.reset()
        if self.since < FEW_SINCE:
            self._change_over()
        self.lengths.clear()
        self.since = 0

    def propose(self, x: Array, fx: Array) -> Array:
        """Return the next point to try."""
        self.since += 1
        self.lengths.append(float(np.linalg.norm(fx - x)))
        turn = 2 * self.depth
        if len(self.lengths) > turn and self.lengths[-1] > NO_WAY * self.lengths[-1 - turn]:
            self.active.reset()
            self._change_over()
            self.lengths.clear()
        proposal = self.active.propose(x, fx)
        if isinstance(self.active, Squarem) and self.active.to_and_fro:
            self.active.to_and_fro = False
            self._change_over()
            self.lengths.clear()
        return proposal

    def _change_over(self) -> None:
        self.active, self.resting = self.resting, self.active
