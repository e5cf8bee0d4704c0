/*
 * The rows of scatter.js on two canvases: the lower one has axes and rows, the upper one what changes with the mouse.
 */
"use strict";
const MARGIN = { left: 52, right: 16, top: 16, bottom: 42 };
const LETTER = 7, TITLE = 24, LANE = 14, NAME = 56; // pixels: a letter, the name of an axis, a class up and across
const REACH = 16; // pixels from a row within which it is pointed at
const BAND = 0.25, NOTHING = 1e-3; // spreads in parts of that of the other component: a thin band, and none to be seen
const REST = 150; // milliseconds without a move after which the rows are drawn anew

class Picture {
  constructor(root, data) {
    Object.assign(this, { root, data, chosen: new Set(), pointed: null, path: null, held: null });
    for (const column of data.columns) if (column.either) this.join(column);
    this.labeled = new Uint8Array(data.n);
    for (const row of data.labeled) this.labeled[row] = 1;
    this.faint = data.labeled.length > 0 && data.labeled.length < data.n;
    this.shown = { x: data.x, y: data.y, color: data.color };
    this.base = make("canvas", { "aria-hidden": "true" });
    this.top = make("canvas", { tabindex: "0", role: "application" });
    this.frame = make("div", { class: "scatter-frame" }, this.base, this.top);
  }

  // Of a row that has no value in the first of two columns, that in the second one.
  join(column) {
    const [first, second] = column.either.map((j) => this.data.columns[j]);
    const values = first.values.map((value, i) => (value === null ? second.values[i] : value));
    Object.assign(column, { ...second, name: column.name, values });
  }

  // Show other columns; other axes show all rows.
  turn(wanted) {
    const column = wanted.color === null ? null : this.data.columns[wanted.color];
    const moved = !this.xs || wanted.x !== this.shown.x || wanted.y !== this.shown.y;
    this.shown = wanted;
    [this.xs, this.ys] = [wanted.x, wanted.y].map((j) => this.positions(this.data.columns[j]));
    const { kind, classes } = this.data.columns[wanted.y];
    this.longest = kind === "number" ? 0 : classes.reduce((most, name) => Math.max(most, String(name).length), 0);
    this.ends = column && column.kind === "number" ? range(column.values.filter((value) => value !== null)) : [0, 1];
    this.codes = this.coded(column);
    this.sprites = new Map();
    this.stretch = this.stretched();
    if (moved) this.window = this.everything();
    this.redraw();
  }

  positions(column) {
    if (column.kind === "number") return Float64Array.from(column.values, (value) => (value === null ? NaN : value));
    // Rows of a class fill its lane evenly by steps of the golden ratio.
    const lane = (value, i) => (value === null ? NaN : value + 0.6 * (((i * 0.618034) % 1) - 0.5));
    return Float64Array.from(column.values, lane);
  }

  // How many times as large each of two components is drawn as the other would have it; null of other columns.
  stretched() {
    if (Math.max(this.shown.x, this.shown.y) >= this.data.components) return null;
    const spread = [this.xs, this.ys].map(range).map(([low, high]) => high - low);
    const least = Math.min(...spread), share = least / Math.max(...spread);
    const times = share > NOTHING && share < BAND ? Math.ceil(BAND / share) : 1;
    return spread.map((one) => (one === least ? times : 1));
  }

  // The name of a column that is an axis, and how it is drawn.
  axisName(key) {
    const { name } = this.data.columns[this.shown[key]], times = this.stretch ? this.stretch[key === "x" ? 0 : 1] : 1;
    return times > 1 ? `${name}, stretched ${times} times` : name;
  }

  everything() {
    return [this.xs, this.ys].flatMap((values) => {
      const [low, high] = range(values), pad = 0.04 * (high - low) || 0.5;
      return [low - pad, high + pad];
    });
  }

  zoom(by) {
    const [x0, x1, y0, y1] = this.window;
    const around = (low, high) => [-by, by].map((side) => (low + high + side * (high - low)) / 2);
    this.window = by ? [...around(x0, x1), ...around(y0, y1)] : this.everything();
    this.held = null;
    this.redraw();
  }

  // Where the rows are, in pixels.
  inner() {
    const { top } = MARGIN, left = Math.max(MARGIN.left, Math.min(TITLE + LETTER * (this.longest + 1), this.width / 4));
    return { left, top, wide: this.width - left - MARGIN.right, high: this.height - top - MARGIN.bottom };
  }

  // What leads from values to pixels: across they are a + b x, up c + d y; two components have the same scale,
  // but for what stretches one that would be a thin band.
  scales() {
    const [x0, x1, y0, y1] = this.window, { left, top, wide, high } = this.inner();
    let b = wide / (x1 - x0), d = high / (y1 - y0);
    if (this.stretch) {
      const [across, up] = this.stretch, unit = Math.min(b / across, d / up);
      [b, d] = [unit * across, unit * up];
    }
    return [left + (wide - b * (x0 + x1)) / 2, b, top + (high + d * (y0 + y1)) / 2, -d];
  }

  place(row) {
    const [a, b, c, d] = this.scales();
    return [a + b * this.xs[row], c + d * this.ys[row]];
  }

  isVisible([x, y]) {
    const { left, top, wide, high } = this.inner();
    return x >= left && x <= left + wide && y >= top && y <= top + high;
  }

  nearest(x, y) {
    const [a, b, c, d] = this.scales();
    let best = null, least = REACH ** 2;
    for (let i = 0; i < this.data.n; i++) {
      const far = (a + b * this.xs[i] - x) ** 2 + (c + d * this.ys[i] - y) ** 2;
      if (far < least && this.isVisible(this.place(i))) [best, least] = [i, far];
    }
    return best;
  }

  within(corners) {
    const rows = [];
    for (let i = 0; i < this.data.n; i++) {
      const at = this.place(i);
      if (this.isVisible(at) && inside(at[0], at[1], corners)) rows.push(i);
    }
    return rows;
  }

  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (this.held) this.slide();
      else this.draw();
    });
  }

  // Keep what is drawn, to be moved about; it is drawn anew once it rests.
  hold() {
    const { width, height } = this.base, image = make("canvas", { width, height }), [a, , c] = this.scales();
    image.getContext("2d", { willReadFrequently: true }).drawImage(this.base, 0, 0);
    this.held = { image, a, c };
  }

  settle() {
    clearTimeout(this.resting);
    if (!this.held) return;
    this.held = null;
    this.redraw();
  }

  slide() {
    const { left, top, wide, high } = this.inner(), [a, , c] = this.scales(), { sharp } = this;
    const pen = this.base.getContext("2d", { willReadFrequently: true }), from = [left, top, wide, high];
    const at = [a - this.held.a, c - this.held.c].map((far) => Math.round(far * sharp) / sharp);
    pen.fillStyle = this.paper;
    pen.fillRect(0, 0, this.width, this.height);
    this.drawAxes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(...from);
    pen.clip();
    pen.drawImage(this.held.image, ...from.map((one) => one * sharp), left + at[0], top + at[1], wide, high);
    pen.restore();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.settle(), REST);
  }

  // Colors, and pixels of the canvas for one of the page, which paper has more of.
  ofPage() {
    this.sharp = matchMedia("print").matches ? 3 : devicePixelRatio || 1;
    this.sprites = new Map();
    const style = getComputedStyle(this.root);
    for (const name of ["ink", "soft", "line", "paper"]) this[name] = style.getPropertyValue(`--${name}`).trim();
  }

  draw() {
    const { sharp } = this;
    [this.width, this.height] = [this.frame.clientWidth, this.frame.clientHeight];
    if (!this.width || !this.height) return;
    for (const canvas of [this.base, this.top]) {
      [canvas.width, canvas.height] = [Math.round(this.width * sharp), Math.round(this.height * sharp)];
      canvas.getContext("2d", { willReadFrequently: canvas === this.base }).setTransform(sharp, 0, 0, sharp, 0, 0);
    }
    const pen = this.base.getContext("2d", { willReadFrequently: true });
    pen.fillStyle = this.paper;
    pen.fillRect(0, 0, this.width, this.height);
    this.drawAxes(pen);
    this.drawRows(pen);
    this.drawTop();
  }

  drawAxes(pen) {
    const { left, top, wide, high } = this.inner(), right = left + wide, bottom = top + high;
    const [a, b, c, d] = this.scales(), { columns } = this.data;
    pen.font = "12px system-ui, sans-serif";
    // Of classes that lie closer than their names some are named.
    const axis = (column, low, high, wanted, lane, least, room) => {
      if (column.kind === "number") return ticks(low, high, wanted).map((value) => [value, text(value)]);
      const every = Math.ceil(least / lane), most = Math.floor((room ?? every * lane) / LETTER);
      const names = column.classes.map((name, code) => [code, shortened(String(name), most)]);
      return names.filter(([code]) => code % every === 0 && code >= low && code <= high);
    };
    pen.lineWidth = 1;
    pen.strokeStyle = this.line;
    pen.fillStyle = this.soft;
    const rule = (...ends) => {
      pen.beginPath();
      pen.moveTo(ends[0], ends[1]);
      pen.lineTo(ends[2], ends[3]);
      pen.stroke();
    };
    pen.textAlign = "center";
    const across = [(left - a) / b, (right - a) / b, this.width / 90, b, NAME];
    for (const [value, name] of axis(columns[this.shown.x], ...across)) {
      const x = a + b * value;
      rule(x, top, x, bottom);
      pen.fillText(name, x, bottom + 15);
    }
    pen.textAlign = "right";
    const up = [(bottom - c) / d, (top - c) / d, this.height / 60, -d, LANE, left - TITLE - LETTER];
    for (const [value, name] of axis(columns[this.shown.y], ...up)) {
      const y = c + d * value;
      rule(left, y, right, y);
      pen.fillText(name, left - 6, y + 4);
    }
    pen.fillStyle = this.ink;
    pen.textAlign = "center";
    pen.fillText(this.axisName("x"), (left + right) / 2, bottom + 34, right - left);
    pen.save();
    pen.translate(12, (top + bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(this.axisName("y"), 0, 0, bottom - top);
    pen.restore();
  }

  // Pixels are mixed here: with software rendering that is many times as fast as an image for each row.
  drawRows(pen) {
    const [a, b, c, d] = this.scales(), { sharp } = this;
    const image = pen.getImageData(0, 0, this.base.width, this.base.height);
    const { left, top } = this.inner(), right = this.width - MARGIN.right, bottom = this.height - MARGIN.bottom;
    const some = this.chosen.size > 0, pixels = image.data, wide = image.width, { xs, ys, labeled } = this;
    for (const turn of [0, 1, 2]) {
      for (let i = 0; i < xs.length; i++) {
        const chosen = some && this.chosen.has(i);
        if ((chosen ? 2 : labeled[i]) !== turn) continue;
        const x = a + b * xs[i], y = c + d * ys[i];
        if (!(x >= left && x <= right && y >= top && y <= bottom)) continue; // nor where a value is not known
        const middle = 4 * (Math.round(y * sharp) * wide + Math.round(x * sharp));
        press(pixels, this.sprite(i, chosen, some && !chosen), middle);
      }
    }
    pen.putImageData(image, 0, 0);
  }

  // The number of the color of each row; -1 for none.
  coded(column) {
    if (!column) return new Int32Array(this.data.n).fill(-1);
    const scale = (STEPS - 1) / (this.ends[1] - this.ends[0] || 1);
    const code = column.kind === "classes" ? (value) => value : (value) => Math.round((value - this.ends[0]) * scale);
    return Int32Array.from(column.values, (value) => (value === null ? -1 : code(value)));
  }

  // As it is meant; `colorOf` makes it stand out.
  rgb(code) {
    if (code < 0) return rgbOf(this.soft);
    if (this.data.columns[this.shown.color].kind === "number") return mixed(code / (STEPS - 1));
    return rgbOf(COLORS[code % COLORS.length] || this.ink);
  }

  legible(code, alpha) {
    return legible(this.rgb(code), alpha, rgbOf(this.paper), rgbOf(this.ink));
  }

  colorOf(code) {
    return css(this.legible(code, 1)[0]);
  }

  shapeOf(code) {
    const classes = this.shown.color !== null && this.data.columns[this.shown.color].kind === "classes";
    // Seven classes differ in both, 49 in one of them.
    return SHAPES[classes && code >= 0 ? (code + Math.floor(code / COLORS.length)) % SHAPES.length : 0];
  }

  sprite(row, chosen, dimmed) {
    const code = this.codes[row], solid = this.labeled[row], key = code * 8 + solid * 4 + chosen * 2 + dimmed;
    if (this.sprites.has(key)) return this.sprites.get(key);
    const { n } = this.data, { sharp } = this;
    const r = (n > 20000 ? 2 : n > 3000 ? 2.8 : 4) + (solid && this.faint ? 2 : 0);
    const half = Math.ceil((1.3 * r + 2) * sharp), size = 2 * half + 1;
    const pen = make("canvas", { width: size, height: size }).getContext("2d", { willReadFrequently: true });
    const [color, alpha] = this.legible(code, solid || chosen || !this.faint ? 0.95 : n > 3000 ? 0.5 : 0.7);
    pen.globalAlpha = dimmed ? 0.25 : alpha;
    outline(pen, this.shapeOf(code), half + 0.5, half + 0.5, r * sharp);
    pen.fillStyle = css(color);
    pen.fill();
    if (chosen || (solid && this.faint)) {
      pen.lineWidth = (chosen ? 2 : 1.2) * sharp;
      pen.strokeStyle = this.ink;
      pen.stroke();
    }
    const sprite = stamp(pen, size, this.base.width);
    this.sprites.set(key, sprite);
    return sprite;
  }

  drawTop() {
    const pen = this.top.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    this.drawRegions(pen);
    pen.strokeStyle = this.ink;
    if (this.path && this.path.length > 1) {
      pen.setLineDash([5, 4]);
      pen.beginPath();
      this.path.forEach(([x, y], j) => pen[j ? "lineTo" : "moveTo"](x, y));
      pen.closePath();
      pen.stroke();
      pen.setLineDash([]);
    }
    if (this.pointed === null) return;
    const [x, y] = this.place(this.pointed);
    for (const [width, color] of [[5, this.paper], [2, this.ink]]) {
      Object.assign(pen, { lineWidth: width, strokeStyle: color });
      pen.beginPath();
      pen.arc(x, y, 9, 0, 2 * Math.PI);
      pen.stroke();
    }
    pen.lineWidth = 1;
  }
}
