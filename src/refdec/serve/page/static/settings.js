// The settings of a task: only what differs from the preset is sent, so that a preset means what it says.

const listed = (words) =>
  words
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);

export class SettingsForm {
  #form;

  constructor(form) {
    this.#form = form;
    this.#preset.addEventListener("change", () => this.#hint());
    this.#hint();
    form.addEventListener("input", () => this.#count());
    form.querySelector(".clear").addEventListener("click", () => {
      this.fromLink(new URLSearchParams());
      form.dispatchEvent(new Event("input"));
    });
    const opener = this.#opener;
    opener.addEventListener("click", () => {
      const panel = form.querySelector(".settings");
      panel.hidden = !panel.hidden;
      opener.setAttribute("aria-expanded", String(!panel.hidden));
    });
  }

  get #opener() {
    return this.#form.querySelector(".settings-button");
  }

  /** The button says how many settings are not those that are usual here. */
  #count() {
    const changed = this.toLink().length + this.wordsToLink().length;
    this.#opener.textContent = changed ? `Settings: ${changed} changed` : "Settings";
  }

  get #preset() {
    return this.#form.elements.preset;
  }

  get #fields() {
    return [...this.#form.querySelectorAll("[data-setting]")];
  }

  get #kinds() {
    return [...this.#form.querySelectorAll("[data-automatic]")];
  }

  /** The part of a request that settings and constraints make. */
  request() {
    const settings = {};
    for (const field of this.#fields) {
      if (field.value !== "") settings[field.dataset.setting] = converted(field);
    }
    const constraints = this.#constraints();
    return {
      ...(this.#preset.value ? { preset: this.#preset.value } : {}),
      ...(Object.keys(settings).length ? { settings } : {}),
      ...(Object.keys(constraints).length ? { constraints } : {}),
    };
  }

  #constraints() {
    const { keep, avoid } = this.#form.elements;
    if (!keep) return {};
    const given = {
      keep: listed(keep.value),
      avoid: listed(avoid.value),
      automatic: this.#kinds.filter((field) => field.checked).map((field) => field.dataset.automatic),
    };
    return Object.fromEntries(Object.entries(given).filter(([, words]) => words.length));
  }

  /** What a link says: names and values. The words to keep and to avoid are texts of the user. */
  toLink() {
    const pairs = this.#fields
      .filter((field) => field.value !== "")
      .map((field) => [field.dataset.setting, field.value]);
    const kinds = this.#constraints().automatic ?? [];
    return [
      ...(this.#preset.value ? [["preset", this.#preset.value]] : []),
      ...pairs,
      ...(kinds.length ? [["automatic", kinds.join(",")]] : []),
    ];
  }

  wordsToLink() {
    const { keep, avoid } = this.#form.elements;
    return [
      ["keep", keep?.value],
      ["avoid", avoid?.value],
    ].filter(([, words]) => words);
  }

  fromLink(link) {
    const { keep, avoid } = this.#form.elements;
    this.#preset.value = link.get("preset") ?? "";
    if (this.#preset.selectedIndex < 0) this.#preset.value = "";
    for (const field of this.#fields) field.value = link.get(field.dataset.setting) ?? "";
    for (const field of this.#kinds)
      field.checked = listed(link.get("automatic") ?? "").includes(field.dataset.automatic);
    if (keep) [keep.value, avoid.value] = [link.get("keep") ?? "", link.get("avoid") ?? ""];
    this.#hint();
    this.#count();
  }

  /** An empty field shows the value of the preset. */
  #hint() {
    for (const field of this.#fields) {
      const value = JSON.parse(field.dataset.presets)[this.#preset.value || this.#preset.dataset.default];
      const hint = value === undefined ? "as preset" : String(value);
      if (field instanceof HTMLSelectElement) field.options[0].textContent = `${hint} (preset)`;
      else field.placeholder = hint;
    }
  }

  /** The name of the preset that this server uses where none is chosen. */
  set usual(name) {
    this.#preset.dataset.default = name;
    this.#preset.options[0].textContent = `${name} (the usual one here)`;
    this.#hint();
  }
}

function converted(field) {
  if (field.dataset.kind === "number") return Number(field.value);
  return field.dataset.kind === "truth" ? field.value === "true" : field.value;
}
