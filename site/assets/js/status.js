/** The status page: finds a submission, and shows its state on each task with the reason and the next step. */

import { el } from "./dom.js";
import { fetched, root } from "./site.js";

const SHOWN = 20;
/** What each state means, and what to do next; the advice for a verdict comes with the document. */
const WORDS = {
  ranked: ([place]) => (typeof place === "number" ? [`place ${place}`, "Nothing to do: it counts until a newer version of it does."] : ["listed without a place", "It is there for comparison."]),
  waiting: () => ["waiting", "Nothing to do: the next official run evaluates it."],
  failed: ([verdict], verdicts) => [`failed: ${verdict}`, verdicts?.[verdict]?.next ?? "Its page says why."],
  "self-reported": () => ["self-reported", "The script reported this score itself. It was not measured, so it never ranks."],
  refused: ([why]) => ["refused", why],
  excluded: ([why]) => ["excluded", why],
  withdrawn: ([why]) => ["withdrawn", why],
};
const GOOD = new Set(["ranked"]);
const OURS = new Set(["waiting", "self-reported"]);

const form = document.getElementById("pr-status-form");
if (form) begin();

function begin() {
  const input = form.querySelector("input");
  const message = document.getElementById("pr-status-said");
  const place = document.getElementById("pr-status");

  async function look() {
    const asked = new URLSearchParams(location.search).get("find")?.trim() ?? "";
    input.value = asked;
    if (!asked) {
      message.textContent = "";
      place.replaceChildren();
      return;
    }
    const status = await fetched("api/status.json").catch(() => null);
    if (!status) {
      message.textContent = "The list could not be loaded. Try again in a minute.";
      return;
    }
    const matches = matching(status.agents, asked);
    message.textContent = words(matches.length);
    const cards = matches.slice(0, SHOWN).map((agent) => card(agent, status, form.dataset));
    place.replaceChildren(...(cards.length ? cards : [nobody(asked, form.dataset)]));
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // Not `q`: the theme's own search takes that one.
    history.pushState(null, "", `?${new URLSearchParams({ find: input.value.trim() })}`);
    look();
  });
  window.addEventListener("popstate", look);
  document.querySelector(".pr-without-script")?.remove();
  form.hidden = false;
  look();
}

/** Finds agents: a number is that of a pull request; exact logins and names come before parts of them. */
function matching(agents, asked) {
  const typed = asked.toLocaleLowerCase();
  const number = /^#?(\d{1,9})$/.exec(asked) ?? /\/pull\/(\d{1,9})/.exec(asked);
  const byPull = number ? agents.filter((agent) => agent.pull === Number(number[1])) : [];
  if (byPull.length) return byPull;
  const rank = ({ login, agent, name }) => {
    const names = [`${login}/${agent}`, login, agent, name].map((one) => one.toLocaleLowerCase());
    if (names.includes(typed)) return 0;
    return names.some((one) => one.includes(typed)) ? 1 : 2;
  };
  const ranked = agents.map((agent) => [rank(agent), agent]).filter(([place]) => place < 2);
  return ranked.sort(([one], [other]) => one - other).map(([, agent]) => agent);
}

function words(count) {
  if (!count) return "No submission matches.";
  const many = count === 1 ? "One submission." : `${count} submissions.`;
  return count > SHOWN ? `${many} The first ${SHOWN} are shown; type more of the name.` : many;
}

function card(agent, { tasks, verdicts }, { repository }) {
  const rows = agent.tasks.flatMap((state, index) => (state ? [row(state, tasks[index], verdicts)] : []));
  const pull = agent.pull && repository ? el("a", { href: `${repository.replace(/\/$/, "")}/pull/${Number(agent.pull)}` }, `pull request #${agent.pull}`) : null;
  return el("section", { class: "pr-status-card" },
    el("h2", {}, el("a", { href: new URL(agent.page, root()).href }, el("bdi", {}, agent.name))),
    el("p", { class: "pr-by" }, el("bdi", {}, `${agent.login}/${agent.agent}`), pull ? " · " : null, pull),
    rows.length
      ? el("div", { class: "pr-scroll", role: "region", "aria-label": `Where ${agent.name} stands`, tabindex: "0" },
        el("table", { class: "pr-board" },
          el("thead", {}, el("tr", {}, ...["Task", "State", "Why, and what to do"].map((one) => el("th", { scope: "col" }, one)))),
          el("tbody", {}, ...rows)))
      : el("p", { class: "pr-note" }, "It is entered on no task that is shown now."));
}

function row([state, ...more], task, verdicts) {
  const [label, next] = (WORDS[state] ?? (() => [state, ""]))(more, verdicts);
  const isOurs = OURS.has(state) || (state === "failed" && verdicts?.[more[0]]?.ours);
  const kind = GOOD.has(state) ? "ok" : isOurs ? "ours" : "bad";
  return el("tr", {},
    el("th", { scope: "row", class: "pr-rowhead" }, el("a", { href: new URL(task.page, root()).href }, el("bdi", {}, task.title))),
    el("td", {}, el("span", { class: `pr-verdict pr-verdict-${kind}` }, label)),
    el("td", { class: "pr-typed pr-message" }, el("bdi", {}, next)));
}

function nobody(asked, { repository, submit, states }) {
  const number = /^#?(\d{1,9})$/.exec(asked);
  const open = number && repository
    ? [el("a", { href: `${repository.replace(/\/$/, "")}/pull/${Number(number[1])}` }, `Pull request #${number[1]}`), " has a comment that shows its state. "]
    : [];
  return el("div", { class: "pr-empty" },
    el("p", {}, el("b", {}, "Only merged submissions are listed.")),
    el("p", {}, ...open, "An open pull request is evaluated as a preview first; ",
      el("a", { href: states }, "its comment"), " shows the outcome. Not submitted yet? ", el("a", { href: submit }, "Submit an agent"), "."));
}
