// Number keys for a form: 1 to 4 answer the first question that has no answer, or the one where the focus is, and Enter
// goes on. Everything works without this. The keys can be switched off, for those whose software sends keys by itself.
"use strict";

const form = document.querySelector("form");
const questions = [...form.querySelectorAll("fieldset")];
const keys = document.getElementById("keys");
const OFF = "refdec-study-keys-off";

const answered = (question) => question.querySelector("input:checked") !== null;

function stored() {
  try {
    return localStorage.getItem(OFF) === "yes";
  } catch {
    return false; // storage is blocked; the choice holds for this page
  }
}

function choose(event) {
  if (!keys.checked || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Enter" && !event.target.closest("a, button") && questions.every(answered)) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  if (!/^[1-9]$/.test(event.key)) return;
  const question = event.target.closest("fieldset") ?? questions.find((one) => !answered(one));
  const answer = question?.querySelector(`input[value="${event.key}"]`);
  if (!answer) return;
  event.preventDefault();
  answer.checked = true;
  const next = questions.find((one) => !answered(one));
  (next ? next.querySelector("input") : form.querySelector("button")).focus();
}

keys.closest("[hidden]").hidden = false;
keys.checked = !stored();
document.documentElement.classList.toggle("keys", keys.checked);
keys.addEventListener("change", () => {
  document.documentElement.classList.toggle("keys", keys.checked);
  try {
    localStorage.setItem(OFF, keys.checked ? "no" : "yes");
  } catch {
    // as above
  }
});
document.addEventListener("keydown", choose);
form.addEventListener("submit", () => {
  // A second click would only send the same answers again.
  form.querySelector("button").setAttribute("aria-disabled", "true");
});
