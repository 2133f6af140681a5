/** What the compare page shows of the entries that are chosen. */

import { bar, profiles, scaleOf, strips } from "./charts.js";
import { el } from "./dom.js";
import { create, playTogether } from "./episode-player.js";
import { number, ranks, span } from "./format.js";
import { agentPage } from "./site.js";
import { INTERVAL_NAME, improvement, mean, quantile } from "./stats.js";

const HALF = 0.5;
/** Episodes that have pictures, in the order of the choice. */
const REPLAYS = ["median", "best", "worst"];

/**
 * Everything about entries of a task that agents play alone.
 *
 * @param {object[]} entries as `compare-data.load` makes them, with a colour
 * @param {Object<string, string>} data of the task's option
 * @returns {Node[]}
 */
export function sections(entries, data) {
  const decimals = Number(data.decimals);
  const played = entries.filter((one) => one.values.length);
  const unplayed = entries.filter((one) => !one.values.length);
  return [
    section("Scores", scores(entries, data, decimals),
      note(`${data.metric}: ${data.direction} is better. Bars are ${INTERVAL_NAME}s on an axis of these entries alone; vertical lines, where it reaches them, are the scores of the random agent and of the reference.`)),
    ...(unplayed.length ? [note(`${unplayed.map((one) => one.name).join(", ")}: no episodes that are shown on this task.`)] : []),
    ...(played.length ? episodes(played, data, decimals) : []),
    ...inStep(played, data),
    ...overall(entries),
  ];
}

/**
 * Everything about players of a game.
 *
 * @param {object[]} entries
 * @param {Object<string, string>} data
 * @param {{rows: object[], crosstable: object[]}} board the game's own document
 * @returns {Node[]}
 */
export function gameSections(entries, data, board) {
  const rows = new Map(board.rows.map((row) => [`${row.login}/${row.agent}`, row]));
  const rated = entries.map((one) => ({ ...one, row: rows.get(one.id) ?? {} }));
  return [
    section("Ratings", ratings(rated),
      note(`400 points are odds of ten to one; bars are ${INTERVAL_NAME}s of the difference to the player rated 0.`)),
    ...(entries.length > 1 ? [section("Duels", duels(rated, board),
      note("Points of the row in its matches against the column, two for a win and one for a draw. Green: more than half of them."))] : []),
    ...overall(entries),
  ];
}

function episodes(played, data, decimals) {
  const series = played.map(({ name, values, colour }) => ({ name, values, colour }));
  const word = { success_rate: "whether an episode succeeded", mean_length: "length of each episode" }[data.measure] ?? "return of each episode";
  const shown = data.measure === "success_rate" ? 0 : Number(data.returnDecimals ?? decimals);
  const lower = data.direction === "lower" && ofEpisodes(data.measure);
  const bounds = [data.least, data.most].map(Number);
  return [
    section("Every episode",
      strips(series, { decimals: shown, bounds, label: `The ${word}` }),
      note(`A dot is the ${word}; the box reaches from the lower to the upper quartile, the stroke is the median and the diamond the mean.`),
      summary(played, shown)),
    section("Performance profiles",
      legend(played),
      profiles(series, { decimals: shown, bounds, lower, label: `Share of episodes that reach ${lower ? "at most" : "at least"} each value` }),
      note(`The share of episodes with ${lower ? "at most" : "at least"} the value below. A line that is always higher is better at every threshold.`)),
    ...(played.length > 1 ? [section("Probability of improvement", matrix(played, lower),
      note(`How likely an episode of the row is better than one of the column, a tie counted by half, with its ${INTERVAL_NAME} `
        + "(Brunner and Munzel, Biometrical Journal 42, 2000, on the logit scale). Green: above ½ for sure; red: below it. "
        + "It asks how often, a score asks by how much; the two need not agree."))] : []),
  ];
}

/** Whether the metric is made of the values of episodes that are shown, so that its direction is theirs. */
function ofEpisodes(measure) {
  return measure === "success_rate" || measure === "mean_length" || measure.endsWith("_return");
}

function scores(entries, data, decimals) {
  const marks = [data.random, data.reference].filter((one) => one !== undefined).map(Number);
  const scale = axisOf(entries.flatMap(({ row }) => estimateOf(row)), marks);
  return table("Scores", ["Entry", "Place", "Ranks", right(data.metric), intervalHead(scale, decimals), right("Episodes"), right("Versions")],
    entries.map((one) => [named(one), ...standing(one.row), ...scored(one.row.estimate, scale, decimals, wordFor(one.row)),
      right(one.row.episodes ?? "–"), right(one.row.attempts ?? "–")]));
}

function ratings(entries) {
  const estimates = entries.map(({ row }) => row.rating && { score: row.rating.elo, low: row.rating.low, high: row.rating.high });
  const scale = axisOf(estimates.flatMap((one) => (one ? [one.score, one.low, one.high] : [])), [0]);
  return table("Ratings", ["Player", "Place", "Ranks", right("Rating"), intervalHead(scale, 0), right("Won"), right("Drawn"), right("Lost"), right("Opponents")],
    entries.map((one, index) => [named(one), ...standing(one.row), ...scored(estimates[index], scale, 0),
      ...["wins", "draws", "losses", "opponents"].map((name) => right(one.row[name] ?? "–"))]));
}

function duels(entries, board) {
  const met = new Map();
  for (const one of board.crosstable) {
    met.set(`${one.row} ${one.column}`, one);
    if (!met.has(`${one.column} ${one.row}`)) {
      met.set(`${one.column} ${one.row}`, { ...one, wins: one.losses, losses: one.wins });
    }
  }
  return cross(entries, "Duels", (row, column) => {
    const one = met.get(`${row.id} ${column.id}`);
    if (!one) return { words: "–", below: "not met" };
    const points = 2 * one.wins + one.draws;
    const all = one.wins + one.draws + one.losses;
    return { words: `${points} of ${2 * all}`, below: `${one.wins} won, ${one.draws} drawn, ${one.losses} lost`, better: Math.sign(points - all) };
  });
}

function matrix(played, lower) {
  const sign = lower ? -1 : 1;
  const worth = new Map(played.map((one) => [one, one.values.map((value) => sign * value)]));
  return cross(played, "Probability of improvement", (row, column) => {
    const { p, low, high } = improvement(worth.get(row), worth.get(column));
    const better = low > HALF ? 1 : high < HALF ? -1 : 0;
    return { words: number(p, 2), below: span(low, high, 2), better };
  });
}

/** Everybody against everybody; a cell says its words, and by colour and to readers which side is better. */
function cross(entries, label, cell) {
  const sides = { 1: "the row is better", "-1": "the column is better" };
  const body = entries.map((row) => el("tr", {}, named(row),
    ...entries.map((column) => {
      if (row === column) return el("td", { class: "pr-self" }, el("span", { class: "pr-hidden" }, "itself"));
      const { words, below, better = 0 } = cell(row, column);
      const kind = better > 0 ? " pr-met-won" : better < 0 ? " pr-met-lost" : "";
      return el("td", { class: `pr-met pr-against${kind}` }, el("b", {}, words), el("span", { class: "pr-interval" }, below),
        better ? el("span", { class: "pr-hidden" }, `: ${sides[better]}`) : null);
    })));
  const head = el("tr", {}, el("th", { scope: "col" }, "Row against column"),
    ...entries.map((one) => el("th", { scope: "col", class: `pr-over pr-series-${one.colour}` }, swatch(), el("bdi", {}, one.name))));
  return scroll(label, el("table", { class: "pr-board pr-cross" }, el("thead", {}, head), el("tbody", {}, ...body)), " pr-fit");
}

function overall(entries) {
  const ranked = entries.filter((one) => one.overall?.estimate);
  if (!ranked.length) return [];
  const scale = axisOf(ranked.flatMap(({ overall: row }) => estimateOf(row)), [0, 1]);
  const tasks = [...new Set(ranked.flatMap((one) => Object.keys(one.overall.normalised ?? {})))]
    .filter((task) => ranked.some((one) => isScored(one, task)));
  const shared = ranked.length > 1 ? tasks.filter((task) => ranked.every((one) => isScored(one, task))) : [];
  const sharedHead = shared.length ? [right(shared.length === 1 ? "On the task that all have" : `On the ${shared.length} tasks that all have`)] : [];
  const sharedCell = (one) => (shared.length ? [right(number(mean(shared.map((task) => counts(one.overall.normalised[task]))), 2))] : []);
  return [section("Across all tasks",
    table("Across all tasks", ["Entry", "Place", "Ranks", right("Tasks"), right("Overall"), intervalHead(scale, 3), ...sharedHead, ...tasks.map((task) => right(task))],
      ranked.map((one) => [named(one), ...standing(one.overall), right(`${one.overall.played}/${Object.keys(one.overall.normalised).length}`),
        ...scored(one.overall.estimate, scale, 3), ...sharedCell(one),
        ...tasks.map((task) => right(number(one.overall.normalised[task] ?? NaN, 2)))])),
    note("The random agent has 0 and the reference 1; a task without a score counts 0, one below 0 too, and one above 2 counts as 2."))];
}

function isScored(one, task) {
  return typeof one.overall.normalised?.[task] === "number";
}

/** What a normalised score counts in a mean over tasks; the same as in leaderboard/scoring/score_all.py. */
function counts(value) {
  return Math.min(2, Math.max(0, value));
}

function summary(played, decimals) {
  const shares = [["Min", 0], ["Lower quartile", 0.25], ["Median", 0.5], ["Upper quartile", 0.75], ["Max", 1]];
  return table("Episodes in numbers", ["Entry", right("Mean"), ...shares.map(([word]) => right(word)), right("Episodes")],
    played.map((one) => [named(one), right(number(mean(one.values), Math.max(decimals, 1))),
      ...shares.map(([, q]) => right(number(quantile(one.values, q), decimals))), right(one.values.length)]));
}

/** One player for the same kind of episode of several entries, and a choice of which; none where no entry has pictures. */
function inStep(played, data) {
  const seen = played.filter((one) => one.replays.length);
  if (!seen.length) return [];
  const kinds = REPLAYS.filter((kind) => seen.some((one) => replayOf(one, kind)));
  const choice = el("select", { id: "pr-compare-kind" }, ...kinds.map((kind) => el("option", { value: kind }, `the ${kind}`)));
  const stage = el("div", { class: "pr-stages" });
  const controls = el("div", {});
  const without = el("p", { class: "pr-note" });
  const show = () => {
    const shown = seen.filter((one) => replayOf(one, choice.value));
    const figures = shown.map((one) => figure(one, replayOf(one, choice.value), data));
    stage.replaceChildren(...figures);
    controls.replaceChildren(...(figures.length ? [playTogether(figures, { label: `the ${choice.value} episodes in step` })] : []));
    const missing = played.filter((one) => !shown.includes(one)).map((one) => one.name);
    without.textContent = missing.length ? `No pictures of this episode: ${missing.join(", ")}. Only the best of each task are drawn.` : "";
  };
  choice.addEventListener("change", show);
  show();
  return [el("section", {}, el("h2", {}, "Episodes in step"),
    el("div", { class: "pr-field pr-field-short" }, el("label", { for: "pr-compare-kind" }, "Episode"), choice),
    stage, controls, without)];
}

function replayOf(one, kind) {
  return one.replays.find((replay) => replay.which === kind);
}

function figure(one, replay, data) {
  const caption = `return ${number(replay.total, Number(data.returnDecimals ?? 1))}, ${replay.length} ${replay.length === 1 ? "step" : "steps"}`;
  const made = create(replay, { name: one.name, caption });
  made.classList.add(`pr-series-${one.colour}`);
  return made;
}

/** An axis that the values fill; of the marks those that lie on it. */
function axisOf(values, marks) {
  const scale = scaleOf(values);
  return { ...scale, marks: marks.filter((mark) => scale.low <= mark && mark <= scale.high) };
}

function intervalHead({ low, high }, decimals) {
  const ends = { "data-low": number(low, decimals), "data-high": number(high, decimals) };
  return el("th", { scope: "col" }, INTERVAL_NAME, el("i", { class: "pr-ends", ...ends }));
}

function estimateOf(row) {
  return row?.estimate ? [row.estimate.score, row.estimate.low, row.estimate.high] : [];
}

/** The cells of a place and of the places the data allows. */
function standing(row) {
  const isPlaced = typeof row?.place === "number";
  return [
    el("td", { class: "pr-place" }, isPlaced ? el("span", { class: "pr-number" }, row.place) : "–"),
    el("td", { class: "pr-ranks" }, isPlaced ? ranks(row.rank_low, row.rank_high) : "–"),
  ];
}

/** Why there is no score. */
function wordFor({ state, verdict }) {
  if (state === "failed") return verdict;
  return state === undefined || state === "entered" ? "not entered" : state;
}

function scored(estimate, scale, decimals, state = "no rating") {
  if (typeof estimate?.score !== "number") {
    return [el("td", { class: "pr-value" }, "–"), el("td", { class: "pr-by" }, state)];
  }
  return [
    el("td", { class: "pr-value" }, el("b", {}, number(estimate.score, decimals)), " ",
      el("span", { class: "pr-interval" }, span(estimate.low, estimate.high, decimals))),
    el("td", { class: "pr-picture" }, bar(estimate, scale, decimals)),
  ];
}

function named(one) {
  return el("th", { scope: "row", class: `pr-who pr-rowhead pr-series-${one.colour}` }, swatch(),
    el("a", { class: "pr-agent", href: agentPage(one.id), title: one.id }, el("bdi", { class: "pr-clamp" }, one.name)), " ",
    el("span", { class: "pr-by pr-below" }, `by ${one.id.split("/")[0]}`));
}

function legend(entries) {
  return el("ul", { class: "pr-legend" },
    ...entries.map((one) => el("li", { class: `pr-series-${one.colour}` }, swatch(), el("bdi", {}, one.name))));
}

function swatch() {
  return el("span", { class: "pr-swatch", "aria-hidden": "true" });
}

function right(words) {
  return { right: String(words) };
}

/** Strings become cells, `right` ones on the right; made cells stay as they are. */
function cellOf(tag, value, attributes = {}) {
  if (value instanceof Node) return value;
  const words = value.right ?? value;
  return el(tag, { ...attributes, ...(value.right === undefined ? {} : { class: "pr-right" }) }, words);
}

function table(label, head, rows) {
  return scroll(label, el("table", { class: "pr-board" },
    el("thead", {}, el("tr", {}, ...head.map((one) => cellOf("th", one, { scope: "col" })))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((one) => cellOf("td", one)))))));
}

function scroll(label, inner, more = "") {
  return el("div", { class: `pr-scroll${more}`, role: "region", "aria-label": label, tabindex: "0" }, inner);
}

function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

function note(words) {
  return el("p", { class: "pr-note" }, words);
}
