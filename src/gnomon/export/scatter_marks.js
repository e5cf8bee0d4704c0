/*
 * The colors and shapes of marks, and what is written and reckoned with alone, of scatter_picture.js.
 */
"use strict";
// Okabe and Ito's colors, told apart with any common color vision; the last is that of the text.
const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", null];
const SHAPES = ["circle", "square", "triangle", "diamond", "down", "plus", "cross"];
const VIRIDIS = [
  "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
];
const STEPS = 64; // shades of a number
const CONTRAST = 3; // of a row to the paper, at least

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

// A name in so many letters; what is left out stands in the middle, since names often differ at their ends.
const shortened = (name, most) => {
  const half = Math.max(1, (most - 1) / 2);
  return name.length <= most ? name : `${name.slice(0, Math.ceil(half))}\u2026${name.slice(-Math.floor(half))}`;
};

const range = (values) => {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
};

const counted = (n) => n.toLocaleString("en-US");

const rgbOf = (hex) => {
  const long = hex.length === 4 ? hex.replace(/[^#]/g, "$&$&") : hex;
  return [1, 3, 5].map((at) => parseInt(long.slice(at, at + 2), 16));
};

const blend = (over, under, share) => over.map((one, c) => under[c] + share * (one - under[c]));

const css = (rgb) => `rgb(${rgb.map(Math.round).join(",")})`;

const mixed = (share) => {
  const place = share * (VIRIDIS.length - 1), first = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return blend(rgbOf(VIRIDIS[first + 1]), rgbOf(VIRIDIS[first]), place - first);
};

// Contrast of two colors as WCAG 2 measures it.
const contrast = (...colors) => {
  const light = colors.map((rgb) => {
    const [r, g, b] = rgb.map((one) => (one <= 10 ? one / 3294.6 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  });
  return Math.max(...light) / Math.min(...light);
};

// A color and its opacity, of which it takes more than `alpha`, and then of the ink, where it would not stand out.
const legible = (rgb, alpha, paper, ink) => {
  for (let opacity = alpha; opacity < 1; opacity += 0.05) {
    if (contrast(blend(rgb, paper, opacity), paper) >= CONTRAST) return [rgb, opacity];
  }
  for (let share = 0; share < 1; share += 0.05) {
    const found = blend(ink, rgb, share);
    if (contrast(found, paper) >= CONTRAST) return [found, 1];
  }
  return [ink, 1];
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
