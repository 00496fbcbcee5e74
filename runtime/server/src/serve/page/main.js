// The page: one conversation, held here and sent whole with every request.

import { Fault, plan, stream } from "/page/api.js";
import { show } from "/page/facts.js";
import * as settings from "/page/settings.js";
import { Answer, fault, result, user } from "/page/view.js";

const at = (id) => document.getElementById(id);
const [log, scroll, text, send, stop, empty] = ["log", "scroll", "text", "send", "stop", "empty"].map(at);

/** `chat` is whether the model has a chat format; without one, a text is continued. */
const state = { model: null, chat: true, messages: [], written: "", running: null, open: null };

/** Keeps the end in sight of those who look at it, and leaves others where they read. */
function follow(change) {
  const near = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;
  change();
  if (near) scroll.scrollTop = scroll.scrollHeight;
}

function busy(controller) {
  state.running = controller;
  send.hidden = controller !== null;
  stop.hidden = controller === null;
  document.body.classList.toggle("busy", controller !== null);
}

/** The calls of an answer that ended by itself or were complete when it was cut; others cannot be answered. */
function complete(calls) {
  return calls.filter((call) => {
    try {
      return call.id && call.function.name && typeof JSON.parse(call.function.arguments) === "object";
    } catch {
      return false;
    }
  });
}

function note(reason, usage, seconds) {
  const words = [];
  if (usage) {
    const speed = seconds > 0 && usage.completion_tokens > 1 ? `, ${((usage.completion_tokens - 1) / seconds).toFixed(1)} per second` : "";
    words.push(`${usage.completion_tokens} tokens${speed}`);
    const cached = usage.prompt_tokens_details?.cached_tokens;
    words.push(`prompt ${usage.prompt_tokens}${cached ? `, ${cached} of them cached` : ""}`);
  }
  if (reason === "length") words.push("cut by max tokens");
  if (reason === "stopped" || reason === "failed") words.push(reason);
  return words.join(" · ");
}

/** Takes a chunk of either route into an answer; `message` is what will be sent back with the next request. */
function take(chunk, answer, message) {
  const choice = chunk.choices?.[0];
  if (!choice) return;
  const delta = choice.delta ?? { content: choice.text };
  const reasoning = delta.reasoning_content ?? delta.reasoning;
  if (reasoning) answer.reason(reasoning);
  if (delta.content) {
    answer.text(delta.content);
    message.content += delta.content;
  }
  for (const call of delta.tool_calls ?? []) {
    const known = (message.tool_calls[call.index] ??= { id: "", type: "function", function: { name: "", arguments: "" } });
    const { name = "", arguments: more = "" } = call.function ?? {};
    known.id ||= call.id ?? "";
    known.function.name += name;
    known.function.arguments += more;
    answer.call(call.index, name, more);
  }
}

/** Asks for the next message. Whether an answer came, whole or cut. */
async function ask(path, body) {
  const [controller, conversation] = [new AbortController(), state.messages];
  busy(controller);
  const answer = new Answer(log, state.model ?? "Model");
  const message = { role: "assistant", content: "", tool_calls: [] };
  let [reason, usage, first] = [null, null, 0];
  try {
    for await (const chunk of stream(path, body, controller.signal)) {
      usage = chunk.usage ?? usage;
      reason = chunk.choices?.[0]?.finish_reason ?? reason;
      first ||= performance.now();
      follow(() => take(chunk, answer, message));
    }
  } catch (error) {
    const stopped = error.name === "AbortError";
    if (!stopped && !(error instanceof Fault)) console.error(error);
    if (!stopped) follow(() => fault(log, error.message));
    if (first === 0) {
      answer.turn.remove();
      // Where another conversation has begun, nothing of this one comes back.
      return state.messages !== conversation;
    }
    reason = stopped ? "stopped" : "failed";
  } finally {
    busy(null);
  }
  // Another conversation has begun meanwhile.
  if (state.messages !== conversation) return true;
  const calls = complete(message.tool_calls);
  follow(() => {
    if (calls.length > 0) {
      const named = calls.map((call) => ({ name: call.function.name, index: message.tool_calls.indexOf(call) }));
      answer.ask(named, (results) => void answered(answer, calls, results));
      state.open = answer;
    }
    answer.end(note(reason, usage, (performance.now() - first) / 1000));
  });
  state.written += message.content;
  state.messages.push({ role: "assistant", content: message.content, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
  return true;
}

function request() {
  const { system, ...more } = settings.read(state.chat);
  const common = { model: state.model, ...more };
  if (!state.chat) return ["/v1/completions", { ...common, prompt: state.written }];
  const messages = system ? [{ role: "system", content: system }, ...state.messages] : state.messages;
  return ["/v1/chat/completions", { ...common, messages }];
}

/** Sends results of calls, unless something else is running. When nothing came back, they can be sent again. */
async function answered(open, calls, results) {
  if (state.running) return;
  const before = [...state.messages];
  calls.forEach((call, i) => state.messages.push({ role: "tool", tool_call_id: call.id, content: results[i] }));
  let prepared;
  try {
    prepared = request();
  } catch (error) {
    state.messages = before;
    fault(log, error.message);
    return;
  }
  open.close();
  state.open = null;
  const shown = calls.map((call, i) => result(log, call.function.name, results[i]));
  if (await ask(...prepared)) return;
  shown.forEach((one) => one.remove());
  state.messages = before;
  state.open = open;
  open.reopen();
}

async function submit() {
  const words = text.value;
  // A text can go on without more words; a conversation cannot.
  if (state.running || (words.trim() === "" && (state.chat || state.written === ""))) return;
  const before = { messages: [...state.messages], written: state.written };
  // A call that gets no result is not shown to the model: no template would know what to make of it.
  if (state.open) {
    const last = state.messages.at(-1);
    state.messages[state.messages.length - 1] = { role: last.role, content: last.content };
  }
  state.messages.push({ role: "user", content: words });
  state.written += words;
  let prepared;
  try {
    prepared = request();
  } catch (error) {
    Object.assign(state, before);
    fault(log, error.message);
    return;
  }
  const open = state.open;
  open?.close();
  state.open = null;
  empty.hidden = true;
  text.value = "";
  resize();
  const shown = words && user(log, words);
  scroll.scrollTop = scroll.scrollHeight;
  if (await ask(...prepared)) return;
  // Nothing came: the words go back to where they can be sent again.
  if (shown) shown.remove();
  Object.assign(state, before, { open });
  open?.reopen();
  if (text.value === "") text.value = words;
  resize();
}

function restart() {
  state.running?.abort();
  Object.assign(state, { messages: [], written: "", open: null });
  log.replaceChildren();
  empty.hidden = false;
  text.focus();
}

function resize() {
  text.rows = Math.min(10, text.value.split("\n").length);
}

async function load() {
  try {
    const found = await plan();
    state.model = found.model;
    state.chat = found.chat_template !== null;
    document.body.classList.toggle("completes", !state.chat);
    document.title = `${found.model} · Tenon`;
    at("model").textContent = found.model;
    at("text-label").textContent = text.placeholder = state.chat ? "Write a message" : "Write the beginning of a text";
    empty.textContent = state.chat ? "Ask something." : `${found.model} has no chat format: it goes on with the text that you begin.`;
    show(at("facts"), found);
    settings.defaults(found.sampling?.default ?? {});
  } catch (error) {
    empty.textContent = error.status === 401 ? "This server wants an API key: write it under settings." : error.message;
  }
}

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  void submit();
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void submit();
});
text.addEventListener("input", resize);
stop.addEventListener("click", () => state.running?.abort());
at("new").addEventListener("click", restart);
at("toggle").addEventListener("click", () => {
  const open = document.body.classList.toggle("side-open");
  at("toggle").setAttribute("aria-expanded", String(open));
});
settings.watch(load);
void load();
