/** A visitor against the leader of a board game: by the moves that it played in recorded matches or, for a network of few operators, by its own numbers. */

import { el } from "./dom.js";
import { Position } from "./game-rules.js";
import { NetworkWorker } from "./network-worker.js";
import { bookMove, readBook, standInMove } from "./opening-book.js";

const WAIT_MS = 350;
const SIGNS = ["X", "O"];

for (const place of document.querySelectorAll(".pr-play[data-book]")) offer(place);

/** The book is loaded only for those who want to play. */
function offer(place) {
  const begin = el("button", { type: "button", class: "md-button md-button--primary", onclick: load }, "Play");
  place.replaceChildren(el("p", {}, begin));

  async function load() {
    begin.disabled = true;
    const answer = await fetch(place.dataset.book).catch(() => null);
    const book = answer?.ok ? readBook(await answer.text()) : null;
    const network = book && place.dataset.network ? await NetworkWorker.load(place.dataset.network) : null;
    if (book) new Match(place, book, network);
    else place.replaceChildren(el("p", { class: "pr-notice", role: "alert" }, "The recorded matches could not be read, so nobody can be played here."));
  }
}

class Match {
  constructor(place, book, network) {
    this.book = book;
    /** The leader's; null where it is known by its book alone. */
    this.network = network;
    this.played = 0;
    this.score = [0, 0, 0];
    this.board = el("div", { class: "pr-play-board", role: "group", "aria-label": "Board" });
    this.status = el("p", { class: "pr-play-status", role: "status" });
    this.source = el("p", { class: "pr-play-source" });
    this.tally = el("p", { class: "pr-by" });
    this.again = el("button", { type: "button", class: "md-button", onclick: () => this.begin() }, "New match");
    const refused = book.refused ? ` ${book.refused} recorded matches break the rules and are left out.` : "";
    place.replaceChildren(
      el("p", { class: "pr-by" }, "You play ", el("bdi", {}, book.leader), network
        ? ": its own network, computed in a closed frame of this page. Rounding may differ from the official runs."
        : ` from the book of its ${book.matches} recorded matches; its code does not run here.${refused}`),
      this.board, this.status, this.source, el("p", { class: "pr-row" }, this.again, this.tally));
    this.board.addEventListener("keydown", (event) => this.steer(event));
    this.begin();
  }

  /** As some recorded match began; leader and visitor begin in turn. */
  begin() {
    clearTimeout(this.timer);
    this.hasBrokenRule = false;
    const side = this.played % 2 ? 0 : 1;
    this.played += 1;
    const openings = this.book.openings.filter((one) => one.side === side);
    const opening = openings.length ? openings[Math.floor(Math.random() * openings.length)].moves : [];
    this.leader = side;
    this.position = new Position(this.book.rules);
    for (const move of opening) this.position.play(move);
    this.opening = opening.length;
    this.source.textContent = opening.length ? `The first ${opening.length} moves are those of a recorded match; there they were drawn from its seed.` : "";
    this.next();
  }

  get isVisitors() {
    return !this.position.isOver && !this.hasBrokenRule && this.position.turn !== this.leader;
  }

  next() {
    this.draw();
    if (this.position.isOver) return this.end();
    if (this.isVisitors) return this.say(`Your move; you are ${SIGNS[1 - this.leader]}.`);
    this.say("The leader’s move …");
    this.timer = setTimeout(() => this.answer(), WAIT_MS);
  }

  async answer() {
    if (this.network) {
      const { position } = this;
      const move = await this.network.move(position);
      if (this.position !== position) return;
      if (move !== null) return this.playNetwork(move);
      this.network = null;
      this.isBroken = true;
    }
    this.playBook();
  }

  playNetwork(move) {
    const isLegal = this.position.play(move);
    this.source.replaceChildren(...(isLegal ? ["From its network: ", el("bdi", {}, this.book.leader), ` plays ${this.book.rules.words(move)}.`]
      : ["From its network: an illegal move, which loses an official match, too."]));
    if (isLegal) return this.next();
    this.hasBrokenRule = true;
    this.end();
  }

  playBook() {
    const recorded = bookMove(this.book, this.position);
    const move = recorded ? recorded.move : standInMove(this.position);
    const words = this.book.rules.words(move);
    this.source.replaceChildren(...(recorded
      ? ["From the book: ", el("bdi", {}, this.book.leader), ` played ${words} in ${recorded.times} of ${recorded.of} recorded matches from here.`]
      : ["Out of book: ", el("bdi", {}, this.book.leader), ` never stood here in a recorded match. A stand-in of this page plays ${words}. It is not the leader.`]));
    if (this.isBroken) this.source.prepend("Its network could not be computed here. ");
    this.position.play(move);
    this.next();
  }

  choose(action) {
    if (!this.isVisitors || !this.position.play(action)) return;
    this.next();
    const buttons = this.buttons();
    if (!buttons.includes(document.activeElement)) (buttons.find((button) => button.dataset.action === String(action)) ?? this.again).focus();
  }

  end() {
    const winner = this.hasBrokenRule ? 1 - this.leader : this.position.winner;
    this.draw();
    const index = winner === null ? 2 : winner === this.leader ? 1 : 0;
    this.score[index] += 1;
    this.say(["You win.", "You lose.", "A draw."][index]);
    const [won, lost, drawn] = this.score;
    this.tally.textContent = `You: ${won} won, ${lost} lost, ${drawn} drawn`;
  }

  say(words) {
    this.status.textContent = words;
  }

  buttons() {
    return [...this.board.querySelectorAll("button")];
  }

  /** Arrow keys go from button to button, as they stand. */
  steer(event) {
    const buttons = this.buttons();
    const across = this.book.rules.actions === this.book.rules.columns ? buttons.length : this.book.rules.columns;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
    const target = buttons[buttons.indexOf(document.activeElement) + step];
    if (!step) return;
    event.preventDefault();
    target?.focus();
  }

  draw() {
    const { rules, cells, moves } = this.position;
    const isDropped = rules.actions === rules.columns;
    this.board.style.setProperty("--pr-columns", rules.columns);
    const last = this.position.moves.length > this.opening ? this.lastCell() : "";
    if (!this.cells) this.build(isDropped);
    for (const { element, x, y, action } of this.cells) {
      const owner = cells[y][x];
      const key = `${x} ${y}`;
      element.className = `pr-play-cell ${owner === null ? "" : `pr-of-${(owner + this.leader) % 2 ? "a" : "b"}`} ${this.position.line.has(key) ? "pr-won" : ""} ${key === last ? "pr-last" : ""}`;
      element.textContent = owner === null ? "" : SIGNS[owner];
      if (action === undefined) continue;
      element.setAttribute("aria-label", `${rules.words(action)}: ${owner === null ? "free" : owner === this.leader ? "the leader’s" : "yours"}`);
      element.setAttribute("aria-disabled", String(owner !== null || !this.isVisitors));
    }
    for (const { button, action } of this.drops ?? []) {
      const stones = cells.map((line) => line[action]).filter((owner) => owner !== null);
      const names = stones.map((owner) => (owner === this.leader ? "leader" : "you"));
      button.setAttribute("aria-label", `Drop into ${rules.words(action)}; from the top: ${names.join(", ") || "empty"}`);
      button.setAttribute("aria-disabled", String(!this.isVisitors || !this.position.legal.includes(action)));
    }
    this.board.dataset.moves = moves.join(" ");
  }

  lastCell() {
    const before = new Position(this.book.rules);
    for (const move of this.position.moves.slice(0, -1)) before.play(move);
    return this.book.rules.cell(before.cells, this.position.moves.at(-1)).join(" ");
  }

  build(isDropped) {
    const { rules } = this.book;
    const drops = Array.from({ length: isDropped ? rules.columns : 0 }, (_, action) => ({
      action, button: el("button", { type: "button", class: "pr-play-drop", "data-action": action, onclick: () => this.choose(action) }, "↓"),
    }));
    this.drops = drops;
    this.cells = Array.from({ length: rules.rows * rules.columns }, (_, index) => {
      const [x, y] = [index % rules.columns, Math.floor(index / rules.columns)];
      if (isDropped) return { x, y, element: el("span", { "aria-hidden": "true" }) };
      const action = x * rules.rows + y;
      return { x, y, action, element: el("button", { type: "button", "data-action": action, onclick: () => this.choose(action) }) };
    });
    this.board.replaceChildren(...drops.map(({ button }) => button), ...this.cells.map(({ element }) => element));
  }
}
