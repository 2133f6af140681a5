/* Steps through the matches of a duel, of any game: each mark has the moves at which it appears and disappears. */
import { el, svg } from "./dom.js";
import { MatchPicture, finalPosition } from "./match-picture.js";

/* How many moves of a match are played by themselves. */
const LAST_MOVES = 12;
const FIRST_MATCHES = 12;
/* Moves to choose from for who guesses. */
const CHOICES = 4;
const only = (least, value, greatest) => Math.max(least, Math.min(greatest, value));

class Replay {
  constructor(duel, section) {
    this.duel = duel;
    this.section = section;
    this.part = (name) => section.querySelector(name);
    this.cards = [...document.querySelectorAll(".pr-card")];
    this.timer = null;
    this.saving = null;
    this.index = -1;
    this.ply = 0;
    this.guesses = { right: 0, all: 0 };
    // With a script the address means a position of the replay, not a card to scroll to.
    for (const card of this.cards) card.removeAttribute("id");
    section.hidden = false;
    this.listen();
    if (this.read()) return;
    this.show(0, Infinity);
    clearTimeout(this.saving);
  }

  get match() { return this.duel.matches[this.index]; }
  get last() { return this.match.moves.length; }

  /* The address, both ways */

  read() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const number = Number.parseInt(asked.get("match"), 10);
    if (!(number >= 1 && number <= this.duel.matches.length)) return false;
    const ply = Number.parseInt(asked.get("ply"), 10);
    this.pause();
    if (Number.isNaN(ply) && new URLSearchParams(location.search).has("play")) return this.perform(number - 1);
    this.show(number - 1, Number.isNaN(ply) ? Infinity : ply);
    this.section.scrollIntoView({ block: "start" });
    return true;
  }

  /* Links from other pages play the end of a match; who prefers less motion sees the last position. */
  perform(index) {
    this.show(index, Infinity);
    this.section.scrollIntoView({ block: "start" });
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return true;
    this.show(index, this.last - LAST_MOVES);
    this.play();
    return true;
  }

  save() {
    // Browsers refuse an address that changes too often.
    clearTimeout(this.saving);
    this.saving = setTimeout(() => history.replaceState(null, "", `#match=${this.index + 1}&ply=${this.ply}`), 150);
  }

  /* What is shown */

  /* A side's class; `movers` has a character for each move, or none where that is unknown. */
  colour(side) { return side === undefined ? "" : `pr-${"ab"[side]}`; }

  show(index, ply) {
    if (index !== this.index) {
      this.index = index;
      this.draw();
    }
    this.ply = only(0, ply, this.last);
    this.step();
  }

  draw() {
    const { duel } = this;
    this.picture = new MatchPicture(duel, this.match);
    this.part(".pr-stage").replaceChildren(this.picture.element);
    this.part(".pr-match").textContent = `Match ${this.index + 1} of ${duel.matches.length}`;
    this.part(".pr-slider").max = this.last;
    for (const [i, card] of this.cards.entries()) {
      if (i === this.index) card.setAttribute("aria-current", "true");
      else card.removeAttribute("aria-current");
    }
    this.drawTimes();
  }

  drawTimes() {
    const times = this.part(".pr-times");
    const { ms, movers } = this.match;
    const most = Math.max(1, ...ms);
    times.setAttribute("viewBox", `0 0 ${Math.max(1, ms.length)} 1`);
    this.bars = ms.map((time, ply) => {
      const height = Math.max(0.03, time / most);
      return svg("rect", { class: this.colour(movers[ply]), x: ply + 0.1, y: 1 - height, width: 0.8, height });
    });
    times.replaceChildren(...this.bars);
    this.part(".pr-longest").textContent = ms.length ? `Thinking time of each move; the longest took ${most} ms.` : "";
  }

  step() {
    const { ply, last } = this;
    this.part(".pr-guess").replaceChildren();
    this.picture.show(ply);
    this.bars.forEach((bar, i) => bar.classList.toggle("pr-now", i === ply - 1));
    const slider = this.part(".pr-slider");
    slider.value = ply;
    slider.setAttribute("aria-valuetext", `${ply} of ${last}`);
    this.say();
    this.part("[data-act=start]").disabled = this.part("[data-act=back]").disabled = ply === 0;
    this.part("[data-act=end]").disabled = this.part("[data-act=forward]").disabled = ply === last;
    this.part("[data-act=previous]").disabled = this.index === 0;
    this.part("[data-act=next]").disabled = this.index === this.duel.matches.length - 1;
    this.save();
  }

  who(ply) {
    const side = this.match.movers[ply];
    return side === undefined ? null : this.duel.players[side];
  }

  does(move) { return this.duel.words[move] || `plays ${move}`; }

  /* What comes next: the move of the match among moves of the same duel. Drawn moves are nobody's, so none is asked for. */
  guess() {
    if (this.ply === this.last || this.ply < this.match.opening) this.show(this.index, Math.min(this.match.opening, this.last));
    if (this.ply === this.last) return;
    const actual = this.match.moves[this.ply];
    const others = [...new Set(this.duel.matches.flatMap((match) => match.moves))].filter((move) => move !== actual);
    const shuffled = (moves) => moves.map((move) => [Math.random(), move]).sort(([a], [b]) => a - b).map(([, move]) => move);
    const choices = shuffled([actual, ...shuffled(others).slice(0, CHOICES - 1)]);
    const words = el("p", {}, `What does ${this.who(this.ply) || "the player"} do next?`);
    this.part(".pr-guess").replaceChildren(words, ...choices.map((move) => this.choice(this.does(move), () => this.judge(move, actual))));
    this.part(".pr-guess button").focus();
  }

  choice(words, onclick) {
    return el("button", { type: "button", onclick }, words);
  }

  judge(move, actual) {
    this.guesses.all += 1;
    this.guesses.right += move === actual;
    const who = this.who(this.ply) || "The player";
    this.show(this.index, this.ply + 1);
    const { right, all } = this.guesses;
    const words = el("p", {}, `${move === actual ? "Right" : "No"}: ${who} ${this.does(actual)}. ${right} of ${all} right.`);
    const next = this.ply < this.last ? [this.choice("Guess the next one", () => this.guess())] : [];
    this.part(".pr-guess").replaceChildren(words, ...next);
    (next[0] ?? this.section).focus({ preventScroll: true });
  }

  done(ply) {
    const { match } = this;
    const does = this.does(match.moves[ply]);
    const how = ply < match.opening ? "drawn from the seed" : `${match.ms[ply] ?? "?"} ms`;
    return `${this.who(ply) || "A player"} ${does} (${how})`;
  }

  say() {
    const { match, ply, last } = this;
    const turn = this.part(".pr-turn");
    const over = ply === last;
    const side = over ? match.winner : match.movers[ply] ?? null;
    const words = over ? match.outcome : `${this.who(ply) || "a player"} to move`;
    turn.replaceChildren(el("span", { class: side === null ? "" : `pr-dot ${this.colour(side)}` }), words);
    const move = ply === 0 ? "The match begins." : `${ply} of ${last}: ${this.done(ply - 1)}.`;
    const status = over ? `${move} How it ended: ${match.why}.` : move;
    this.part(".pr-status").textContent = status;
  }

  /* The cards behind the fold come without pictures, because these would be most of the page. */
  drawCards() {
    for (const [i, card] of this.cards.entries()) {
      const link = card.firstElementChild;
      if (link.firstElementChild.matches(".pr-what")) link.prepend(finalPosition(this.duel, this.duel.matches[i], i + 1));
    }
  }

  /* The matches below: those that are asked for, in their order; as many as fit stand outside the fold. */
  filter(wanted) {
    this.drawCards();
    const wins = (index) => String(this.duel.matches[index].winner ?? "draw");
    const moves = (index) => this.duel.matches[index].moves.length;
    const indexes = [...this.cards.keys()].filter((index) => ["all", "short"].includes(wanted) || wins(index) === wanted);
    if (wanted === "short") indexes.sort((a, b) => moves(a) - moves(b));
    const cards = indexes.map((index) => this.cards[index]);
    const [first, rest] = document.querySelectorAll(".pr-matches");
    first.replaceChildren(...cards.slice(0, FIRST_MATCHES));
    if (!rest) return;
    rest.replaceChildren(...cards.slice(FIRST_MATCHES));
    const fold = rest.closest("details");
    fold.hidden = !rest.children.length;
    fold.querySelector("summary").textContent = `${rest.children.length} more`;
  }

  /* What a reader does */

  listen() {
    const acts = {
      start: () => this.show(this.index, 0),
      back: () => this.show(this.index, this.ply - 1),
      forward: () => this.show(this.index, this.ply + 1),
      end: () => this.show(this.index, Infinity),
      guess: () => this.guess(),
      previous: () => this.show(only(0, this.index - 1, this.duel.matches.length - 1), 0),
      next: () => this.show(only(0, this.index + 1, this.duel.matches.length - 1), 0),
    };
    const act = (name) => {
      if (name === "play") return this.timer === null ? this.play() : this.pause();
      this.pause();
      return acts[name]();
    };
    const keys = { ArrowLeft: "back", ArrowRight: "forward", " ": "play", Home: "start", End: "end", PageUp: "previous", PageDown: "next" };
    this.section.addEventListener("click", (event) => {
      const button = event.target.closest("[data-act]");
      if (button) act(button.dataset.act);
    });
    document.addEventListener("keydown", (event) => {
      const control = event.target.closest("button, select, summary, a");
      const native = event.key === " " ? control : event.target.closest("select");
      if (!keys[event.key] || native || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (!this.concerned(event)) return;
      event.preventDefault();
      act(keys[event.key]);
    });
    this.part(".pr-slider").addEventListener("input", (event) => {
      this.pause();
      this.show(this.index, Number(event.target.value));
    });
    this.part(".pr-speed").addEventListener("change", () => this.timer !== null && this.play());
    const shown = document.querySelector(".pr-shown");
    shown.closest(".pr-filter").hidden = false;
    shown.addEventListener("change", () => this.filter(shown.value));
    document.querySelector(".pr-more")?.addEventListener("toggle", () => this.drawCards(), { once: true });
    for (const list of document.querySelectorAll(".pr-matches")) list.addEventListener("click", (event) => {
      const link = event.target.closest("[data-match]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.pause();
      this.show(Number(link.dataset.match) - 1, Infinity);
      this.section.scrollIntoView({ block: "start" });
      this.section.focus({ preventScroll: true });
    });
    addEventListener("hashchange", () => this.read());
  }

  /* Whether a key is meant for the replay, not for scrolling the page. */
  concerned(event) {
    if (this.section.contains(event.target)) return true;
    const { top, bottom } = this.section.getBoundingClientRect();
    return event.target === document.body && !event.key.startsWith("Page") && bottom > 0 && top < innerHeight;
  }

  play() {
    if (this.ply === this.last) this.show(this.index, 0);
    clearInterval(this.timer);
    this.timer = setInterval(() => {
      this.show(this.index, this.ply + 1);
      if (this.ply === this.last) this.pause();
    }, 1000 / Number(this.part(".pr-speed").value));
    this.playing("Pause", "off");
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.playing("Play", "polite");
  }

  playing(words, live) {
    this.part(".pr-play").textContent = words;
    // Screen readers should not read every move aloud during play.
    this.part(".pr-status").setAttribute("aria-live", live);
  }
}

const section = document.getElementById("replay");
if (section) new Replay(JSON.parse(document.getElementById("pr-duel").textContent), section);
