// Copies texts and saves files, and says so where a screen reader hears it.

import { byId, make } from "./dom.js";

export function say(words) {
  byId("announcement").textContent = "";
  requestAnimationFrame(() => (byId("announcement").textContent = words));
}

const DONE = "copied";
const SHOWN_MS = 1500;

/** The first words of the button say for a moment that it is done. */
export async function copy(text, button, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // pages that came over plain HTTP from another machine have no clipboard
    button.focus();
  }
  say(`${what} copied`);
  const label = button.firstChild;
  const before = label.data;
  if (before === DONE) return;
  label.data = DONE;
  setTimeout(() => (label.data = before), SHOWN_MS);
}

function copyBySelection(text) {
  const field = make("textarea", { class: "unseen", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export function save(name, content) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2)], { type: "application/json" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
