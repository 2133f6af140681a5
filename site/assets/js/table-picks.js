/** Picked entries: how their returns are spread, and for two of them the probability of improvement. */

import { el } from "./dom.js";
import { number } from "./format.js";
import { agentDocument, queryOf, root } from "./site.js";

/**
 * The panel of picked entries.
 *
 * @param {{task: string, decimals: number}} board
 * @param {(who: string) => void} drop takes one out again
 * @returns {{element: HTMLElement, show: (picked: string[], entries: Map<string, import("./table-rows.js").Entry>) => Promise<void>}}
 */
export function panel(board, drop) {
  const chips = el("ul", { class: "pr-chips" });
  const body = el("div", { class: "pr-picked" });
  const element = el("section", { class: "pr-picks", "aria-label": "Picked entries", hidden: true },
    el("h3", {}, "Picked"), chips, body);
  const returns = new Map();
  let newest = 0;

  async function show(picked, entries) {
    element.hidden = !picked.length;
    const called = (who) => entries.get(who)?.name || entries.get(who)?.agent || who;
    chips.replaceChildren(...picked.map((who, index) => el("li", { class: `pr-series-${index}` }, el("bdi", {}, called(who)), " ",
      el("button", { type: "button", class: "pr-drop", "aria-label": `Take ${called(who)} out`, onclick: () => drop(who) }, "×"))));
    const turn = ++newest;
    if (!picked.length) return body.replaceChildren();
    // The address may hold any name; only ranked entries have a document with returns.
    for (const who of picked) if (!returns.has(who) && entries.get(who)?.ranked) returns.set(who, returnsOf(who, board.task));
    const samples = await Promise.all(picked.map(async (who, index) => ({ name: called(who), colour: index, values: (await returns.get(who)) ?? [] })));
    const [charts, stats] = await Promise.all([import("./charts.js"), import("./stats.js")]);
    // A later pick may have been drawn while documents were loading.
    if (turn === newest) body.replaceChildren(...pictures(samples, board, charts, stats), compareLink(board.task, picked));
  }
  return { element, show };
}

/** The returns of an agent on a task; empty where there are none. */
async function returnsOf(who, task) {
  const document = await agentDocument(who);
  const returns = document?.tasks.find((one) => one.task === task)?.returns ?? [];
  return returns.filter((value) => typeof value === "number");
}

function pictures(samples, board, charts, stats) {
  const played = samples.filter((one) => one.values.length);
  const unplayed = samples.filter((one) => !one.values.length);
  const parts = [];
  if (played.length) parts.push(figure(charts.strips(played, { decimals: board.decimals, label: "Returns of each episode" }), "Return of each episode; the box holds the middle half."));
  if (played.length === 2 && samples.length === 2) parts.push(...improvementOf(played, board, charts, stats));
  if (unplayed.length) parts.push(el("p", { class: "pr-note" }, "No returns to show for ", unplayed.map((one, index) => [index ? ", " : "", el("bdi", {}, one.name)]), "."));
  if (samples.length === 1) parts.push(el("p", { class: "pr-note" }, "Pick a second one to see which of the two is likely to do better."));
  return parts;
}

function improvementOf([one, other], board, charts, stats) {
  const { p, low, high } = stats.improvement(one.values, other.values);
  const percent = (share) => `${number(100 * share, 0)} %`;
  return [
    figure(charts.profiles([one, other], { decimals: board.decimals }), "Performance profile: the share of episodes with at least that return."),
    el("p", { class: "pr-improvement" }, "An episode of ", el("bdi", {}, one.name), " has a higher return than one of ", el("bdi", {}, other.name),
      " with probability ", el("b", {}, percent(p)), ` (${stats.INTERVAL_NAME} ${percent(low)} to ${percent(high)}; equal ones count half).`),
  ];
}

function figure(picture, words) {
  return el("figure", { class: "pr-chart" }, picture, el("figcaption", {}, words));
}

function compareLink(task, picked) {
  const address = new URL("compare/", root());
  address.search = `?${queryOf({ task, agents: picked.join(",") })}`;
  return el("p", {}, el("a", { href: address.href }, "Compare them side by side"));
}
