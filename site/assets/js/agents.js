/** The page of all agents: finds and filters among all of them; the address holds what is asked for. */

import { el } from "./dom.js";
import { number } from "./format.js";
import { agentLink, fetched, ownerLink, root, safe } from "./site.js";

const SHOWN = 100;
const NAMED_PLACES = 3;
const NAMES = ["find", "task", "state", "kind"];
const form = document.getElementById("pr-agents-form");
if (form) begin();

function begin() {
  const message = document.getElementById("pr-agents-said");
  const body = document.querySelector("#pr-agents tbody");
  const forge = form.dataset.forge && safe(`${form.dataset.forge}/`);
  let asked = 0;

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const query = new URLSearchParams(NAMES.map((name) => [name, form.elements[name].value.trim()]).filter(([, value]) => value));
    history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
    void look();
  });
  addEventListener("popstate", fill);
  if (fill()) void look();

  function fill() {
    const given = new URLSearchParams(location.search);
    for (const name of NAMES) form.elements[name].value = given.get(name) ?? "";
    return NAMES.some((name) => given.has(name));
  }

  async function look() {
    asked += 1;
    const mine = asked;
    const status = await fetched("api/status.json").catch(() => null);
    if (mine !== asked) return;
    if (!status) {
      message.textContent = "The list could not be loaded. Try again in a minute.";
      return;
    }
    const wanted = Object.fromEntries(NAMES.map((name) => [name, form.elements[name].value.trim()]));
    const matches = status.agents.map((agent) => line(agent, status.tasks)).filter((one) => fits(one, wanted, status.tasks)).sort(before);
    message.textContent = `${number(matches.length, 0)} of ${number(status.agents.length, 0)} agents${matches.length > SHOWN ? `, the first ${SHOWN} here` : ""}.`;
    body.replaceChildren(...matches.slice(0, SHOWN).map((one) => row(one, forge)));
  }
}

function line(agent, tasks) {
  const places = agent.tasks.flatMap((state, index) => (state?.[0] === "ranked" && state[1] !== null ? [{ place: state[1], task: tasks[index] }] : []));
  places.sort((a, b) => a.place - b.place);
  return { ...agent, places, states: agent.tasks, who: `${agent.login}/${agent.agent}` };
}

function fits(one, { find, task, state, kind }, tasks) {
  const part = find.toLowerCase();
  const states = task ? [one.states[tasks.findIndex(({ id }) => id === task)]] : one.states;
  return [one.name, one.who, one.algorithm].some((text) => (text ?? "").toLowerCase().includes(part))
    && states.some((each) => each && (!state || each[0] === state))
    && (!kind || one.kind === kind);
}

/** The best place first, then the most places, then by name. */
function before(a, b) {
  const best = (one) => one.places[0]?.place ?? Infinity;
  return (best(a) - best(b) || 0) || b.places.length - a.places.length || (a.who < b.who ? -1 : 1);
}

function row(one, forge) {
  const link = (href, text) => el("a", { href: new URL(href, root()).href }, text);
  const places = one.places.slice(0, NAMED_PLACES).flatMap(({ place, task }, index) => [index ? ", " : "", el("b", {}, place), " ", link(task.page, task.title)]);
  const more = one.places.length - NAMED_PLACES;
  return el("tr", {},
    el("th", { scope: "row", class: "pr-who" }, agentLink(one.who, one.name), " ",
      el("span", { class: "pr-by pr-below" }, "by ", ownerLink(one.login, forge))),
    el("td", { class: "pr-typed" }, places.length ? places : "–", more > 0 && ` and ${more} more`),
    el("td", { class: "pr-right" }, one.states.filter((state) => state?.[0] === "ranked").length),
    el("td", { class: "pr-typed" }, el("bdi", { class: "pr-clamp" }, one.algorithm ?? "")),
    el("td", {}, one.kind ?? ""));
}
