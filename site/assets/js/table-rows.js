/** The rows of a table as values: read, filter, sort and write them, without the page. */

/**
 * @typedef {Object<string, any>} Entry one row by the names of its columns; `order` is its position on the board,
 *   `ranked` whether it has a measured score
 */

/**
 * The entries of a task's table.json, the ranked ones first.
 *
 * @param {{columns: string[], rows: any[][], failures?: any[][]}} table
 * @returns {Entry[]}
 */
export function entriesOf(table) {
  const entry = (row, order, ranked) => {
    const made = { order, ranked };
    table.columns.forEach((name, index) => { made[name] = row[index]; });
    made.who = `${made.login}/${made.agent}`;
    made.flags ??= [];
    return made;
  };
  const rows = table.rows.map((row, index) => entry(row, index, true));
  return rows.concat((table.failures ?? []).map((row, index) => entry(row, rows.length + index, false)));
}

/**
 * The entries that a view shows, in its order.
 *
 * @param {Entry[]} entries
 * @param {import("./table-address.js").View} view
 * @param {(entry: Entry) => any} [value] what is sorted by; the board's own order without it
 * @returns {Entry[]}
 */
export function shownOf(entries, view, value) {
  const matches = entries.filter(matcher(view));
  return value ? sorted(matches, value, view.sort.startsWith("-")) : matches;
}

/**
 * Sorts by a value: numbers by size, text without regard to case, missing values last in both directions; equal ones keep
 * their order.
 *
 * @param {Entry[]} entries
 * @param {(entry: Entry) => any} value
 * @param {boolean} descending
 * @returns {Entry[]}
 */
export function sorted(entries, value, descending) {
  const keyed = [];
  const missing = [];
  for (const entry of entries) {
    const key = value(entry);
    if (isMissing(key)) missing.push(entry);
    else keyed.push({ entry, key: typeof key === "string" ? key.toLowerCase() : key });
  }
  const way = descending ? -1 : 1;
  keyed.sort((a, b) => (a.key < b.key ? -way : a.key > b.key ? way : 0));
  return [...keyed.map((one) => one.entry), ...missing];
}

/**
 * What is shown as CSV, for spreadsheets: text that begins like a formula, also behind a semicolon, where some spreadsheets part
 * cells, gets an apostrophe there; numbers stay numbers.
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
  const guarded = value.replace(/^(?=[\t\r]|\s*[=+\-@＝＋－＠])|(?<=[;\t\r\n])(?=(?:[^\S;\t\r\n]|")*[=+\-@＝＋－＠])/g, "'");
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

function isMissing(key) {
  return key === null || key === undefined || key === "" || Number.isNaN(key);
}

/** A test whether a view shows an entry. Each click tests ten thousand, so only filters that are set are tested. */
function matcher(view) {
  const tests = [];
  const holds = (text, part) => String(text ?? "").toLowerCase().includes(part);
  const within = (name, test) => {
    const part = view[name].trim().toLowerCase();
    if (part) tests.push((entry) => test(entry, part));
  };
  const [min, max] = [limit(view.min), limit(view.max)];
  if (!view.failed) tests.push((entry) => entry.ranked);
  within("find", (entry, part) => [entry.name, entry.who, entry.algorithm, entry.authors].some((text) => holds(text, part)));
  within("agent", (entry, part) => holds(entry.name, part) || holds(entry.who, part));
  within("author", (entry, part) => holds(entry.login, part) || holds(entry.authors, part));
  within("algorithm", (entry, part) => holds(entry.algorithm, part));
  if (min !== null) tests.push((entry) => typeof entry.score === "number" && entry.score >= min);
  if (max !== null) tests.push((entry) => typeof entry.score === "number" && entry.score <= max);
  if (view.from) tests.push((entry) => (entry.evaluated_at ?? "").slice(0, 10) >= view.from);
  if (view.to) tests.push((entry) => Boolean(entry.evaluated_at) && entry.evaluated_at.slice(0, 10) <= view.to);
  if (view.kind) tests.push((entry) => entry.kind === view.kind);
  if (view.verified) tests.push((entry) => entry.flags.includes("verified"));
  return (entry) => tests.every((test) => test(entry));
}

function limit(text) {
  const value = Number(text.replace("\u2212", "-"));
  return text.trim() === "" || Number.isNaN(value) ? null : value;
}
