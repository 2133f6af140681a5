/**
 * The interactive table of a task: sorts, filters and pages through all entries. The address always holds what is shown.
 * The entries are fetched on the first use; until then the rows of the page stay.
 */

import { MAX_COMPARED } from "./charts.js";
import { el } from "./dom.js";
import { number } from "./format.js";
import { controls } from "./table-controls.js";
import { columnsOf, headsOf } from "./table-cells.js";
import { panel } from "./table-picks.js";
import { fetched, saveFile } from "./site.js";
import { csv, entriesOf, shownOf } from "./table-rows.js";
import { fromAddress, toAddress } from "./table-address.js";

const PAGE = 100;
/** The least height of a row in pixels. */
const LEAST_ROW = 36;
const place = document.querySelector(".pr-table");
if (place) takeOver(place);

function takeOver(place) {
  const given = place.dataset;
  const isGame = given.kind === "game";
  const table = place.querySelector("table.pr-board");
  const heads = headsOf(table);
  const ends = table.querySelector(".pr-ends");
  const decimals = Number(given.decimals);
  const marks = given.marks.split(" ").filter(Boolean).map(Number);
  const board = { forge: given.forge, scale: { low: Number(given.low), high: Number(given.high), marks } };
  let columns = columnsOf(heads, board);
  const tools = controls(heads, { isGame, unranked: Number(given.unranked) }, change, save, offerColumns);
  const picks = isGame ? null : panel({ task: given.task, decimals }, (who) => pick(who, false));
  const pager = el("nav", { class: "pr-pager", "aria-label": "Pages of the table" });
  let view = fromAddress(location.search);
  let entries = null;
  let byName = null;
  let typedLast = "";
  let drawn = 0;

  place.prepend(tools.element);
  place.querySelector(".pr-all").before(pager);
  if (picks) place.append(picks.element);
  enliven();
  tools.show(view);
  addEventListener("popstate", () => {
    view = fromAddress(location.search);
    typedLast = "";
    tools.show(view);
    void refresh();
  });
  if (toAddress(view)) void refresh();

  /** Makes buttons of the heads, and lets rows of the page be picked. */
  function enliven() {
    table.tHead.replaceChildren(headRow(shownColumns()));
    if (!picks) return;
    for (const row of table.tBodies[0].rows) {
      const name = row.querySelector(".pr-agent")?.textContent ?? row.dataset.who;
      row.prepend(pickCell(row.dataset.who, name));
    }
  }

  /** Changes view, address and table. Typing into one field is one step in the browser's history. */
  function change(patch, typed) {
    view = { ...view, page: 1, ...patch };
    const address = location.pathname + toAddress(view) + location.hash;
    if (typed && typed === typedLast) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    typedLast = typed;
    tools.show(view);
    void refresh();
  }

  async function refresh() {
    const isLoaded = await load();
    if (isLoaded) draw();
  }

  async function load() {
    if (entries) return true;
    tools.say("Loading all entries …");
    try {
      const document = await fetched(new URL(`${given.documents}table.json`, location.href));
      if (!entries) {
        entries = entriesOf(document);
        columns = columnsOf(document.heads, board);
        tools.offer(document.heads.filter((one) => one.shown !== "always"), view);
      }
      byName ??= new Map(entries.map((entry) => [entry.who, entry]));
      return true;
    } catch {
      tools.say("The entries could not be loaded; the table shows only the rows of this page. Try again, or use the files below.");
      return false;
    }
  }

  /** Loads the entries: they hold the names of further columns. */
  async function offerColumns() {
    if (!entries && (await load())) tools.say("");
  }

  function shownColumns() {
    if (view.columns.length) return columns.filter((one) => view.columns.includes(one.id));
    // What the table is sorted by is shown, too.
    const sorted = view.sort.replace(/^-/, "");
    const usual = columns.filter((one) => one.shown === "always" || one.id === sorted);
    // Reasons stand beside the names, before the columns that are empty for failures.
    const reasons = view.failed ? columns.filter((one) => one.shown === "with failures" && !usual.includes(one)) : [];
    const after = usual.findIndex((one) => one.kind === "agent") + 1;
    return [...usual.slice(0, after), ...reasons, ...usual.slice(after)];
  }

  function shownEntries() {
    const column = columns.find((one) => one.id === view.sort.replace(/^-/, ""));
    return shownOf(entries, view, column?.value);
  }

  function draw() {
    const matches = shownEntries();
    const pages = Math.max(1, Math.ceil(matches.length / PAGE));
    const page = Math.min(view.page, pages);
    const first = (page - 1) * PAGE;
    const chosen = shownColumns();
    const focused = document.activeElement?.closest?.(".pr-table [data-focus]")?.dataset.focus;
    const shown = matches.slice(first, first + PAGE);
    const count = inWindow();
    table.tHead.replaceChildren(headRow(chosen));
    table.tBodies[0].replaceChildren(...shown.slice(0, count).map((entry) => row(entry, chosen)));
    pager.replaceChildren(...(pages > 1 ? steps(page, pages) : []));
    refocus(focused);
    drawRest(shown.slice(count), chosen, focused);
    tools.say(sentence(matches.length, first));
    if (picks) void picks.show(view.pick, byName);
  }

  /** As many rows as it takes to fill the window down to its lower edge, from wherever the table begins. */
  function inWindow() {
    return Math.max(1, Math.ceil((innerHeight - table.tBodies[0].getBoundingClientRect().top) / LEAST_ROW));
  }

  /** Laying out a hundred rows takes far longer than sorting all, so rows below the window are added after the first frame. */
  function drawRest(rest, chosen, focused) {
    drawn += 1;
    const mine = drawn;
    if (rest.length) table.setAttribute("aria-busy", "true");
    else table.removeAttribute("aria-busy");
    requestAnimationFrame(() => setTimeout(() => {
      // A later click has drawn another choice.
      if (mine !== drawn || !rest.length) return;
      table.tBodies[0].append(...rest.map((entry) => row(entry, chosen)));
      table.removeAttribute("aria-busy");
      refocus(focused);
    }));
  }

  /** Puts the focus on the new button in the place of the one that had it. */
  function refocus(focused) {
    if (!focused || document.activeElement !== document.body) return;
    place.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  function sentence(count, first) {
    const all = entries.filter((entry) => entry.ranked || view.failed).length;
    const of = count === all ? `${number(all, 0)} entries` : `${number(count, 0)} of ${number(all, 0)} entries`;
    if (!count) return `No entry fits: 0 of ${number(all, 0)}.`;
    return count > PAGE ? `${of}, ${number(first + 1, 0)} to ${number(Math.min(first + PAGE, count), 0)} here.` : `${of}.`;
  }

  function row(entry, chosen) {
    const made = el("tr", { class: entry.ranked ? entry.with_leader && "pr-leading" : "pr-off" });
    if (picks) made.append(entry.ranked ? pickCell(entry.who, entry.name || entry.agent) : el("td"));
    made.append(...chosen.map((column) => column.cell(entry)));
    return made;
  }

  function pickCell(who, name) {
    const isPicked = view.pick.includes(who);
    const box = el("input", { type: "checkbox", "data-focus": `pick ${who}`, "aria-label": `Pick ${name}`, onchange: () => pick(who, box.checked) });
    box.checked = isPicked;
    box.disabled = !isPicked && view.pick.length >= MAX_COMPARED;
    return el("td", { class: "pr-pick" }, box);
  }

  function pick(who, isPicked) {
    const others = view.pick.filter((one) => one !== who);
    change({ pick: isPicked ? [...others, who].slice(0, MAX_COMPARED) : others, page: view.page }, "");
  }

  function headRow(chosen) {
    const corner = picks && el("th", { scope: "col", class: "pr-pick", title: `Up to ${MAX_COMPARED}, to see how their returns are spread` }, "Pick");
    return el("tr", {}, corner, chosen.map(head));
  }

  function head(column) {
    const sorted = view.sort.replace(/^-/, "") || "place";
    const down = view.sort.startsWith("-");
    const isSorted = sorted === column.id;
    const button = el("button", { type: "button", class: "pr-sort", "data-focus": `sort ${column.id}`, onclick: () => sortBy(column) },
      column.label, el("span", { class: "pr-turn", "aria-hidden": "true" }, isSorted ? (down ? "▼" : "▲") : ""));
    const way = column.direction && el("span", { class: "pr-way" }, `${column.direction === "higher" ? "↑" : "↓"} ${column.direction} is better`);
    return el("th", { scope: "col", class: column.right && "pr-right", title: column.title || null,
      "aria-sort": isSorted ? (down ? "descending" : "ascending") : null }, button, way, column.kind === "interval" && ends?.cloneNode());
  }

  /** First press: better, newer or larger first, words from A. Second press: the reverse. */
  function sortBy(column) {
    const down = `-${column.id}`;
    const upFirst = column.upFirst || column.direction === "lower";
    const [first, second] = upFirst ? [column.id, down] : [down, column.id];
    const next = (view.sort || "place") === first ? second : first;
    change({ sort: next === "place" ? "" : next }, "");
  }

  function steps(page, pages) {
    const to = (label, target, name) => el("button", { type: "button", class: "pr-button", "data-focus": name, disabled: target < 1 || target > pages,
      onclick: () => change({ page: target }, "") }, label);
    return [to("Before", page - 1, "before"), el("span", {}, `Page ${page} of ${pages}`), to("Next", page + 1, "next")];
  }

  /** Saves the shown entries, in this order and with these columns, from all pages of the table. */
  async function save(form) {
    if (!(await load())) return;
    const fields = Object.assign({}, ...shownColumns().map((column) => column.files));
    const names = Object.keys(fields);
    const rows = shownEntries().map((entry) => names.map((name) => fields[name](entry) ?? null));
    const text = form === "csv" ? csv(names, rows) : JSON.stringify(rows.map((one) => Object.fromEntries(names.map((name, i) => [name, one[i]]))), null, 1);
    saveFile(new Blob([text], { type: form === "csv" ? "text/csv;charset=utf-8" : "application/json" }), `${given.segment}.${form}`);
    draw();
  }
}
