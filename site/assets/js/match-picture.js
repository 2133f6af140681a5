/** A match of a duel as a picture that shows the position after any number of its moves. */

import { el, svg } from "./dom.js";

/** The picture of one match; `duel` and `match` are as the page of a duel has them in its JSON. */
export class MatchPicture {
  constructor(duel, match) {
    this.match = match;
    this.shapes = [];
    if (match.marks !== undefined) this.element = this.draw(duel);
    else this.element = document.createElement(match.images ? "img" : "pre");
  }

  draw(duel) {
    const picture = svg("svg", { viewBox: duel.view, role: "img" });
    for (const [style, path] of duel.ground) picture.append(svg("path", { class: style, d: `M0 0${path}` }));
    // Each is its symbol, its place in quarters of a cell, and the numbers of moves after which it appears and disappears.
    for (const mark of this.match.marks.split(",").filter(Boolean)) {
      const [symbol, x, y, begin, end = Infinity] = mark.split(" ").map(Number);
      const [style, path] = duel.symbols[symbol];
      const shape = svg("path", { class: style, d: `M${x / 4} ${y / 4}${path}` });
      picture.append(shape);
      this.shapes.push({ shape, y: y / 4, begin, end });
    }
    return picture;
  }

  /** Shows the position after `ply` moves. */
  show(ply) {
    const { match, element } = this;
    for (const { shape, y, begin, end } of this.shapes) {
      const visible = begin <= ply && ply < end;
      shape.style.display = visible ? "" : "none";
      if (visible && begin === ply) shape.style.setProperty("--pr-fall", `${-y}px`);
      shape.classList.toggle("pr-new", visible && begin === ply && ply > 0);
    }
    const frames = match.images || match.texts || [];
    const frame = frames[Math.min(ply, frames.length - 1)];
    const words = `Position after ${ply} of ${match.moves.length} moves`;
    if (match.images) {
      element.src = frame;
      element.alt = words;
    } else if (match.marks === undefined) element.textContent = frame === undefined ? this.listed(ply) : frame;
    else element.setAttribute("aria-label", words);
  }

  listed(ply) {
    const shown = this.match.moves.map((move, i) => (i + 1 === ply ? `[${move}]` : ` ${move} `));
    return `This game has no picture. Its moves:\n\n${shown.join(" ")}`;
  }
}

/** The last position of a match as a small picture; `number` counts from 1. */
export function finalPosition(duel, match, number) {
  if (match.marks === undefined && !match.images && !match.texts) return el("span", { class: "pr-none" }, "no picture");
  const picture = new MatchPicture(duel, match);
  picture.show(match.moves.length);
  const { element } = picture;
  element.classList.add(match.texts ? "pr-log" : "pr-final");
  if (match.marks !== undefined) element.setAttribute("viewBox", duel.small);
  for (const { shape, end } of picture.shapes) {
    shape.classList.remove("pr-new");
    if (end !== Infinity) shape.remove();
  }
  element.setAttribute(match.images ? "alt" : "aria-label", `last position of match ${number}`);
  return element;
}
