/** Charts of samples as SVG, in the colours of board.css. Names are inserted as text only; there is no legend. */

import { svg } from "./dom.js";
import { number, span } from "./format.js";
import { INTERVAL_NAME, mean, pooledThresholds, profile, quantile } from "./stats.js";

/** Entries that can be compared at once: for so many series board.css has colours that can be told apart. */
export const MAX_COMPARED = 8;

/** Dots of one strip: more would hide each other, so a larger sample is drawn as this many quantiles. */
const DOTS = 300;
const LEFT = 44;
const RIGHT = 14;

/**
 * The dots of each sample along one axis, with a box from the lower to the upper quartile, a stroke at the median and a
 * diamond at the mean.
 *
 * @param {{name: string, values: number[], colour?: number}[]} series
 * @param {{decimals: number, bounds?: number[], label: string}} options `bounds`: no value can lie beyond them
 * @returns {SVGElement}
 */
export function strips(series, { decimals, bounds, label }) {
  const width = room();
  const scale = across(series.flatMap((one) => one.values), bounds, 10, width - RIGHT);
  const rowHeight = 58;
  const height = series.length * rowHeight + 26;
  const rows = series.map((one, index) => strip(one, index, index * rowHeight, scale, width, decimals));
  const summaries = series.map((one) => `${one.name}: ${summary(one.values, decimals)}`).join("; ");
  return picture(`${label}. ${summaries}`, width, height, [
    ...bottomAxis(scale, height - 22, decimals, 0),
    ...rows,
  ]);
}

/**
 * Performance profiles: for each value on the axis the share of episodes that reach it.
 *
 * @param {{name: string, values: number[], colour?: number}[]} series
 * @param {{decimals: number, bounds?: number[], label?: string, lower?: boolean}} options
 *   `lower`: lower is better, so an episode reaches what is not below it.
 * @returns {SVGElement}
 */
export function profiles(series, { decimals, bounds, label = "Performance profiles", lower = false }) {
  const width = room();
  const height = 240;
  const base = height - 28;
  const all = series.map((one) => one.values);
  const thresholds = pooledThresholds(all);
  const scale = across(thresholds, bounds, LEFT, width - RIGHT);
  const y = (share) => base - share * (base - 12);
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => leftTick(y(share), `${Math.round(share * 100)}\u202f%`, width));
  const lines = series.map((one, index) => {
    const shares = lower
      ? profile(one.values.map((value) => -value), thresholds.map((value) => -value).reverse()).reverse()
      : profile(one.values, thresholds);
    return group(one, index, svg("path", { class: "pr-way-of", d: stairs(thresholds, shares, scale, y, lower) }));
  });
  const summaries = series.map((one) => `${one.name}: half of the episodes reach ${number(quantile(one.values, 0.5), decimals)}`);
  return picture(`${label}. ${summaries.join("; ")}`, width, height, [
    ...marks,
    ...bottomAxis(scale, base, decimals, 12),
    ...lines,
  ]);
}

/**
 * A score in its interval, as tables have it; the same as `interval_svg` in leaderboard/charts/interval_charts.py.
 *
 * @param {{score: number, low: number|null, high: number|null}} estimate
 * @param {{low: number, high: number, marks?: number[]}} scale
 * @param {number} decimals
 * @returns {SVGElement}
 */
export function bar({ score, low, high }, scale, decimals) {
  const at = (value) => Math.min(100, Math.max(0, (100 * (value - scale.low)) / (scale.high - scale.low)));
  const hasInterval = Number.isFinite(low) && Number.isFinite(high) && low !== null && high !== null;
  const middle = at(score);
  let left = hasInterval ? at(low) : middle;
  let right = hasInterval ? at(high) : middle;
  if (right - left < 2) {
    left = Math.min(Math.max(0, middle - 1), 98);
    right = left + 2;
  }
  const words = `${number(score, decimals)}, ${INTERVAL_NAME} ${span(hasInterval ? low : NaN, hasInterval ? high : NaN, decimals)}`;
  const [least, most] = hasInterval ? [low, high] : [score, score];
  const isBeyond = most < scale.low || least > scale.high;
  const stroke = (style, x, y1, y2) => svg("line", { class: style, x1: fixed(x), x2: fixed(x), y1, y2 });
  return svg("svg", { class: "pr-bar", viewBox: "0 0 100 14", preserveAspectRatio: "none", role: "img", "aria-label": isBeyond ? `${words}, beyond this scale` : words },
    svg("line", { class: "pr-axis", x1: 0, x2: 100, y1: 7, y2: 7 }),
    isBeyond
      ? svg("path", { class: "pr-beyond", d: most < scale.low ? "M8 2 2 7 8 12" : "M92 2 98 7 92 12" })
      : [(scale.marks ?? []).map((mark) => stroke("pr-mark", at(mark), 1, 13)),
        svg("rect", { class: "pr-span", x: fixed(left), y: 4, width: fixed(right - left), height: 6, rx: 1 }),
        stroke("pr-score", middle, 2, 12)]);
}

/**
 * A scale that holds all values with a margin, and has a width where all are equal; the same as `chart_scale` there.
 *
 * @param {(number|null|undefined)[]} values
 * @param {number[]} marks
 * @returns {{low: number, high: number, marks: number[]}}
 */
export function scaleOf(values, marks = []) {
  const [low, high] = extent([...values, ...marks]);
  const air = (high - low) * 0.04 || Math.max(Math.abs(high), 1);
  return { low: low - air, high: high + air, marks };
}

/** The least and the greatest of the numbers among some values; 0 and 1 where there is none. */
function extent(values) {
  const numbers = values.filter(Number.isFinite);
  return numbers.length ? [numbers.reduce((x, y) => Math.min(x, y)), numbers.reduce((x, y) => Math.max(x, y))] : [0, 1];
}

function strip(one, index, top, scale, width, decimals) {
  const { values } = one;
  const centre = top + 36;
  const shown = values.length > DOTS ? Array.from({ length: DOTS }, (_, i) => quantile(values, i / (DOTS - 1))) : values;
  const dots = shown.map((value, i) =>
    svg("circle", { class: "pr-dot-of", cx: fixed(scale.at(value)), cy: fixed(centre + 10 * scatter(i)), r: 2 }));
  const name = svg("text", { class: "pr-name-of", x: 10, y: top + 14 }, clipped(one.name, width),
    svg("title", {}, one.name));
  if (!values.length) {
    return group(one, index, name, svg("text", { class: "pr-tick", x: 10, y: centre + 4 }, "no episodes"));
  }
  const [lower, middle, upper] = [0.25, 0.5, 0.75].map((q) => scale.at(quantile(values, q)));
  const x = scale.at(mean(values));
  return group(one, index, name, ...dots,
    svg("rect", { class: "pr-box-of", x: fixed(lower), y: centre - 13, width: fixed(Math.max(upper - lower, 1)), height: 26, rx: 2 }),
    svg("line", { class: "pr-middle-of", x1: fixed(middle), x2: fixed(middle), y1: centre - 15, y2: centre + 15 }),
    svg("path", { class: "pr-mean-of", d: `M${fixed(x)} ${centre - 6}l5 6l-5 6l-5 -6z` }, svg("title", {}, summary(values, decimals))));
}

/** A strip in words, for screen readers. */
function summary(values, decimals) {
  if (!values.length) return "no episodes";
  const [lower, middle, upper] = [0.25, 0.5, 0.75].map((q) => number(quantile(values, q), decimals));
  return `${values.length} episodes, mean ${number(mean(values), decimals)}, median ${middle}, half of them from ${lower} to ${upper}`;
}

function group(one, index, ...children) {
  return svg("g", { class: `pr-series-${(one.colour ?? index) % MAX_COMPARED}` }, ...children);
}

function picture(words, width, height, children) {
  return svg("svg", { class: "pr-chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words, style: `max-width:${width}px` },
    ...children);
}

/** A scale from `from` to `to` in pixels that holds the values, with a margin. */
function across(values, bounds, from, to) {
  const [least, most] = extent(values);
  const margin = (most - least) * 0.04 || Math.max(Math.abs(most) * 0.1, 1);
  // No value can lie beyond the bounds, so the axis ends soon after them.
  const [floor, ceiling] = bounds?.every(Number.isFinite) ? bounds : [-Infinity, Infinity];
  const low = Math.max(least - margin, Math.min(least, floor) - margin * 0.1);
  const high = Math.min(most + margin, Math.max(most, ceiling) + margin * 0.1);
  const at = (value) => from + ((value - low) / (high - low)) * (to - from);
  return { low, high, from, to, at };
}

function bottomAxis(scale, y, decimals, top) {
  const most = Math.max(2, Math.min(7, Math.floor((scale.to - scale.from) / 80)));
  return [
    svg("line", { class: "pr-axis", x1: scale.from, x2: scale.to, y1: y, y2: y }),
    ...ticks(scale.low, scale.high, most, decimals).flatMap(([value, words]) => {
      const x = fixed(scale.at(value));
      return [
        svg("line", { class: "pr-axis", x1: x, x2: x, y1: top, y2: y + 4 }),
        svg("text", { class: "pr-tick", x, y: y + 16, "text-anchor": "middle" }, words),
      ];
    }),
  ];
}

function leftTick(y, words, width) {
  return svg("g", {},
    svg("line", { class: "pr-axis", x1: LEFT, x2: width - RIGHT, y1: fixed(y), y2: fixed(y) }),
    svg("text", { class: "pr-tick", x: LEFT - 6, y: fixed(y + 4), "text-anchor": "end" }, words));
}

/** At most `most` round numbers between two ends, no finer than `decimals`, each with its text. */
function ticks(low, high, most, decimals) {
  const rough = Math.max((high - low) / most, 10 ** -decimals);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999) ?? 10 * power;
  const digits = [0, 1, 2, 3].find((count) => Math.abs(step - Number(step.toFixed(count))) < step * 1e-6) ?? decimals;
  // Counted from the first one: of numbers far from zero, one more can be the same number.
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.min(most + 1, Math.floor(high / step + 1e-9) - first + 1);
  return Array.from({ length: Math.max(0, count) || 0 }, (_, index) => {
    const value = (first + index) * step;
    return [value, number(value, digits)];
  });
}

/** The outline of a profile: level between thresholds, down behind each (up before each, where lower is better). */
function stairs(thresholds, shares, scale, y, lower) {
  const x = thresholds.map((value) => fixed(scale.at(value)));
  const heights = shares.map((share) => fixed(y(share)));
  if (!x.length) return "";
  const way = lower ? [`M${fixed(scale.from)} ${fixed(y(0))}`] : [`M${fixed(scale.from)} ${heights[0]}`];
  x.forEach((at, index) => {
    if (lower) way.push(`H${at}`, `V${heights[index]}`);
    else way.push(`V${heights[index]}`, `H${at}`);
  });
  way.push(lower ? `H${fixed(scale.to)}` : `V${fixed(y(0))}`, ...(lower ? [] : [`H${fixed(scale.to)}`]));
  return way.join("");
}

/** Numbers from -1 to 1 that look scattered and are the same each time (the golden ratio's multiples). */
function scatter(index) {
  return 2 * ((index * 0.618033988749895) % 1) - 1;
}

/** As much of a name as a line holds, cut between whole characters; capitals and other scripts are taken for wide. */
function clipped(name, width) {
  const characters = [...new Intl.Segmenter().segment(name)].map((one) => one.segment);
  const pixels = (some) => some.reduce((sum, one) => sum + (/^[a-ln-vx-z0-9 !-/:;]/.test(one) ? 7.5 : 13), 0);
  if (pixels(characters) <= width - 24) return name;
  while (characters.length && pixels(characters) > width - 37) characters.pop();
  return `${characters.join("")}…`;
}

function fixed(value) {
  return Number(value.toFixed(1));
}

/** The width of a chart in pixels: that of the page, from 280 to 720. */
function room() {
  return Math.max(280, Math.min(720, document.documentElement.clientWidth - 32));
}
