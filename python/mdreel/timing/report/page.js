"use strict";
// Tooltip of the band of a plot under the pointer.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);

const place = (event) => {
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const above = event.clientY + tip.offsetHeight + 24 > window.innerHeight;
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, room))}px`;
  tip.style.top = `${above ? event.clientY - tip.offsetHeight - 10 : event.clientY + 16}px`;
};

for (const plot of document.querySelectorAll("[data-tips]")) {
  const canvas = plot.querySelector("svg.canvas");
  const texts = JSON.parse(plot.dataset.tips);
  const { along, unit, end } = plot.dataset;
  plot.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const y = (event.clientY - box.top) / box.height;
    const isInside = x >= 0 && x < 1 && y >= 0 && y < 1;
    tip.hidden = !isInside;
    if (!isInside) return;
    const text = texts[Math.floor((along === "x" ? x : y) * texts.length)];
    tip.textContent = unit ? `at ${(x * end).toPrecision(3)} ${unit}\n${text}` : text;
    place(event);
  });
  plot.addEventListener("pointerleave", () => { tip.hidden = true; });
}
