/** A board's rows as values: reading, filtering, sorting and writing them. Nothing here touches the page. */

/**
 * @typedef {Object<string, any>} Entry one row by the names of its columns; `order` is its position on the board, `metrics`
 *   the values of the further metrics, `ranked` whether it has a score that was measured
 */

/**
 * The entries of a board's table.json, the ranked ones first.
 *
 * @param {{columns: string[], rows: any[][], failures?: any[][], metrics?: object[]}} table
 * @param {boolean} isGame whether further columns are its own rather than metrics
 * @returns {Entry[]}
 */
export function entriesOf(table, isGame) {
  const after = table.columns.indexOf("high") + 1;
  const extra = isGame ? 0 : Math.max(0, (table.metrics ?? []).length - 1);
  // By position: a host may call a metric what a column is called.
  const named = table.columns.map((name, index) => [name, index]).filter(([, i]) => i < after || i >= after + extra);
  const made = (row, order, ranked) => {
    const entry = { order, ranked, metrics: row.slice(after, after + extra) };
    for (const [name, index] of named) entry[name] = row[index];
    entry.who = `${entry.login}/${entry.agent}`;
    entry.flags ??= [];
    return entry;
  };
  const rows = table.rows.map((row, index) => made(row, index, true));
  return rows.concat((table.failures ?? []).map((row, index) => made(row, rows.length + index, false)));
}

/**
 * The entries that a view shows, in its order.
 *
 * @param {Entry[]} entries
 * @param {import("./view.js").View} view
 * @param {(entry: Entry) => any} [value] what is sorted by; the board's own order without it
 * @returns {Entry[]}
 */
export function shownOf(entries, view, value) {
  const found = entries.filter(matcher(view));
  return value ? sorted(found, value, view.sort.startsWith("-")) : found;
}

/**
 * Sorted by a value: numbers by size, text without regard to capitals, what is missing last either way; equals keep the
 * board's order.
 *
 * @param {Entry[]} entries
 * @param {(entry: Entry) => any} value
 * @param {boolean} descending
 * @returns {Entry[]}
 */
export function sorted(entries, value, descending) {
  const keyed = entries.map((entry) => {
    const key = value(entry);
    return { entry, key: typeof key === "string" ? key.toLowerCase() : key, missing: isMissing(key) };
  });
  const way = descending ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.missing || b.missing) return a.missing - b.missing || a.entry.order - b.entry.order;
    if (a.key < b.key) return -way;
    return a.key > b.key ? way : a.entry.order - b.entry.order;
  });
  return keyed.map((one) => one.entry);
}

/**
 * What is shown as CSV, for spreadsheets: text that begins like a formula gets an apostrophe, numbers stay numbers.
 *
 * @param {string[]} names of the columns
 * @param {any[][]} rows
 * @returns {string}
 */
export function csv(names, rows) {
  return [names, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return Array.isArray(value) ? cell(value.join(" ")) : String(value);
  const guarded = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function isMissing(key) {
  return key === null || key === undefined || key === "" || Number.isNaN(key);
}

function matcher(view) {
  const holds = (text, part) => !part || String(text ?? "").toLowerCase().includes(part);
  const low = (text) => text.trim().toLowerCase();
  const [find, agent, author, algorithm] = [view.find, view.agent, view.author, view.algorithm].map(low);
  const [min, max] = [limit(view.min), limit(view.max)];
  const known = (entry) => typeof entry.score === "number";
  return (entry) =>
    (entry.ranked || view.failed) &&
    (holds(entry.name, find) || holds(entry.who, find) || holds(entry.algorithm, find) || holds(entry.authors, find)) &&
    (holds(entry.name, agent) || holds(entry.who, agent)) &&
    (holds(entry.login, author) || holds(entry.authors, author)) &&
    holds(entry.algorithm, algorithm) &&
    (min === null || (known(entry) && entry.score >= min)) &&
    (max === null || (known(entry) && entry.score <= max)) &&
    (!view.from || (entry.evaluated_at ?? "").slice(0, 10) >= view.from) &&
    (!view.to || Boolean(entry.evaluated_at && entry.evaluated_at.slice(0, 10) <= view.to)) &&
    (!view.kind || entry.kind === view.kind) &&
    (!view.verified || entry.flags.includes("verified"));
}

function limit(text) {
  const value = Number(text.replace("\u2212", "-"));
  return text.trim() === "" || Number.isNaN(value) ? null : value;
}
