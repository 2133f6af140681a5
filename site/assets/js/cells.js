/** The columns of a table: the label of each, its value for sorting, its cell, and its fields in files. */

import { bar } from "./charts.js";
import { el } from "./dom.js";
import { day, NONE, number, ranks, size, span } from "./format.js";
import { agentLink, ownerLink, safe } from "./site.js";

/**
 * @typedef {object} Column
 * @property {string} id
 * @property {string} label
 * @property {string} title
 * @property {boolean} right whether it stands at the right
 * @property {string} way `higher` or `lower` where one is better
 * @property {boolean} usual whether it is shown without being asked for
 * @property {boolean} [upFirst] whether the first press sorts it in ascending order
 * @property {(entry: object) => any} value what it is sorted by
 * @property {(entry: object) => HTMLElement} cell
 * @property {Object<string, (entry: object) => any>} fields its values in files
 */

const WORDS = { verified: "verified by the host" };

/**
 * @typedef {{id: string, label: string, title: string, kind: string, right: boolean, way: string, decimals: number|null,
 *   usual: boolean}} Head
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
    kind: "",
    right: th.classList.contains("pr-right"),
    way: th.dataset.way ?? "",
    decimals: th.dataset.decimals === undefined ? null : Number(th.dataset.decimals),
    ends: endsOf(th.querySelector(".pr-ends")),
    usual: true,
  }));
}

/** Both ends of the scale below a head, as attributes. */
function endsOf(axis) {
  return axis && { "data-low": axis.dataset.low, "data-high": axis.dataset.high };
}

/**
 * The heads of columns that are shown on request only: table.json has labels for them, and the page has no head.
 *
 * @param {{columns: string[], heads: {label: string, title: string, kind: string}[]}} table
 * @param {Head[]} usual
 * @returns {Head[]}
 */
export function moreHeads(table, usual) {
  const shown = new Set(usual.map((head) => head.id));
  // A host names the metrics as he likes; by their numbers they can stand in an address.
  const further = table.columns.filter((name, index) => table.heads[index].kind === "metric");
  const heads = table.columns.map((name, index) => {
    const number = 1 + further.indexOf(name);
    const { direction, decimals } = (number > 0 && table.metrics[number]) || { direction: "", decimals: null };
    return { id: number > 0 ? `metric:${number}` : name, ...table.heads[index], way: direction, decimals };
  });
  return heads.filter(({ id, label }) => label && !shown.has(id))
    .map((head) => ({ ...head, right: ["number", "metric"].includes(head.kind), usual: false }));
}

/**
 * Columns that can be sorted, shown and written.
 *
 * @param {Head[]} heads
 * @param {{scale: object, decimals: number, forge: string}} board
 * @returns {Column[]}
 */
export function columnsOf(heads, board) {
  const given = { ...board, forge: board.forge ? safe(`${board.forge}/`) : null };
  return heads.map((head) => {
    const kind = KINDS[head.id] ?? (head.id.startsWith("metric:") ? metric : plain);
    return { ...head, value: (entry) => entry[head.id], fields: own(head.id), ...kind(head, given) };
  });
}

/** Fields of files that entries have under the same names. */
function own(...names) {
  return Object.fromEntries(names.map((name) => [name, (entry) => entry[name]]));
}

/** What a column has instead of the value and the field of its own name. */
const KINDS = {
  place: () => ({
    upFirst: true,
    value: (entry) => (entry.ranked ? entry.order : null),
    cell: place,
    fields: { place: (entry) => (entry.score === null ? null : entry.place), ...own("rank_low", "rank_high") },
  }),
  agent: (head, { forge }) => ({
    upFirst: true,
    value: (entry) => entry.name || entry.agent,
    cell: (entry) => agent(entry, forge),
    fields: own("login", "agent", "name", "flags"),
  }),
  score: (head, { decimals }) => ({
    // Claimed scores, and those of withdrawn agents, are not sorted among measured ones.
    value: (entry) => (entry.ranked ? entry.score : null),
    cell: (entry) => score(entry, decimals),
  }),
  interval: (head, { scale, decimals }) => ({
    upFirst: true,
    value: (entry) => (typeof entry.low === "number" && typeof entry.high === "number" ? entry.high - entry.low : null),
    cell: (entry) => picture(entry, scale, decimals),
    fields: own("low", "high"),
  }),
  login: (head, { forge }) => ({ upFirst: true, cell: (entry) => el("td", {}, owner(entry, forge)) }),
  algorithm: () => ({ upFirst: true, cell: (entry) => typed(entry.algorithm, "pr-typed") }),
  message: () => ({ upFirst: true, cell: (entry) => typed(entry.message, entry.message ? "pr-typed pr-message" : "pr-typed") }),
  cpu_seconds: () => ({ cell: (entry) => right(typeof entry.cpu_seconds === "number" ? `${number(entry.cpu_seconds)} s` : NONE) }),
  peak_memory_bytes: () => ({
    cell: (entry) => right(typeof entry.peak_memory_bytes === "number" ? size(entry.peak_memory_bytes) : NONE),
  }),
  evaluated_at: () => ({ cell: (entry) => el("td", { class: "pr-date" }, entry.evaluated_at ? day(entry.evaluated_at) : NONE) }),
  verdict: () => ({ upFirst: true, cell: verdict }),
};

function metric(head) {
  const index = Number(head.id.slice("metric:".length)) - 1;
  const value = (entry) => entry.metrics[index];
  return { value, cell: (entry) => right(number(value(entry), head.decimals)), fields: { [head.label]: value } };
}

function plain({ id, kind, right: isRight }) {
  const text = (value) => (value === null || value === undefined || value === "" ? NONE : String(value));
  return {
    upFirst: kind === "text",
    cell: (entry) => (isRight ? right(text(entry[id])) : el("td", {}, el("bdi", {}, text(entry[id])))),
  };
}

function hasPlace(entry) {
  return entry.ranked && typeof entry.place === "number" && typeof entry.score === "number";
}

function right(text) {
  return el("td", { class: "pr-right" }, text);
}

function place(entry) {
  if (!hasPlace(entry)) return el("td", { class: "pr-place" }, NONE);
  const medal = entry.place <= 3 ? { class: `pr-medal pr-medal-${entry.place}`, title: `place ${entry.place}` } : { class: "pr-number" };
  const range = entry.rank_low !== entry.rank_high && [" ", el("span", { class: "pr-ranks" }, ranks(entry.rank_low, entry.rank_high))];
  return el("td", { class: "pr-place" }, el("span", medal, entry.place), range);
}

function agent(entry, forge) {
  const name = entry.name || entry.agent;
  const gone = entry.flags.includes("withdrawn") || entry.flags.includes("excluded");
  return el("td", { class: "pr-who" },
    gone ? el("span", { class: "pr-agent" }, el("bdi", { class: "pr-clamp" }, name)) : agentLink(`${entry.login}/${entry.agent}`, name),
    entry.flags.filter((flag) => flag !== "anonymous").map((flag) => [" ", el("span", { class: "pr-tag" }, WORDS[flag] ?? flag)]),
    !entry.flags.includes("anonymous") && [" ", el("span", { class: "pr-by pr-below" }, "by ", ownerLink(entry.login, forge))],
    entry.with_leader && entry.place > 1 && [" ", el("span", { class: "pr-tie" }, "statistically tied with the leader")],
    entry.tries > 1 && [" ", el("span", { class: "pr-tag" }, `provisional, ${entry.tries} versions tried`)],
  );
}

function score(entry, decimals) {
  if (typeof entry.score !== "number") return el("td", { class: "pr-value" }, NONE);
  return el("td", { class: "pr-value" }, el("b", {}, number(entry.score, decimals)), " ",
    el("span", { class: "pr-interval" }, typeof entry.low === "number" ? span(entry.low, entry.high, decimals) : ""));
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
