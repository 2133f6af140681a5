/** What a player did in recorded matches, position by position. The document is read as if a stranger had written it. */

import { Position, rulesOf } from "./game-rules.js";

const MAX_BYTES = 300_000;
const MAX_MATCHES = 2000;
const LINE = 60;

/**
 * @typedef {{rules: object, leader: string, moves: Map<string, Map<number, number>>, openings: {moves: number[], side: number}[],
 *   matches: number, refused: number}} Book `moves`: the key of a position to how often each move was played there;
 *   `openings`: how matches began, and whether the leader was first (0) or second (1)
 */

/**
 * Reads a book.
 *
 * @param {string} text the JSON document
 * @returns {Book|null} null where it is none
 */
export function readBook(text) {
  if (text.length > MAX_BYTES) return null;
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    return null;
  }
  const rules = rulesOf(document?.game);
  const { leader, matches, opening } = document ?? {};
  if (!rules || typeof leader !== "string" || [...leader].length > LINE || !Array.isArray(matches)) return null;
  if (!Number.isInteger(opening) || opening < 0 || opening > 40 || matches.length > MAX_MATCHES) return null;
  const book = { rules, leader, moves: new Map(), openings: [], matches: 0, refused: 0 };
  for (const match of matches) {
    const played = replayed(rules, match);
    if (played) add(book, played, match[0], opening);
    else book.refused += 1;
  }
  return book;
}

/** The moves of a match; null for one that breaks the rules anywhere. */
function replayed(rules, match) {
  if (!Array.isArray(match) || match.length !== 2 || ![0, 1].includes(match[0]) || typeof match[1] !== "string") return null;
  if (match[1].length > rules.rows * rules.columns || !/^[0-9]*$/.test(match[1])) return null;
  const position = new Position(rules);
  return [...match[1]].every((move) => position.play(Number(move))) ? position.moves : null;
}

function add(book, moves, side, opening) {
  book.matches += 1;
  if (moves.length > opening) book.openings.push({ moves: moves.slice(0, opening), side });
  const position = new Position(book.rules);
  for (const [ply, move] of moves.entries()) {
    if (ply >= opening && position.turn === side) {
      const counts = book.moves.get(position.key) ?? new Map();
      counts.set(move, (counts.get(move) ?? 0) + 1);
      book.moves.set(position.key, counts);
    }
    position.play(move);
  }
}

/**
 * The move that the leader played most often in a position.
 *
 * @param {Book} book
 * @param {Position} position
 * @returns {{move: number, times: number, of: number}|null} null out of book
 */
export function bookMove(book, position) {
  const counts = [...(book.moves.get(position.key) ?? [])].filter(([move]) => position.legal.includes(move));
  if (!counts.length) return null;
  const [move, times] = counts.reduce((best, one) => (one[1] > best[1] ? one : best));
  return { move, times, of: counts.reduce((sum, [, count]) => sum + count, 0) };
}

/**
 * The move of this page, which is nobody's agent: it wins or prevents a loss at once, else it plays near the centre.
 *
 * @param {Position} position not over
 * @returns {number}
 */
export function standInMove(position) {
  const { legal, rules, turn } = position;
  const wins = legal.find((move) => position.after(move).winner === turn);
  if (wins !== undefined) return wins;
  const isSafe = (move) => {
    const next = position.after(move);
    return !next.legal.some((reply) => next.after(reply).winner === 1 - turn);
  };
  const middle = [(rules.columns - 1) / 2, (rules.rows - 1) / 2];
  const distance = (move) => {
    const [x, y] = rules.cell(position.cells, move);
    return Math.hypot(x - middle[0], y - middle[1]);
  };
  const safe = legal.filter(isSafe);
  return (safe.length ? safe : legal).reduce((best, move) => (distance(move) < distance(best) ? move : best));
}
