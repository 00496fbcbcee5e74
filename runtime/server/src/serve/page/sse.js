// Server-sent events from a fetched body, as the HTML standard defines the format. EventSource cannot send a body.

/** Yields the `data` of each event of a response, however the bytes are cut. An event that no blank line ends is dropped. */
export async function* events(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let [rest, data] = ["", []];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      for (;;) {
        const end = rest.search(/[\r\n]/);
        // Behind a carriage return at the very end, the line feed of the same line may be still to come.
        if (end < 0 || (rest[end] === "\r" && end + 1 === rest.length)) break;
        const line = rest.slice(0, end);
        rest = rest.slice(end + (rest.startsWith("\r\n", end) ? 2 : 1));
        if (line === "") {
          if (data.length > 0) yield data.join("\n");
          data = [];
        } else if (line === "data" || line.startsWith("data:")) {
          data.push(line.slice(5).replace(/^ /, ""));
        }
      }
    }
  } finally {
    // Whoever stops listening wants no more of it to be computed.
    await reader.cancel().catch(() => {});
  }
}
