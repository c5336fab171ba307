// One task of the page: its form, its progress, and what happens between asking and the answer.

import { Refusal, run } from "./api.js";
import { say } from "./clipboard.js";
import { Progress } from "./progress.js";
import { SettingsForm } from "./settings.js";

/** What is wrong with what the user gave; `field` gets the focus. */
export class Mistake extends Error {
  constructor(words, field) {
    super(words);
    this.field = field;
  }
}

export class Task {
  #running = null;

  /**
   * `view` has: request() for the body, show(result, seconds) which returns a sentence on the result,
   * example(text), and toLink() and fromLink() for its own fields.
   */
  constructor(name, view, changed) {
    this.name = name;
    this.view = view;
    this.panel = document.getElementById(name);
    this.form = this.panel.querySelector("form.task");
    this.settings = new SettingsForm(this.form);
    this.progress = new Progress(this.panel.querySelector(".progress"));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.form.requestSubmit();
    });
    this.form.addEventListener("input", changed);
    for (const button of this.form.querySelectorAll(".example")) {
      button.addEventListener("click", () => {
        view.example(button.textContent);
        changed();
      });
    }
  }

  async run() {
    if (this.#running) return;
    this.#problem("");
    const stop = new AbortController();
    const submit = this.form.querySelector("[type=submit]");
    const answer = this.panel.querySelector(".answer");
    try {
      const body = { ...this.view.request(), ...this.settings.request() };
      this.#running = stop;
      submit.setAttribute("aria-disabled", "true");
      answer.classList.add("old");
      this.progress.start(() => stop.abort());
      const results = [];
      for await (const { kind, data } of run(this.name, body, stop.signal)) {
        if (kind === "progress") this.progress.stage(data.stage);
        else results[data.index] = data.result;
      }
      const { seconds } = this.progress;
      answer.hidden = false;
      this.panel.querySelector(".how")?.remove(); // the answer shows it
      say(this.view.show(results, seconds));
    } catch (error) {
      this.#report(error);
    } finally {
      const wasInside = this.panel.querySelector(".progress").contains(document.activeElement);
      this.progress.stop();
      this.#running = null;
      submit.removeAttribute("aria-disabled");
      answer.classList.remove("old");
      if (wasInside) submit.focus(); // the button that was pressed is gone
    }
  }

  #report(error) {
    if (error.name === "AbortError") return say("Cancelled.");
    if (error instanceof Mistake) error.field.focus();
    else if (!(error instanceof Refusal)) console.error(error);
    return this.#problem(
      error instanceof Mistake || error instanceof Refusal ? error.message : "The page made a mistake.",
    );
  }

  #problem(words) {
    this.form.querySelector(".problem").textContent = words;
  }
}
