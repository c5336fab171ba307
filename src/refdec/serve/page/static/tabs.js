// Tabs as screen readers and keyboards expect them: one stop, arrows move, Home and End go to the ends.

export function startTabs(list, changed) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const panel = (tab) => document.getElementById(tab.getAttribute("aria-controls"));

  function choose(tab) {
    for (const other of tabs) {
      const isChosen = other === tab;
      other.setAttribute("aria-selected", String(isChosen));
      other.tabIndex = isChosen ? 0 : -1;
      panel(other).hidden = !isChosen;
    }
    changed(tab.dataset.task);
  }

  const STEPS = { ArrowRight: 1, ArrowLeft: -1 };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab);
  });
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    let next = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : null;
    if (event.key in STEPS) next = (at + STEPS[event.key] + tabs.length) % tabs.length;
    if (next === null || at < 0) return;
    event.preventDefault();
    tabs[next].focus();
    choose(tabs[next]);
  });
  return (task) => choose(tabs.find((tab) => tab.dataset.task === task) ?? tabs[0]);
}
