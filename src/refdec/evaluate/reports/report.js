// Sorts a table of figures by a column: best first, then worst first, then as it came. It only moves rows.
"use strict";

function order(rows, column, direction) {
  const value = (row) => parseFloat(row.cells[column].dataset.value);
  const known = rows.filter((row) => !Number.isNaN(value(row)));
  const unknown = rows.filter((row) => Number.isNaN(value(row)));
  known.sort((one, other) => (direction === "ascending" ? 1 : -1) * (value(one) - value(other)));
  return [...known, ...unknown];
}

for (const table of document.querySelectorAll(".figures")) {
  const parts = [...table.tBodies].map((body) => [body, [...body.rows]]);
  const rows = parts.flatMap(([, members]) => members).filter((row) => !row.classList.contains("group"));
  const heads = table.querySelectorAll("thead th");
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.first;
      const second = first === "ascending" ? "descending" : "ascending";
      const before = head.getAttribute("aria-sort");
      const next = before === null ? first : before === first ? second : null;
      for (const other of heads) other.removeAttribute("aria-sort");
      for (const [body, members] of parts) body.replaceChildren(...members);
      if (next === null) return;
      head.setAttribute("aria-sort", next);
      const sorted = order(rows, head.cellIndex, next);
      for (const [body] of parts) body.replaceChildren();
      parts[0][0].replaceChildren(...sorted);
    });
  }
}
