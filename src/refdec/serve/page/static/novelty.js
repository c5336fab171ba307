// The Novelty slider with the chart above it: moves along what is already here, and never asks the server.

import { Chart } from "./chart.js";
import { atNovelty, counted } from "./front.js";
import { nats, percent } from "./numbers.js";

export class NoveltySlider {
  #slider;
  #said;
  #chart;
  #results = [];
  #moved;

  /** `moved` is called with the least Novelty, `clicked` with a result of the chart. */
  constructor(element, moved, clicked) {
    this.#slider = element.querySelector("input[type=range]");
    this.#said = element.querySelector("output");
    this.#chart = new Chart(element.querySelector("svg"), clicked);
    this.#moved = moved;
    this.#slider.addEventListener("input", () => this.#show());
  }

  get least() {
    return Number(this.#slider.value);
  }

  set least(value) {
    this.#slider.value = value;
    this.#show();
  }

  show(results) {
    this.#results = results;
    this.#show();
  }

  #show() {
    const least = this.least;
    this.#slider.setAttribute("aria-valuetext", least ? `at least ${least}` : "any Novelty");
    if (!this.#results.length) return;
    const all = counted(this.#results);
    const inside = atNovelty(this.#results, least);
    this.#said.textContent = verdict(inside, all, least);
    this.#chart.show(this.#results, least);
    this.#moved(least, inside);
  }
}

function verdict(inside, all, least) {
  if (!inside.length) {
    const most = Math.max(0, ...all.map((item) => item.novelty));
    return `None reaches Novelty ${least}; the highest is ${most.toFixed(0)}.`;
  }
  const [best] = inside;
  const sure =
    best.confidence === null ? `score ${nats(best.relative, 2)}` : `confidence ${percent(best.confidence)}`;
  const how = least ? `Novelty ${least} or more: ${inside.length} of ${all.length}` : `All ${all.length}`;
  return `${how}. The best has ${sure}.`;
}
