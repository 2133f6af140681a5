/**
 * Computes a network's output for a position. The network is a list of operators and numbers, which the site's build makes from
 * an ONNX file (leaderboard/games/playable_network.py). It is not trusted: it is checked, and none of it runs as code.
 *
 * A tensor is {kind, dims, data}: data is a Float32Array for the kind `float`, which rounds as onnxruntime does, else a Float64Array.
 */

const MAX_TEXT = 12_000_000;
const MAX_NODES = 200;
const MAX_TENSORS = 600;
const MAX_DIMS = 6;
const MAX_NUMBERS = 1 << 21;
/** Multiplications, additions and copies for one move: a second or so on a phone. */
const MAX_STEPS = 100_000_000;
const CASTS = new Map([[1, "float"], [2, "uint8"], [3, "int8"], [6, "int32"], [7, "int64"], [9, "bool"], [11, "double"]]);
const KINDS = new Set(CASTS.values());

export class NetworkError extends Error {}

function must(condition, message) {
  if (!condition) throw new NetworkError(message);
}

const isSize = (n, most = MAX_NUMBERS) => Number.isInteger(n) && n >= 0 && n <= most;
const count = (dims) => dims.reduce((product, n) => product * n, 1);
const axisOf = (axis, rank) => {
  const index = axis < 0 ? axis + rank : axis;
  must(Number.isInteger(index) && index >= 0 && index < rank, "an axis that is not there");
  return index;
};

/** What a move may still cost. */
class Budget {
  left = MAX_STEPS;

  spend(steps) {
    this.left -= steps;
    must(this.left >= 0, "the network takes too long");
  }

  tensor(kind, dims) {
    must(dims.length <= MAX_DIMS + 2 && dims.every((n) => isSize(n)) && count(dims) <= MAX_NUMBERS, "a tensor is too large");
    this.spend(count(dims) + 1);
    return { kind, dims, data: kind === "float" ? new Float32Array(count(dims)) : new Float64Array(count(dims)) };
  }
}

/** Rounds as a type of whole numbers does. */
function fitted(kind, value) {
  if (kind === "bool") return value ? 1 : 0;
  if (kind === "float" || kind === "double") return value;
  return Math.trunc(value);
}

function mapped(budget, x, change) {
  const y = budget.tensor(x.kind, x.dims);
  for (let i = 0; i < y.data.length; i += 1) y.data[i] = change(x.data[i]);
  return y;
}

/** Strides of a tensor that is read as if it had the dimensions `dims`. */
function stretched(x, dims) {
  const strides = Array(dims.length).fill(0);
  let step = 1;
  for (let i = 1; i <= x.dims.length; i += 1) {
    const n = x.dims.at(-i);
    must(n === dims.at(-i) || n === 1, "shapes that do not fit");
    if (n !== 1) strides[dims.length - i] = step;
    step *= n;
  }
  return strides;
}

function broadcast(a, b) {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const [m, n] = [a[i - rank + a.length] ?? 1, b[i - rank + b.length] ?? 1];
    must(m === n || m === 1 || n === 1, "shapes that do not fit");
    return m === 1 ? n : m;
  });
}

/** Calls `visit(index, offsets)` for each place of a tensor; offsets are those of tensors with these strides. */
function walk(dims, strides, visit) {
  const place = Array(dims.length).fill(0);
  const offsets = strides.map(() => 0);
  const size = count(dims);
  for (let index = 0; index < size; index += 1) {
    visit(index, offsets);
    for (let axis = dims.length - 1; axis >= 0; axis -= 1) {
      place[axis] += 1;
      for (let k = 0; k < offsets.length; k += 1) offsets[k] += strides[k][axis];
      if (place[axis] < dims[axis]) break;
      for (let k = 0; k < offsets.length; k += 1) offsets[k] -= strides[k][axis] * dims[axis];
      place[axis] = 0;
    }
  }
}

function joined(budget, a, b, join) {
  must(a.kind === b.kind, "two types of numbers");
  const dims = broadcast(a.dims, b.dims);
  const y = budget.tensor(a.kind, dims);
  budget.spend(y.data.length * 4);
  walk(dims, [stretched(a, dims), stretched(b, dims)], (i, [p, q]) => {
    y.data[i] = join(a.data[p], b.data[q]);
  });
  return y;
}

/** y[batch, i, j] = Σ a[batch, i, k] b[batch, k, j]; strides make transposed ones of it. */
function multiplied(budget, y, sizes, a, b, at) {
  const [rows, inner, columns] = sizes;
  budget.spend(rows * inner * columns);
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) {
      let sum = 0;
      for (let k = 0; k < inner; k += 1) sum += a.data[at.a + i * at.ai + k * at.ak] * b.data[at.b + k * at.bk + j * at.bj];
      y.data[at.y + i * columns + j] = sum;
    }
  }
}

function matMul(budget, [a, b]) {
  must(a.kind === b.kind && a.dims.length >= 2 && b.dims.length >= 2, "MatMul of other than matrices");
  const [rows, inner] = a.dims.slice(-2);
  const [depth, columns] = b.dims.slice(-2);
  must(inner === depth, "shapes that do not fit");
  const batch = broadcast(a.dims.slice(0, -2), b.dims.slice(0, -2));
  const y = budget.tensor(a.kind, [...batch, rows, columns]);
  const strides = [a, b].map((x) => stretched({ dims: x.dims.slice(0, -2) }, batch));
  walk(batch, strides, (n, [p, q]) => {
    const at = { a: p * rows * inner, ai: inner, ak: 1, b: q * inner * columns, bk: columns, bj: 1, y: n * rows * columns };
    multiplied(budget, y, [rows, inner, columns], a, b, at);
  });
  return y;
}

function gemm(budget, [a, b, c], { alpha = 1, beta = 1, transA = 0, transB = 0 }) {
  must(a.kind === b.kind && a.dims.length === 2 && b.dims.length === 2, "Gemm of other than matrices");
  const [rows, inner] = transA ? a.dims.toReversed() : a.dims;
  const [depth, columns] = transB ? b.dims.toReversed() : b.dims;
  must(inner === depth, "shapes that do not fit");
  const y = budget.tensor(a.kind, [rows, columns]);
  const at = { a: 0, ai: transA ? 1 : inner, ak: transA ? rows : 1, b: 0, bk: transB ? 1 : columns, bj: transB ? inner : 1, y: 0 };
  multiplied(budget, y, [rows, inner, columns], a, b, at);
  if (!c) return mapped(budget, y, (x) => alpha * x);
  must(broadcast(y.dims, c.dims).join() === y.dims.join(), "shapes that do not fit");
  return joined(budget, y, c, (x, plus) => alpha * x + beta * plus);
}

function conv(budget, [x, w, b], { dilations = [1, 1], group = 1, pads = [0, 0, 0, 0], strides = [1, 1] }) {
  must(x.kind === w.kind && x.dims.length === 4 && w.dims.length === 4, "Conv of other than pictures");
  must([dilations, strides].every((pair) => pair.length === 2 && pair.every((n) => isSize(n, 64) && n > 0)), "Conv with odd steps");
  must(pads.length === 4 && pads.every((n) => isSize(n, 64)) && isSize(group, 4096) && group > 0, "Conv with odd pads");
  const [images, channels, height, width] = x.dims;
  const [filters, depth, tall, wide] = w.dims;
  must(depth * group === channels && filters % group === 0 && (!b || b.data.length === filters), "shapes that do not fit");
  const size = [[height, tall, 0], [width, wide, 1]].map(([length, kernel, side]) =>
    Math.floor((length + pads[side] + pads[side + 2] - dilations[side] * (kernel - 1) - 1) / strides[side]) + 1);
  must(size.every((n) => n > 0), "shapes that do not fit");
  const y = budget.tensor(x.kind, [images, filters, ...size]);
  budget.spend(y.data.length * depth * tall * wide);
  let index = 0;
  for (let n = 0; n < images; n += 1) {
    for (let f = 0; f < filters; f += 1) {
      const first = Math.floor(f / (filters / group)) * depth;
      for (let i = 0; i < size[0]; i += 1) {
        for (let j = 0; j < size[1]; j += 1) {
          let sum = b ? b.data[f] : 0;
          for (let c = 0; c < depth; c += 1) {
            for (let p = 0; p < tall; p += 1) {
              const row = i * strides[0] - pads[0] + p * dilations[0];
              if (row < 0 || row >= height) continue;
              for (let q = 0; q < wide; q += 1) {
                const column = j * strides[1] - pads[1] + q * dilations[1];
                if (column < 0 || column >= width) continue;
                sum += x.data[((n * channels + first + c) * height + row) * width + column] * w.data[((f * depth + c) * tall + p) * wide + q];
              }
            }
          }
          y.data[index] = sum;
          index += 1;
        }
      }
    }
  }
  return y;
}

function batchNormalization(budget, [x, scale, bias, mean, variance], { epsilon = 1e-5 }) {
  const channels = x.dims[1];
  must([scale, bias, mean, variance].every((one) => one?.data.length === channels), "shapes that do not fit");
  const inside = count(x.dims.slice(2));
  const y = budget.tensor(x.kind, x.dims);
  for (let i = 0; i < y.data.length; i += 1) {
    const c = Math.floor(i / inside) % channels;
    y.data[i] = ((x.data[i] - mean.data[c]) / Math.sqrt(variance.data[c] + epsilon)) * scale.data[c] + bias.data[c];
  }
  return y;
}

/** A tensor as outer × length × inner about one axis. */
function about(x, axis) {
  const k = axisOf(axis, x.dims.length);
  return [k, count(x.dims.slice(0, k)), x.dims[k], count(x.dims.slice(k + 1))];
}

function softmax(budget, x, axis, isLog) {
  const [, outer, length, inner] = about(x, axis);
  const y = budget.tensor(x.kind, x.dims);
  budget.spend(3 * y.data.length);
  for (let o = 0; o < outer; o += 1) {
    for (let i = 0; i < inner; i += 1) {
      const at = (k) => (o * length + k) * inner + i;
      let most = -Infinity;
      for (let k = 0; k < length; k += 1) most = Math.max(most, x.data[at(k)]);
      let sum = 0;
      for (let k = 0; k < length; k += 1) sum += Math.exp(x.data[at(k)] - most);
      for (let k = 0; k < length; k += 1) {
        const z = x.data[at(k)] - most;
        y.data[at(k)] = isLog ? z - Math.log(sum) : Math.exp(z) / sum;
      }
    }
  }
  return y;
}

function argMax(budget, [x], { axis = 0, keepdims = 1 }) {
  const [k, outer, length, inner] = about(x, axis);
  must(length > 0, "shapes that do not fit");
  const y = budget.tensor("int64", x.dims.toSpliced(k, 1, ...(keepdims ? [1] : [])));
  budget.spend(x.data.length);
  for (let o = 0; o < outer; o += 1) {
    for (let i = 0; i < inner; i += 1) {
      let best = 0;
      for (let n = 1; n < length; n += 1) {
        if (x.data[(o * length + n) * inner + i] > x.data[(o * length + best) * inner + i]) best = n;
      }
      y.data[o * inner + i] = best;
    }
  }
  return y;
}

function reduced(budget, [x, second], { axes, keepdims = 1, noop_with_empty_axes: noop = 0 }, isMean) {
  const named = second ? [...second.data] : axes ?? [];
  if (!named.length && noop) return x;
  const gone = new Set(named.length ? named.map((axis) => axisOf(axis, x.dims.length)) : x.dims.keys());
  const kept = x.dims.map((n, axis) => (gone.has(axis) ? 1 : n));
  const y = budget.tensor(x.kind, keepdims ? kept : x.dims.filter((_, axis) => !gone.has(axis)));
  const sums = new Float64Array(y.data.length);
  budget.spend(4 * x.data.length);
  walk(x.dims, [stretched({ dims: kept }, x.dims)], (i, [place]) => {
    sums[place] += x.data[i];
  });
  const parts = isMean ? x.data.length / y.data.length : 1;
  for (let i = 0; i < sums.length; i += 1) y.data[i] = fitted(y.kind, sums[i] / parts);
  return y;
}

/** The same numbers with other dimensions. */
function shaped(budget, x, dims) {
  must(count(dims) === x.data.length, "shapes that do not fit");
  const y = budget.tensor(x.kind, dims);
  y.data.set(x.data);
  return y;
}

function reshaped(budget, [x, shape], { allowzero = 0 }) {
  must(shape && shape.data.length <= MAX_DIMS, "shapes that do not fit");
  const dims = Array.from(shape.data, (n, i) => (n === 0 && !allowzero ? x.dims[i] ?? -2 : n));
  const free = dims.indexOf(-1);
  if (free >= 0) {
    dims[free] = 1;
    dims[free] = x.data.length / count(dims);
  }
  return shaped(budget, x, dims);
}

function transposed(budget, [x], { perm }) {
  const order = perm ?? [...x.dims.keys()].reverse();
  must(order.length === x.dims.length && new Set(order).size === order.length, "an axis that is not there");
  order.forEach((axis) => must(axis === axisOf(axis, x.dims.length), "an axis that is not there"));
  const steps = x.dims.map((_, axis) => count(x.dims.slice(axis + 1)));
  const y = budget.tensor(x.kind, order.map((axis) => x.dims[axis]));
  budget.spend(4 * y.data.length);
  walk(y.dims, [order.map((axis) => steps[axis])], (i, [place]) => {
    y.data[i] = x.data[place];
  });
  return y;
}

function squeezed(budget, [x, axes]) {
  const gone = new Set(axes ? Array.from(axes.data, (axis) => axisOf(axis, x.dims.length)) : [...x.dims.keys()].filter((axis) => x.dims[axis] === 1));
  return shaped(budget, x, x.dims.filter((_, axis) => !gone.has(axis)));
}

function unsqueezed(budget, [x, axes]) {
  must(axes && x.dims.length + axes.data.length <= MAX_DIMS, "shapes that do not fit");
  const rank = x.dims.length + axes.data.length;
  const fresh = new Set(Array.from(axes.data, (axis) => axisOf(axis, rank)));
  const old = x.dims.values();
  return shaped(budget, x, Array.from({ length: rank }, (_, axis) => (fresh.has(axis) ? 1 : old.next().value)));
}

function concatenated(budget, parts, { axis }) {
  const k = axisOf(axis, parts[0].dims.length);
  const rest = (x) => x.dims.toSpliced(k, 1).join();
  must(parts.every((x) => x.kind === parts[0].kind && x.dims.length === parts[0].dims.length && rest(x) === rest(parts[0])), "shapes that do not fit");
  const y = budget.tensor(parts[0].kind, parts[0].dims.with(k, parts.reduce((sum, x) => sum + x.dims[k], 0)));
  const outer = count(y.dims.slice(0, k));
  let place = 0;
  for (let o = 0; o < outer; o += 1) {
    for (const x of parts) {
      const piece = count(x.dims.slice(k));
      y.data.set(x.data.subarray(o * piece, (o + 1) * piece), place);
      place += piece;
    }
  }
  return y;
}

function gathered(budget, [x, indices], { axis = 0 }) {
  const [k, outer, length, inner] = about(x, axis);
  const y = budget.tensor(x.kind, [...x.dims.slice(0, k), ...indices.dims, ...x.dims.slice(k + 1)]);
  let place = 0;
  for (let o = 0; o < outer; o += 1) {
    for (const index of indices.data) {
      const start = (o * length + axisOf(index, length)) * inner;
      y.data.set(x.data.subarray(start, start + inner), place);
      place += inner;
    }
  }
  return y;
}

function cast(budget, [x], { to }) {
  must(CASTS.has(to), "a type of numbers that is not known");
  const y = budget.tensor(CASTS.get(to), x.dims);
  for (let i = 0; i < y.data.length; i += 1) y.data[i] = fitted(y.kind, x.data[i]);
  return y;
}

function shapeOf(budget, [x], { start = 0, end = x.dims.length }) {
  const dims = x.dims.slice(start, end);
  const y = budget.tensor("int64", [dims.length]);
  y.data.set(dims);
  return y;
}

function clipped(budget, [x, low, high]) {
  const [least, most] = [low?.data[0] ?? -Infinity, high?.data[0] ?? Infinity];
  return mapped(budget, x, (n) => (Number.isNaN(n) ? n : Math.min(Math.max(n, least), most)));
}

const unary = (change) => (budget, [x]) => mapped(budget, x, change);
const binary = (join) => (budget, [a, b]) => joined(budget, a, b, join);
const every = (join) => (budget, parts) => parts.slice(1).reduce((a, b) => joined(budget, a, b, join), parts[0]);

/** The least number of inputs, and what is computed. */
const OPERATORS = new Map([
  ["Abs", [1, unary(Math.abs)]],
  ["Add", [2, binary((a, b) => a + b)]],
  ["ArgMax", [1, argMax]],
  ["BatchNormalization", [5, batchNormalization]],
  ["Cast", [1, cast]],
  ["Clip", [1, clipped]],
  ["Concat", [1, concatenated]],
  ["Conv", [2, conv]],
  ["Div", [2, (budget, [a, b]) => joined(budget, a, b, (p, q) => fitted(a.kind, p / q))]],
  ["Elu", [1, (budget, [x], { alpha = 1 }) => mapped(budget, x, (n) => (n < 0 ? alpha * Math.expm1(n) : n))]],
  ["Exp", [1, unary(Math.exp)]],
  ["Flatten", [1, (budget, [x], { axis = 1 }) => {
    const k = axis < 0 ? axis + x.dims.length : axis;
    return shaped(budget, x, [count(x.dims.slice(0, k)), count(x.dims.slice(k))]);
  }]],
  ["Gather", [2, gathered]],
  ["Gemm", [2, gemm]],
  ["GlobalAveragePool", [1, (budget, [x]) => {
    must(x.dims.length > 2, "shapes that do not fit");
    return reduced(budget, [x], { axes: [...x.dims.keys()].slice(2) }, true);
  }]],
  ["Identity", [1, (budget, [x]) => x]],
  ["LeakyRelu", [1, (budget, [x], { alpha = 0.01 }) => mapped(budget, x, (n) => (n < 0 ? alpha * n : n))]],
  ["LogSoftmax", [1, (budget, [x], { axis = -1 }) => softmax(budget, x, axis, true)]],
  ["MatMul", [2, matMul]],
  ["Max", [1, every(Math.max)]],
  ["Min", [1, every(Math.min)]],
  ["Mul", [2, binary((a, b) => a * b)]],
  ["Neg", [1, unary((n) => -n)]],
  ["ReduceMean", [1, (budget, inputs, options) => reduced(budget, inputs, options, true)]],
  ["ReduceSum", [1, (budget, inputs, options) => reduced(budget, inputs, options, false)]],
  ["Relu", [1, unary((n) => (n < 0 ? 0 : n))]],
  ["Reshape", [2, reshaped]],
  ["Shape", [1, shapeOf]],
  ["Sigmoid", [1, unary((n) => 1 / (1 + Math.exp(-n)))]],
  ["Softmax", [1, (budget, [x], { axis = -1 }) => softmax(budget, x, axis, false)]],
  ["Softplus", [1, unary((n) => Math.max(n, 0) + Math.log1p(Math.exp(-Math.abs(n))))]],
  ["Sqrt", [1, unary(Math.sqrt)]],
  ["Squeeze", [1, squeezed]],
  ["Sub", [2, binary((a, b) => a - b)]],
  ["Tanh", [1, unary(Math.tanh)]],
  ["Transpose", [1, transposed]],
  ["Unsqueeze", [2, unsqueezed]],
]);

/** The names of all operators, for a test that compares them with the build's. */
export const OPERATOR_NAMES = [...OPERATORS.keys()];

/**
 * Reads a network.
 *
 * @param {string} text the JSON document
 * @returns {{kind: string, rank: number, tensors: object[], nodes: object[], output: number}}
 * @throws {NetworkError} where it is none
 */
export function readNetwork(text) {
  must(typeof text === "string" && text.length <= MAX_TEXT, "the file is too large");
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    throw new NetworkError("the file is no JSON");
  }
  const { input, tensors, nodes, output } = document ?? {};
  must([input, tensors, nodes].every(Array.isArray) && tensors.length <= MAX_TENSORS && nodes.length <= MAX_NODES, "the file is no network");
  const [kind, rank] = input;
  must(KINDS.has(kind) && isSize(rank, MAX_DIMS), "the file is no network");
  must(isSize(output, tensors.length + nodes.length), "the file is no network");
  return { kind, rank, tensors: tensors.map(readTensor), nodes: nodes.map((node, index) => readNode(node, 1 + tensors.length + index)), output };
}

function readTensor(written) {
  must(Array.isArray(written) && written.length === 3, "a tensor is no tensor");
  const [kind, dims, text] = written;
  must(KINDS.has(kind) && Array.isArray(dims) && dims.length <= MAX_DIMS && dims.every((n) => isSize(n)), "a tensor is no tensor");
  must(typeof text === "string" && /^[A-Za-z0-9+/]*=*$/.test(text), "a tensor is no tensor");
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const Numbers = kind === "float" ? Float32Array : Float64Array;
  must(bytes.length === count(dims) * Numbers.BYTES_PER_ELEMENT, "a tensor has not as many numbers as its shape says");
  return { kind, dims, data: new Numbers(bytes.buffer) };
}

function readNode(written, values) {
  must(Array.isArray(written) && written.length === 3, "an operator is no operator");
  const [name, inputs, pairs] = written;
  must(OPERATORS.has(name), "an operator that is not known");
  const [least, compute] = OPERATORS.get(name);
  must(Array.isArray(inputs) && inputs.length >= least && inputs.length <= 16, "an operator is no operator");
  must(inputs.every((n, i) => Number.isInteger(n) && n >= (i < least ? 0 : -1) && n < values), "an operator reads what is not there");
  must(Array.isArray(pairs) && pairs.length <= 16, "an operator is no operator");
  const options = Object.create(null);
  for (const pair of pairs) {
    must(Array.isArray(pair) && pair.length === 2 && /^[a-zA-Z_]{1,30}$/.test(pair[0]) && pair[0] !== "__proto__", "an operator is no operator");
    const numbers = [pair[1]].flat();
    must(numbers.length <= 16 && numbers.every(Number.isFinite), "an operator is no operator");
    options[pair[0]] = pair[1];
  }
  return { compute, inputs, options };
}

/**
 * The network's first output.
 *
 * @param {object} network of `readNetwork`
 * @param {number[]} numbers a position
 * @param {number[]} shape its dimensions
 * @returns {{kind: string, dims: number[], data: Float32Array|Float64Array}}
 * @throws {NetworkError} where shapes do not fit, or it takes too long
 */
export function run(network, numbers, shape) {
  const budget = new Budget();
  // A batch of one position.
  const dims = [1, ...shape];
  must(network.rank === dims.length, "the network reads other positions");
  const first = budget.tensor(network.kind, dims);
  first.data.set(numbers);
  const values = [first, ...network.tensors];
  for (const { compute, inputs, options } of network.nodes) {
    values.push(compute(budget, inputs.map((n) => (n < 0 ? undefined : values[n])), options));
  }
  return values[network.output];
}

/**
 * The move that a network chooses, as the adapter `onnx` does: the legal one with the highest score, or its number.
 *
 * @param {{kind: string, dims: number[], data: ArrayLike<number>}} output
 * @param {number} actions how many there are
 * @param {number[]} legal
 * @returns {number|null} null where the output is no move; a number may be illegal
 */
export function chosenMove(output, actions, legal) {
  const { kind, dims, data } = output;
  if (dims.length > 1 && dims.at(-1) === actions && data.length === actions) {
    const most = Number.MAX_VALUE;
    const worth = (action) => (Number.isNaN(data[action]) ? -most : Math.max(-most, Math.min(most, data[action])));
    return legal.reduce((best, action) => (worth(action) > worth(best) ? action : best));
  }
  if (data.length !== 1 || kind === "float" || kind === "double") return null;
  return data[0];
}
