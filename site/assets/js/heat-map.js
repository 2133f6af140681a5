/** Sorts the heat map of agents and tasks: each head becomes a button. */

import { el } from "./dom.js";

for (const table of document.querySelectorAll("table.pr-heat")) makeSortable(table);

function makeSortable(table) {
  const [body] = table.tBodies;
  const heads = [...table.tHead.rows[0].cells];
  const labels = heads.map((head) => head.textContent);
  let sorted = { column: -1, down: false };

  heads.forEach((head, column) => {
    head.replaceChildren(el("button", { type: "button", class: "pr-sort", onclick: () => sortBy(column) },
      labels[column], el("span", { class: "pr-turn", "aria-hidden": "true" })));
  });

  /** First press: the best first, or words from A; second press: the reverse. */
  function sortBy(column) {
    const isText = heads[column].dataset.sort === "words";
    const down = sorted.column === column ? !sorted.down : !isText;
    sorted = { column, down };
    const rows = [...body.rows].map((row) => ({ row, key: keyOf(row.cells[column], isText) }));
    const scored = rows.filter(({ key }) => key !== null);
    scored.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (down ? -1 : 1));
    // Who has no score stays below, whatever the order.
    body.append(...scored.map(({ row }) => row), ...rows.filter(({ key }) => key === null).map(({ row }) => row));
    heads.forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".pr-turn").textContent = index === column ? (down ? "▼" : "▲") : "";
    });
  }
}

function keyOf(cell, isText) {
  const words = cell.textContent.trim();
  if (isText) return words.toLowerCase();
  const value = Number.parseFloat(words.replace("\u2212", "-").replaceAll("\u202f", ""));
  return Number.isNaN(value) ? null : value;
}
