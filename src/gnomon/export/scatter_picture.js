/*
 * The rows of scatter.js on two canvases: the lower one has axes and rows, the upper one what changes with the mouse.
 */
"use strict";
// Okabe and Ito's colors, told apart with any common color vision; the last is that of the text.
const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", null];
const SHAPES = ["circle", "square", "triangle", "diamond", "down", "plus", "cross"];
const VIRIDIS = [
  "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
];
const STEPS = 64; // shades of a number
const MARGIN = { left: 52, right: 16, top: 16, bottom: 42 };
const REACH = 16; // pixels from a row within which it is pointed at

const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

const text = (value) => {
  return value === null ? "none" : String(value).replaceAll("-", "\u2212");
};

const ticks = (low, high, wanted) => {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let j = Math.ceil(low / step); j * step <= high; j++) found.push(Number((j * step).toPrecision(12)));
  return found;
};

const range = (values) => {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
};

const mixed = (share) => {
  const place = share * (VIRIDIS.length - 1), first = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const parts = [first, first + 1].map((j) => [1, 3, 5].map((at) => parseInt(VIRIDIS[j].slice(at, at + 2), 16)));
  return `rgb(${parts[0].map((one, c) => Math.round(one + (place - first) * (parts[1][c] - one))).join(",")})`;
};

const inside = (x, y, corners) => {
  let odd = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) {
    const [ax, ay] = corners[i], [bx, by] = corners[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
};

const outline = (pen, shape, x, y, r) => {
  const polygon = (...points) => {
    points.forEach(([dx, dy], j) => pen[j ? "lineTo" : "moveTo"](x + r * dx, y + r * dy));
    pen.closePath();
  };
  const w = 0.38;
  const plus = [
    [-w, -1], [w, -1], [w, -w], [1, -w], [1, w], [w, w], [w, 1], [-w, 1], [-w, w], [-1, w], [-1, -w], [-w, -w],
  ];
  pen.beginPath();
  if (shape === "circle") pen.arc(x, y, r, 0, 2 * Math.PI);
  else if (shape === "square") polygon([-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]);
  else if (shape === "triangle") polygon([0, -1.15], [1.05, 0.8], [-1.05, 0.8]);
  else if (shape === "down") polygon([0, 1.15], [1.05, -0.8], [-1.05, -0.8]);
  else if (shape === "diamond") polygon([0, -1.25], [1.05, 0], [0, 1.25], [-1.05, 0]);
  else if (shape === "plus") polygon(...plus.map(([a, b]) => [1.15 * a, 1.15 * b]));
  else polygon(...plus.map(([a, b]) => [0.81 * (a - b), 0.81 * (a + b)]));
};

// What a mark adds to the pixels of an image of some width around its middle: where, how much is kept, what comes on.
const stamp = (pen, size, width) => {
  const { data } = pen.getImageData(0, 0, size, size), half = (size - 1) / 2;
  const at = [], kept = [], added = [];
  for (let from = 0; from < data.length; from += 4) {
    const share = data[from + 3] / 255, column = (from / 4) % size, row = (from / 4 - column) / size;
    if (!share) continue;
    at.push(4 * ((row - half) * width + column - half));
    kept.push(1 - share);
    added.push(...[0, 1, 2].map((c) => share * data[from + c]));
  }
  return { at: Int32Array.from(at), kept: Float32Array.from(kept), added: Float32Array.from(added) };
};

// Put a mark onto an opaque image; the margin is wider than any mark, so that all of it is on the image.
const press = (pixels, { at, kept, added }, middle) => {
  for (let j = 0; j < at.length; j++) {
    const to = middle + at[j], share = kept[j];
    pixels[to] = pixels[to] * share + added[3 * j];
    pixels[to + 1] = pixels[to + 1] * share + added[3 * j + 1];
    pixels[to + 2] = pixels[to + 2] * share + added[3 * j + 2];
  }
};

class Picture {
  constructor(root, data) {
    Object.assign(this, { root, data, chosen: new Set(), pointed: null, path: null });
    this.labeled = new Uint8Array(data.n);
    for (const row of data.labeled) this.labeled[row] = 1;
    this.faint = data.labeled.length > 0 && data.labeled.length < data.n;
    this.shown = { x: data.x, y: data.y, color: data.color };
    this.base = make("canvas", { "aria-hidden": "true" });
    this.top = make("canvas", { tabindex: "0", role: "application" });
    this.frame = make("div", { class: "scatter-frame" }, this.base, this.top);
  }

  // Show other columns; other axes show all rows.
  turn(wanted) {
    const column = wanted.color === null ? null : this.data.columns[wanted.color];
    const moved = !this.xs || wanted.x !== this.shown.x || wanted.y !== this.shown.y;
    this.shown = wanted;
    [this.xs, this.ys] = [wanted.x, wanted.y].map((j) => this.positions(this.data.columns[j]));
    this.ends = column && column.kind === "number" ? range(column.values.filter((value) => value !== null)) : [0, 1];
    this.codes = this.coded(column);
    this.sprites = new Map();
    if (moved) this.window = this.everything();
    this.redraw();
  }

  positions(column) {
    if (column.kind === "number") return Float64Array.from(column.values, (value) => (value === null ? NaN : value));
    // Rows of a class fill its lane evenly by steps of the golden ratio.
    const lane = (value, i) => (value === null ? NaN : value + 0.6 * (((i * 0.618034) % 1) - 0.5));
    return Float64Array.from(column.values, lane);
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
    this.redraw();
  }

  // What leads from values to pixels: across they are a + b x, up c + d y.
  scales() {
    const [x0, x1, y0, y1] = this.window;
    const b = (this.width - MARGIN.left - MARGIN.right) / (x1 - x0);
    const d = (this.height - MARGIN.top - MARGIN.bottom) / (y0 - y1);
    return [MARGIN.left - b * x0, b, MARGIN.top - d * y1, d];
  }

  place(row) {
    const [a, b, c, d] = this.scales();
    return [a + b * this.xs[row], c + d * this.ys[row]];
  }

  isVisible([x, y]) {
    return x >= MARGIN.left && x <= this.width - MARGIN.right && y >= MARGIN.top && y <= this.height - MARGIN.bottom;
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
      this.draw();
    });
  }

  draw() {
    const style = getComputedStyle(this.root), sharp = devicePixelRatio || 1;
    [this.width, this.height] = [this.frame.clientWidth, this.frame.clientHeight];
    for (const name of ["ink", "soft", "line", "paper"]) this[name] = style.getPropertyValue(`--${name}`).trim();
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
    const { left, top } = MARGIN, right = this.width - MARGIN.right, bottom = this.height - MARGIN.bottom;
    const [x0, x1, y0, y1] = this.window, { columns } = this.data;
    pen.font = "12px system-ui, sans-serif";
    const axis = (column, low, high, wanted) => {
      if (column.kind === "number") return ticks(low, high, wanted).map((value) => [value, text(value)]);
      const names = column.classes.map((name, code) => [code, String(name).slice(0, 7)]);
      return names.filter(([code]) => code >= low && code <= high);
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
    for (const [value, name] of axis(columns[this.shown.x], x0, x1, this.width / 90)) {
      const x = left + ((value - x0) / (x1 - x0)) * (right - left);
      rule(x, top, x, bottom);
      pen.fillText(name, x, bottom + 15);
    }
    pen.textAlign = "right";
    for (const [value, name] of axis(columns[this.shown.y], y0, y1, this.height / 60)) {
      const y = top + ((y1 - value) / (y1 - y0)) * (bottom - top);
      rule(left, y, right, y);
      pen.fillText(name, left - 6, y + 4);
    }
    pen.fillStyle = this.ink;
    pen.textAlign = "center";
    pen.fillText(columns[this.shown.x].name, (left + right) / 2, bottom + 34, right - left);
    pen.save();
    pen.translate(12, (top + bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(columns[this.shown.y].name, 0, 0, bottom - top);
    pen.restore();
  }

  // Pixels are mixed here: with software rendering that is many times as fast as an image for each row.
  drawRows(pen) {
    const [a, b, c, d] = this.scales(), sharp = devicePixelRatio || 1;
    const image = pen.getImageData(0, 0, this.base.width, this.base.height);
    const { left, top } = MARGIN, right = this.width - MARGIN.right, bottom = this.height - MARGIN.bottom;
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

  colorOf(code) {
    if (code < 0) return getComputedStyle(this.root).getPropertyValue("--soft").trim();
    if (this.data.columns[this.shown.color].kind === "number") return mixed(code / (STEPS - 1));
    return COLORS[code % COLORS.length] || getComputedStyle(this.root).getPropertyValue("--ink").trim();
  }

  shapeOf(code) {
    const classes = this.shown.color !== null && this.data.columns[this.shown.color].kind === "classes";
    // Seven classes differ in both, 49 in one of them.
    return SHAPES[classes && code >= 0 ? (code + Math.floor(code / COLORS.length)) % SHAPES.length : 0];
  }

  sprite(row, chosen, dimmed) {
    const code = this.codes[row], solid = this.labeled[row], key = code * 8 + solid * 4 + chosen * 2 + dimmed;
    if (this.sprites.has(key)) return this.sprites.get(key);
    const { n } = this.data, sharp = devicePixelRatio || 1;
    const r = (n > 20000 ? 2 : n > 3000 ? 2.8 : 4) + (solid && this.faint ? 2 : 0);
    const half = Math.ceil((1.3 * r + 2) * sharp), size = 2 * half + 1;
    const pen = make("canvas", { width: size, height: size }).getContext("2d", { willReadFrequently: true });
    pen.globalAlpha = dimmed ? 0.25 : solid || chosen || !this.faint ? 0.95 : n > 3000 ? 0.5 : 0.7;
    outline(pen, this.shapeOf(code), half + 0.5, half + 0.5, r * sharp);
    pen.fillStyle = this.colorOf(code);
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
