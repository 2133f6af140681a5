/** The columns of a table as leaderboard/api/table_columns.py defines them: value for sorting, cell, and fields in files, by kind. */

import { bar } from "./charts.js";
import { el } from "./dom.js";
import { day, NONE, number, ranks, size, span } from "./format.js";
import { agentLink, ownerLink, safe } from "./site.js";

/**
 * @typedef {object} Head
 * @property {string} id
 * @property {string} label
 * @property {string} title
 * @property {string} kind how its cells are drawn
 * @property {boolean} right whether its head stands at the right
 * @property {string|null} direction `higher` or `lower` where one is better
 * @property {"always"|"with failures"|"on request"} shown
 * @property {number} [decimals]
 * @property {string[]} [fields] names of its values, the one it is sorted by first
 */

/**
 * @typedef {object} Drawing what a column is beside its head
 * @property {boolean} [upFirst] whether the first press sorts it in ascending order
 * @property {(entry: object) => any} value what it is sorted by
 * @property {(entry: object) => HTMLElement} cell
 * @property {Object<string, (entry: object) => any>} files its values in files
 *
 * @typedef {Head & Drawing} Column
 */

/**
 * The heads of the page's own table, before any data are there.
 *
 * @param {HTMLTableElement} table
 * @returns {Head[]}
 */
export function headsOf(table) {
  return [...table.tHead.querySelectorAll("th[data-column]")].map((th) => ({
    id: th.dataset.column,
    label: th.dataset.label,
    title: th.title,
    kind: th.dataset.kind,
    right: th.classList.contains("pr-right"),
    direction: th.dataset.way ?? null,
    shown: "always",
  }));
}

/**
 * Columns that can be sorted, shown and written.
 *
 * @param {Head[]} heads
 * @param {{scale: object, forge: string}} board
 * @returns {Column[]}
 */
export function columnsOf(heads, board) {
  const given = { ...board, forge: board.forge ? safe(`${board.forge}/`) : null };
  return heads.map((head) => {
    const [first] = head.fields ?? [head.id];
    const files = Object.fromEntries((head.fields ?? []).map((name) => [name, (entry) => entry[name]]));
    return { ...head, value: (entry) => entry[first], files, ...KINDS[head.kind](head, given) };
  });
}

/** How a column of each kind is drawn, and what else it is sorted by and written as than the values of its fields. */
const KINDS = {
  place: (head) => ({
    upFirst: true,
    value: (entry) => (entry.ranked ? entry.order : null),
    cell: (entry) => place(entry, head),
    files: { place: (entry) => (entry.score === null ? null : entry.place), rank_low: (entry) => entry.rank_low, rank_high: (entry) => entry.rank_high },
  }),
  agent: (head, { forge }) => ({ upFirst: true, value: (entry) => entry.name || entry.agent, cell: (entry) => agent(entry, forge) }),
  owner: (head, { forge }) => ({ upFirst: true, cell: (entry) => el("td", {}, owner(entry, forge)) }),
  // Claimed scores, and those of withdrawn agents, are not sorted among measured ones.
  score: ({ decimals }) => ({ value: (entry) => (entry.ranked ? entry.score : null), cell: (entry) => score(entry, decimals) }),
  interval: ({ decimals }, { scale }) => ({
    upFirst: true,
    value: (entry) => (typeof entry.low === "number" && typeof entry.high === "number" ? entry.high - entry.low : null),
    cell: (entry) => picture(entry, scale, decimals),
  }),
  metric: ({ fields: [field] = [], label, decimals }) => ({
    cell: (entry) => right(number(entry[field], decimals)),
    files: { [label]: (entry) => entry[field] },
  }),
  number: one((value) => right(value)),
  seconds: one((value) => right(value === NONE ? NONE : `${number(value)} s`)),
  bytes: one((value) => right(value === NONE ? NONE : size(value))),
  date: one((value) => el("td", { class: "pr-date" }, day(value))),
  text: one((value) => el("td", {}, el("bdi", {}, value)), true),
  clamped: ({ fields: [field] = [] }) => ({ upFirst: true, cell: (entry) => typed(entry[field], "pr-typed") }),
  reason: ({ fields: [field] = [] }) => ({
    upFirst: true,
    cell: (entry) => typed(entry[field], entry[field] ? "pr-typed pr-message" : "pr-typed"),
  }),
  verdict: () => ({ upFirst: true, cell: verdict }),
};

/** A kind whose cell has one value; a dash where it is missing. */
function one(draw, upFirst = false) {
  return ({ fields: [field] = [] }) => ({
    upFirst,
    cell: (entry) => draw(entry[field] === null || entry[field] === "" ? NONE : entry[field]),
  });
}

function hasPlace(entry) {
  return entry.ranked && typeof entry.place === "number" && typeof entry.score === "number";
}

function right(text) {
  return el("td", { class: "pr-right" }, text);
}

function place(entry, { title }) {
  if (!hasPlace(entry)) return el("td", { class: "pr-place", title: entry.ranked && entry.message }, NONE);
  const medal = entry.place <= 3 ? { class: `pr-medal pr-medal-${entry.place}`, title: `place ${entry.place}` } : { class: "pr-number" };
  const range = entry.rank_low !== entry.rank_high && [" ", el("span", { class: "pr-ranks", title }, ranks(entry.rank_low, entry.rank_high))];
  return el("td", { class: "pr-place" }, el("span", medal, entry.place), range);
}

function agent(entry, forge) {
  const name = entry.name || entry.agent;
  const gone = entry.flags.includes("withdrawn") || entry.flags.includes("excluded");
  return el("td", { class: "pr-who" },
    gone ? el("span", { class: "pr-agent" }, el("bdi", { class: "pr-clamp" }, name)) : agentLink(`${entry.login}/${entry.agent}`, name),
    tags(entry.tags),
    !entry.flags.includes("anonymous") && [" ", el("span", { class: "pr-by pr-below" }, "by ", ownerLink(entry.login, forge))],
    entry.is_tied && [" ", el("span", { class: "pr-tie" }, "statistically tied with the leader")],
    tags(entry.marks),
  );
}

function tags(all) {
  return (all ?? []).map(([words, title]) => [" ", el("span", { class: "pr-tag", title: title || null }, words)]);
}

function score(entry, decimals) {
  if (typeof entry.score !== "number") return el("td", { class: "pr-value" }, NONE);
  return el("td", { class: "pr-value" }, el("b", {}, number(entry.score, decimals)), " ",
    el("span", { class: "pr-interval" }, entry.ranked && span(entry.low, entry.high, decimals)));
}

function picture(entry, scale, decimals) {
  if (typeof entry.score !== "number") return el("td", { class: "pr-by" }, entry.ranked ? "no value" : "");
  return el("td", { class: "pr-picture" }, bar(entry, scale, decimals));
}

function owner(entry, forge) {
  return entry.flags.includes("anonymous") ? el("span", { class: "pr-by" }, "not shown yet") : ownerLink(entry.login, forge);
}

function typed(text, style) {
  return el("td", { class: style, title: text }, el("bdi", { class: "pr-clamp" }, text ?? ""));
}

function verdict(entry) {
  if (!entry.verdict) return el("td", {}, entry.ranked ? NONE : entry.flags[0] ?? NONE);
  const kind = { ok: "ok", internal_error: "ours" }[entry.verdict] ?? (entry.verdict === "waiting" ? "ours" : "bad");
  return el("td", {}, el("span", { class: `pr-verdict pr-verdict-${kind}` }, entry.verdict));
}
