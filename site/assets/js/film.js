/**
 * The film of a task's leader: the page shows its first picture, and the film is loaded when it is played. The other
 * entries of the list beside it are one button away.
 */
import { Bar, Screen } from "./episode.js";
import { el } from "./dom.js";

const place = document.querySelector(".pr-film .pr-reel");
if (place) begin(place.closest(".pr-film"), [...place.children]);

function begin(section, entries) {
  const figure = section.querySelector("figure");
  const frame = figure.querySelector(".pr-screen");
  const image = frame.querySelector("img");
  const caption = el("figcaption");
  const previous = turner("‹ Previous agent", -1);
  const next = turner("Next agent ›", 1);
  let at = 0;
  let bar = null;
  /** Which film is loaded; the poster is none. */
  let loaded = null;

  figure.append(caption);
  if (entries.length > 1) section.querySelector(".pr-reel").before(el("div", { class: "pr-turners" }, previous, next));
  section.querySelector(".pr-reel").classList.add("pr-hidden-with-script");
  figure.addEventListener("keydown", (event) => bar.press(event));
  addEventListener("hashchange", playIfAsked);
  choose(0);
  playIfAsked();

  function turner(label, by) {
    return el("button", { type: "button", class: "pr-button", onclick: () => turn(by) }, label);
  }

  /** Goes to another entry; what was playing goes on playing. */
  function turn(by) {
    const isPlaying = bar.isPlaying;
    bar.pause();
    choose((at + by + entries.length) % entries.length);
    bar.show(0, true);
    if (isPlaying) bar.toggle();
  }

  function choose(index) {
    at = index;
    const { steps, frames } = entries[at].dataset;
    const moments = steps.split(",").map(Number).slice(0, Number(frames));
    const name = entries[at].querySelector(".pr-agent").textContent;
    const made = new Bar(moments, `the film of ${name}`, (frameIndex, isWanted) => show(frameIndex, isWanted), { speeds: true });
    if (bar) bar.element.replaceWith(made.element);
    else frame.after(made.element);
    bar = made;
    caption.replaceChildren(...[...entries[at].childNodes].map((node) => node.cloneNode(true)));
  }

  /** The poster is the first frame: nothing is loaded for it, unless another entry was chosen. */
  function show(index, isWanted) {
    if (loaded === entries[at]) new Screen(figure).show(index);
    else if (index > 0 || isWanted) void load(entries[at]);
  }

  async function load(entry) {
    const { film, columns, frames, width, height, steps } = entry.dataset;
    const picture = new Image();
    picture.src = film;
    try {
      await picture.decode();
    } catch {
      caption.append(" · the film could not be loaded");
      return;
    }
    // Another one may have been chosen in the meantime.
    if (entry !== entries[at]) return;
    loaded = entry;
    const rows = Math.ceil(Number(frames) / Number(columns));
    Object.assign(figure.dataset, { columns, frames, steps });
    frame.style.setProperty("--pr-columns", columns);
    frame.style.setProperty("--pr-rows", rows);
    frame.style.aspectRatio = `${width} / ${height}`;
    image.src = film;
    image.alt = caption.textContent.trim();
    new Screen(figure).show(bar.at);
  }

  /** Links to the film play it, unless the reader prefers less motion. */
  function playIfAsked() {
    if (location.hash !== "#film" || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    if (!bar.isPlaying) bar.toggle();
  }
}
