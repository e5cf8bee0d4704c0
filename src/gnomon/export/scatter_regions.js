/*
 * The regions of rows: how far each may lie from where it is drawn, by the covariances that scatter.js is given.
 */
"use strict";
const LINE_95 = 1.959964, PLANE_95 = 2.447747; // roots of the 95 % points of chi-squared
const MOST_REGIONS = 100; // of chosen rows

class Regions extends Picture {
  // Of a row in two of the columns; null where it is not known.
  covariance(row, i, j) {
    const { regions } = this.data, high = Math.max(i, j);
    if (!regions || high >= regions.components) return null;
    const size = (regions.components * (regions.components + 1)) / 2, which = regions.of ? regions.of[row] : 0;
    return regions.covariances[which * size + (high * (high + 1)) / 2 + Math.min(i, j)];
  }

  // How far 95 of 100 such rows are at most from where they are drawn in one column.
  reach(row, j) {
    const variance = this.covariance(row, j, j);
    return variance === null ? null : LINE_95 * Math.sqrt(variance);
  }

  hasRegions() {
    return [this.shown.x, this.shown.y].some((j) => this.covariance(0, j, j) !== null);
  }

  // The ends of a bar, or corners of an ellipse, in the columns that are shown.
  region(row) {
    const { x, y } = this.shown, [wide, both, high] = [[x, x], [x, y], [y, y]].map((j) => this.covariance(row, ...j));
    const at = [this.xs[row], this.ys[row]], steps = Array.from({ length: 73 }, (_, j) => (j * Math.PI) / 36);
    if (wide === null && high === null) return [];
    if (wide === null) return [-1, 1].map((side) => [at[0], at[1] + side * this.reach(row, y)]);
    if (high === null) return [-1, 1].map((side) => [at[0] + side * this.reach(row, x), at[1]]);
    const across = Math.sqrt(wide), shared = across ? both / across : 0;
    const own = Math.sqrt(Math.max(0, high - shared ** 2));
    return steps.map((turn) => {
      const [c, s] = [PLANE_95 * Math.cos(turn), PLANE_95 * Math.sin(turn)];
      return [at[0] + across * c, at[1] + shared * c + own * s];
    });
  }

  drawRegions(pen) {
    const rows = this.regionsOn ? [...this.chosen].sort((a, b) => a - b).slice(0, MOST_REGIONS) : [];
    const [a, b, c, d] = this.scales(), { left, top, wide, high } = this.inner();
    pen.save();
    pen.beginPath();
    pen.rect(left, top, wide, high);
    pen.clip();
    for (const row of new Set(this.pointed === null ? rows : [...rows, this.pointed])) {
      pen.beginPath();
      this.region(row).forEach(([x, y], j) => pen[j ? "lineTo" : "moveTo"](a + b * x, c + d * y));
      for (const [width, color] of [[4, this.paper], [1.6, this.colorOf(this.codes[row])]]) {
        Object.assign(pen, { lineWidth: width, strokeStyle: color });
        pen.stroke();
      }
    }
    pen.restore();
  }
}
