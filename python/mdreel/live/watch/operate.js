// What operators change: requests to the server, and the form of an analysis, made from the schema of its type.

const rights = { operate: false, analyse: false, molecule: false };
let typesAsked = null;

const authorized = (more = {}) => ({
  cache: "no-store", signal: AbortSignal.timeout(60000), ...more, headers: { Authorization: `Bearer ${token}`, ...more.headers },
});

const operate = async (request) => {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("operate", authorized({ method: "POST", headers, body: JSON.stringify(request) }));
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  let why = text.trim();
  try { why = JSON.parse(text).error || why; } catch { /* It is plain text. */ }
  throw new Error(why);
};

const button = (text, act, className = "") => {
  const element = make("button", `tool ${className}`.trim(), text);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
};

const option = (value, text = value) => {
  const element = make("option", "", text);
  element.value = value;
  return element;
};

// A control for one setting. `value` returns undefined where nothing was entered.
class Field {
  constructor(name, schema) {
    this.schema = schema;
    this.several = Boolean(schema.anyOf);
    this.kind = this.several ? schema.anyOf[0] : schema;
    this.element = make("label", "field");
    const usual = schema.default === undefined ? "" : String(schema.default);
    if (this.kind.enum && !this.several) this.control = this.choice(this.kind.enum);
    else if (this.kind.type === "boolean") this.control = this.choice(["yes", "no"]);
    else if (this.several) {
      this.control = make("textarea");
      this.control.rows = 2;
      this.control.placeholder = "one value a line";
    } else {
      this.control = make("input");
      this.isNumber = this.kind.type === "number" || this.kind.type === "integer";
      this.control.type = this.isNumber ? "number" : "text";
      if (this.isNumber) this.control.step = this.kind.type === "integer" ? "1" : "any";
      if (this.isNumber && schema.minimum !== undefined) this.control.min = schema.minimum;
      this.control.placeholder = usual;
    }
    this.control.name = name;
    const about = (schema.description || "").replace(/\s+/g, " ").trim();
    this.element.append(make("b", "", name), this.control, make("small", "", about));
  }

  choice(values) {
    const select = make("select");
    select.append(option("", "default"), ...values.map((value) => option(value)));
    return select;
  }

  set(value) {
    if (this.kind.type === "boolean" && !this.several) this.control.value = value ? "yes" : "no";
    else this.control.value = Array.isArray(value) ? value.join("\n") : String(value);
  }

  get value() {
    const text = this.control.value.trim();
    if (!text) return undefined;
    if (this.several) return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => this.parsed(line));
    return this.parsed(text);
  }

  parsed(text) {
    if (this.kind.type === "boolean") return text === "yes";
    const isNumber = this.kind.type === "number" || this.kind.type === "integer";
    // The server says what is wrong with text that is no number.
    return isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
  }
}

class AnalysisForm {
  constructor(channel) {
    this.channel = channel;
    this.element = make("form", "analysis-form");
    this.element.hidden = true;
    this.element.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
  }

  async open(managed = null) {
    this.managed = managed;
    this.version = (this.version || 0) + 1;
    this.element.hidden = false;
    this.element.replaceChildren(make("p", "note", "asking for the types of analyses"));
    try {
      typesAsked = typesAsked || fetch("analysis-types", authorized()).then((answer) => answer.json());
      this.types = await typesAsked;
    } catch (error) {
      typesAsked = null;
      this.element.replaceChildren(make("p", "reason", String(error.message)));
      return;
    }
    this.build();
  }

  build() {
    const { managed } = this;
    this.type = make("select");
    this.type.name = "type";
    this.type.append(...Object.keys(this.types).map((name) => option(name)));
    if (managed) this.type.value = managed.settings.type;
    this.type.addEventListener("change", () => this.showFields({}));
    this.name = make("input");
    this.name.name = "name";
    this.name.maxLength = 60;
    this.name.placeholder = "name of the type";
    this.name.value = (managed && managed.name) || "";
    const type = make("label", "field");
    this.about = make("small");
    type.append(make("b", "", "type"), this.type, this.about);
    const name = make("label", "field");
    name.append(make("b", "", "name"), this.name, make("small", "", "How the page names the analysis."));
    this.fields = make("div", "fields");
    this.said = make("p", "reason");
    this.said.setAttribute("role", "alert");
    this.send = make("button", "tool main", managed ? "Restart with these settings" : "Add");
    const tools = make("div", "tools");
    tools.append(this.send, button("Cancel", () => { this.element.hidden = true; }));
    const head = make("div", "fields");
    head.append(type, name);
    this.element.replaceChildren(head, this.fields, this.said, tools);
    this.showFields(managed ? managed.settings : {});
    this.type.focus();
  }

  showFields(values) {
    const schema = this.types[this.type.value];
    this.about.textContent = schema.properties.type.description || "";
    this.controls = new Map(Object.entries(schema.properties).filter(([name]) => name !== "type")
      .map(([name, one]) => [name, new Field(name, one)]));
    for (const [name, field] of this.controls) if (values[name] !== undefined) field.set(values[name]);
    this.fields.replaceChildren(...[...this.controls.values()].map((field) => field.element));
  }

  async submit() {
    const settings = { type: this.type.value };
    for (const [name, field] of this.controls) if (field.value !== undefined) settings[name] = field.value;
    const name = this.name.value.trim() || null;
    const request = this.managed
      ? { do: "change-analysis", id: this.managed.id, settings, name }
      : { do: "add-analysis", channel: this.channel, settings, name };
    const { said, send, version } = this;  // the form may be opened anew meanwhile
    send.disabled = true;
    set(said, "");
    try {
      await operate(request);
      if (version === this.version) this.element.hidden = true;
      ask();
    } catch (error) {
      set(said, error.message);
    }
    send.disabled = false;
  }
}

// The buttons of an analysis that was added on a page.
class AnalysisTools {
  constructor(change) {
    this.element = make("span", "tools");
    this.said = make("span", "reason");
    this.pause = button("Pause", () => this.act(this.managed.state === "paused" ? "resume-analysis" : "pause-analysis"));
    this.element.append(
      button("Change", () => change(this.managed)), this.pause, button("Remove", () => this.act("remove-analysis")), this.said,
    );
  }

  update(managed) {
    this.managed = managed;
    this.element.hidden = !managed || !rights.operate;
    if (this.element.hidden) return;
    set(this.pause, managed.state === "paused" ? "Resume" : "Pause");
    this.pause.hidden = managed.state !== "paused" && managed.state !== "running";
  }

  async act(what) {
    set(this.said, "");
    try {
      await operate({ do: what, id: this.managed.id });
      ask();
    } catch (error) {
      set(this.said, error.message);
    }
  }
}

// The buttons of a simulation that can be paused.
class SimulationTools {
  constructor(channel) {
    this.element = make("div", "tools");
    this.said = make("span", "reason");
    this.pause = button("Pause the simulation", () => this.act(), "add");
    this.element.append(this.pause, this.said);
    this.channel = channel;
  }

  update(facts) {
    this.isPaused = facts.is_paused;
    this.element.hidden = !rights.operate || facts.state !== "running";
    set(this.pause, this.isPaused ? "Resume the simulation" : "Pause the simulation");
  }

  async act() {
    set(this.said, "");
    this.pause.disabled = true;
    try {
      await operate({ do: this.isPaused ? "resume-simulation" : "pause-simulation", channel: this.channel });
      ask();
    } catch (error) {
      set(this.said, error.message);
    }
    this.pause.disabled = false;
  }
}
