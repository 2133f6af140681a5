/** The compare page: what is chosen stands in the address, and everything below follows from it. */

import { MAX_COMPARED } from "./charts.js";
import { el } from "./dom.js";
import { entriesOf, firstTask, gameOf, knownOf, load } from "./compare-data.js";
import { gameSections, sections } from "./compare-view.js";
import { agentPage, queryOf } from "./site.js";

/** Entries that the list offers at once. */
const OFFERED = 40;

const form = document.getElementById("pr-compare-form");
if (form) begin(form);

/** What stands on the page, and what its reader does with it. */
function begin(form) {
  const by = (name) => document.getElementById(`pr-compare${name}`);
  const [task, input, list, message, chosen, place] = ["-task", "-entry", "-entries", "-said", "-chosen", ""].map(by);
  let entries = [];
  let picked = [];
  let turn = 0;

  const option = () => task.selectedOptions[0];
  const say = (words) => {
    message.textContent = words;
  };

  async function fromAddress() {
    const asked = new URLSearchParams(location.search);
    picked = [...new Set((asked.get("agents") ?? "").split(",").filter((name) => /^[^/\s]{1,60}\/[^/\s]{1,60}$/.test(name)))];
    picked = picked.slice(0, MAX_COMPARED);
    const wanted = asked.get("task") ?? (picked.length ? await firstTask(picked[0]) : null);
    const named = [...task.options].find((one) => one.value === wanted);
    (named ?? task.options[0]).selected = true;
    if (asked.has("task") && !named) say("There is no such task on this board.");
    if (!asked.has("agents")) await firstTwo();
    show();
  }

  /** Something to see for who comes without a choice: the leader, and the next entry that has another score. */
  async function firstTwo() {
    const [leader, ...others] = await entriesOf(option().dataset);
    const next = others.find((one) => one.score !== leader.score) ?? others[0];
    picked = [leader, next].filter(Boolean).map((one) => one.id);
  }

  function toAddress() {
    history.pushState(null, "", `?${queryOf({ task: task.value, agents: picked.join(",") })}`);
    show();
  }

  async function show() {
    turn += 1;
    const mine = turn;
    const data = { ...option().dataset, task: task.value, title: option().textContent };
    chips();
    place.hidden = !picked.length;
    const offered = await entriesOf(data);
    const listed = await knownOf(picked, offered);
    const loaded = await Promise.all(picked.map((id) => (listed.has(id) ? load(id, data) : { id })));
    if (mine !== turn) return;
    entries = offered;
    offer();
    const game = data.kind === "game" ? await gameOf(data) : null;
    if (mine !== turn) return;
    const shown = loaded.map((one, index) => ({ ...one, colour: index })).filter((one) => one.name);
    const missing = loaded.filter((one) => !one.name).map((one) => one.id);
    chips(loaded);
    if (missing.length) say(`Nobody is called ${missing.join(", ")} here.`);
    else if (!entries.length) say("Nobody has a place on this task yet.");
    else if (picked.length === 1) say("Add another entry to compare it with.");
    place.replaceChildren(...(game ? gameSections(shown, data, game) : sections(shown, data)));
  }

  function chips(loaded = []) {
    chosen.replaceChildren(
      ...picked.map((id, index) => {
        const name = loaded[index]?.name ?? entries.find((one) => one.id === id)?.name ?? id;
        const away = el("button", { type: "button", class: "pr-away", "aria-label": `Leave out ${name}` }, "×");
        away.addEventListener("click", () => {
          picked = picked.filter((one) => one !== id);
          say(`${name} is left out.`);
          toAddress();
          input.focus();
        });
        return el("li", { class: `pr-series-${index}` },
          el("span", { class: "pr-swatch", "aria-hidden": "true" }),
          // Whom nobody knows has no page.
          loaded[index]?.name ? el("a", { href: agentPage(id), title: id }, el("bdi", {}, name)) : el("bdi", { title: id }, name),
          away);
      }),
    );
  }

  /** Those whose name, login or agent holds what is typed; the first ones on the board where nothing is. */
  function matching() {
    const typed = input.value.trim().toLocaleLowerCase();
    return entries.filter((one) => !picked.includes(one.id) && one.search.includes(typed));
  }

  function offer() {
    list.replaceChildren(
      ...matching()
        .slice(0, OFFERED)
        .map((one) => el("option", { value: one.id }, one.place ? `${one.name} (place ${one.place})` : one.name)),
    );
  }

  function add(id) {
    if (picked.length >= MAX_COMPARED) {
      say(`${MAX_COMPARED} entries are as many as can be told apart; leave one out first.`);
      return;
    }
    input.value = "";
    picked = [...picked, id];
    say("");
    toAddress();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = input.value.trim().toLocaleLowerCase();
    const fits = matching();
    const exact = fits.find((one) => one.id.toLocaleLowerCase() === typed);
    if (exact ?? (typed && fits[0])) add((exact ?? fits[0]).id);
    else say(typed ? `Nobody else on this task fits “${input.value.trim()}”.` : "Type a name, a login or login/agent.");
  });
  input.addEventListener("input", () => {
    const exact = entries.find((one) => one.id === input.value && !picked.includes(one.id));
    // A browser that takes from its list says so only by the whole value standing there at once.
    if (exact && list.querySelector(`option[value="${CSS.escape(exact.id)}"]`) && !isPrefix(exact.id)) add(exact.id);
    else offer();
  });
  const isPrefix = (id) => entries.some((one) => one.id !== id && one.id.startsWith(id) && !picked.includes(one.id));
  task.addEventListener("change", () => {
    say("");
    toAddress();
  });
  window.addEventListener("popstate", () => fromAddress());
  document.querySelector(".pr-without-script")?.remove();
  form.hidden = false;
  fromAddress();
}
