/** The site around a page: its root, addresses and documents below it, and files that a page offers. */

import { el } from "./dom.js";

const ROOT = new URL("../../", import.meta.url);
const documents = new Map();

/**
 * The root of the site: this file is at assets/js/ below it.
 *
 * @returns {URL} ends with a slash
 */
export function root() {
  return new URL(ROOT);
}

/**
 * An address that may be linked to: one below this site, or one with http or https.
 *
 * @param {string} address
 * @returns {string|null} null for any other kind, which is shown as text
 */
export function safe(address) {
  try {
    const url = new URL(address, ROOT);
    return ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/**
 * A JSON document, fetched once; one that could not be had is asked for again the next time.
 *
 * @param {string|URL} address absolute, or below the site's root
 * @returns {Promise<any>} rejected where it cannot be had
 */
export function fetched(address) {
  const url = new URL(address, ROOT).href;
  if (!documents.has(url)) {
    const document = fetch(url).then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.statusText))));
    documents.set(url, document);
    document.catch(() => documents.delete(url));
  }
  return documents.get(url);
}

/**
 * The document of an agent that is known to have one.
 *
 * @param {string} id login/agent
 * @returns {Promise<any>} null where it cannot be had
 */
export function agentDocument(id) {
  const [login, agent] = id.split("/").map(encodeURIComponent);
  return fetched(`api/agents/${login}/${agent}.json`).catch(() => null);
}

/**
 * An agent's page; `agent_page` of leaderboard/text/urls.py in the browser.
 *
 * @param {string} id login/agent
 * @returns {string}
 */
export function agentPage(id) {
  const [login, agent] = id.split("/");
  // MkDocs serves these two names at the address of their folder, so their pages have another name.
  const file = ["index", "readme"].includes(agent.toLowerCase()) ? `_${agent}` : agent;
  return new URL(`agents/${encodeURIComponent(login)}/${encodeURIComponent(file)}/`, ROOT).href;
}

/**
 * The name of an agent as a link to its page, cut after two lines.
 *
 * @param {string} id login/agent
 * @param {string} name
 * @returns {HTMLElement}
 */
export function agentLink(id, name) {
  return el("a", { class: "pr-agent", href: agentPage(id), title: name }, el("bdi", { class: "pr-clamp" }, name));
}

/**
 * The owner of an agent, linked to their profile on the repository's host.
 *
 * @param {string} login
 * @param {string|null} forge the host's address with a slash; null where nothing is linked
 * @returns {HTMLElement}
 */
export function ownerLink(login, forge) {
  const isLinked = forge && login !== "local";
  const link = isLinked ? el("a", { href: `${forge}${encodeURIComponent(login)}`, rel: "nofollow ugc noopener" }, login) : login;
  return el("span", { class: "pr-owner", title: login }, link);
}

/**
 * The query of an address, with commas, slashes and colons as they are: that is allowed, and people read them more easily.
 *
 * @param {Object<string, string>|URLSearchParams} parameters
 * @returns {string} without the question mark
 */
export function queryOf(parameters) {
  return new URLSearchParams(parameters).toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3A", ":");
}

/**
 * Lets the browser save a file.
 *
 * @param {Blob} content
 * @param {string} name may hold percent signs of an address
 */
export function saveFile(content, name) {
  const address = URL.createObjectURL(content);
  el("a", { href: address, download: name.replaceAll("%", "-") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
