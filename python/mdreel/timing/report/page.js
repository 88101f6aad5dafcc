"use strict";
// One tooltip shows the definition of a term, or the band of a plot. Pointer, keyboard and touch open it.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);
let closing = 0;
let follow = null;

const show = (text, isTerm, left, below, above) => {
  clearTimeout(closing);
  tip.textContent = text;
  tip.classList.toggle("of-term", isTerm);
  tip.hidden = false;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const isAbove = below + tip.offsetHeight + 8 > window.innerHeight;
  tip.style.left = `${Math.max(8, Math.min(left, room))}px`;
  tip.style.top = `${Math.max(8, isAbove ? above - tip.offsetHeight : below)}px`;
};
const hide = () => { clearTimeout(closing); tip.hidden = true; follow = null; };

document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
// The tooltip of what has the focus follows it; any other one is closed when the page moves under the pointer.
document.addEventListener("scroll", () => { if (!tip.hidden && follow) follow(); }, { capture: true, passive: true });
for (const kind of ["wheel", "touchmove"]) {
  document.addEventListener(kind, () => { if (!follow) hide(); }, { passive: true });
}
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".term, .tip, [data-tips]")) hide();
});
tip.addEventListener("pointerenter", () => clearTimeout(closing));
tip.addEventListener("pointerleave", hide);

const explain = (term) => {
  const box = term.getBoundingClientRect();
  const definition = document.getElementById(term.getAttribute("aria-describedby"));
  if (box.bottom < 0 || box.top > window.innerHeight) hide();
  else show(definition.textContent, true, box.left, box.bottom + 3, box.top - 3);
};

for (const term of document.querySelectorAll(".term")) {
  const open = () => explain(term);
  for (const kind of ["pointerenter", "focus", "click"]) term.addEventListener(kind, open);
  term.addEventListener("focus", () => { follow = open; });
  term.addEventListener("blur", hide);
  // A short delay lets the pointer move from the term to the tooltip.
  term.addEventListener("pointerleave", () => { closing = setTimeout(hide, 200); });
}

for (const plot of document.querySelectorAll("[data-tips]")) {
  const canvas = plot.querySelector("svg.canvas");
  const texts = JSON.parse(plot.dataset.tips);
  const { along, unit, end } = plot.dataset;
  let band = 0;
  const say = (x, text, left, top) => {
    const said = unit ? `at ${(x * end).toPrecision(3)} ${unit}\n${text}` : text;
    show(said, false, left + 14, top + 16, top - 10);
  };
  const point = (event) => {
    follow = null;
    const box = canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width;
    const y = (event.clientY - box.top) / box.height;
    if (!(x >= 0 && x < 1 && y >= 0 && y < 1)) return hide();
    band = Math.floor((along === "x" ? x : y) * texts.length);
    return say(x, texts[band], event.clientX, event.clientY);
  };
  const step = (by) => {
    band = Math.max(0, Math.min(band + by, texts.length - 1));
    const box = canvas.getBoundingClientRect();
    const at = (band + 0.5) / texts.length;
    const [x, y] = along === "x" ? [at, 0.5] : [0, at];
    if (along === "x") say(x, texts[band], box.left + x * box.width, box.top + y * box.height);
    else show(texts[band], false, box.left + 14, box.top + y * box.height + 16, box.top + y * box.height - 10);
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  plot.addEventListener("focus", () => {
    if (!plot.matches(":focus-visible")) return;
    step(0);
    follow = () => step(0);
  });
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
    follow = () => step(0);
  });
}
