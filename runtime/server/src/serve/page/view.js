// Elements of the conversation. What a model writes is set as text, and never read as HTML.

/** An element with attributes and children; strings become text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Arguments as one reads them; as they were written while they are no JSON yet. */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A message of the person who writes. */
export function user(log, text) {
  const turn = element("article", { class: "turn user", "aria-label": "You" }, element("div", { class: "text" }, text));
  log.append(turn);
  return turn;
}

/** A result that was sent back. */
export function result(log, name, text) {
  const title = element("span", { class: "name" }, `Result of ${name}`);
  const turn = element("article", { class: "turn result", "aria-label": title.textContent }, title, element("pre", {}, text));
  log.append(turn);
  return turn;
}

/** Something that went wrong, told aloud. */
export function fault(log, message) {
  log.append(element("p", { class: "fault", role: "alert" }, message));
}

/** The message of the model while it is written. */
export class Answer {
  constructor(log, label) {
    this.turn = element("article", { class: "turn assistant", "aria-label": label, "aria-busy": "true" });
    this.content = null;
    this.reasoning = null;
    this.calls = [];
    this.fields = [];
    this.waiting = element("p", { class: "waiting" }, element("span", { class: "hidden" }, "Waiting"));
    this.turn.append(this.waiting);
    log.append(this.turn);
  }

  #begin() {
    this.waiting.remove();
  }

  text(piece) {
    this.#begin();
    if (!this.content) {
      this.content = document.createTextNode("");
      this.turn.append(element("div", { class: "text" }, this.content));
    }
    this.content.appendData(piece);
  }

  reason(piece) {
    this.#begin();
    if (!this.reasoning) {
      this.reasoning = document.createTextNode("");
      const body = element("div", { class: "text" }, this.reasoning);
      this.turn.append(element("details", { class: "reasoning" }, element("summary", {}, "Reasoning"), body));
    }
    this.reasoning.appendData(piece);
  }

  /** A call's name and more of its arguments. */
  call(index, name, piece) {
    this.#begin();
    if (!this.calls[index]) {
      const [title, code] = [element("span", { class: "name" }), element("pre")];
      const card = element("section", { class: "call", "aria-label": "Tool call" }, title, code);
      this.calls[index] = { card, title, code, name: "", arguments: "" };
      this.turn.append(card);
    }
    const call = this.calls[index];
    call.name += name;
    call.arguments += piece;
    call.title.textContent = call.name;
    call.code.textContent = call.arguments;
  }

  /** Takes results of calls; `send` gets one text for each. */
  ask(calls, send) {
    const form = element("form", { class: "results" });
    const fields = calls.map((call) => {
      const field = element("textarea", { rows: 2, class: "code", "aria-label": `Result of ${call.name}`, placeholder: `What ${call.name} returns` });
      this.calls[call.index].card.append(field);
      return field;
    });
    form.append(element("button", { type: "submit", class: "primary" }, calls.length > 1 ? "Send results" : "Send result"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(fields.map((field) => field.value));
    });
    this.fields = [...fields, form];
    this.turn.append(form);
    fields[0].focus({ preventScroll: true });
  }

  /** Takes no results any more. */
  close() {
    for (const field of this.fields) field.hidden = true;
  }

  /** Takes results again. */
  reopen() {
    for (const field of this.fields) field.hidden = false;
  }

  /** The end, and what there is to say about it. */
  end(note) {
    this.#begin();
    this.turn.removeAttribute("aria-busy");
    for (const call of this.calls) if (call) call.code.textContent = pretty(call.arguments);
    if (note) this.turn.append(element("footer", {}, note));
  }
}
