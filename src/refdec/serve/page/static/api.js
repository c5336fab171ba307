// Asks the server, and only the server that the page came from. Where it wants a key, the page asks for it once.

import { events } from "./events.js";
import { openSession } from "./key.js";

/** What the server, or the way to it, has to say to the user. */
export class Refusal extends Error {}

const JSON_BODY = { "Content-Type": "application/json" };

/** Yields {kind: "progress", data} while a task runs, and {kind: "result", data} for its result. */
export async function* run(task, body, signal) {
  const response = await post(`v1/${task}`, body, signal, "text/event-stream");
  try {
    for await (const event of events(response)) {
      if (event.kind === "error") throw new Refusal(event.data.error.message);
      if (event.kind === "done") return;
      yield event;
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // that of a connection that broke off
  }
  throw new Refusal("The server did not finish its answer. Try again.");
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

/** What the server says of a request that failed; a proxy before it may say it in another form. */
async function words(response) {
  const said = await response.json().catch(() => null);
  return said?.error?.message ?? `The server answered with status ${response.status}. Try again later.`;
}
