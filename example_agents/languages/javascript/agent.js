// An agent in JavaScript, without dependencies, that speaks the board's protocol (see the page "The protocol"). It
// balances CartPole by a rule of one line, and plays tic-tac-toe: it wins where it can, else blocks, else takes the centre.
"use strict";
const net = require("node:net");

const HELLO = 1, READY = 2, ACT = 3, ACTIONS = 4, OVER = 7;
const SIZES = { f4: 4, f8: 8, i8: 8, i4: 4, i2: 2, i1: 1, u1: 1 };
const READERS = {
  f4: (view, at) => view.getFloat32(at, true),
  f8: (view, at) => view.getFloat64(at, true),
  i8: (view, at) => Number(view.getBigInt64(at, true)),
  i4: (view, at) => view.getInt32(at, true),
  i2: (view, at) => view.getInt16(at, true),
  i1: (view, at) => view.getInt8(at),
  u1: (view, at) => view.getUint8(at),
};

// The two things an agent decides: what to do in CartPole, and which legal move to make in a game.
function balance([, , angle, speed]) {
  return angle + speed > 0 ? 1 : 0;
}

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

function move({ action_mask, observation }) {
  const free = [4, 0, 2, 6, 8, 1, 3, 5, 7].filter((cell) => action_mask[cell]);
  const has = (cell, side) => observation[2 * cell + side] === 1; // side 0 is me
  const fills = (cell, side) =>
    LINES.some((line) => line.includes(cell) && line.every((other) => other === cell || has(other, side)));
  return free.find((cell) => fills(cell, 0)) ?? free.find((cell) => fills(cell, 1)) ?? free[0];
}

// A space's leaves, in the order in which they are sent: each with its name, its type and how many numbers it has.
function leavesOf(space, name = "") {
  if (space.type === "Dict") return Object.keys(space.spaces).sort().flatMap((key) => leavesOf(space.spaces[key], key));
  if (space.type === "Discrete") return [{ name, dtype: "i8", length: 1 }];
  return [{ name, dtype: space.dtype.slice(1), length: space.shape.reduce((all, axis) => all * axis, 1) }];
}

// The observations in an ACT frame: one object of lists of numbers, by leaf, for each episode.
function observationsIn(body, leaves) {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const count = view.getUint32(0, true);
  const found = Array.from({ length: count }, () => ({}));
  let at = 8 + 8 * count; // behind the count and the lane heads, which an agent without memory may skip
  for (const { name, dtype, length } of leaves) {
    for (const observation of found) {
      observation[name] = Array.from({ length }, (_, index) => READERS[dtype](view, at + index * SIZES[dtype]));
      at += length * SIZES[dtype];
    }
    at = Math.ceil(at / 8) * 8;
  }
  return found;
}

function frame(opcode, body) {
  const head = Buffer.alloc(5);
  head.writeUInt32LE(body.length, 0);
  head.writeUInt8(opcode, 4);
  return Buffer.concat([head, body]);
}

let leaves, decide;

function answer(opcode, body) {
  if (opcode === HELLO) {
    const hello = JSON.parse(body);
    leaves = leavesOf(hello.observation_space);
    decide = hello.mode === "play" ? move : (observation) => balance(observation[""]);
    return frame(READY, Buffer.from(JSON.stringify({ protocol: 1, shared: true })));
  }
  if (opcode === ACT) {
    const actions = observationsIn(body, leaves).map(decide);
    const packed = Buffer.alloc(8 * actions.length);
    actions.forEach((action, index) => packed.writeBigInt64LE(BigInt(action), 8 * index));
    return frame(ACTIONS, packed);
  }
  if (opcode === OVER) return null; // only for who asks for it
  process.exit(0); // any other frame is the end
}

const channel = process.env.PULLRANK_CHANNEL;
const input = channel === "-" ? process.stdin : net.createConnection(channel);
const output = channel === "-" ? process.stdout : input;
let pending = Buffer.alloc(0);

input.on("data", (piece) => {
  pending = Buffer.concat([pending, piece]);
  while (pending.length >= 5 && pending.length >= 5 + pending.readUInt32LE(0)) {
    const end = 5 + pending.readUInt32LE(0);
    const said = answer(pending[4], pending.subarray(5, end));
    if (said) output.write(said);
    pending = pending.subarray(end);
  }
});
input.on("end", () => process.exit(0));
