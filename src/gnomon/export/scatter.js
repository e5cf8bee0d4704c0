/*
 * scatter.js: a scatter plot to look into, on a 2-D canvas, without any other code and without a request.
 *
 * Every div of class "scatter" whose data-source is ID is filled from the JSON in the script element of type
 * "application/json" whose id is ID. Without scripts the div stays hidden, and details of class "still" stay open.
 *
 * Data: an object of
 *   n        number of rows
 *   ids      n strings or numbers, the names of the rows; null counts from 0
 *   labeled  numbers of the rows with a label, which are drawn larger and with an edge
 *   columns  what may be an axis or a color, a list of
 *              {name, kind: "number", values: n numbers or null}
 *              {name, kind: "classes", classes: names, values: n numbers of classes from 0, or null}
 *   x, y, color  numbers of the columns that are shown first; null for color is none
 *   label    what the picture is, in a few words, for those who cannot see it
 *
 * Events of the div, which bubble, each a CustomEvent with these details:
 *   scatter-hover   {row, id}     a row is pointed at, by mouse, finger or key; both are null when none is
 *   scatter-select  {rows, ids}   the chosen rows have changed
 *   scatter-view    {x, y, color} other columns are shown
 *
 * The div has a property `scatter` with
 *   select(rows)           choose rows by number
 *   show(row)              point at a row; null at none
 *   view({x, y, color})    show other columns
 *   place(row)             [x, y] of a row in pixels of the canvas
 *
 * Keys, once the picture has the focus: arrows go to the next row that way, Shift with them chooses it too, Enter or
 * Space choose or drop the row, Escape drops all, + and - zoom, 0 shows everything.
 */
"use strict";
(() => {
  // Okabe and Ito's colors, told apart with any common color vision; the last is that of the text.
  const COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", null];
  const SHAPES = ["circle", "square", "triangle", "diamond", "down", "plus", "cross"];
  const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const STEPS = 64; // shades of a number
  const MARGIN = { left: 52, right: 14, top: 12, bottom: 42 };
  const REACH = 16; // pixels from a row within which it is pointed at
  const TOOLS = [["look", "Look"], ["lasso", "Lasso"], ["box", "Box"], ["move", "Move"]];
  const HELP = "Point at a row to read it; draw around rows to choose them, with Shift to add. Keys: arrows go from row " +
    "to row, Enter chooses, Escape drops the choice, + and - zoom, 0 shows everything.";

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  const text = (value) => {
    if (!Number.isFinite(value)) return "none";
    return String(Number(value.toPrecision(4))).replace("-", "\u2212");
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
    const plus = [[-w, -1], [w, -1], [w, -w], [1, -w], [1, w], [w, w], [w, 1], [-w, 1], [-w, w], [-1, w], [-1, -w], [-w, -w]];
    pen.beginPath();
    if (shape === "circle") pen.arc(x, y, r, 0, 2 * Math.PI);
    else if (shape === "square") polygon([-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]);
    else if (shape === "triangle") polygon([0, -1.15], [1.05, 0.8], [-1.05, 0.8]);
    else if (shape === "down") polygon([0, 1.15], [1.05, -0.8], [-1.05, -0.8]);
    else if (shape === "diamond") polygon([0, -1.25], [1.05, 0], [0, 1.25], [-1.05, 0]);
    else if (shape === "plus") polygon(...plus.map(([a, b]) => [1.15 * a, 1.15 * b]));
    else polygon(...plus.map(([a, b]) => [0.81 * (a - b), 0.81 * (a + b)]));
  };

  class Scatter {
    constructor(root, data) {
      Object.assign(this, { root, data, tool: matchMedia("(pointer: coarse)").matches ? "look" : "lasso" });
      this.labeled = new Uint8Array(data.n);
      for (const row of data.labeled) this.labeled[row] = 1;
      this.faint = data.labeled.length > 0 && data.labeled.length < data.n;
      this.chosen = new Set();
      this.pointed = null;
      this.path = null;
      this.shown = { x: data.x, y: data.y, color: data.color };
      this.build();
      this.listen();
      this.view({});
    }

    id(row) {
      return this.data.ids ? this.data.ids[row] : row;
    }

    // What is on the page

    build() {
      const { columns, label } = this.data;
      const menu = (key, title, names) => {
        const select = make("select", {}, ...names.map(([value, name]) => {
          return make("option", { value }, name);
        }));
        select.value = String(this.shown[key]);
        select.addEventListener("change", () => this.view({ [key]: select.value === "null" ? null : Number(select.value) }));
        return [select, make("label", {}, title + " ", select)];
      };
      const names = columns.map((column, j) => [j, column.name]);
      const menus = ["x", "y", "color"].map((key, j) => {
        return menu(key, ["Across", "Up", "Color"][j], j < 2 ? names : [...names, [null, "none"]]);
      });
      this.menus = { x: menus[0][0], y: menus[1][0], color: menus[2][0] };
      this.tools = TOOLS.map(([key, name]) => this.button(name, () => this.take(key)));
      const zoom = [["+", "Zoom in", 0.7], ["\u2212", "Zoom out", 1 / 0.7], ["All", "Show everything", 0]];
      const zooms = zoom.map(([sign, name, by]) => this.button(sign, () => this.zoom(by), name));
      this.base = make("canvas", { "aria-hidden": "true" });
      this.top = make("canvas", { tabindex: "0", role: "application", "aria-label": `${label}. ${HELP}` });
      this.tip = make("div", { class: "scatter-tip", hidden: "" });
      this.frame = make("div", { class: "scatter-frame" }, this.base, this.top, this.tip);
      this.legend = make("div", { class: "scatter-legend", role: "group", "aria-label": "Colors" });
      this.summary = make("p", { class: "soft scatter-summary" });
      this.spoken = make("p", { class: "scatter-spoken", "aria-live": "polite" });
      this.count = make("p", { role: "status" });
      this.list = make("textarea", { readonly: "", rows: "5", "aria-label": "Names of the chosen rows" });
      this.copy = this.button("Copy", () => this.copied());
      const drop = this.button("Drop", () => this.select([]), "Drop the choice");
      this.choice = make("div", { class: "scatter-choice", hidden: "" }, this.list, make("div", {}, this.copy, drop));
      this.root.append(
        make("div", { class: "scatter-bar" }, ...menus.map((one) => one[1])),
        make("div", { class: "scatter-bar" }, ...this.tools, make("span", { class: "scatter-gap" }), ...zooms),
        this.frame, this.legend, make("p", { class: "soft" }, HELP), this.summary, this.spoken, this.count, this.choice,
      );
      this.root.hidden = false;
      this.take(this.tool);
      this.say();
    }

    button(sign, act, name) {
      const button = make("button", { type: "button", ...(name && { "aria-label": name, title: name }) }, sign);
      button.addEventListener("click", act);
      return button;
    }

    take(tool) {
      this.tool = tool;
      TOOLS.forEach(([key], j) => this.tools[j].setAttribute("aria-pressed", String(key === tool)));
      this.top.style.touchAction = tool === "look" ? "auto" : "none";
      this.top.style.cursor = { look: "default", move: "grab" }[tool] || "crosshair";
    }

    describe() {
      const { columns, n } = this.data, { x, y, color } = this.shown;
      const drawn = this.xs.reduce((sum, value, i) => sum + Number.isFinite(value + this.ys[i]), 0);
      const axis = (j) => {
        const column = columns[j], ends = range(column.values.filter((value) => value !== null));
        return column.kind === "number" ? `${column.name} from ${text(ends[0])} to ${text(ends[1])}` : column.name;
      };
      let said = `${drawn} of ${n} rows are drawn: ${axis(x)} across, ${axis(y)} up.`;
      if (color !== null && columns[color].kind === "classes") {
        const counts = this.counts(color).map((many, j) => [columns[color].classes[j], many]);
        said += ` Rows by ${columns[color].name}: ${counts.map(([name, many]) => `${name} ${many}`).join(", ")}.`;
      } else if (color !== null) said += ` The color is ${axis(color)}.`;
      this.summary.textContent = said;
    }

    counts(color) {
      const counts = this.data.columns[color].classes.map(() => 0);
      for (const code of this.data.columns[color].values) if (code !== null) counts[code]++;
      return counts;
    }

    drawLegend() {
      const column = this.shown.color === null ? null : this.data.columns[this.shown.color];
      this.legend.replaceChildren();
      if (!column) return;
      this.legend.append(make("b", {}, column.name));
      if (column.kind === "number") {
        const bar = make("span", { class: "scatter-scale" });
        bar.style.background = `linear-gradient(to right, ${VIRIDIS.join(",")})`;
        this.legend.append(make("span", {}, text(this.ends[0])), bar, make("span", {}, text(this.ends[1])));
        return;
      }
      column.classes.forEach((name, code) => {
        const mark = make("canvas", { width: 32, height: 32, "aria-hidden": "true" });
        const rows = () => column.values.flatMap((value, i) => (value === code ? [i] : []));
        const button = this.button(mark, () => this.select(rows()), `Choose the rows of ${name}`);
        const pen = mark.getContext("2d");
        outline(pen, this.shapeOf(code), 16, 16, 10);
        pen.fillStyle = this.colorOf(code);
        pen.fill();
        button.append(String(name));
        this.legend.append(button);
      });
    }

    // What is shown

    view(wanted) {
      Object.assign(this.shown, wanted);
      for (const key of ["x", "y", "color"]) this.menus[key].value = String(this.shown[key]);
      [this.xs, this.ys] = [this.shown.x, this.shown.y].map((j) => this.positions(this.data.columns[j]));
      const column = this.shown.color === null ? null : this.data.columns[this.shown.color];
      this.ends = column && column.kind === "number" ? range(column.values.filter((value) => value !== null)) : [0, 1];
      this.sprites = new Map();
      if (!("color" in wanted) || "x" in wanted || "y" in wanted) this.window = null;
      this.drawLegend();
      this.describe();
      this.show(null);
      this.redraw();
      this.emit("view", { ...this.shown });
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
      const around = (low, high) => [(low + high) / 2 - ((high - low) / 2) * by, (low + high) / 2 + ((high - low) / 2) * by];
      this.window = by ? [...around(x0, x1), ...around(y0, y1)] : this.everything();
      this.redraw();
    }

    place(row) {
      const [x0, x1, y0, y1] = this.window;
      const across = this.width - MARGIN.left - MARGIN.right, up = this.height - MARGIN.top - MARGIN.bottom;
      return [
        MARGIN.left + ((this.xs[row] - x0) / (x1 - x0)) * across,
        MARGIN.top + ((y1 - this.ys[row]) / (y1 - y0)) * up,
      ];
    }

    isVisible([x, y]) {
      return x >= MARGIN.left && x <= this.width - MARGIN.right && y >= MARGIN.top && y <= this.height - MARGIN.bottom;
    }

    // Drawing

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
      [this.ink, this.soft, this.line] = ["--ink", "--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
      this.paper = style.getPropertyValue("--paper").trim();
      if (!this.width || !this.height) return;
      this.window = this.window || this.everything();
      for (const canvas of [this.base, this.top]) {
        [canvas.width, canvas.height] = [Math.round(this.width * sharp), Math.round(this.height * sharp)];
        canvas.getContext("2d").setTransform(sharp, 0, 0, sharp, 0, 0);
      }
      const pen = this.base.getContext("2d");
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
        return column.classes.map((name, code) => [code, String(name).slice(0, 7)]).filter(([code]) => code >= low && code <= high);
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

    drawRows(pen) {
      const n = this.data.n, some = this.chosen.size > 0;
      const base = n > 20000 ? 2 : n > 3000 ? 2.8 : 4;
      const { left, top } = MARGIN;
      pen.save();
      pen.beginPath();
      pen.rect(left, top, this.width - MARGIN.right - left, this.height - MARGIN.bottom - top);
      pen.clip();
      for (const turn of [0, 1, 2]) {
        for (let i = 0; i < n; i++) {
          const chosen = this.chosen.has(i), when = chosen ? 2 : this.labeled[i];
          const at = when === turn && this.place(i);
          if (!at || !this.isVisible(at)) continue;
          const sprite = this.sprite(i, base, chosen, some && !chosen);
          pen.drawImage(sprite, at[0] - sprite.half, at[1] - sprite.half, 2 * sprite.half, 2 * sprite.half);
        }
      }
      pen.restore();
    }

    code(row) {
      const { color } = this.shown;
      if (color === null) return -1;
      const { kind, values } = this.data.columns[color], value = values[row];
      if (value === null) return -1;
      if (kind === "classes") return value;
      return Math.round(((value - this.ends[0]) / (this.ends[1] - this.ends[0] || 1)) * (STEPS - 1));
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

    sprite(row, base, chosen, dimmed) {
      const code = this.code(row), solid = this.labeled[row], key = `${code} ${solid} ${chosen} ${dimmed}`;
      if (this.sprites.has(key)) return this.sprites.get(key);
      const sharp = devicePixelRatio || 1, r = base + (solid && this.faint ? 2 : 0), half = Math.ceil(1.3 * r + 3);
      const sprite = make("canvas", { width: 2 * half * sharp, height: 2 * half * sharp });
      const pen = sprite.getContext("2d");
      pen.scale(sharp, sharp);
      pen.globalAlpha = dimmed ? 0.18 : solid || chosen || !this.faint ? 0.95 : this.data.n > 3000 ? 0.5 : 0.7;
      outline(pen, this.shapeOf(code), half, half, r);
      pen.fillStyle = this.colorOf(code);
      pen.fill();
      if (chosen || (solid && this.faint)) {
        pen.lineWidth = chosen ? 2 : 1.2;
        pen.strokeStyle = this.ink;
        pen.stroke();
      }
      sprite.half = half;
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

    // Pointing and choosing

    nearest(x, y) {
      let best = null, least = REACH ** 2;
      for (let i = 0; i < this.data.n; i++) {
        const at = this.place(i), far = (at[0] - x) ** 2 + (at[1] - y) ** 2;
        if (far < least && this.isVisible(at)) [best, least] = [i, far];
      }
      return best;
    }

    lines(row) {
      const said = this.data.columns.map(({ name, kind, classes, values }) => {
        const value = values[row];
        return [name, value === null ? "none" : kind === "classes" ? String(classes[value]) : text(value)];
      });
      return said.slice(0, 12);
    }

    show(row) {
      if (row !== null && this.pointed === row) return;
      this.pointed = row;
      this.tip.hidden = row === null;
      if (row !== null) {
        const head = `row ${this.id(row)}${this.labeled[row] ? ", labeled" : ""}`, lines = this.lines(row);
        this.tip.replaceChildren(make("b", {}, head), make("dl", {}, ...lines.flatMap(([name, value]) => {
          return [make("dt", {}, name), make("dd", {}, value)];
        })));
        this.spoken.textContent = `${head}: ${lines.map((line) => line.join(" ")).join(", ")}`;
        this.putTip(row);
      }
      if (this.window && this.width) this.drawTop();
      this.emit("hover", { row, id: row === null ? null : this.id(row) });
    }

    putTip(row) {
      const [x, y] = this.place(row), { offsetWidth: w, offsetHeight: h } = this.tip;
      const left = x + 16 + w > this.width ? x - 16 - w : x + 16;
      this.tip.style.left = `${Math.max(0, Math.min(left, this.width - w))}px`;
      this.tip.style.top = `${Math.max(0, Math.min(y - h / 2, this.height - h))}px`;
    }

    select(rows) {
      this.chosen = new Set(rows);
      this.say();
      this.redraw();
      const found = [...this.chosen].sort((a, b) => a - b);
      this.emit("select", { rows: found, ids: found.map((row) => this.id(row)) });
    }

    say() {
      const rows = [...this.chosen].sort((a, b) => a - b);
      this.count.textContent = rows.length ? `${rows.length} of ${this.data.n} rows are chosen:` : "No row is chosen.";
      this.list.value = rows.map((row) => this.id(row)).join("\n");
      this.choice.hidden = !rows.length;
      this.copy.textContent = "Copy";
    }

    async copied() {
      this.list.select();
      try {
        await navigator.clipboard.writeText(this.list.value);
      } catch {
        if (!document.execCommand("copy")) return; // the names stay marked, for Ctrl-C
      }
      this.copy.textContent = "Copied";
    }

    toggle(row) {
      const rows = new Set(this.chosen);
      if (!rows.delete(row)) rows.add(row);
      this.select(rows);
    }

    within(corners) {
      const rows = [];
      for (let i = 0; i < this.data.n; i++) {
        const at = this.place(i);
        if (this.isVisible(at) && inside(at[0], at[1], corners)) rows.push(i);
      }
      return rows;
    }

    emit(name, detail) {
      this.root.dispatchEvent(new CustomEvent(`scatter-${name}`, { detail, bubbles: true }));
    }

    // Mouse, finger and keys

    listen() {
      const { top } = this;
      const at = (event) => {
        const box = top.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
      top.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        this.start = at(event);
        this.before = this.window;
        if (this.tool !== "look") top.setPointerCapture(event.pointerId);
      });
      top.addEventListener("pointermove", (event) => (this.start ? this.drag(at(event)) : this.show(this.nearest(...at(event)))));
      top.addEventListener("pointerup", (event) => this.start && this.release(at(event), event.shiftKey));
      top.addEventListener("pointercancel", () => this.forget());
      top.addEventListener("pointerleave", () => this.start || this.show(null));
      top.addEventListener("blur", () => this.show(null));
      top.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.fresh()).observe(this.frame);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.fresh());
    }

    fresh() {
      this.sprites = new Map();
      this.drawLegend();
      this.show(null);
      this.redraw();
    }

    drag([x, y]) {
      const [a, b] = this.start;
      if (this.tool === "box") this.path = [[a, b], [x, b], [x, y], [a, y]];
      else if (this.tool === "lasso") this.path = [...(this.path || [[a, b]]), [x, y]];
      else if (this.tool === "move") {
        const [x0, x1, y0, y1] = this.before;
        const dx = ((x - a) * (x1 - x0)) / (this.width - MARGIN.left - MARGIN.right);
        const dy = ((y - b) * (y1 - y0)) / (this.height - MARGIN.top - MARGIN.bottom);
        this.window = [x0 - dx, x1 - dx, y0 + dy, y1 + dy];
        this.redraw();
      }
      this.show(null);
    }

    release([x, y], adds) {
      const still = Math.hypot(x - this.start[0], y - this.start[1]) < 4 && (!this.path || this.path.length < 8);
      const path = this.path;
      this.forget();
      if (still) {
        const row = this.nearest(x, y);
        if (row !== null) this.toggle(row);
        this.show(row);
      } else if (path) this.select([...(adds ? this.chosen : []), ...this.within(path)]);
    }

    forget() {
      this.start = this.path = null;
      this.drawTop();
    }

    key(event) {
      const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      const zooms = { "+": 0.7, "=": 0.7, "-": 1 / 0.7, 0: 0 };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key in ways) this.step(ways[event.key], event.shiftKey);
      else if (event.key in zooms) this.zoom(zooms[event.key]);
      else if (event.key === "Escape") this.select([]);
      else if ((event.key === "Enter" || event.key === " ") && this.pointed !== null) this.toggle(this.pointed);
      else return;
      event.preventDefault();
    }

    step([wx, wy], adds) {
      const from = this.pointed === null ? [this.width / 2, this.height / 2] : this.place(this.pointed);
      let best = null, least = Infinity;
      for (let i = 0; i < this.data.n; i++) {
        const at = this.place(i), dx = at[0] - from[0], dy = at[1] - from[1];
        const ahead = dx * wx + dy * wy, far = ahead + 3 * Math.abs(dx * wy + dy * wx);
        const worse = this.pointed === null ? Math.hypot(dx, dy) : ahead > 0.01 ? far : Infinity;
        if (i !== this.pointed && worse < least && this.isVisible(at)) [best, least] = [i, worse];
      }
      if (best === null) return;
      this.show(best);
      if (adds) this.select([...this.chosen, best]);
    }
  }

  for (const root of document.querySelectorAll("div.scatter[data-source]")) {
    const data = JSON.parse(document.getElementById(root.dataset.source).textContent);
    root.scatter = new Scatter(root, data);
    for (const still of document.querySelectorAll("details.still")) still.open = false;
  }
})();
