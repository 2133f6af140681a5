/** Numbers and dates exactly as leaderboard/text/format.py writes them. */

const MINUS = "\u2212";
export const NONE = "\u2013";
const THIN = "\u202f";
/** From here on a number is written with an exponent: a script may claim one of 309 digits. */
const LONG = 1e21;
/** Digits that show whether a number lies exactly between two others: it then has a 5 and zeros only. */
const DIGITS = 25;

/**
 * A number with that many digits after the point or, if it is huge, an exponent, a typographic minus sign, and no negative zero; no value is a dash.
 *
 * @param {number|null|undefined} value
 * @param {number} [decimals]
 * @returns {string}
 */
export function number(value, decimals = 1) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (!Number.isFinite(value)) return value > 0 ? "inf" : `${MINUS}inf`;
  if (Math.abs(value) >= LONG) return String(value).replace("-", MINUS);
  const size = rounded(Math.abs(value), decimals);
  const [whole, part] = size.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN) + (part === undefined ? "" : `.${part}`);
  return value < 0 && /[1-9]/.test(size) ? MINUS + grouped : grouped;
}

/**
 * An interval; a dash where there is none.
 *
 * @param {number|null} low
 * @param {number|null} high
 * @param {number} [decimals]
 * @returns {string}
 */
export function span(low, high, decimals = 1) {
  const isComplete = [low, high].every((value) => value !== null && value !== undefined && !Number.isNaN(value));
  return isComplete ? `${number(low, decimals)} to ${number(high, decimals)}` : NONE;
}

/**
 * A rank interval: `1–3`, or `2` if both ends are equal.
 *
 * @param {number} low
 * @param {number} high
 * @returns {string}
 */
export function ranks(low, high) {
  return low === high ? String(low) : `${low}–${high}`;
}

/**
 * The day of a UTC time.
 *
 * @param {string} text
 * @returns {string}
 */
export function day(text) {
  return text.slice(0, 10);
}

/**
 * Bytes.
 *
 * @param {number|null} count
 * @returns {string}
 */
export function size(count) {
  if (count === null || count === undefined) return "not measured";
  for (const [power, name] of [[30, "GiB"], [20, "MiB"], [10, "KiB"]]) {
    if (count >= 2 ** power) return `${rounded(count / 2 ** power, 1)} ${name}`;
  }
  return `${count} B`;
}

/** Rounds as Python does: exact halves to the even digit, where toFixed rounds them up. */
function rounded(value, decimals) {
  const plain = value >= 1e21 ? BigInt(value).toString() + (decimals ? `.${"0".repeat(decimals)}` : "") : value.toFixed(decimals);
  if (value >= 1e21) return plain;
  const exact = value.toFixed(decimals + DIGITS);
  const rest = exact.slice(exact.length - DIGITS);
  if (!/^50*$/.test(rest)) return plain;
  const below = exact.slice(0, exact.length - DIGITS).replace(/\.$/, "");
  return Number(below[below.length - 1]) % 2 ? plain : below;
}
