/**
 * What two samples of episodes say of each other. Pure functions of arrays of numbers; greater is better everywhere, so
 * whoever has a metric where lower is better turns its sign before he asks.
 */

/** As the board has it: `CONFIDENCE` in `leaderboard/core/entry.py`. */
const CONFIDENCE = 0.95;
export const INTERVAL_NAME = `${100 * CONFIDENCE} % interval`;

/** The 97.5 % point of the normal distribution, to 11 digits as all quantiles. */
const Z = 1.95996398454;

/** Steps that halve an interval until it is below what a double can tell. */
const HALVINGS = 60;

/** A standard error below this is a rounding error; the last step of Newton's method is below it. */
const LEAST_ERROR = 1e-9;

/** Above this many degrees of freedom Student's quantile is computed from the normal one. */
const MANY_DEGREES = 500;

/**
 * @param {number[]} values
 * @returns {number} their mean; NaN of nothing
 */
export function mean(values) {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/**
 * A quantile with linear interpolation (definition 7 of Hyndman & Fan, The American Statistician 50, 1996, as in numpy).
 *
 * @param {number[]} values in any order
 * @param {number} q from 0 to 1
 * @returns {number} NaN of nothing
 */
export function quantile(values, q) {
  if (!values.length) return NaN;
  const sorted = ascending(values);
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/**
 * Probability of improvement, P(A > B) + ½ P(A = B): an episode of A against an episode of B (the Mann–Whitney statistic,
 * which Agarwal et al., NeurIPS 2021, recommend for comparing agents), with a 95 % interval for independent samples.
 *
 * The interval is that of Brunner & Munzel (Biometrical Journal 42, 2000) on the logit scale, as Pauly, Asendorf &
 * Konietschke (Biometrical Journal 58, 2016) give it: right for ties and for samples of unequal spread, inside 0 and 1,
 * with Satterthwaite's degrees of freedom, rounded down. Where no episode of one lies among those of the other its variance
 * is zero; then it is method 5 of Newcombe (Statistics in Medicine 25, 2006), which has no such hole.
 * `leaderboard/scoring/significance.py` is the same in Python; a test compares the two.
 *
 * @param {number[]} a
 * @param {number[]} b
 * @returns {{p: number, low: number, high: number}} low 0 and high 1 where either has fewer than two episodes
 */
export function improvement(a, b) {
  const over = placements(a, b);
  const under = placements(b, a);
  const p = mean(over);
  if (a.length < 2 || b.length < 2) return { p, low: 0, high: 1 };
  const fromA = variance(over) / a.length;
  const fromB = variance(under) / b.length;
  const error = Math.sqrt(fromA + fromB);
  if (!(error > LEAST_ERROR) || p <= 0 || p >= 1) return newcombe(p, a.length, b.length);
  const freedom = (fromA + fromB) ** 2 / (fromA ** 2 / (a.length - 1) + fromB ** 2 / (b.length - 1));
  const middle = Math.log(p / (1 - p));
  const margin = (student(Math.floor(freedom + LEAST_ERROR)) * error) / (p * (1 - p));
  return { p, low: logistic(middle - margin), high: logistic(middle + margin) };
}

/**
 * A performance profile: the share of episodes that reach each threshold (Agarwal et al., NeurIPS 2021; Dolan & Moré,
 * Mathematical Programming 91, 2002).
 *
 * @param {number[]} values
 * @param {number[]} thresholds ascending
 * @returns {number[]} one share for each threshold
 */
export function profile(values, thresholds) {
  const sorted = ascending(values);
  let below = 0;
  return thresholds.map((threshold) => {
    while (below < sorted.length && sorted[below] < threshold) below += 1;
    return (sorted.length - below) / sorted.length;
  });
}

/**
 * Where the profiles of several samples can change: their distinct values, thinned to what a picture can show.
 *
 * @param {number[][]} samples
 * @param {number} most
 * @returns {number[]} ascending, with the least and the greatest of all
 */
export function pooledThresholds(samples, most = 240) {
  const all = ascending([...new Set(samples.flat())]);
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, index) => all[Math.round((index * (all.length - 1)) / (most - 1))]);
}

/** For each value the share of the others that lie below it, ties counted by half: O((n + m) log) by two pointers. */
function placements(values, others) {
  const order = values.map((_, index) => index).sort((x, y) => values[x] - values[y]);
  const sorted = ascending(others);
  const shares = new Array(values.length);
  let less = 0;
  let upTo = 0;
  for (const index of order) {
    while (less < sorted.length && sorted[less] < values[index]) less += 1;
    while (upTo < sorted.length && sorted[upTo] <= values[index]) upTo += 1;
    shares[index] = (less + upTo) / 2 / sorted.length;
  }
  return shares;
}

function variance(values) {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** The ends θ at which p is just 1.96 standard errors of θ away, found by halving. */
function newcombe(p, m, n) {
  const more = (m + n) / 2 - 1;
  const fits = (theta) => {
    const spread = (theta * (1 - theta) * (1 + (more * (1 - theta)) / (2 - theta) + (more * theta) / (1 + theta))) / (m * n);
    return Math.abs(p - theta) <= Z * Math.sqrt(spread);
  };
  const end = (inside, outside) => {
    for (let step = 0; step < HALVINGS; step += 1) {
      const middle = (inside + outside) / 2;
      if (fits(middle)) inside = middle;
      else outside = middle;
    }
    return inside;
  };
  return { p, low: p > 0 ? end(p, 0) : 0, high: p < 1 ? end(p, 1) : 1 };
}

/**
 * The 97.5 % point of Student's t (Abramowitz & Stegun, 26.7.3 to 26.7.5), √freedom · tan(angle), by Newton's method;
 * `student_quantile` in `leaderboard/scoring/intervals.py`.
 */
function student(freedom) {
  if (freedom > MANY_DEGREES) return rounded(Z * (1 + expansion(Z * Z, freedom)));
  let angle = 0;
  let step = 1;
  while (Math.abs(step) > LEAST_ERROR) {
    const [within, slope] = withinStudent(freedom, angle);
    step = (CONFIDENCE - within) / slope;
    angle += step;
  }
  return rounded(Math.sqrt(freedom) * Math.tan(angle));
}

function rounded(quantile) {
  return Math.round(quantile * 1e11) / 1e11;
}

/** The probability between −t and t, and its derivative by the angle. */
function withinStudent(freedom, angle) {
  if (freedom === 1) return [(angle * 2) / Math.PI, 2 / Math.PI];
  const odd = freedom % 2;
  const cosine = Math.cos(angle);
  let term = odd ? cosine : 1;
  let sum = term;
  for (let k = 1 + odd; k < freedom - 2; k += 2) {
    term *= (cosine * cosine * k) / (k + 1);
    sum += term;
  }
  const total = Math.sin(angle) * sum;
  const slope = (freedom - 1) * term * cosine;
  return odd ? [((angle + total) * 2) / Math.PI, (slope * 2) / Math.PI] : [total, slope];
}

function expansion(z2, freedom) {
  const orders = [
    (z2 + 1) / 4,
    ((5 * z2 + 16) * z2 + 3) / 96,
    (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
    ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160,
  ];
  return orders.reduceRight((sum, order) => (sum + order) / freedom, 0);
}

function logistic(value) {
  return 1 / (1 + Math.exp(-value));
}

function ascending(values) {
  return [...values].sort((x, y) => x - y);
}
