// Scale and floors of the plots of benchmarks.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const plot of document.querySelectorAll(".bench")) {
    const rows = [...plot.querySelectorAll(".bench-row[data-ratio]")];
    const axis = plot.querySelector(".bench-axis .bench-track");
    const linear = plot.querySelector(".bench-linear");
    const floors = plot.querySelector(".bench-floors");
    const low = Number(plot.dataset.low);
    const high = Number(plot.dataset.high);

    const draw = () => {
      const shown = rows.filter((row) => !row.hidden);
      const largest = Math.max(...shown.map((row) => Number(row.dataset.highest)));
      const place = linear.checked
        ? (ratio) => (100 * ratio) / largest
        : (ratio) => (100 * (Math.log10(ratio) - low)) / Math.max(high - low, 1);
      for (const row of rows) {
        const [from, to] = [place(Number(row.dataset.lowest)), place(Number(row.dataset.highest))];
        row.querySelector(".bench-range").style.left = `${from}%`;
        row.querySelector(".bench-range").style.width = `${to - from}%`;
        row.querySelector(".bench-dot").style.left = `${place(Number(row.dataset.ratio))}%`;
      }
      const step = 10 ** Math.floor(Math.log10(largest / 2));
      const ticks = linear.checked
        ? Array.from({ length: Math.floor(largest / step) + 1 }, (_, i) => i * step)
        : Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
      const every = Math.ceil(ticks.length / 6);
      axis.replaceChildren(
        ...ticks.filter((_, i) => !linear.checked || i % every === 0).map((ratio) => {
          const tick = document.createElement("span");
          tick.className = "bench-tick";
          tick.style.left = `${place(ratio)}%`;
          tick.textContent = `${Number(ratio.toPrecision(3))}×`;
          return tick;
        }),
      );
    };

    plot.querySelector(".bench-controls").hidden = false;
    linear.addEventListener("change", draw);
    floors?.addEventListener("change", () => {
      for (const row of rows) row.hidden = !floors.checked && row.classList.contains("bench-floor");
      draw();
    });
  }
});
