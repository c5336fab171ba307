// Reads server-sent events from the body of a response, as they come. Knows their form, not what they say.

/** Yields {kind, data} for each event; data is parsed JSON. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest = (rest + (value ?? "")).replaceAll("\r\n", "\n");
    const blocks = rest.split("\n\n");
    rest = done ? "" : blocks.pop();
    for (const block of blocks) {
      const event = parsed(block);
      if (event) yield event;
    }
    if (done) return;
  }
}

function parsed(block) {
  let kind = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const [, name, value] = /^(event|data): ?(.*)$/.exec(line) ?? [];
    if (name === "event") kind = value;
    if (name === "data") data.push(value);
  }
  return data.length ? { kind, data: JSON.parse(data.join("\n")) } : null;
}
