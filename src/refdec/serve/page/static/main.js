// Starts the page: the four tasks, the tabs, the theme, and the state in the address.

import { pair } from "./api.js";
import { copy } from "./clipboard.js";
import { byId } from "./dom.js";
import { Infill } from "./infill.js";
import { readLink, writeLink } from "./link.js";
import { Paraphrase } from "./paraphrase.js";
import { Rewrite } from "./rewrite.js";
import { Score } from "./score.js";
import { startTabs } from "./tabs.js";
import { Task } from "./task.js";
import { startTheme } from "./theme.js";

const VIEWS = { paraphrase: Paraphrase, infill: Infill, rewrite: Rewrite, score: Score };
let open = "paraphrase";
const changed = () => remember(tasks[open]);
const tasks = Object.fromEntries(
  Object.entries(VIEWS).map(([name, View]) => [name, new Task(name, new View(changed), changed)]),
);

/** The settings of the open task go into the address; its texts only where the user wants that. */
function remember(task) {
  const withText = task.panel.querySelector(".with-text").checked;
  writeLink([
    ["task", task.name],
    ...task.settings.toLink(),
    ...task.view.toLink(),
    ...(withText ? [...task.settings.wordsToLink(), ...task.view.textsToLink()] : []),
  ]);
}

function recall() {
  const link = readLink();
  const task = tasks[link.get("task")] ?? tasks.paraphrase;
  task.settings.fromLink(link);
  task.view.fromLink(link);
  task.panel.querySelector(".with-text").checked = task.view.textsToLink().some(([name]) => link.has(name));
  choose(task.name);
}

const choose = startTabs(byId("tasks"), (name) => {
  open = name;
  changed();
});

for (const task of Object.values(tasks)) {
  const link = task.panel.querySelector(".copy-link");
  link.addEventListener("click", () => {
    remember(task);
    copy(location.href, link, "Link");
  });
  task.panel.querySelector(".with-text").addEventListener("change", () => remember(task));
}

startTheme(byId("theme"));
recall();
addEventListener("hashchange", () => {
  if (readLink().has("task")) recall(); // other words after the # are places on the page
});

try {
  const { name, precision, device, defaults } = await pair();
  for (const task of Object.values(tasks)) task.settings.usual = defaults[task.name];
  byId("pair").textContent = `${name.split(":")[0]}, ${precision} on ${device === "cpu" ? "a CPU" : "a GPU"}`;
} catch (error) {
  console.warn("The server does not say which models it has:", error.message);
}
