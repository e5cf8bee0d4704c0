/*
 * scatter.js: a scatter plot to look into, on a 2-D canvas, without any other code and without a request.
 *
 * Every div of class "scatter" whose data-source is ID is filled from the JSON in the script element of type
 * "application/json" whose id is ID. Without scripts the div stays hidden, and details of class "still" stay open.
 *
 * Data: an object of
 *   n        number of rows
 *   ids      n strings or numbers, the names of the rows; null counts from 0
 *   rows     n numbers that the page knows the rows by, rising; null, or no such entry, counts from 0
 *   labeled  numbers of the rows with a label, which are drawn larger and with an edge
 *   columns  what may be an axis or a color, a list of
 *              {name, kind: "number", values: n numbers or null}
 *              {name, kind: "classes", classes: names, values: n numbers of classes from 0, or null}
 *              {name, either: [i, j]}, of each row what column i has, and where that is null what column j has
 *   components  so many of the first columns are coordinates, which have one scale where two are shown, but for whole
 *              times by which a thin band is stretched, as its axis says
 *   regions  how far rows may lie from where they are drawn, or null: {components, covariances, of}, of each different
 *              covariance of so many components the lower triangle, line by line, and of each row which of them it has;
 *              null for all the first
 *   absent   a sentence on what there is not of the regions, or ""
 *   top      what adds most to a place, or null: {names, of, nearly}, names of columns of the table, of each of the first
 *              so many of `columns` {most, columns: n * most numbers of names, row after row, added: what each adds}
 *              or null, and whether that is what a nearly linear projection would add
 *   x, y, color  numbers of the columns that are shown first; null for color is none
 *   label    what the picture is, in a few words, for those who cannot see it
 *
 * Elements anywhere in the page with data-row=NUMBER, a number that the page knows a row by, become buttons that choose
 * the row, show what is known of it and bring the picture into view; of rows that are not drawn they stay as they are.
 *
 * Events of the div, which bubble, each a CustomEvent with these details:
 *   scatter-hover   {row, id}     a row is pointed at, by mouse, finger or key; both are null when none is
 *   scatter-select  {rows, ids}   the chosen rows have changed
 *   scatter-view    {x, y, color} other columns are shown
 *
 * The div has a property `scatter` with
 *   select(rows)           choose rows by number
 *   show(row)              point at a row; null at none
 *   find(row)              choose a row, point at it, and bring it into view
 *   view({x, y, color})    show other columns
 *   outlined(on)           show the regions of the chosen rows, or no more
 *   place(row)             [x, y] of a row in pixels of the canvas
 *
 * Keys, once the picture has the focus: arrows go to the next row that way, Shift with them chooses it too, Enter or
 * Space choose or drop the row, Escape drops all, + and - zoom, 0 shows everything, U shows the regions of chosen rows.
 */
"use strict";
const TOOLS = [["look", "Look"], ["lasso", "Lasso"], ["box", "Box"], ["move", "Move"]];
const HELP = "Point at a row to read it; draw around rows to choose them, with Shift to add. Keys: arrows go from " +
  "row to row, Enter chooses, Escape drops the choice, + and \u2212 zoom, 0 shows everything.";
const OF_REGIONS = " The outline around a row that is pointed at holds 95 % of where it may lie; U shows those of " +
  "chosen rows.";
const OF_LABELS = " Rows with a label are larger and have an edge.";

class Scatter extends Words {
  constructor(root, data) {
    super(root, data);
    this.ofPage();
    this.tool = matchMedia("(pointer: coarse)").matches ? "look" : "lasso";
    this.build();
    this.listen();
    this.view({});
    this.draw();
  }

  build() {
    const { columns, label, regions, absent } = this.data;
    const menu = (key, title, names) => {
      const select = make("select", {}, ...names.map(([value, name]) => make("option", { value }, name)));
      select.addEventListener("change", () => this.view({ [key]: JSON.parse(select.value) }));
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
    const help = HELP + (this.faint ? OF_LABELS : "") + (regions ? OF_REGIONS : "") + (absent ? ` ${absent}` : "");
    this.top.setAttribute("aria-label", `${label}. ${help}`);
    this.tip = make("div", { class: "scatter-tip", hidden: "" });
    this.check = make("input", { type: "checkbox" });
    this.check.addEventListener("change", () => this.outlined(this.check.checked));
    this.key95 = make("label", { class: "scatter-key" }, this.check, " 95 % regions of chosen rows");
    this.legend = make("div", { class: "scatter-legend", role: "group", "aria-label": "Colors" });
    this.summary = make("p", { class: "soft scatter-summary" });
    this.spoken = make("p", { class: "scatter-spoken", "aria-live": "polite" });
    this.count = make("p", { role: "status" });
    this.list = make("textarea", { readonly: "", rows: "5", "aria-label": "Names of the chosen rows" });
    this.copy = this.button("Copy", () => this.copied());
    const drop = this.button("Drop", () => this.select([]), "Drop the choice");
    this.choice = make("div", { class: "scatter-choice", hidden: "" }, this.list, make("div", {}, this.copy, drop));
    this.root.append(
      make("div", { class: "scatter-bar scatter-menus" }, ...menus.map((one) => one[1])),
      make("div", { class: "scatter-bar" }, ...this.tools, make("span", { class: "scatter-gap" }), ...zooms),
      make("div", { class: "scatter-stage" }, this.frame, this.tip), this.legend, this.key95,
      make("p", { class: "soft scatter-help" }, help), this.summary, this.spoken, this.count, this.choice,
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

  drawLegend() {
    const column = this.shown.color === null ? null : this.data.columns[this.shown.color];
    this.legend.replaceChildren();
    if (!column) return;
    this.legend.append(make("b", {}, column.name));
    if (column.kind === "number") {
      const bar = make("span", { class: "scatter-scale" });
      const shades = VIRIDIS.map((_, j) => this.colorOf((j * (STEPS - 1)) / (VIRIDIS.length - 1)));
      bar.style.background = `linear-gradient(to right, ${shades.join(",")})`;
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

  view(wanted) {
    this.turn({ ...this.shown, ...wanted });
    for (const key of ["x", "y", "color"]) this.menus[key].value = String(this.shown[key]);
    this.key95.hidden = !this.hasRegions();
    this.drawLegend();
    this.describe();
    this.show(null);
    this.emit("view", { ...this.shown });
  }

  show(row) {
    if (this.pointed === row) return;
    this.pointed = row;
    this.tip.hidden = row === null;
    if (row !== null) {
      const head = `row ${this.id(row)}${this.labeled[row] ? ", labeled" : ""}`, lines = this.lines(row);
      const reasons = this.reasons(row);
      this.tip.replaceChildren(make("b", {}, head), make("dl", {}, ...lines.flatMap(([name, value]) => {
        return [make("dt", {}, name), make("dd", {}, value)];
      })), ...reasons.map((said) => make("p", {}, said)));
      this.spoken.textContent = `${head}: ${[...lines.map((line) => line.join(" ")), ...reasons].join(", ")}`;
      this.putTip(row);
    }
    if (this.width) this.drawTop();
    this.emit("hover", { row, id: row === null ? null : this.id(row) });
  }

  putTip(row) {
    const [x, y] = this.place(row), { offsetWidth: w, offsetHeight: h } = this.tip;
    const far = 16 + this.scales()[1] * (this.reach(row, this.shown.x) || 0), off = far + w < this.width / 2 ? far : 16;
    const left = x + off + w > this.width ? x - off - w : x + off;
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
    const many = `${counted(rows.length)} of ${counted(this.data.n)} rows are chosen`;
    const some = this.regionsOn && rows.length > MOST_REGIONS ? `, the first ${MOST_REGIONS} with their regions` : "";
    this.count.textContent = rows.length ? `${many}${some}:` : "No row is chosen.";
    this.list.value = rows.map((row) => this.id(row)).join("\n");
    this.choice.hidden = !rows.length;
    this.copy.textContent = "Copy";
  }

  // Show the regions of chosen rows, or of none but the one that is pointed at.
  outlined(on) {
    this.regionsOn = this.check.checked = on;
    this.say();
    this.drawTop();
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

  find(row) {
    this.select([row]);
    if (!this.isVisible(this.place(row))) this.zoom(0);
    this.top.focus({ preventScroll: true });
    this.frame.scrollIntoView({ block: "center" });
    this.show(null); // its place may be another one since
    this.show(row);
  }

  link(mark) {
    const number = Number(mark.dataset.row), { rows, n } = this.data;
    const row = rows ? rows.indexOf(number) : number < n ? number : -1;
    if (row < 0 || !Number.isFinite(this.xs[row] + this.ys[row])) return;
    const button = this.button("", () => this.find(row), `Show row ${this.id(row)} in the picture`);
    button.className = "scatter-link";
    button.append(...mark.childNodes);
    mark.replaceWith(button);
  }

  emit(name, detail) {
    this.root.dispatchEvent(new CustomEvent(`scatter-${name}`, { detail, bubbles: true }));
  }

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
    top.addEventListener("pointermove", (event) => {
      if (this.start) this.drag(at(event));
      else this.show(this.nearest(...at(event)));
    });
    top.addEventListener("pointerup", (event) => this.start && this.release(at(event), event.shiftKey));
    top.addEventListener("pointercancel", () => this.forget());
    top.addEventListener("pointerleave", (event) => event.pointerType !== "mouse" || this.start || this.show(null));
    top.addEventListener("blur", () => this.show(null));
    top.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.fresh()).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.fresh());
    matchMedia("print").addEventListener("change", () => this.printed());
  }

  fresh() {
    this.ofPage();
    this.held = null;
    this.drawLegend();
    this.show(null);
    this.redraw();
  }

  // Paper does not wait for the next frame.
  printed() {
    this.fresh();
    this.draw();
  }

  drag([x, y]) {
    const [a, b] = this.start;
    if (this.tool === "box") this.path = [[a, b], [x, b], [x, y], [a, y]];
    else if (this.tool === "lasso") this.path = [...(this.path || [[a, b]]), [x, y]];
    else if (this.tool === "move") {
      if (!this.held) this.hold();
      const [x0, x1, y0, y1] = this.before, scales = this.scales();
      const dx = (x - a) / scales[1], dy = (y - b) / scales[3];
      this.window = [x0 - dx, x1 - dx, y0 - dy, y1 - dy];
      this.redraw();
    }
    this.show(null);
    this.drawTop();
  }

  release([x, y], adds) {
    const still = Math.hypot(x - this.start[0], y - this.start[1]) < 4 && (!this.path || this.path.length < 8);
    const path = this.path;
    this.forget();
    if (still) {
      const row = this.nearest(x, y);
      if (row !== null && this.tool !== "look") this.toggle(row);
      this.show(row);
    } else if (path) this.select([...(adds ? this.chosen : []), ...this.within(path)]);
  }

  forget() {
    this.start = this.path = null;
    this.settle();
    this.drawTop();
  }

  key(event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const zooms = { "+": 0.7, "=": 0.7, "-": 1 / 0.7, 0: 0 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ways) this.step(ways[event.key], event.shiftKey);
    else if (event.key in zooms) this.zoom(zooms[event.key]);
    else if (event.key === "Escape") this.select([]);
    else if (event.key === "u" && this.hasRegions()) this.outlined(!this.regionsOn);
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
  for (const mark of document.querySelectorAll("[data-row]")) root.scatter.link(mark);
  for (const still of document.querySelectorAll("details.still")) still.open = false;
}
