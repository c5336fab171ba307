// Asks the server, and only the server that the page came from. Where it wants a key, the page asks for it once.

import { events } from "./events.js";
import { openSession } from "./key.js";

/** What the server, or the way to it, has to say to the user. */
export class Refusal extends Error {}

const JSON_BODY = { "Content-Type": "application/json" };

/** Yields {kind: "progress", data} while a task runs, and {kind: "result", data} for its result. */
export async function* run(task, body, signal) {
  const response = await post(`v1/${task}`, body, signal, "text/event-stream");
  if (!(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
    for (const [index, result] of (await response.json()).results.entries())
      yield { kind: "result", data: { index, result } };
    return;
  }
  for await (const event of events(response)) {
    if (event.kind === "error") throw new Refusal(reason(event.data) || "The server could not finish.");
    if (event.kind === "done") return;
    yield event;
  }
  throw new Refusal("The server ended the answer too early. Try again.");
}

/** For each pair of texts: every word of both, accounted for. */
export async function differences(pairs, signal) {
  const response = await post("v1/diff", { pairs }, signal, "application/json");
  return (await response.json()).results;
}

/** The pair of models that the server has, with its presets. */
export async function pair() {
  const response = await ask("v1/models", {});
  return (await response.json()).models[0];
}

const post = (path, body, signal, accept) =>
  ask(path, { method: "POST", headers: { ...JSON_BODY, Accept: accept }, body: JSON.stringify(body), signal });

async function ask(path, request) {
  for (;;) {
    const response = await fetch(path, request).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Refusal("The server does not answer. Is it still running?");
    });
    if (response.ok) return response;
    if (response.status !== 401) throw new Refusal(await words(response));
    await openSession(request.signal);
  }
}

async function words(response) {
  const said = reason(await response.json().catch(() => null));
  const wait = response.headers.get("Retry-After");
  if (said) return said;
  if (response.status === 429) return `The server has too much to do.${wait ? ` Try again in ${wait} s.` : ""}`;
  return `The server answered with status ${response.status}.`;
}

/** The sentence in an error, whichever of the usual forms it has. */
function reason(data) {
  const said = data?.error ?? data?.detail ?? data?.message;
  if (Array.isArray(said)) return said.map((item) => item.msg ?? String(item)).join("; ");
  return said && typeof said === "object" ? (said.message ?? "") : (said ?? "");
}
