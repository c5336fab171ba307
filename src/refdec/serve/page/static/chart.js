// The front as a picture: each result by its Novelty and its confidence, or by its rank where there is no confidence.
//
// The slider below has the same scale, so the line of the chart stands above its thumb.

import { draw } from "./dom.js";
import { atNovelty, counted, front } from "./front.js";
import { nats, percent } from "./numbers.js";

// In the units of the picture's viewBox, 340 by 190.
const BOX = { left: 44, right: 332, top: 24, bottom: 164 };

export class Chart {
  #element;
  #chosen; // called with the result whose point was clicked

  constructor(element, chosen) {
    this.#element = element;
    this.#chosen = chosen;
  }

  show(results, least) {
    const items = counted(results);
    const scale = vertical(items);
    const place = (item) => [across(item.novelty), scale.y(scale.of(item))];
    const title = (words, x, y, side) => draw("text", { class: "tick", x, y, "text-anchor": side }, words);
    const inside = atNovelty(results, least);
    const best = front(results);
    const line = across(least);
    this.#element.setAttribute("aria-label", describe(items, best, scale));
    this.#element.replaceChildren(
      ...scale.ticks.flatMap((value) => [
        draw("line", { class: "grid", x1: BOX.left, x2: BOX.right, y1: scale.y(value), y2: scale.y(value) }),
        title(scale.label(value), BOX.left - 6, scale.y(value) + 4, "end"),
      ]),
      ...[0, 25, 50, 75, 100].map((value) => title(String(value), across(value), BOX.bottom + 18, "middle")),
      title(scale.name, BOX.left, BOX.top - 11, "start"),
      draw("rect", {
        class: "left-out",
        x: BOX.left,
        y: BOX.top,
        width: line - BOX.left,
        height: BOX.bottom - BOX.top,
      }),
      draw("polyline", { class: "front", points: best.map((item) => place(item).join(",")).join(" ") }),
      draw("line", { class: "least", x1: line, x2: line, y1: BOX.top, y2: BOX.bottom }),
      ...[...items].reverse().map((item) =>
        this.#point(item, place(item), {
          inside: inside.includes(item),
          best: item === inside[0],
          "on-front": best.includes(item),
          doubtful: item.doubtful,
        }),
      ),
    );
  }

  #point(item, [x, y], states) {
    const classes = ["point", ...Object.keys(states).filter((name) => states[name])];
    const radius = states.best ? 6.5 : states["on-front"] ? 5 : 3.5;
    const sure = item.confidence === null ? nats(item.relative, 2) : percent(item.confidence);
    return draw(
      "g",
      { class: classes.join(" "), click: () => this.#chosen(item) },
      draw("title", {}, `${item.text} (Novelty ${item.novelty.toFixed(0)}, ${sure})`),
      draw("circle", { class: "reach", cx: x, cy: y, r: 11 }),
      draw("circle", { class: "dot", cx: x, cy: y, r: radius }),
    );
  }
}

const across = (novelty) => BOX.left + ((BOX.right - BOX.left) * novelty) / 100;

function vertical(items) {
  const height = BOX.bottom - BOX.top;
  if (items.every((item) => item.confidence !== null)) {
    const label = (value) => `${100 * value}\u00a0%`;
    const y = (value) => BOX.bottom - height * value;
    return { name: "confidence", of: (item) => item.confidence, y, ticks: [0, 0.5, 1], label, words: percent };
  }
  const rank = new Map(items.map((item, at) => [item, at + 1]));
  const y = (value) => BOX.top + (height * (value - 1)) / Math.max(1, items.length - 1);
  const words = (value) => `rank ${value}`;
  return { name: "rank", of: (item) => rank.get(item), y, ticks: [1, items.length], label: String, words };
}

function describe(items, best, scale) {
  const points = best.map((item) => `Novelty ${item.novelty.toFixed(0)} at ${scale.words(scale.of(item))}`);
  return `Chart of ${items.length} results by Novelty and ${scale.name}. The front: ${points.join("; ") || "empty"}.`;
}
