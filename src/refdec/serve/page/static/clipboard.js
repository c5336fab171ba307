// Copies texts and saves files, and says so where a screen reader hears it.

import { byId, make } from "./dom.js";

export function say(words) {
  byId("announcement").textContent = "";
  requestAnimationFrame(() => (byId("announcement").textContent = words));
}

export async function copy(text, button, what) {
  const shown = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text); // pages that came over plain HTTP from another machine have no clipboard
  }
  say(`${what} copied`);
  button.textContent = "copied";
  setTimeout(() => (button.textContent = shown), 1500);
}

function copyBySelection(text) {
  const field = make("textarea", { class: "unseen", "aria-hidden": "true" });
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export function save(name, content) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2)], { type: "application/json" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
