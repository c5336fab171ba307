// The dialog that asks for the server's key. The key goes into a cookie that scripts cannot read, and nowhere else.

import { byId } from "./dom.js";

let asking = null;

/** Resolves once the server has opened a session; rejects if the user leaves the dialog. */
export function openSession(signal) {
  asking ??= ask(signal).finally(() => (asking = null));
  return asking;
}

function ask(signal) {
  const dialog = byId("key-dialog");
  const form = byId("key-form");
  const field = byId("key");
  const problem = byId("key-problem");
  return new Promise((resolve, reject) => {
    const done = new AbortController();
    const leave = () => finish(() => reject(new DOMException("The key was not given.", "AbortError")));
    const finish = (then) => {
      done.abort();
      field.value = "";
      problem.textContent = "";
      dialog.close();
      then();
    };
    form.addEventListener(
      "submit",
      async (event) => {
        event.preventDefault();
        const body = JSON.stringify({ key: field.value });
        const response = await fetch("v1/session", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body,
        }).catch(() => null);
        if (response?.ok) return finish(resolve);
        problem.textContent = response ? "That is not the key of this server." : "The server does not answer.";
        field.select();
      },
      { signal: done.signal },
    );
    byId("key-leave").addEventListener("click", leave, { signal: done.signal });
    dialog.addEventListener("cancel", leave, { signal: done.signal });
    signal?.addEventListener("abort", leave, { signal: done.signal });
    dialog.showModal();
    field.focus();
  });
}
