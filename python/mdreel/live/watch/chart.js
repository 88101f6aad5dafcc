"use strict";
// A line over an axis, in the width that there is, drawn anew when there is more to draw.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 150;
const EDGE = { left: 52, right: 12, top: 10, bottom: 24 };

const make = (name, className = "", text = "") => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== "") element.textContent = text;
  return element;
};

const draw = (name, attributes, text = "") => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== "") element.textContent = text;
  return element;
};

// A number as people read it: as many digits as mean something.
const digits = (value, n = 4) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(n - 1);
  if (size >= 10 ** (n - 1)) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(n)));
};

const roundStep = (least) => {
  const size = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((factor) => factor * size >= least * (1 - 1e-9)) * size;
};

// Round numbers from low to high, not closer than least.
const ticksOf = (low, high, least) => {
  const step = roundStep(least);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const named = (value) => (decimals > 6 ? value.toExponential(1) : value.toLocaleString("en", {
    minimumFractionDigits: decimals, maximumFractionDigits: decimals,
  }));
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step).map((value) => [value, named(value)]);
};

// The unit in which the end of an axis has a short number.
const UNITS = {
  ps: [["ms", 1e9], ["µs", 1e6], ["ns", 1e3], ["ps", 1]],
  s: [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]],
};
const unitOf = (unit, end) => (UNITS[unit] || []).find(([, size]) => Math.abs(end) >= 2 * size) || [unit, 1];

class Chart {
  constructor(title, unit, xTitle, xUnit, paint, fromZero, hasLabels = false) {
    // Labels, such as numbers of clusters, have no values between them: they are dots without a line.
    Object.assign(this, { title, unit, xTitle, xUnit, fromZero, hasLabels, xs: [], ys: [] });
    this.element = make("figure", `chart ${paint}`);
    const caption = make("figcaption");
    this.latest = make("b");
    caption.append(make("span", "", unit ? `${title} (${unit})` : title), this.latest);
    this.svg = draw("svg", { height: HEIGHT, role: "img" });
    this.element.append(caption, this.svg);
    this.pointed = null;
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => { this.pointed = null; this.paint(); });
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  // The axis may turn out to be another one.
  update(xs, ys, xTitle = this.xTitle, xUnit = this.xUnit) {
    Object.assign(this, { xs, ys, xTitle, xUnit });
    this.paint();
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = this.low + (event.clientX - box.left - EDGE.left) / this.across * (this.high - this.low);
    const far = this.xs.map((value) => (value === null ? Infinity : Math.abs(value - x)));
    this.pointed = far.indexOf(Math.min(...far));
    this.paint();
  }

  paint() {
    const width = this.element.clientWidth;
    const known = this.xs.map((x, i) => [x, this.ys[i]]).filter(([x, y]) => x !== null && y !== null);
    const shown = this.pointed !== null && this.pointed < this.xs.length ? this.pointed : this.xs.length - 1;
    this.svg.replaceChildren();
    this.svg.dataset.points = known.length;
    if (!width || !known.length) {
      this.latest.textContent = "–";
      return;
    }
    const [, end] = [known[0][0], known[known.length - 1][0]];
    [this.low, this.high] = [known[0][0], end];
    if (this.high <= this.low) this.high = this.low + 1;
    let [bottom, top] = [Infinity, -Infinity];
    for (const [, y] of known) [bottom, top] = [Math.min(bottom, y), Math.max(top, y)];
    if (this.fromZero) bottom = Math.min(0, bottom);
    const room = this.hasLabels ? 0.5 : top > bottom ? 0.06 * (top - bottom) : Math.abs(top) * 0.05 || 1;
    [bottom, top] = [this.fromZero && bottom === 0 ? 0 : bottom - room, top + room];
    this.across = width - EDGE.left - EDGE.right;
    const down = HEIGHT - EDGE.top - EDGE.bottom;
    const at = (x) => EDGE.left + (x - this.low) / (this.high - this.low) * this.across;
    const up = (y) => EDGE.top + (top - y) / (top - bottom) * down;
    const [xUnit, size] = unitOf(this.xUnit, this.high);

    for (const [y, name] of ticksOf(bottom, top, Math.max((top - bottom) / 4, this.hasLabels || this.unit === "frames" ? 1 : 0))) {
      this.svg.append(draw("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: up(y), y2: up(y) }));
      this.svg.append(draw("text", { class: "end", x: EDGE.left - 6, y: up(y) + 4 }, name));
    }
    const [first, last] = [this.low / size, this.high / size];
    const xTicks = ticksOf(first, last, (last - first) * Math.min(64 / this.across, 1));
    const label = [this.xTitle, xUnit].filter(Boolean).join(", ");
    for (const [x, name] of xTicks) {
      // Of the words of the axis no number is to be written over.
      if (at(x * size) < width - EDGE.right - 7 * label.length - 16) {
        this.svg.append(draw("text", { class: "middle", x: at(x * size), y: HEIGHT - 6 }, name));
      }
    }
    this.svg.append(draw("text", { class: "end", x: width - EDGE.right, y: HEIGHT - 6 }, label));
    let path = "";
    let isDown = false;
    this.xs.forEach((x, i) => {
      const y = this.ys[i];
      if (x === null || y === null) { isDown = false; return; }
      path += `${isDown && !this.hasLabels ? "L" : "M"}${at(x).toFixed(1)} ${up(y).toFixed(1)}${this.hasLabels ? "h0" : ""}`;
      isDown = true;
    });
    this.svg.append(draw("path", { class: this.hasLabels ? "line labels" : "line", d: path }));
    const [x, y] = [this.xs[shown], this.ys[shown]];
    if (x !== null && y !== null) this.svg.append(draw("circle", { class: "dot", cx: at(x), cy: up(y), r: 3 }));
    const where = this.pointed === null ? "" : ` at ${digits(x / size)} ${xUnit}`.trimEnd();
    this.latest.textContent = `${digits(y)}${this.unit && y !== null ? ` ${this.unit}` : ""}${where}`;
    this.svg.setAttribute("aria-label", `${this.title}: ${this.latest.textContent}, ${known.length} points`);
  }
}

// Bars of 0 to 7, as a path in a box of their own.
const bars = (levels) => {
  const svg = draw("svg", {
    class: "bars", viewBox: `0 0 ${Math.max(levels.length, 1)} 8`, preserveAspectRatio: "none", "aria-hidden": "true",
  });
  const parts = levels.map((level, i) => (level === null ? "" : `M${i} 8V${7 - level}h.8V8z`));
  svg.append(draw("path", { d: parts.join("") }));
  return svg;
};
