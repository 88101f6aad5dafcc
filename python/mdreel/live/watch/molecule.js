// The 3-D view of the latest frames of a channel, drawn by 3Dmol.js, which is loaded when a view is first opened.

const KEPT = 50;
const REBUILT = 10;
const STYLES = {
  cartoon: { cartoon: { color: "spectrum" } },
  sticks: { stick: { radius: 0.15 } },
  spheres: { sphere: { scale: 0.9 } },
  lines: { line: {} },
};
const library = { asked: null };

const answerOf = async (answer) => {
  if (answer.ok) return answer;
  const text = await answer.text();
  let why = text.trim();
  try { why = JSON.parse(text).error || why; } catch { /* It is plain text. */ }
  throw new Error(why);
};

const load = async () => {
  const [script, molecule] = await Promise.all([
    fetch("viewer.js", authorized()).then(answerOf).then((answer) => answer.text()),
    fetch("molecule", authorized()).then(answerOf).then((answer) => answer.json()),
  ]);
  if (!window.$3Dmol) {
    const element = make("script", "", script);  // its hash is in the policy of the page
    document.head.append(element);
  }
  if (!window.$3Dmol) throw new Error("this browser cannot run the 3-D view");
  return molecule;
};

// Undoes jumps of bonded atoms over the boundaries of the cell. Three row vectors in a lower triangle, as engines write them.
const makeWhole = (molecule, xyz, box) => {
  if (!box || !(box[0] > 0 && box[4] > 0 && box[8] > 0)) return;
  for (const atom of molecule.order) {
    const parent = molecule.parents[atom];
    if (parent < 0) continue;
    for (const [axis, row] of [[2, 6], [1, 3], [0, 0]]) {
      const n = Math.round((xyz[3 * atom + axis] - xyz[3 * parent + axis]) / box[row + axis]);
      if (n) for (let k = 0; k < 3; k += 1) xyz[3 * atom + k] -= n * box[row + k];
    }
  }
};

const columns = (text, width) => String(text).slice(0, width).padStart(width);

// The atoms in the format PDB, from which 3Dmol.js finds secondary structure.
const pdbOf = (molecule, xyz) => {
  const chains = new Map();
  for (const one of molecule.chains) if (!chains.has(one)) chains.set(one, String.fromCharCode(65 + chains.size % 26));
  const lines = molecule.names.map((name, i) => {
    const residue = molecule.residues[i];
    const at = [0, 1, 2].map((k) => columns(xyz[3 * i + k].toFixed(3), 8)).join("");
    const named = name.length < 4 ? ` ${name.padEnd(3)}` : name.slice(0, 4);
    const chain = chains.get(molecule.chains[residue]);
    const number = ((molecule.resids[residue] % 10000) + 10000) % 10000;
    const which = `${columns(molecule.resnames[residue].slice(0, 3), 3)} ${chain}${columns(number, 4)}`;
    return `ATOM  ${columns(i % 100000, 5)} ${named} ${which}    ${at}  1.00  0.00          ${columns(molecule.elements[i], 2)}`;
  });
  return `${lines.join("\n")}\nEND\n`;
};

class MoleculeView {
  constructor(channel) {
    this.channel = channel;
    this.element = make("section", "molecule");
    this.toggle = button("Show the 3-D view", () => this.switch(), "add");
    this.panel = make("div");
    this.panel.hidden = true;
    this.stage = make("div", "stage");
    this.stage.setAttribute("role", "img");
    this.said = make("p", "note");
    this.style = make("select");
    this.style.setAttribute("aria-label", "representation");
    this.style.append(...Object.keys(STYLES).map((name) => option(name)));
    this.style.addEventListener("change", () => this.paint(true));
    this.slider = make("input", "frames");
    Object.assign(this.slider, { type: "range", min: 0, max: 0, value: 0 });
    this.slider.setAttribute("aria-label", "frame");
    this.slider.addEventListener("input", () => { this.isLive = Number(this.slider.value) === this.frames.length - 1; this.paint(); });
    const tools = make("div", "tools");
    tools.append(this.style, button("Whole molecule", () => { this.viewer.zoomTo(); this.viewer.render(); }), this.slider);
    this.panel.append(this.stage, tools, this.said);
    this.element.append(this.toggle, this.panel);
    this.frames = [];
    this.isLive = true;
    this.last = 0;
    this.n = 0;
  }

  get isOpen() { return !this.panel.hidden && !this.element.hidden; }

  async switch() {
    this.panel.hidden = !this.panel.hidden;
    set(this.toggle, this.panel.hidden ? "Show the 3-D view" : "Hide the 3-D view");
    if (this.panel.hidden || this.viewer) { this.update(); return; }
    set(this.said, "reading the topology");
    try {
      library.asked = library.asked || load();
      this.molecule = await library.asked;
      const back = getComputedStyle(this.stage).backgroundColor;
      this.viewer = window.$3Dmol.createViewer(this.stage, { backgroundColor: back, antialias: true });
      if (!this.viewer) throw new Error("this browser has no WebGL, which the 3-D view needs");
      const { names, residues } = this.molecule;
      const chains = new Set(residues.filter((_, i) => ["CA", "P"].includes(names[i])));
      this.hasRibbon = residues.map((residue) => chains.has(residue));
      if (!chains.size) this.style.value = "sticks";
      set(this.said, "waiting for a frame");
    } catch (error) {
      library.asked = null;
      set(this.said, error.message);
      return;
    }
    this.update();
  }

  // Asks for the latest frame, at most once at a time.
  async update() {
    if (!this.isOpen || !this.viewer || this.isAsking) return;
    this.isAsking = true;
    try {
      const query = new URLSearchParams({ channel: this.channel, after: this.last });
      const content = await (await fetch(`frame?${query}`, authorized()).then(answerOf)).arrayBuffer();
      this.take(new Uint8Array(content));
    } catch (error) {
      set(this.said, error.message);
    }
    this.isAsking = false;
  }

  take(content) {
    const end = content.indexOf(10);
    const head = JSON.parse(new TextDecoder().decode(content.subarray(0, end)));
    if (content.length <= end + 1) return;
    const view = new DataView(content.buffer, end + 1);
    const xyz = new Float32Array(view.byteLength / 4);
    for (let i = 0; i < xyz.length; i += 1) xyz[i] = view.getFloat32(4 * i, true);
    makeWhole(this.molecule, xyz, head.box);
    this.last = head.number;
    this.frames.push({ ...head, xyz });
    if (this.frames.length > KEPT) this.frames.shift();
    this.slider.max = this.frames.length - 1;
    if (this.isLive) this.slider.value = this.frames.length - 1;
    this.paint();
  }

  paint(isNewStyle = false) {
    const frame = this.frames[Number(this.slider.value)];
    if (!frame || !this.viewer) return;
    if (frame === this.painted && !isNewStyle) return;
    const isFirst = !this.model;
    if (isFirst || this.n % REBUILT === 0) this.build(frame.xyz);
    else this.model.selectedAtoms({}).forEach((atom, i) => { [atom.x, atom.y, atom.z] = frame.xyz.subarray(3 * i, 3 * i + 3); });
    this.n += 1;
    this.painted = frame;
    this.model.setStyle({}, STYLES[this.style.value]);
    // Residues without a backbone have no ribbon.
    if (this.style.value === "cartoon") this.model.setStyle({ predicate: (atom) => !this.hasRibbon[atom.index] }, STYLES.sticks);
    if (isFirst) this.viewer.zoomTo();
    this.viewer.render();
    const time = frame.time === null ? "" : `, ${digits(frame.time, 6)} ps`;
    const left = this.molecule.n_left ? `, ${this.molecule.n_left.toLocaleString("en")} atoms left out` : "";
    const which = this.isLive ? "" : " (earlier frame)";
    set(this.said, `step ${frame.step.toLocaleString("en")}${time}${which}; ${this.molecule.names.length.toLocaleString("en")} atoms: ${this.molecule.selection}${left}`);
    this.stage.dataset.number = frame.number;
    this.stage.setAttribute("aria-label", `3-D view: ${this.said.textContent}`);
  }

  // Secondary structure changes slowly, and finding it takes longer than moving atoms.
  build(xyz) {
    if (this.model) this.viewer.removeModel(this.model);
    const { bonds } = this.molecule;
    this.model = this.viewer.addModel(pdbOf(this.molecule, xyz), "pdb", { keepH: true, assignBonds: !bonds.length });
    const atoms = this.model.selectedAtoms({});
    atoms.forEach((atom, i) => { atom.elem = this.molecule.elements[i]; });
    if (!bonds.length) return;
    for (const atom of atoms) [atom.bonds, atom.bondOrder] = [[], []];
    for (const [a, b] of bonds) {
      atoms[a].bonds.push(b);
      atoms[a].bondOrder.push(1);
      atoms[b].bonds.push(a);
      atoms[b].bondOrder.push(1);
    }
  }
}
