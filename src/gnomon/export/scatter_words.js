/*
 * What is said of a picture as a whole and of each of its rows.
 */
"use strict";
const MOST = 16; // lines of what is said of a row, and classes that are counted in words

class Words extends Regions {
  id(row) {
    return this.data.ids ? this.data.ids[row] : row;
  }

  describe() {
    const { columns, n } = this.data, { color } = this.shown;
    const drawn = this.xs.reduce((sum, value, i) => sum + Number.isFinite(value + this.ys[i]), 0);
    const reach = (column) => {
      const ends = range(column.values.filter((value) => value !== null));
      return column.kind === "number" ? ` from ${text(ends[0])} to ${text(ends[1])}` : "";
    };
    const [across, up] = ["x", "y"].map((key) => `${this.axisName(key)}${reach(columns[this.shown[key]])}`);
    let said = `${counted(drawn)} of ${counted(n)} rows are drawn: ${across} across, ${up} up.`;
    if (color !== null && columns[color].kind === "classes") {
      const { name, classes } = columns[color];
      const counts = this.counts(color).map(([many, given], j) => `${classes[j]}: ${counted(many)}${given}`);
      const others = counts.length > MOST ? `, and ${counts.length - MOST} other classes` : "";
      said += ` Rows by ${name}: ${counts.slice(0, MOST).join(", ")}${others}.`;
    } else if (color !== null) said += ` The color is ${columns[color].name}${reach(columns[color])}${this.given(color, () => true)}.`;
    this.summary.textContent = said;
  }

  // In a few words: in how many of some rows a column of what is given or predicted has what is given.
  given(color, has) {
    const { either } = this.data.columns[color];
    if (!either) return "";
    const known = this.data.columns[either[0]].values.filter((value) => value !== null && has(value)).length;
    return ` (${counted(known)} given)`;
  }

  counts(color) {
    const { classes, values } = this.data.columns[color], counts = classes.map(() => 0);
    for (const code of values) if (code !== null) counts[code]++;
    return counts.map((many, code) => [many, this.given(color, (value) => value === code)]);
  }

  // What is known of a row: first what is not a place, of which all is said.
  lines(row) {
    const said = this.data.columns.flatMap(({ name, kind, classes, values, either }, j) => {
      const value = values[row], far = this.reach(row, j);
      const about = far === null ? "" : `\u00a0\u00b1\u00a0${text(Number(far.toPrecision(2)))}\u00a0(95\u00a0%)`;
      const shown = value !== null && kind === "classes" ? String(classes[value]) : text(value) + about;
      return either ? [] : [[name, shown]];
    });
    const { components } = this.data;
    return [...said.slice(components), ...said.slice(0, components)].slice(0, MOST);
  }

  reasons(row) {
    const { top, columns } = this.data;
    if (!top) return [];
    return [this.shown.x, this.shown.y].filter((j) => top.of[j]).map((j) => {
      const { most, columns: names, added } = top.of[j], said = [];
      for (let i = row * most; i < (row + 1) * most; i++) {
        if (added[i]) said.push(`${top.names[names[i]]} ${added[i] > 0 ? "+" : ""}${text(added[i])}`);
      }
      return `most of ${columns[j].name}${top.nearly ? ", approximately" : ""}: ${said.join(", ") || "nothing"}`;
    });
  }
}
