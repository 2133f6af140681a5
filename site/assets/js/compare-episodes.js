/** The same kind of episode of several entries, played next to each other in step. */

import { el } from "./dom.js";
import { create, together as inStep } from "./episode.js";
import { number } from "./format.js";

const KINDS = ["median", "best", "worst"];

/**
 * A section with one player for all, and a choice of which episodes; none where no entry has pictures.
 *
 * @param {object[]} played as `compare-data.load` makes them
 * @param {Object<string, string>} data of the task's option
 * @returns {Node[]}
 */
export function together(played, data) {
  const seen = played.filter((one) => one.replays.length);
  if (!seen.length) return [];
  const kinds = KINDS.filter((kind) => seen.some((one) => find(one, kind)));
  const choice = el("select", { id: "pr-compare-kind" }, ...kinds.map((kind) => el("option", { value: kind }, `the ${kind}`)));
  const stage = el("div", { class: "pr-stages" });
  const controls = el("div", {});
  const without = el("p", { class: "pr-note" });
  const show = () => {
    const shown = seen.filter((one) => find(one, choice.value));
    const figures = shown.map((one) => figure(one, find(one, choice.value), data));
    stage.replaceChildren(...figures);
    controls.replaceChildren(...(figures.length ? [inStep(figures, { label: `the ${choice.value} episodes in step` })] : []));
    const missing = played.filter((one) => !shown.includes(one)).map((one) => one.name);
    without.textContent = missing.length ? `No pictures of this episode: ${missing.join(", ")}. Only the best of each task are drawn.` : "";
  };
  choice.addEventListener("change", show);
  show();
  return [el("section", {}, el("h2", {}, "Episodes in step"),
    el("div", { class: "pr-field pr-field-short" }, el("label", { for: "pr-compare-kind" }, "Episode"), choice),
    stage, controls, without)];
}

function find(one, kind) {
  return one.replays.find((replay) => replay.which === kind);
}

function figure(one, replay, data) {
  const said = `return ${number(replay.total, Number(data.returnDecimals ?? 1))}, ${replay.length} ${replay.length === 1 ? "step" : "steps"}`;
  const made = create(replay, { name: one.name, said });
  made.classList.add(`pr-series-${one.colour}`);
  return made;
}
