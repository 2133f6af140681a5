/** The site's search. The index is loaded when somebody begins to search; what was typed before it came is not lost. */

import { el } from "./dom.js";
import { fetched, root } from "./site.js";

const SHOWN = 20;
/** Characters of a text that a result shows around the first word. */
const EXCERPT = 160;
const place = document.getElementById("pr-search");
if (place) begin(place);

function begin(place) {
  const input = place.querySelector(".md-search__input");
  const status = place.querySelector(".md-search-result__meta");
  const list = place.querySelector(".md-search-result__list");
  const toggle = document.getElementById("__search");
  const idle = status.textContent.trim();
  let entries = null;

  const isOpen = () => toggle.checked;
  const open = (isWanted) => {
    if (toggle.checked === isWanted) return;
    // A click, so that the theme takes notice, too.
    toggle.click();
  };
  input.addEventListener("focus", () => {
    open(true);
    void look();
  });
  input.addEventListener("input", () => void look());
  toggle.addEventListener("change", () => {
    if (isOpen()) input.focus();
  });
  place.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  place.querySelector("form").addEventListener("reset", () => setTimeout(() => {
    void look();
    input.focus();
  }));
  list.addEventListener("click", (event) => {
    if (event.target.closest("a") && !event.ctrlKey && !event.metaKey) open(false);
  });
  document.addEventListener("keydown", press);
  // Typed before this script came.
  if (input.value || document.activeElement === input) void look();

  async function look() {
    const asked = input.value;
    if (!entries) {
      status.textContent = asked ? "Loading …" : idle;
      try {
        entries = prepared((await fetched("search/search_index.json")).docs);
      } catch {
        status.textContent = "The search could not be loaded. Try again in a minute.";
        return;
      }
    }
    show(input.value);
  }

  function show(asked) {
    const words = wordsOf(asked);
    const matches = words.length ? matching(entries, words) : [];
    const count = matches.length === 1 ? "1 result" : `${matches.length} results`;
    status.textContent = !words.length ? idle : matches.length ? count : "No result";
    list.replaceChildren(...matches.slice(0, SHOWN).map((entry) => item(entry, words)));
  }

  function press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const types = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (!isOpen()) {
      if (types || !["/", "s", "f"].includes(event.key)) return;
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape") {
      open(false);
      input.blur();
    } else if (["ArrowDown", "ArrowUp"].includes(event.key)) {
      const stops = [input, ...list.querySelectorAll("a")];
      const at = stops.indexOf(document.activeElement);
      stops[(at + (event.key === "ArrowDown" ? 1 : stops.length - 1)) % stops.length].focus();
      event.preventDefault();
    }
  }
}

/** Words in small letters, without accents. */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

function wordsOf(text) {
  return folded(text).split(/\s+/).filter(Boolean);
}

/** Titles of pages stand beside those of their sections. */
function prepared(docs) {
  const titles = new Map(docs.filter(({ location }) => !location.includes("#")).map(({ location, title }) => [location, title]));
  return docs.map((doc) => {
    const page = titles.get(doc.location.split("#")[0]) ?? "";
    return { ...doc, page: page === doc.title ? "" : page, inTitle: folded(`${doc.title} ${page}`), inText: folded(doc.text) };
  });
}

/** Entries with every word, those with words in their titles first; of equal ones the order of the index. */
function matching(entries, words) {
  const scored = [];
  for (const entry of entries) {
    let score = 0;
    for (const word of words) {
      const at = entry.inTitle.indexOf(word);
      const value = at === 0 ? 12 : at > 0 ? (/\W/.test(entry.inTitle[at - 1]) ? 8 : 4) : entry.inText.includes(word) ? 1 : 0;
      if (!value) {
        score = 0;
        break;
      }
      score += value;
    }
    // A page of just that name is what is looked for; its agents and sections come after it.
    if (!entry.location.includes("#") && folded(entry.title) === words.join(" ")) score += 20;
    // Anybody may name an agent like a page of the board.
    const behind = entry.location.includes("#") ? 0.5 : entry.location.startsWith("agents/") ? 0.25 : 0;
    if (score) scored.push({ entry, score: score - behind });
  }
  return scored.sort((a, b) => b.score - a.score).map(({ entry }) => entry);
}

function item(entry, words) {
  const at = Math.min(...words.map((word) => entry.inText.indexOf(word)).filter((index) => index >= 0), Infinity);
  const first = Number.isFinite(at) ? Math.max(0, at - EXCERPT / 3) : 0;
  const begin = first ? entry.text.indexOf(" ", first) + 1 : 0;
  const cut = entry.text.slice(begin, begin + EXCERPT);
  const excerpt = `${begin ? "… " : ""}${cut}${begin + EXCERPT < entry.text.length ? " …" : ""}`;
  return el("li", { class: "md-search-result__item" },
    el("a", { class: "md-search-result__link", href: new URL(entry.location, root()).href },
      el("article", { class: "md-search-result__article md-typeset" },
        el("b", {}, el("bdi", {}, entry.title)), entry.page && el("span", { class: "pr-by" }, ` in ${entry.page}`), el("p", {}, excerpt))));
}
