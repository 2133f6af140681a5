/** The rules of games that a visitor can play, as in PettingZoo's environments; a test plays both at random. */

const DIRECTIONS = [[1, 0], [0, 1], [1, 1], [1, -1]];

/** Squares are numbered column by column, as the environment does. */
const TICTACTOE = {
  columns: 3,
  rows: 3,
  actions: 9,
  inLine: 3,
  /** The cell that a move fills: column and row; null where it may not be played. */
  cell: (cells, action) => (cells[action % 3][Math.floor(action / 3)] === null ? [Math.floor(action / 3), action % 3] : null),
  words: (action) => `${["left", "middle", "right"][Math.floor(action / 3)]} column, ${["top", "middle", "bottom"][action % 3]} row`,
};

const CONNECT_FOUR = {
  columns: 7,
  rows: 6,
  actions: 7,
  inLine: 4,
  cell(cells, column) {
    const row = cells.findLastIndex((line) => line[column] === null);
    return row < 0 ? null : [column, row];
  },
  words: (action) => `column ${action + 1}`,
};

const GAMES = new Map([["tictactoe", TICTACTOE], ["connect_four", CONNECT_FOUR]]);

/**
 * The rules of a game.
 *
 * @param {unknown} name
 * @returns {object|null} null for a game that is not played here
 */
export function rulesOf(name) {
  return GAMES.get(name) ?? null;
}

/** A position. Players are 0, who began, and 1. */
export class Position {
  /** @param {object} rules */
  constructor(rules) {
    this.rules = rules;
    this.cells = Array.from({ length: rules.rows }, () => Array(rules.columns).fill(null));
    this.moves = [];
    this.winner = null;
    /** The cells of the winner's lines, as `column row`. */
    this.line = new Set();
  }

  get turn() {
    return this.moves.length % 2;
  }

  get isOver() {
    return this.winner !== null || this.moves.length === this.rules.rows * this.rules.columns;
  }

  /** The moves that may be played, in order. */
  get legal() {
    if (this.isOver) return [];
    return Array.from({ length: this.rules.actions }, (_, action) => action).filter((action) => this.rules.cell(this.cells, action));
  }

  /** What the player to move sees, as the environment shows it: rows of cells, each its own stone and the opponent's. */
  get observation() {
    const { rules, cells, turn } = this;
    const isTurned = rules.actions !== rules.columns;
    const seen = [];
    for (let i = 0; i < rules.rows; i += 1) {
      for (let j = 0; j < rules.columns; j += 1) {
        const owner = isTurned ? cells[j][i] : cells[i][j];
        seen.push(Number(owner === turn), Number(owner === 1 - turn));
      }
    }
    return { numbers: seen, shape: [rules.rows, rules.columns, 2] };
  }

  /** What is on the board: equal positions have equal keys. */
  get key() {
    return this.cells.map((line) => line.map((owner) => owner ?? ".").join("")).join("/");
  }

  /**
   * Plays a move.
   *
   * @param {number} action
   * @returns {boolean} false, and nothing is played, where the rules do not allow it
   */
  play(action) {
    if (!this.legal.includes(action)) return false;
    const [x, y] = this.rules.cell(this.cells, action);
    const owner = this.turn;
    this.cells[y][x] = owner;
    this.moves.push(action);
    for (const [right, down] of DIRECTIONS) {
      const cells = [...this.run(x, y, -right, -down, owner), [x, y], ...this.run(x, y, right, down, owner)];
      if (cells.length < this.rules.inLine) continue;
      this.winner = owner;
      for (const cell of cells) this.line.add(cell.join(" "));
    }
    return true;
  }

  /** The neighbours in one direction that belong to the same player. */
  run(x, y, right, down, owner) {
    const cells = [];
    for (let n = 1; this.cells[y + n * down]?.[x + n * right] === owner; n += 1) cells.push([x + n * right, y + n * down]);
    return cells;
  }

  /** Another position with the same moves, and one more. */
  after(action) {
    const next = new Position(this.rules);
    for (const move of [...this.moves, action]) next.play(move);
    return next;
  }
}
