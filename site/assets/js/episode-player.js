/**
 * Players of recorded episodes. All frames of an episode are one picture, row by row; a window of the size of one frame
 * shows one of them. Pages load this file for its players; the compare page makes figures of its own with `create` and plays
 * several in step with `playTogether`.
 */
import { el, svg } from "./dom.js";
import { root } from "./site.js";

const FRAMES_A_SECOND = 12;
const SPEEDS = [0.25, 0.5, 1, 2, 4];
/** Moments of a player for several episodes. */
const MOMENTS = 60;
const ICONS = {
  play: "M4 2 14 8 4 14Z",
  pause: "M3 2h4v12H3ZM9 2h4v12H9Z",
  back: "M13 2v12L6 8ZM3 2h2.5v12H3Z",
  forward: "M3 2v12l7-6ZM10.5 2H13v12h-2.5Z",
};
const STILL = "pullrank-still";

/** The window of a figure: which frame it shows, and after how many steps that was taken. */
export class FrameView {
  constructor(figure) {
    const { columns, frames, steps } = figure.dataset;
    this.columns = Math.max(1, Number(columns));
    this.steps = steps.split(",").map(Number).slice(0, Number(frames));
    this.rows = Math.ceil(this.steps.length / this.columns);
    this.image = figure.querySelector(".pr-screen img");
    this.label = this.image.alt.replace(": its first picture", "");
  }

  show(index) {
    const row = Math.floor(index / this.columns);
    const column = index % this.columns;
    this.image.style.transform = `translateX(${(-100 * column) / this.columns}%)`;
    this.image.parentElement.style.transform = `translateY(${(-100 * row) / this.rows}%)`;
  }

  /** Shows the last frame at or before a step. */
  showAt(step) {
    let index = 0;
    while (index + 1 < this.steps.length && this.steps[index + 1] <= step) index += 1;
    this.show(index);
  }
}

/** The controls of a player: play, step and slide through moments. */
export class PlayerBar {
  constructor(moments, label, show, { speeds = false, rate = FRAMES_A_SECOND, first = 0 } = {}) {
    this.moments = moments;
    this.rate = rate;
    this.isMoved = false;
    this.show = show;
    this.at = 0;
    this.request = null;
    this.play = this.button("play", "Play", () => this.toggle());
    this.back = this.button("back", "Step back", () => this.step(-1));
    this.forward = this.button("forward", "Step forward", () => this.step(1));
    this.slider = el("input", {
      type: "range", class: "pr-track", min: 0, max: moments.length - 1, step: 1, value: 0, "aria-label": `Step of ${label}`,
      oninput: () => this.go(Number(this.slider.value)),
    });
    this.place = el("span", { class: "pr-step", "aria-hidden": "true" });
    this.speed = speeds && el("select", { class: "pr-speed", "aria-label": "Speed", onchange: () => this.restart() },
      SPEEDS.map((one) => el("option", { value: one, selected: one === 1 }, `${one}×`)));
    this.element = el("div", { class: "pr-player", role: "group", "aria-label": `Player of ${label}` },
      this.play, this.back, this.forward, this.slider, this.place, this.speed);
    this.set(first);
    // From now on it is a reader who moves it.
    this.isMoved = true;
  }

  get last() { return this.moments.length - 1; }
  get isPlaying() { return this.request !== null; }

  button(icon, label, onclick) {
    return el("button", { type: "button", class: "pr-key", "aria-label": label, title: label, onclick },
      svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[icon] })));
  }

  /** Pauses, and shows a moment. */
  go(index) {
    this.pause();
    this.set(index);
  }

  step(by) { this.go(this.at + by); }

  set(index) {
    this.at = Math.max(0, Math.min(this.last, index));
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", `step ${this.moments[this.at]} of ${this.moments[this.last]}`);
    this.place.textContent = `${this.moments[this.at]} / ${this.moments[this.last]}`;
    this.show(this.at, this.isMoved);
  }

  toggle() {
    if (this.request === null) this.run();
    else this.pause();
  }

  run() {
    if (this.at === this.last) this.set(0);
    this.setPlayButton("pause", "Pause");
    const from = this.at;
    const rate = this.rate * (this.speed ? Number(this.speed.value) : 1);
    let begun = null;
    const tick = (now) => {
      begun ??= now;
      const index = from + Math.floor(((now - begun) / 1000) * rate);
      if (index !== this.at) this.set(index);
      this.request = requestAnimationFrame(tick);
      if (this.at === this.last) this.pause();
    };
    this.request = requestAnimationFrame(tick);
  }

  /** Goes on at the chosen speed. */
  restart() {
    if (!this.isPlaying) return;
    this.pause();
    this.run();
  }

  pause() {
    if (this.request === null) return;
    cancelAnimationFrame(this.request);
    this.request = null;
    this.setPlayButton("play", "Play");
  }

  setPlayButton(icon, label) {
    this.play.querySelector("path").setAttribute("d", ICONS[icon]);
    this.play.setAttribute("aria-label", label);
    this.play.title = label;
  }

  /** Handles keys, except those that a slider or a button handles itself. */
  press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target === this.speed) return;
    const slides = event.target === this.slider;
    const presses = event.target instanceof HTMLButtonElement;
    const keys = {
      " ": !presses && (() => this.toggle()),
      k: () => this.toggle(),
      ArrowLeft: !slides && (() => this.step(-1)),
      ArrowRight: !slides && (() => this.step(1)),
      Home: !slides && (() => this.go(0)),
      End: !slides && (() => this.go(this.last)),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

/**
 * Make a player of a figure: play and pause, step, slide; the same by Space or K, arrows, Home and End.
 *
 * @param {HTMLElement} figure `<figure class="pr-episode">` as the site's pages have them, or one of `create`
 * @returns {HTMLElement} the figure
 */
export function mount(figure) {
  if (figure.querySelector(".pr-player")) return figure;
  const screen = new FrameView(figure);
  const bar = new PlayerBar(screen.steps, `${screen.label}`, (index) => screen.show(index));
  screen.image.alt = screen.label;
  figure.querySelector(".pr-screen").after(bar.element);
  figure.addEventListener("keydown", (event) => bar.press(event));
  return figure;
}

/**
 * A figure of an episode as the documents below `api/` describe it; a still picture until it is given to `mount` or
 * `playTogether`.
 *
 * @param {{which: string, number: number, total: number, length: number, file: string, columns: number, width: number,
 *   height: number, steps: number[]}} episode
 * @param {{name?: string, caption?: string}} [options] the agent, shown above it; the text below it
 * @returns {HTMLElement}
 */
export function create(episode, { name = "", caption = "" } = {}) {
  const file = /episodes\/[0-9a-f]+-[a-z]+\.webp$/.exec(episode.file);
  if (!file) throw new TypeError("no picture of this site");
  const source = new URL(file[0], root());
  const { columns, width, height, steps } = episode;
  const rows = Math.ceil(steps.length / columns);
  const image = el("img", {
    src: source.href, alt: `${name ? `${name}, ` : ""}${episode.which} episode: its first picture`,
    width: columns * width, height: rows * height, loading: "lazy",
  });
  const screen = el("span", { class: "pr-screen" }, el("span", {}, image));
  screen.style.setProperty("--pr-columns", String(Number(columns)));
  screen.style.setProperty("--pr-rows", String(rows));
  screen.style.aspectRatio = `${Number(width)} / ${Number(height)}`;
  const facts = { columns, frames: steps.length, width, height, steps: steps.join(",") };
  const figure = el("figure", { class: "pr-episode" }, screen,
    el("figcaption", {}, name ? el("b", {}, el("bdi", {}, name)) : null, " ", el("span", {}, caption)));
  Object.assign(figure.dataset, facts);
  return figure;
}

/**
 * One player for several figures: all show the same step of their episodes, and one that ends earlier holds its last.
 *
 * @param {HTMLElement[]} figures of `create`, or of the site's pages, that are not mounted
 * @param {{label?: string}} [options] what is played, for screen readers
 * @returns {HTMLElement} the player, to be put beside them
 */
export function playTogether(figures, { label = "all episodes in step" } = {}) {
  const screens = figures.map((figure) => new FrameView(figure));
  for (const screen of screens) screen.image.alt = screen.label;
  const most = Math.max(0, ...screens.map((screen) => screen.steps.at(-1)));
  const count = Math.min(MOMENTS, most);
  const moments = Array.from({ length: count + 1 }, (_, i) => (count ? Math.round((most * i) / count) : 0));
  const bar = new PlayerBar(moments, label, (index) => screens.forEach((screen) => screen.showAt(moments[index])));
  for (const holder of [bar.element, ...figures]) holder.addEventListener("keydown", (event) => bar.press(event));
  bar.element.classList.add("pr-together");
  return bar.element;
}

/** A button that stops and starts the animations of a page; the choice is stored. */
function stopping() {
  const first = document.querySelector(".pr-moving");
  if (!first) return;
  const button = el("button", { type: "button", class: "pr-still-key", onclick: () => hold(!isStill()) });
  const isStill = () => "still" in document.documentElement.dataset;
  const hold = (still) => {
    if (still) document.documentElement.dataset.still = "";
    else delete document.documentElement.dataset.still;
    button.textContent = still ? "Play the animations" : "Stop the animations";
    try {
      localStorage.setItem(STILL, still ? "1" : "");
    } catch {
      // Storage may be disabled.
    }
  };
  let kept = "";
  try {
    kept = localStorage.getItem(STILL) ?? "";
  } catch {
    // As above.
  }
  (first.closest(".pr-cards") ?? first).before(button);
  hold(kept === "1");
}

for (const figure of document.querySelectorAll("figure.pr-episode[data-steps]")) mount(figure);
stopping();
