/**
 * The replay of a leader, on the page of a task or a game: the page shows one picture, and the replay is loaded when it is
 * played. The other entries of the list beside it are one button away. Replays of tasks are pictures with all frames of an
 * episode; replays of games are matches, which the pages of duels hold as JSON.
 */
import { el } from "./dom.js";
import { PlayerBar, FrameView } from "./episode-player.js";
import { MatchPicture } from "./match-picture.js";
import { root } from "./site.js";

/** Moves a second at the usual speed. */
const MOVES_A_SECOND = 2;
const place = document.querySelector(".pr-leader-replay .pr-replayed-agents");
if (place) begin(place.closest(".pr-leader-replay"), [...place.children]);

function begin(section, entries) {
  const figure = section.querySelector("figure");
  const stage = entries[0].dataset.duel ? matches(figure) : sheets(figure);
  const caption = el("figcaption");
  const previous = turnButton("‹ Previous agent", -1);
  const next = turnButton("Next agent ›", 1);
  let at = 0;
  let bar = null;
  /** Which replay is loaded, and how it is shown; the picture of the page is none. */
  let loaded = null;
  let display = null;
  let loading = null;

  figure.append(caption);
  if (entries.length > 1) section.querySelector(".pr-replayed-agents").before(el("div", { class: "pr-turners" }, previous, next));
  section.querySelector(".pr-replayed-agents").classList.add("pr-hidden-with-script");
  figure.addEventListener("keydown", (event) => bar.press(event));
  addEventListener("hashchange", playIfAsked);
  choose(0);
  playIfAsked();

  function turnButton(label, by) {
    return el("button", { type: "button", class: "pr-button", onclick: () => turn(by) }, label);
  }

  /** Goes to another entry; what was playing goes on playing. */
  function turn(by) {
    const isPlaying = bar.isPlaying;
    bar.pause();
    choose((at + by + entries.length) % entries.length);
    show(bar.at, true);
    if (isPlaying) bar.toggle();
  }

  function choose(index) {
    at = index;
    const moments = stage.momentsOf(entries[at].dataset);
    const name = entries[at].querySelector(".pr-agent").textContent;
    const first = stage.isPosterLast ? moments.length - 1 : 0;
    const made = new PlayerBar(moments, `the replay of ${name}`, show, { speeds: true, rate: stage.rate, first });
    if (bar) bar.element.replaceWith(made.element);
    else figure.querySelector(".pr-screen").after(made.element);
    bar = made;
    caption.replaceChildren(...[...entries[at].childNodes].map((node) => node.cloneNode(true)));
  }

  /** Nothing is loaded for what the page's own picture shows, unless another entry was chosen. */
  function show(index, isWanted = false) {
    if (loaded === entries[at]) display(index);
    else if (isWanted && loading !== entries[at]) void load(entries[at]);
  }

  async function load(entry) {
    loading = entry;
    try {
      const made = await stage.load(entry.dataset, () => entry.textContent.trim());
      // Another one may have been chosen in the meantime.
      if (entry !== entries[at]) return;
      display = made();
      loaded = entry;
      display(bar.at);
    } catch {
      if (entry === entries[at] && !caption.querySelector(".pr-trouble")) {
        caption.append(el("span", { class: "pr-trouble" }, " · the replay could not be loaded"));
      }
    } finally {
      if (loading === entry) loading = null;
    }
  }

  /** Links to the replay play it, unless the reader prefers less motion. */
  function playIfAsked() {
    if (location.hash !== "#leader-replay" || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    if (!bar.isPlaying) bar.toggle();
  }
}

/** Replays of tasks: one picture with all frames. */
function sheets(figure) {
  const frame = figure.querySelector(".pr-screen");
  const image = frame.querySelector("img");
  return {
    isPosterLast: false,
    rate: undefined,
    momentsOf: ({ steps, frames }) => steps.split(",").map(Number).slice(0, Number(frames)),
    load: async ({ replay, columns, frames, width, height, steps }, words) => {
      const picture = new Image();
      picture.src = replay;
      await picture.decode();
      return () => {
        Object.assign(figure.dataset, { columns, frames, steps });
        frame.style.setProperty("--pr-columns", columns);
        frame.style.setProperty("--pr-rows", Math.ceil(Number(frames) / Number(columns)));
        frame.style.aspectRatio = `${width} / ${height}`;
        image.src = replay;
        image.alt = words();
        const screen = new FrameView(figure);
        return (index) => screen.show(index);
      };
    },
  };
}

/** Replays of games: the page shows the last position of a match, the page of its duel has all its moves. */
function matches(figure) {
  const frame = figure.querySelector(".pr-screen");
  const duels = new Map();
  return {
    isPosterLast: true,
    rate: MOVES_A_SECOND,
    momentsOf: ({ moves }) => Array.from({ length: Number(moves) + 1 }, (_, ply) => ply),
    load: async ({ duel, match }) => {
      if (!duels.has(duel)) duels.set(duel, duelOf(duel));
      const document = await duels.get(duel);
      return () => {
        const picture = new MatchPicture(document, document.matches[Number(match)]);
        picture.element.classList.add("pr-match");
        frame.replaceChildren(picture.element);
        return (ply) => picture.show(ply);
      };
    },
  };
}

/** The JSON in the page of a duel; only a page of this site is asked. */
async function duelOf(address) {
  const page = new URL(address, location.href);
  if (!page.href.startsWith(new URL("tasks/", root()).href)) throw new TypeError("no duel of this site");
  const answer = await fetch(page);
  if (!answer.ok) throw new Error(answer.statusText);
  const read = new DOMParser().parseFromString(await answer.text(), "text/html");
  return JSON.parse(read.getElementById("pr-duel").textContent);
}
