// What is seen of channels, asked for again and again while somebody looks at the page.

const token = new URLSearchParams(location.search).get("token") || "";
const interval = Math.max(250, Number(document.body.dataset.interval));
const FEW = 4;
const STATES = new Set([
  "running", "finished", "stopped", "failed", "lost", "dead", "unreadable", "absent", "starting", "paused",
]);
const TIMES = ["wait", "read", "decompress", "compute"];

const channelList = document.getElementById("channels");
const said = document.getElementById("said");
const cards = new Map();
let isFirst = true;

const set = (element, text) => { if (element.textContent !== text) element.textContent = text; };
const bytes = (value) => {
  const [name, size] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]].find(([, one]) => value >= one) || ["B", 1];
  return `${digits(value / size, 3)} ${name}/s`;
};
const counted = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
const badge = (element, state) => {
  element.className = `state ${STATES.has(state) ? state : ""}`.trim();
  set(element, state);
};

class Analysis {
  constructor(channel, change) {
    this.channel = channel;
    this.element = make("section", "analysis");
    this.head = make("h3");
    this.name = make("span");
    this.state = make("span", "state");
    this.facts = make("span", "facts");
    this.tools = new AnalysisTools(change);
    this.saving = button("Download", () => this.save());
    this.head.append(this.name, this.state, this.facts, this.saving, this.tools.element);
    this.reason = make("p", "reason");
    this.times = make("div", "times");
    this.legend = make("ul", "legend");
    this.charts = make("div", "charts");
    this.element.append(this.head, this.reason, this.times, this.legend, this.charts);
    this.known = new Map();
  }

  update(facts) {
    set(this.name, facts.name);
    const isPaused = facts.managed && facts.managed.state === "paused" && facts.state === "running";
    badge(this.state, isPaused ? "paused" : facts.state);
    set(this.reason, facts.reason || "");
    this.tools.update(facts.managed);
    this.key = facts.key;
    this.saving.hidden = !(facts.columns && facts.columns.length);
    if (!facts.columns) return;
    const left = facts.n_columns - facts.columns.length;
    set(this.facts, `process ${facts.process}, ${facts.n_frames.toLocaleString("en")} frames`
      + (left > 0 ? `, ${left.toLocaleString("en")} more columns` : ""));
    this.updateTimes(facts.seconds);
    const first = facts.is_of_frames ? 2 : 1;
    const wanted = new Set();
    const axis = facts.is_of_frames ? ["", "ps"] : facts.columns[0] || ["", ""];
    let xs = facts.curves ? facts.curves[facts.is_of_frames ? 1 : 0] : [];
    if (facts.is_of_frames && xs && xs.some((x, i) => i && x < xs[i - 1])) {
      // Where times begin anew, as of several files behind one another, frames are in their order.
      xs = facts.curves[0];
      axis.splice(0, 2, "frame", "");
    }
    facts.columns.slice(first).forEach(([name, unit], i) => {
      const key = JSON.stringify([facts.is_of_frames, name, unit]);
      wanted.add(key);
      if (!this.known.has(key)) {
        const chart = new Chart(name, unit, ...axis, "read", false, facts.is_of_frames && name === "cluster");
        this.known.set(key, chart);
        this.charts.append(chart.element);
      }
      if (facts.curves) this.known.get(key).update(xs, facts.curves[first + i], ...axis);
    });
    for (const [key, chart] of this.known) {
      if (!wanted.has(key)) { chart.element.remove(); this.known.delete(key); }
    }
  }

  async save() {
    const query = new URLSearchParams({ channel: this.channel, analysis: this.key, format: "csv" });
    try {
      const answer = await fetch(`results?${query}`, authorized()).then(answerOf);
      const link = make("a");
      link.href = URL.createObjectURL(await answer.blob());
      link.download = answer.headers.get("Content-Disposition").split('"')[1];
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    } catch (error) {
      set(this.reason, error.message);
    }
  }

  updateTimes(seconds) {
    const wall = seconds.wall || 0;
    const parts = TIMES.filter((kind) => seconds[kind] > 0).map((kind) => [kind, seconds[kind]]);
    this.times.hidden = this.legend.hidden = !(wall > 0 && parts.length);
    if (this.times.hidden) return;
    const left = wall - parts.reduce((sum, [, value]) => sum + value, 0);
    if (left > 0) parts.push(["overheads", left]);
    this.times.replaceChildren(...parts.map(([kind, value]) => {
      const part = make("i", kind);
      part.style.flexGrow = value / wall;
      return part;
    }));
    this.legend.replaceChildren(...parts.map(([kind, value]) => {
      const key = make("li", `key ${kind}`);
      const name = { wait: "idle", read: "movement", overheads: "other" }[kind] || kind;
      key.append(make("i"), `${name} `, make("b", "", `${digits(100 * Math.min(value / wall, 1), 2)} %`));
      return key;
    }));
  }
}

// The analyses of a channel with what the page knows of those that were added on it, also before they have results.
const withManaged = (facts) => {
  const notices = facts.analyses.map((one) => ({ ...one, managed: facts.managed.find((m) => m.process === one.process) }));
  const shown = new Set(notices.map((one) => one.managed));
  const others = facts.managed.filter((managed) => !shown.has(managed)).map((managed) => ({
    key: `managed ${managed.id}`, name: managed.name || managed.settings.type, state: managed.state, reason: managed.reason, managed,
  }));
  return [...notices, ...others];
};

class Card {
  constructor(isOpen, path) {
    this.element = make("section", "card channel");
    this.button = make("button", "row");
    this.button.type = "button";
    this.name = make("span", "name");
    this.state = make("span", "state");
    this.numbers = make("span", "numbers");
    this.bars = make("span", "small");
    this.button.append(this.name, this.state, this.numbers, this.bars);
    this.button.addEventListener("click", () => { this.open(!this.isOpen); layout.keep(); ask(); });
    this.reason = make("p", "reason");
    this.body = make("div", "body");
    this.figures = make("div", "figures");
    this.analyses = make("div");
    this.form = new AnalysisForm(path);
    this.adding = button("Add an analysis", () => this.form.open(), "add");
    this.pausing = new SimulationTools(path);
    this.alerts = new Alerts(path);
    this.charts = make("div", "charts");
    this.rate = new Chart("frames a second", "", "watched", "s", "compute", true);
    this.lag = new Chart("lag of the slowest consumer", "frames", "watched", "s", "open", true);
    this.charts.append(this.rate.element, this.lag.element);
    this.log = make("div", "log");
    this.molecule = new MoleculeView(path);
    const more = [this.adding, this.form.element, this.alerts.element];
    this.path = path;
    this.body.append(this.figures, this.pausing.element, this.molecule.element, this.analyses, ...more, this.charts, this.log);
    this.element.append(this.button, this.reason, this.body);
    this.known = new Map();
    this.open(isOpen);
  }

  open(isOpen) {
    this.isOpen = isOpen;
    this.body.hidden = !isOpen;
    this.button.setAttribute("aria-expanded", String(isOpen));
  }

  update(facts) {
    set(this.name, facts.name);
    badge(this.state, facts.is_paused ? "paused" : facts.state);
    set(this.reason, facts.reason || "");
    const lag = facts.lags.length ? Math.max(...facts.lags) : null;
    const rate = facts.frames_per_second;
    const short = facts.n_frames === null ? [] : [
      `${facts.n_frames.toLocaleString("en")} frames`, rate === null ? "" : `${digits(rate, 3)}/s`,
      lag === null ? "" : `lag ${lag.toLocaleString("en")}`,
      ...facts.analyses.filter((one) => one.state === "running").flatMap((one) => Object.entries(one.latest || {})
        .slice(0, 1).map(([name, value]) => `${name} ${digits(value)}`)).slice(0, 1),
      facts.alerts.events.length ? counted(facts.alerts.events.length, "alert") : "",
    ];
    set(this.numbers, short.filter(Boolean).join(" · "));
    const mark = facts.bars.join();
    if (mark !== this.barsMark) this.bars.replaceChildren(bars(facts.bars));
    this.barsMark = mark;
    if (!this.isOpen) return;
    this.updateFigures(facts);
    if (!facts.history) return;
    this.rate.update(facts.history.elapsed, facts.history.frames_per_second);
    this.lag.update(facts.history.elapsed, facts.history.lag);
    this.updateAnalyses(withManaged(facts));
    this.adding.hidden = !rights.analyse || facts.state !== "running";
    this.pausing.update(facts);
    this.alerts.update(facts.alerts, facts.analyses);
    this.molecule.element.hidden = !rights.molecule;
    this.molecule.update();
    this.updateLog(facts.steering, facts.steering_damaged);
  }

  updateFigures(facts) {
    this.figures.hidden = facts.n_frames === null;
    if (this.figures.hidden) return;
    const entries = [
      ["frames", facts.n_frames.toLocaleString("en")],
      ["frames/s", digits(facts.frames_per_second, 3)],
      ["published", facts.bytes_per_second === null ? "–" : bytes(facts.bytes_per_second)],
      ["dropped", facts.n_dropped.toLocaleString("en")],
      ["atoms", facts.n_atoms.toLocaleString("en")],
      [facts.lags.length === 1 ? "lag of the consumer" : "lag of each consumer", facts.lags.slice(0, 6).join(", ") || "–"],
    ];
    this.figures.replaceChildren(...entries.map(([name, value]) => {
      const figure = make("div");
      figure.append(make("b", "", value), make("span", "", name));
      return figure;
    }));
  }

  updateAnalyses(analyses) {
    const keys = new Set(analyses.map((one) => one.key));
    for (const [key, analysis] of this.known) {
      if (!keys.has(key)) { analysis.element.remove(); this.known.delete(key); }
    }
    analyses.forEach((facts, i) => {
      if (!this.known.has(facts.key)) this.known.set(facts.key, new Analysis(this.path, (managed) => this.form.open(managed)));
      const { element } = this.known.get(facts.key);
      if (this.analyses.children[i] !== element) this.analyses.insertBefore(element, this.analyses.children[i] || null);
      this.known.get(facts.key).update(facts);
    });
  }

  updateLog(events, damaged) {
    const mark = JSON.stringify([events.length, events.at(-1), damaged]);
    if (mark === this.mark) return;
    this.mark = mark;
    this.log.replaceChildren();
    if (!events.length && !damaged) return;
    this.log.append(make("h3", "", "Steering"));
    const list = make("ol");
    for (const event of events.slice(-50).reverse()) {
      const line = make("li");
      const time = make("time", "", new Date(1000 * event.time).toLocaleTimeString());
      const values = Object.entries(event.values).map(([name, value]) => `${name} ${digits(value)}`).join(", ");
      const when = event.frame_time === null ? "" : `at ${digits(event.frame_time)} ps`;
      const words = [event.message, [values, when].filter(Boolean).join(" ")].filter(Boolean).join(" – ");
      line.append(time, make("b", `event ${/^[a-z-]+$/.test(event.event) ? event.event : ""}`, event.event));
      line.append(make("span", "rule", event.rule || ""), make("span", "words", words));
      list.append(line);
    }
    this.log.append(list);
    if (damaged) this.log.append(make("p", "note", `${damaged} lines of the log cannot be read`));
  }
}

const notifying = button("Notify me of alerts", async () => { await Notification.requestPermission(); ask(); }, "add");
notifying.hidden = true;
said.after(notifying);
channelList.before(comparison.element);

const show = (state) => {
  Object.assign(rights, { operate: state.may_operate, analyse: state.may_analyse, molecule: state.has_molecule });
  offerNotifications(notifying, state.channels.some((one) => one.alerts.thresholds.length));
  notify(state.channels);
  if (isFirst && state.channels.length) {
    isFirst = false;
    const kept = layout.read();
    comparison.chosen = (kept && kept.compared) || "";
    const usual = state.channels.slice(0, state.channels.length <= FEW ? FEW : 0);
    const open = kept ? state.channels.filter((one) => kept.open.includes(one.path)) : usual;
    open.forEach((one) => cards.set(one.path, new Card(true, one.path)));
  }
  comparison.offer(state.channels);
  const keys = new Set(state.channels.map((one) => one.path));
  for (const [key, card] of cards) {
    if (!keys.has(key)) { card.element.remove(); cards.delete(key); }
  }
  state.channels.forEach((facts, i) => {
    if (!cards.has(facts.path)) cards.set(facts.path, new Card(false, facts.path));
    const card = cards.get(facts.path);
    if (channelList.children[i] !== card.element) channelList.insertBefore(card.element, channelList.children[i] || null);
    card.update(facts);
  });
  const counts = new Map();
  state.channels.forEach(({ state: one }) => counts.set(one, (counts.get(one) || 0) + 1));
  const n = state.channels.length;
  set(document.getElementById("title"), n === 1 ? "1 channel" : `${n} channels`);
  const states = [...counts].map(([name, count]) => `${count} ${name}`).join(", ");
  set(said, `${states || "nobody publishes here"} · ${new Date(1000 * state.time).toLocaleTimeString()}`);
  channelList.classList.remove("old");
};

let due = 0;
let isAsking = false;
const ask = async () => {
  clearTimeout(due);
  if (isAsking) return;
  isAsking = true;
  let isRefused = false;
  try {
    const opened = [...cards].filter(([, card]) => card.isOpen).map(([path]) => ["open", path]);
    const answer = await fetch(`state?${new URLSearchParams(opened)}`, {
      headers: { Authorization: `Bearer ${token}` }, cache: "no-store", signal: AbortSignal.timeout(20000),
    });
    isRefused = answer.status === 403;
    if (!answer.ok) throw new Error(answer.status);
    const wasFirst = isFirst;
    show(await answer.json());
    due = wasFirst && !isFirst ? -1 : 0;
  } catch {
    channelList.classList.add("old");
    set(said, isRefused ? "the token is no longer valid: open the address that mdreel watch has printed" : "no answer from mdreel watch; trying again");
  }
  isAsking = false;
  // What is opened at first has curves, which were not asked for yet.
  if (!document.hidden && !isRefused) due = setTimeout(ask, due === -1 ? 0 : interval);
};
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
ask();
