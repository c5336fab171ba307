// Infill: what could stand between two texts, shown in its place.

import { showContexts, showHeading, showNote, showShare } from "./answer.js";
import { byId, make, unseen } from "./dom.js";
import { strip } from "./fits.js";
import { count, nats } from "./numbers.js";
import { Mistake } from "./task.js";

const AT_FIRST = 6;
const EXPLAINED = 12;

export class Infill {
  #panel = byId("infill");
  #left = byId("infill-left");
  #right = byId("infill-right");

  request() {
    const [left, right] = [this.#left.value.trim(), this.#right.value.trim()];
    if (!left && !right) throw new Mistake("Write what stands before the gap, or after it.", this.#left);
    return { ...(left ? { left } : {}), ...(right ? { right } : {}), all: true, explain: EXPLAINED };
  }

  show([result], seconds) {
    const items = result.results;
    const words = count(items.length, "filling");
    const note =
      result.note ?? (items.length && !items[0].passes ? "No filling makes both texts more probable." : "");
    const reasons = new Map((result.reasons ?? []).map((reason) => [reason.text, reason]));
    showHeading(this.#panel, words, seconds);
    showNote(this.#panel, note);
    this.#place(result, items[0]);
    this.#choices(result, reasons);
    showContexts(this.#panel, {
      contexts: result.contexts,
      held: [result.left, " ", make("span", { class: "gap" }, "gap"), " ", result.right],
      texts: [result.left, result.right, ...items.slice(0, AT_FIRST).map((item) => item.text)],
      rows: items.flatMap((item) => reasons.get(item.text) ?? []),
      yardstick: "the gap",
    });
    showShare(this.#panel, "infill", result, result.signature);
    return `${words}. ${items.length ? `The best: ${items[0].text}` : ""} ${note}`;
  }

  #choices(result, reasons) {
    const most = Math.max(1, ...result.results.flatMap((item) => [item.left_gain, item.right_gain]).map(Math.abs));
    const entries = result.results.map((item, at) =>
      make(
        "label",
        { class: "filling", hidden: at >= AT_FIRST },
        make("input", { type: "radio", name: "filling", checked: at === 0, change: () => this.#place(result, item) }),
        make("span", { class: "text", dir: "auto" }, item.text),
        make("span", { class: "gains" }, gain("before", item.left_gain, most), gain("after", item.right_gain, most)),
        make(
          "span",
          { class: item.passes ? "verdict passes" : "verdict" },
          item.passes ? "explains both" : "does not explain both",
        ),
        reasons.has(item.text) ? strip(reasons.get(item.text).fits, result.contexts) : null,
      ),
    );
    this.#panel.querySelector(".choices").replaceChildren(...entries);
    const more = this.#panel.querySelector("button.more");
    more.hidden = entries.length <= AT_FIRST;
    more.textContent = `Show all ${entries.length}`;
    more.onclick = () => {
      for (const entry of entries) entry.hidden = false;
      more.hidden = true;
      entries[AT_FIRST].querySelector("input").focus();
    };
  }

  #place(result, item) {
    const words = item ? make("mark", {}, item.text) : make("span", { class: "gap" }, "gap");
    this.#panel.querySelector(".document").replaceChildren(result.left, " ", words, " ", result.right);
  }

  example(text) {
    [this.#left.value, this.#right.value] = text.split(" ___ ");
  }

  toLink() {
    return [];
  }

  textsToLink() {
    return [
      ["left", this.#left.value],
      ["right", this.#right.value],
    ];
  }

  fromLink(link) {
    this.#left.value = link.get("left") ?? this.#left.value;
    this.#right.value = link.get("right") ?? this.#right.value;
  }
}

function gain(where, value, most) {
  const kind = value < 0 ? "gain worse" : "gain";
  return make(
    "span",
    { class: kind, "--share": Math.abs(value) / most },
    make("span", { class: "gain-bar" }),
    make("span", {}, `${where} ${nats(value)}`),
    unseen(" nats"),
  );
}
