// One result of several channels in one plot, such as the RMSD of all replicas of an ensemble, and the kept layout.

// Classes of colours that can be told apart, also in the dark.
const SERIES = ["read", "compute", "write", "open", "communicate", "reduce", "decompress", "topology"];
const LAYOUT = "mdreel-watch-layout";

const layout = {
  kept: null,
  read() {
    try { this.kept = JSON.parse(localStorage.getItem(LAYOUT)); } catch { this.kept = null; }
    if (!this.kept || !Array.isArray(this.kept.open)) this.kept = null;
    return this.kept;
  },
  // Without storage, as in private windows, the page starts with the usual layout.
  keep() {
    const open = [...cards].filter(([, card]) => card.isOpen).map(([path]) => path);
    try { localStorage.setItem(LAYOUT, JSON.stringify({ open, compared: comparison.chosen })); } catch { /* see above */ }
  },
};

class Comparison {
  constructor() {
    this.element = make("section", "card comparison");
    this.element.hidden = true;
    this.select = make("select");
    this.select.setAttribute("aria-label", "result to compare");
    this.select.addEventListener("change", () => { this.chosen = this.select.value; this.update(); layout.keep(); });
    const head = make("h2", "", "Compare ");
    head.append(this.select);
    this.svg = draw("svg", { height: 260, role: "img" });
    this.legend = make("ul", "legend");
    this.said = make("p", "reason");
    const chart = make("div", "chart");
    chart.append(this.svg);
    this.element.append(head, chart, this.legend, this.said);
    this.chosen = "";
  }

  // Offers each result that at least two channels have.
  offer(channels) {
    const counts = new Map();
    for (const channel of channels) {
      const own = channel.analyses.flatMap((one) => Object.keys(one.latest || {}).map((column) => JSON.stringify([one.name, column])));
      for (const key of new Set(own)) counts.set(key, (counts.get(key) || 0) + 1);
    }
    const keys = [...counts].filter(([, n]) => n > 1).map(([key]) => key);
    this.element.hidden = !keys.length;
    const mark = keys.join();
    if (mark !== this.mark) {
      this.select.replaceChildren(option("", "nothing"), ...keys.map((key) => option(key, JSON.parse(key).join(": "))));
      this.select.value = keys.includes(this.chosen) ? this.chosen : "";
    }
    this.mark = mark;
    this.update();
  }

  async update() {
    const isShown = !this.element.hidden && this.select.value;
    if (!isShown) { this.svg.replaceChildren(); this.legend.replaceChildren(); }
    this.svg.parentNode.hidden = !isShown;
    if (!isShown || this.isAsking) return;
    this.isAsking = true;
    try {
      const [analysis, column] = JSON.parse(this.select.value);
      const answer = await fetch(`comparison?${new URLSearchParams({ analysis, column })}`, authorized()).then(answerOf);
      this.paint(await answer.json());
      set(this.said, "");
    } catch (error) {
      set(this.said, error.message);
    }
    this.isAsking = false;
  }

  paint({ unit, series }) {
    const edge = { left: 56, right: 12, top: 10, bottom: 26 };
    const [width, height] = [this.svg.parentNode.clientWidth, 260];
    const points = series.flatMap(({ times, values }) => times.map((x, i) => [x, values[i]])).filter(([x, y]) => x !== null && y !== null);
    this.svg.replaceChildren();
    this.svg.dataset.series = series.length;
    if (!width || !points.length) return;
    const range = (k) => points.reduce(([low, high], point) => [Math.min(low, point[k]), Math.max(high, point[k])], [Infinity, -Infinity]);
    let [[low, high], [bottom, top]] = [range(0), range(1)];
    if (high <= low) high = low + 1;
    const room = top > bottom ? 0.06 * (top - bottom) : Math.abs(top) * 0.05 || 1;
    [bottom, top] = [bottom - room, top + room];
    const at = (x) => edge.left + (x - low) / (high - low) * (width - edge.left - edge.right);
    const up = (y) => edge.top + (top - y) / (top - bottom) * (height - edge.top - edge.bottom);
    for (const [y, name] of ticksOf(bottom, top, (top - bottom) / 5)) {
      this.svg.append(draw("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: up(y), y2: up(y) }));
      this.svg.append(draw("text", { class: "end", x: edge.left - 6, y: up(y) + 4 }, name));
    }
    const [xUnit, size] = unitOf("ps", high);
    for (const [x, name] of ticksOf(low / size, high / size, (high - low) / size * Math.min(64 / (width - edge.left - edge.right), 1))) {
      if (at(x * size) < width - 60) this.svg.append(draw("text", { class: "middle", x: at(x * size), y: height - 6 }, name));
    }
    this.svg.append(draw("text", { class: "end", x: width - edge.right, y: height - 6 }, xUnit));
    series.forEach(({ times, values }, i) => {
      let path = "";
      let isDown = false;
      times.forEach((x, k) => {
        if (x === null || values[k] === null) { isDown = false; return; }
        path += `${isDown ? "L" : "M"}${at(x).toFixed(1)} ${up(values[k]).toFixed(1)}`;
        isDown = true;
      });
      this.svg.append(draw("path", { class: `line ${SERIES[i % SERIES.length]}`, d: path }));
    });
    this.legend.replaceChildren(...series.map(({ channel, values }, i) => {
      const key = make("li", `key ${SERIES[i % SERIES.length]}`);
      const latest = values[values.length - 1];
      key.append(make("i"), `${channel} `, make("b", "", `${digits(latest)}${unit ? ` ${unit}` : ""}`));
      return key;
    }));
  }
}

const comparison = new Comparison();
