// Requests to the server that this page came from.

import { events } from "/page/sse.js";

/** What the server, or the way to it, says against a request. */
export class Fault extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const key = () => document.getElementById("key").value.trim();

async function call(path, more) {
  const headers = { ...more.headers };
  if (key()) headers.authorization = `Bearer ${key()}`;
  let response;
  try {
    response = await fetch(path, { ...more, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault("The server cannot be reached.");
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Fault(text(said.error) ?? `The server answered ${response.status}.`, response.status);
}

function text(error) {
  if (typeof error?.message !== "string") return undefined;
  return error.param ? `${error.param}: ${error.message}` : error.message;
}

/** The facts of what is running. */
export async function plan() {
  return (await call("/debug/plan", {})).json();
}

/** Posts a request that streams, and yields its chunks. */
export async function* stream(path, body, signal) {
  const request = { ...body, stream: true, stream_options: { include_usage: true } };
  const headers = { "content-type": "application/json" };
  const response = await call(path, { method: "POST", headers, body: JSON.stringify(request), signal });
  for await (const data of events(response)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new Fault(text(chunk.error) ?? "The answer failed.");
    yield chunk;
  }
  throw new Fault("The connection ended before the answer did.");
}
