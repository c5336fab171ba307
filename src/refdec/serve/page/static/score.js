// Score: how alike texts are, each with its interval on one scale.

import { showContexts, showHeading, showShare } from "./answer.js";
import { byId, make, unseen } from "./dom.js";
import { count, nats } from "./numbers.js";
import { Mistake } from "./task.js";

export class Score {
  #panel = byId("score");
  #reference = byId("score-reference");
  #candidates = byId("score-candidates");

  request() {
    const reference = this.#reference.value.trim();
    const candidates = this.#candidates.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    if (!reference) throw new Mistake("Write the reference that texts are compared with.", this.#reference);
    if (!candidates.length) throw new Mistake("Write at least one text to compare with it.", this.#candidates);
    return { reference, candidates, explain: 1 };
  }

  show(results, seconds) {
    const words = `${count(results.length, "text")} against the reference`;
    const [low, high] = [
      Math.min(0, ...results.map((item) => item.scaled_low)),
      Math.max(100, ...results.map((item) => item.scaled_high)),
    ];
    const share = (value) => (value - low) / (high - low);
    showHeading(this.#panel, words, seconds);
    this.#panel.querySelector(".scores").replaceChildren(...results.map((item) => entry(item, share)));
    this.#panel
      .querySelector(".scale")
      .replaceChildren(
        ...["unrelated", "the reference itself"].map((words, at) =>
          make("span", { "--at": share(100 * at) }, make("b", {}, String(100 * at)), ` ${words}`),
        ),
      );
    const [first] = results;
    const reasons = results.flatMap((item) => (item.reasons ?? []).slice(1, 2));
    showContexts(this.#panel, {
      contexts: first?.contexts,
      held: first?.reference,
      texts: results.flatMap((item) => [item.reference, item.candidate]),
      rows: reasons,
      yardstick: "the reference",
    });
    showShare(this.#panel, "score", results, first?.signature ?? "");
    return results.map((item) => `${item.candidate} ${item.scaled.toFixed(0)}.`).join(" ");
  }

  example() {}

  toLink() {
    return [];
  }

  textsToLink() {
    return [
      ["reference", this.#reference.value],
      ["candidates", this.#candidates.value],
    ];
  }

  fromLink(link) {
    this.#reference.value = link.get("reference") ?? this.#reference.value;
    this.#candidates.value = link.get("candidates") ?? this.#candidates.value;
  }
}

function entry(item, share) {
  const interval = `${item.scaled_low.toFixed(0)} to ${item.scaled_high.toFixed(0)}`;
  return make(
    "li",
    { class: "score" },
    make("p", { class: "text", dir: "auto" }, item.candidate),
    make(
      "p",
      { class: "value" },
      make("b", {}, item.scaled.toFixed(0)),
      make("span", {}, unseen("95 % interval "), interval),
    ),
    make(
      "div",
      {
        class: "interval",
        "aria-hidden": "true",
        "--zero": share(0),
        "--hundred": share(100),
        "--low": share(item.scaled_low),
        "--high": share(item.scaled_high),
        "--at": share(item.scaled),
      },
      make("span", { class: "range" }),
      make("span", { class: "at" }),
    ),
    make(
      "p",
      { class: "facts" },
      `${nats(item.relative, 2)} nats against the reference, ${nats(item.relative_low)} to ${nats(item.relative_high)}`,
    ),
  );
}
