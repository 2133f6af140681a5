/** What the compare page reads of the board, in one shape. */

import { agentDocument, fetched } from "./site.js";

/**
 * Who can be chosen for a task.
 *
 * @param {{api: string}} data of the task's option
 * @returns {Promise<{id: string, name: string, place: number|null, score: number|null, search: string}[]>} in the order of the board
 */
export async function entriesOf({ api }) {
  const table = await documentOf(api, "table.json");
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
  const [board, duels] = await Promise.all([documentOf(api, "leaderboard.json"), documentOf(api, "duels.json")]);
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
  const agent = await agentDocument(id);
  if (!agent) return { id };
  const one = agent.tasks.find((each) => each.task === data.task) ?? { state: agent.state };
  const returns = numbers(one.returns);
  return {
    id,
    name: agent.name,
    row: one,
    returns,
    values: valuesOf(data, returns, numbers(one.lengths)),
    overall: agent.overall ?? null,
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
  const states = agents.find((one) => idOf(one) === id)?.tasks ?? [];
  return tasks[states.findIndex((state) => state?.[0] === "ranked")]?.id ?? null;
}

async function everybody() {
  return fetched("api/status.json").catch(() => ({ tasks: [], agents: [] }));
}

/** A document of a task, whose folder is relative to the page; null where there is none. */
function documentOf(folder, name) {
  return fetched(new URL(`${folder}${name}`, location.href)).catch(() => null);
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
