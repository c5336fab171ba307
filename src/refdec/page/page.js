// Shows the chosen candidate in the picture. Everything it shows is on the page already: words in the list of
// candidates, numbers in the table. It copies nodes and text, and never makes markup out of text.
"use strict";

function show(explanation, candidate) {
  const score = candidate.querySelector(".score");
  const verdict = explanation.querySelector(".verdict");
  verdict.dataset.level = score.dataset.level;
  verdict.querySelector("b").textContent = score.textContent;

  const words = candidate.querySelector(".words").cloneNode(true);
  explanation.querySelector(".place").replaceChildren(...words.childNodes);
  explanation.querySelectorAll(".place .token").forEach((token, index) => (token.tabIndex = index ? -1 : 0));

  const fits = explanation.querySelectorAll(`tr[data-reason="${candidate.dataset.reason}"] td[data-level]`);
  for (const context of explanation.querySelectorAll(".context")) {
    const fit = fits[context.dataset.index];
    context.dataset.level = fit.dataset.level;
    context.querySelector(".fit b").textContent = fit.textContent;
  }
}

// One tab stop for all words of the text; the arrow keys walk through them.
function walk(event) {
  const token = event.target.closest(".place .token");
  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  if (!token || !(event.key in steps)) return;
  const place = token.closest(".place");
  const tokens = [...place.querySelectorAll(".token")];
  const step = getComputedStyle(place).direction === "rtl" ? -steps[event.key] : steps[event.key];
  const next = tokens[tokens.indexOf(token) + step];
  if (!next) return;
  event.preventDefault();
  token.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

for (const explanation of document.querySelectorAll(".explanation")) {
  for (const candidate of explanation.querySelectorAll(".candidate")) {
    const radio = candidate.querySelector("input");
    radio.disabled = false;
    radio.addEventListener("change", () => show(explanation, candidate));
    if (radio.checked) show(explanation, candidate);
  }
  explanation.addEventListener("keydown", walk);
}
