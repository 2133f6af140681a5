/** What the compare page reads: documents of the board, each fetched once, and made into one shape. */

import { root } from "./dom.js";

const kept = new Map();

/**
 * A JSON document below the site's root.
 *
 * @param {string|URL} address
 * @returns {Promise<any>} null where there is none
 */
export function fetched(address) {
  const url = new URL(address, location.href).href;
  if (!kept.has(url)) {
    const asked = fetch(url).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
    kept.set(url, asked);
  }
  return kept.get(url);
}

/**
 * An agent's page; `leaderboard/links.agent_page` in the browser.
 *
 * @param {string} id login/agent
 * @returns {string}
 */
export function agentPage(id) {
  const [login, agent] = id.split("/");
  const file = ["index", "readme"].includes(agent.toLowerCase()) ? `_${agent}` : agent;
  return new URL(`agents/${encodeURIComponent(login)}/${encodeURIComponent(file)}/`, root()).href;
}

/**
 * Who can be chosen for a task.
 *
 * @param {{api: string}} data of the task's option
 * @returns {Promise<{id: string, name: string, place: number|null, score: number|null, search: string}[]>} in the order of the board
 */
export async function entriesOf({ api }) {
  const table = await fetched(`${api}table.json`);
  if (!table) return [];
  const [login, agent, name, place, score] = ["login", "agent", "name", "place", "score"].map((one) => table.columns.indexOf(one));
  return table.rows.map((row) => {
    const id = idOf({ login: row[login], agent: row[agent] });
    return { id, name: row[name], place: row[place], score: row[score], search: `${id} ${row[name]}`.toLocaleLowerCase() };
  });
}

/**
 * A game's board, with every duel.
 *
 * @param {{api: string}} data
 * @returns {Promise<any>}
 */
export async function gameOf({ api }) {
  const [board, duels] = await Promise.all([fetched(`${api}leaderboard.json`), fetched(`${api}duels.json`)]);
  return { rows: board?.rows ?? [], crosstable: duels?.crosstable ?? [] };
}

/**
 * Those of some names that somebody has here. An address may hold any name, and a document that is not there would be noted
 * on the console, so this asks for none: first the task's own table, then the list of all who ever entered.
 *
 * @param {string[]} ids login/agent
 * @param {{id: string}[]} offered who can be chosen for the task
 * @returns {Promise<Set<string>>}
 */
export async function knownOf(ids, offered) {
  const here = new Set(offered.map((one) => one.id));
  if (ids.every((id) => here.has(id))) return here;
  const { agents } = await everybody();
  return new Set([...here, ...agents.map(idOf)]);
}

/**
 * One entry, as far as this task and the overall board know it.
 *
 * @param {string} id login/agent of somebody who is known
 * @param {{task: string, measure?: string, threshold?: string, direction: string}} data
 * @returns {Promise<object>} without a name where the document can not be had
 */
export async function load(id, data) {
  const [login, agent] = id.split("/").map(encodeURIComponent);
  const found = await fetched(new URL(`api/agents/${login}/${agent}.json`, root()));
  if (!found) return { id };
  const one = found.tasks.find((each) => each.task === data.task) ?? { state: found.state };
  const returns = numbers(one.returns);
  return {
    id,
    name: found.name,
    row: one,
    returns,
    values: valuesOf(data, returns, numbers(one.lengths)),
    overall: found.overall ?? null,
    replays: one.replays ?? [],
  };
}

/**
 * The first task on which an entry has a place, for addresses that name no task.
 *
 * @param {string} id login/agent
 * @returns {Promise<string|null>}
 */
export async function firstTask(id) {
  const { tasks, agents } = await everybody();
  const found = agents.find((one) => idOf(one) === id);
  return tasks[found?.tasks.findIndex((state) => state?.[0] === "ranked") ?? -1]?.id ?? null;
}

async function everybody() {
  return (await fetched(new URL("api/status.json", root()))) ?? { tasks: [], agents: [] };
}

function idOf({ login, agent }) {
  return `${login}/${agent}`;
}

/** The value of each episode that the ranking metric is made of; the return where it is made of something else. */
function valuesOf({ measure, threshold }, returns, lengths) {
  if (measure === "success_rate") return returns.map((value) => Number(value >= Number(threshold)));
  return measure === "mean_length" ? lengths : returns;
}

function numbers(values) {
  return Array.isArray(values) ? values.filter(Number.isFinite) : [];
}
