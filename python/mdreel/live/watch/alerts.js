// Alerts of a channel: the limits, what has crossed them, and notifications of the browser.

const notified = { last: null };

const sentenceOf = (event) => {
  const when = event.frame_time === null ? `frame ${event.frame}` : `${digits(event.frame_time)} ps`;
  return `${event.analysis}: ${event.column} is ${digits(event.value)}${event.unit ? ` ${event.unit}` : ""} at ${when}`;
};

// Notifies of alerts that were raised since the page was opened.
const notify = (channels) => {
  const events = channels.flatMap((channel) => channel.alerts.events.map((event) => [channel, event]));
  const newest = Math.max(0, ...events.map(([, event]) => event.id));
  const before = notified.last === null ? newest : notified.last;
  notified.last = Math.max(newest, before);
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  for (const [channel, event] of events.filter(([, one]) => one.id > before).slice(-5)) {
    const shown = new Notification(`${channel.name}: ${event.label}`, { body: sentenceOf(event), tag: `mdreel-${event.id}` });
    shown.addEventListener("show", () => { document.body.dataset.notified = String(event.id); });
  }
};

const offerNotifications = (element, hasAlerts) => {
  element.hidden = !hasAlerts || !("Notification" in window) || Notification.permission !== "default";
};

class Alerts {
  constructor(channel) {
    this.channel = channel;
    this.element = make("div", "alerts");
    this.limits = make("ul", "limits");
    this.list = make("ol");
    this.form = this.makeForm();
    this.heading = make("h3", "", "Alerts");
    this.element.append(this.heading, this.limits, this.form, this.list);
  }

  makeForm() {
    const form = make("form", "alert-form");
    this.column = make("select");
    this.column.setAttribute("aria-label", "result");
    this.side = make("select");
    this.side.setAttribute("aria-label", "side of the limit");
    this.side.append(option("above", "is above"), option("below", "is below"));
    this.limit = make("input");
    Object.assign(this.limit, { type: "number", step: "any", required: true, placeholder: "limit" });
    this.limit.setAttribute("aria-label", "limit");
    this.said = make("p", "reason");
    this.said.setAttribute("role", "alert");
    form.append("Alert when ", this.column, this.side, this.limit, make("button", "tool main", "Add alert"), this.said);
    form.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    return form;
  }

  async submit() {
    const [analysis, column] = JSON.parse(this.column.value || "[]");
    const request = { do: "add-alert", channel: this.channel, analysis, column, [this.side.value]: Number(this.limit.value) };
    await this.act(request, () => { this.limit.value = ""; });
  }

  async act(request, done = () => {}) {
    set(this.said, "");
    try {
      await operate(request);
      done();
      ask();
    } catch (error) {
      set(this.said, error.message);
    }
  }

  update(alerts, analyses) {
    const mark = JSON.stringify([alerts, rights.operate]);
    if (mark !== this.mark) this.show(alerts);
    this.mark = mark;
    const columns = analyses.filter((one) => one.is_of_frames && one.columns)
      .flatMap((one) => one.columns.slice(2).map(([column]) => JSON.stringify([one.name, column])));
    const offered = [...new Set(columns)];
    this.form.hidden = !rights.operate || !offered.length;
    this.element.hidden = this.form.hidden && !alerts.thresholds.length && !alerts.events.length;
    const was = JSON.stringify(offered);
    if (was === this.offered) return;
    this.offered = was;
    const chosen = this.column.value;
    this.column.replaceChildren(...offered.map((one) => option(one, JSON.parse(one).join(": "))));
    if (offered.includes(chosen)) this.column.value = chosen;
  }

  show(alerts) {
    this.limits.replaceChildren(...alerts.thresholds.map((one) => {
      const item = make("li", "threshold", one.analysis ? `${one.analysis}: ${one.label}` : one.label);
      if (rights.operate) item.append(button("Remove", () => this.act({ do: "remove-alert", id: one.id })));
      return item;
    }));
    this.list.replaceChildren(...alerts.events.slice().reverse().map((event) => {
      const line = make("li");
      const time = make("time", "", new Date(1000 * event.time).toLocaleTimeString());
      line.append(time, make("b", "event failed", event.label), make("span", "words", sentenceOf(event)));
      return line;
    }));
  }
}
