// What happens while the server works: the stages, the time, and a way to stop it.

import { make } from "./dom.js";
import { say } from "./clipboard.js";

export class Progress {
  #element;
  #stages;
  #clock;
  #begun = 0;
  #timer = 0;
  #cancel;

  constructor(element) {
    this.#element = element;
    this.#stages = element.querySelector(".stages");
    this.#clock = element.querySelector(".clock");
    this.#cancel = element.querySelector(".cancel");
  }

  get seconds() {
    return (performance.now() - this.#begun) / 1000;
  }

  start(cancel) {
    this.#begun = performance.now();
    this.#stages.replaceChildren(make("li", {}, "waiting for the models"));
    this.#cancel.onclick = cancel;
    this.#element.hidden = false;
    this.#timer = setInterval(() => this.#tick(), 100);
    this.#tick();
    say("Working.");
  }

  stage(name) {
    if ([...this.#stages.children].some((item) => item.textContent === name)) return;
    this.#stages.append(make("li", {}, name));
    say(name);
  }

  stop() {
    clearInterval(this.#timer);
    this.#element.hidden = true;
  }

  #tick() {
    this.#clock.textContent = `${this.seconds.toFixed(1)} s`;
  }
}
