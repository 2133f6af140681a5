/** What a reader chose to see of a table, and its form in the address, so that a view can be shared. */

import { MAX_COMPARED } from "./charts.js";
import { queryOf } from "./site.js";

const TEXTS = ["find", "agent", "author", "algorithm", "min", "max", "from", "to", "kind"];
const SWITCHES = ["verified", "failed"];
const LISTS = ["columns", "pick"];

/**
 * @typedef {object} View
 * @property {string} sort a column's name, with a minus before it for descending; empty for the board's own order
 * @property {string} find looked for in name, agent, author and algorithm
 * @property {string} agent
 * @property {string} author
 * @property {string} algorithm
 * @property {string} min the least score
 * @property {string} max the greatest score
 * @property {string} from the first day
 * @property {string} to the last day
 * @property {string} kind
 * @property {boolean} verified only those that the hosts verified
 * @property {boolean} failed also those without a place
 * @property {string[]} columns which are shown; empty for the usual ones
 * @property {string[]} pick `login/agent` of those that are compared
 * @property {number} page from 1
 */

/** A view without any filter. */
export const NO_FILTERS = { ...Object.fromEntries(TEXTS.map((name) => [name, ""])), verified: false };

/**
 * The view in an address; invalid parts are left out.
 *
 * @param {string} search
 * @returns {View}
 */
export function fromAddress(search) {
  const given = new URLSearchParams(search);
  const view = { sort: given.get("sort") ?? "", page: Math.max(1, Math.floor(Number(given.get("page"))) || 1) };
  for (const name of TEXTS) view[name] = given.get(name) ?? "";
  for (const name of SWITCHES) view[name] = given.get(name) === "1";
  for (const name of LISTS) view[name] = [...new Set((given.get(name) ?? "").split(",").filter(Boolean))];
  view.pick = view.pick.slice(0, MAX_COMPARED);
  return view;
}

/**
 * The query of a view; empty for the table as the page has it.
 *
 * @param {View} view
 * @returns {string}
 */
export function toAddress(view) {
  const parameters = new URLSearchParams();
  if (view.sort) parameters.set("sort", view.sort);
  for (const name of TEXTS) if (view[name]) parameters.set(name, view[name]);
  for (const name of SWITCHES) if (view[name]) parameters.set(name, "1");
  for (const name of LISTS) if (view[name].length) parameters.set(name, view[name].join(","));
  if (view.page > 1) parameters.set("page", String(view.page));
  const query = queryOf(parameters);
  return query && `?${query}`;
}

/**
 * How many filters narrow a view.
 *
 * @param {View} view
 * @returns {number}
 */
export function narrowed(view) {
  return TEXTS.filter((name) => name !== "find" && view[name]).length + Number(view.verified);
}
