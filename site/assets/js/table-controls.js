/** The controls above a table: search, filters, columns, the switch for failures, and files of what is shown. */

import { el } from "./dom.js";
import { narrowed, NO_FILTERS } from "./table-address.js";

const FIELDS = [
  ["agent", "Agent", { type: "search" }],
  ["author", "Author", { type: "search" }],
  ["algorithm", "Algorithm", { type: "search" }],
  ["min", "Score from", { type: "number", step: "any" }],
  ["max", "Score to", { type: "number", step: "any" }],
  ["from", "Date from", { type: "date" }],
  ["to", "Date to", { type: "date" }],
];
const KINDS = ["policy", "script", "image"];

/**
 * Creates the controls.
 *
 * @param {{id: string, label: string, shown: string}[]} heads the columns there are
 * @param {{isGame: boolean, unranked: number}} board
 * @param {(patch: object, typed: string) => void} change called with what changed in the view; `typed` is the field that is typed in
 * @param {(form: "csv"|"json") => void} save
 * @param {() => void} open called when the list of columns is opened or closed
 * @returns {{element: HTMLElement, show: (view: import("./table-address.js").View) => void, say: (text: string) => void,
 *   offer: (heads: object[], view: import("./table-address.js").View) => void}} `offer` adds columns to the list
 */
export function controls(heads, board, change, save, open) {
  const inputs = new Map();
  const field = (name, label, attributes) => {
    const input = el("input", { ...attributes, name, autocomplete: "off", oninput: () => change({ [name]: input.value }, name) });
    inputs.set(name, input);
    return el("label", {}, el("span", {}, label), input);
  };
  const flip = (name, label) => {
    const input = el("input", { type: "checkbox", name, onchange: () => change({ [name]: input.checked }, "") });
    inputs.set(name, input);
    return el("label", { class: "pr-switch" }, input, label);
  };
  const kind = el("select", { name: "kind", onchange: () => change({ kind: kind.value }, "") },
    el("option", { value: "" }, "any"), KINDS.map((one) => el("option", { value: one }, one)));
  inputs.set("kind", kind);
  const boxOf = (head) => ({ id: head.id, usual: head.shown === "always", box: el("input", { type: "checkbox", onchange: columns }), label: head.label });
  const labelOf = (one) => el("label", { class: "pr-switch" }, one.box, one.label);
  const boxes = heads.map(boxOf);
  const list = el("div", { class: "pr-fields", hidden: true }, boxes.map(labelOf));
  const check = (view) => {
    for (const one of boxes) one.box.checked = view.columns.length ? view.columns.includes(one.id) : one.usual;
  };
  function columns() {
    const chosen = boxes.filter((one) => one.box.checked).map((one) => one.id);
    const usual = boxes.filter((one) => one.usual).map((one) => one.id);
    // Without any column the table would be empty.
    change({ columns: !chosen.length || chosen.join() === usual.join() ? [] : chosen }, "");
  }
  const status = el("p", { class: "pr-note pr-found", role: "status" });
  const clear = el("button", { type: "button", class: "pr-button", onclick: () => change(NO_FILTERS, "") }, "Clear filters");
  const fields = board.isGame ? FIELDS.filter(([name]) => name !== "algorithm") : FIELDS;
  const narrow = el("div", { class: "pr-fields", hidden: true },
    fields.map(([name, label, attributes]) => field(name, label, attributes)),
    !board.isGame && el("label", {}, el("span", {}, "Kind"), kind), flip("verified", "verified by the host"), clear);
  const filters = el("button", { type: "button", ...opens(narrow) }, "Filters");
  const element = el("div", { class: "pr-controls", role: "group", "aria-label": "What the table shows" },
    field("find", "Find", { type: "search", placeholder: "agent, author, algorithm" }),
    filters,
    el("button", { type: "button", ...opens(list, open) }, "Columns"),
    board.unranked > 0 && flip("failed", `Failed and withdrawn (${board.unranked})`),
    el("span", { class: "pr-files" },
      el("button", { type: "button", class: "pr-button", title: "what the table shows, as a file", onclick: () => save("csv") }, "Save as CSV"),
      el("button", { type: "button", class: "pr-button", title: "what the table shows, as a file", onclick: () => save("json") }, "Save as JSON")),
    narrow, list);
  return {
    element: el("div", {}, element, status),
    show: (view) => {
      for (const [name, input] of inputs) {
        if (input.type === "checkbox") input.checked = view[name];
        // What is being typed keeps its cursor.
        else if (input.value !== view[name]) input.value = view[name];
      }
      check(view);
      const count = narrowed(view);
      filters.textContent = count ? `Filters (${count})` : "Filters";
      clear.disabled = !count && !view.find;
    },
    offer: (more, view) => {
      const added = more.map(boxOf);
      boxes.push(...added);
      list.append(...added.map(labelOf));
      check(view);
    },
    say: (text) => {
      if (status.textContent !== text) status.textContent = text;
    },
  };
}

/** Attributes of a button that shows and hides a row of fields, which stands below all controls: they keep their places. */
function opens(fields, then = () => {}) {
  const onclick = (event) => {
    fields.hidden = !fields.hidden;
    event.currentTarget.setAttribute("aria-expanded", String(!fields.hidden));
    then();
  };
  return { class: "pr-button pr-tool", "aria-expanded": "false", onclick };
}
