// The plan's facts, beside the conversation.

import { element } from "/page/view.js";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  let unit = 0;
  while (count >= 1024 && unit + 1 < UNITS.length) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${UNITS[unit]}`;
}

const number = (value) => (typeof value === "number" ? value.toLocaleString("en") : value);

/** Rows of names and values; those without a value are left out. */
function list(rows) {
  const known = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return element("dl", {}, ...known.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
}

/** A pool's share of the total, as a bar that a reader of the numbers does not miss. */
function pools(memory) {
  const total = memory.total_bytes || 1;
  const rows = (memory.pools ?? []).filter((pool) => pool.bytes > 0).map((pool) => {
    const share = element("meter", { min: 0, max: total, value: pool.bytes, "aria-hidden": "true", tabindex: "-1" });
    return element("tr", { title: pool.formula ?? "" }, element("th", { scope: "row" }, pool.pool), element("td", {}, share), element("td", {}, bytes(pool.bytes)));
  });
  return element("table", {}, element("caption", {}, `Memory: ${bytes(memory.total_bytes)}${memory.available_bytes ? ` of ${bytes(memory.available_bytes)}` : ""}`), element("tbody", {}, ...rows));
}

/** Shows the answer of `/debug/plan`. */
export function show(into, plan) {
  const { spec = {}, deployment = {}, memory, overrides = [] } = plan;
  const sizes = spec.model ?? {};
  const parts = [
    list([
      ["Model", plan.model],
      ["Target", deployment.target === "cpu" && deployment.isa ? `cpu, ${deployment.isa}, ${deployment.threads} threads` : deployment.target],
      ["Shape", sizes.num_hidden_layers && `${sizes.num_hidden_layers} layers of ${number(sizes.hidden_size)}`],
      ["Context", deployment.context && `${number(deployment.context)} tokens`],
      ["At a time", deployment.max_sequences && `${number(deployment.max_sequences)} requests`],
      ["Cache", deployment.kv_cache_dtype && `${deployment.kv_cache_dtype}, pages of ${deployment.page_size}`],
      ["Weights", plan.checkpoint?.format],
      ["Chat format", plan.chat_template ?? "none: texts are continued"],
      ["Version", plan.server_version],
    ]),
  ];
  if (memory) parts.push(pools(memory));
  if (overrides.length > 0) {
    const lines = overrides.map((one) => element("li", {}, `${one.key}: ${one.flag}, and the spec says ${one.spec}`));
    parts.push(element("div", { class: "overrides" }, element("p", {}, "Overridden"), element("ul", {}, ...lines)));
  } else {
    parts.push(element("p", { class: "quiet" }, "Nothing of the spec is overridden."));
  }
  into.replaceChildren(...parts);
}
