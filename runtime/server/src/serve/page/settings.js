// What a person sets beside the conversation, as fields of a request.

import { Fault } from "/page/api.js";

const KEY = "tenon-api-key";
const at = (id) => document.getElementById(id);

const EXAMPLE = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather in a city, now.",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
        required: ["city", "unit"],
      },
    },
  },
];

function number(id, name) {
  const text = at(id).value.trim();
  if (text === "") return {};
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Fault(`${name}: ${text} is no number.`);
  return { [id]: value };
}

/** The tools as they are written; none where the field is empty. */
function tools() {
  const text = at("tools").value.trim();
  if (text === "") return [];
  let list;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new Fault(`Tools: no JSON: ${error.message}`);
  }
  if (!Array.isArray(list)) throw new Fault("Tools: a JSON array is needed, with one object for each tool.");
  return list;
}

/** The fields of a request that were set; the server has its own defaults for the others. */
export function read(chat) {
  const names = { temperature: "Temperature", top_p: "Top p", max_tokens: "Max tokens", seed: "Seed" };
  const fields = Object.assign({}, ...Object.entries(names).map(([id, name]) => number(id, name)));
  if (!chat) return { max_tokens: 128, ...fields };
  const declared = tools();
  if (declared.length > 0) Object.assign(fields, { tools: declared, tool_choice: at("tool_choice").value });
  return { ...fields, system: at("system").value.trim() };
}

/** Shows what is taken where nothing is set. */
export function defaults(sampling) {
  for (const id of ["temperature", "top_p"]) at(id).placeholder = sampling[id] === undefined ? "" : Number(sampling[id].toPrecision(6));
  at("max_tokens").placeholder = document.body.classList.contains("completes") ? "128" : "what fits";
}

/** Listens to the fields that act at once; `changed` is called when another key may open what was closed. */
export function watch(changed) {
  const key = at("key");
  key.value = sessionStorage.getItem(KEY) ?? "";
  key.addEventListener("change", () => {
    if (key.value.trim()) sessionStorage.setItem(KEY, key.value.trim());
    else sessionStorage.removeItem(KEY);
    changed();
  });
  // Enter would send the form; its value has been taken already.
  at("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    key.blur();
  });
  at("tools").addEventListener("input", () => {
    try {
      tools();
      at("tools-fault").textContent = "";
    } catch (error) {
      at("tools-fault").textContent = error.message;
    }
  });
  at("example").addEventListener("click", () => {
    at("tools").value = JSON.stringify(EXAMPLE, null, 2);
    at("tools-fault").textContent = "";
  });
}
