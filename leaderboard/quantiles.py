"""Quantiles of the normal and of Student's distribution, one number at a time: the same on every processor.

Both are found by Newton's method from the middle outwards. How much lies within so far of the middle is a concave function
there, so that a step never goes too far, and each of the last few doubles the digits.
"""

import functools
import math
from collections.abc import Callable

# With more degrees of freedom than that, what the expansion leaves out is less than a part in 10¹² (10¹³ at 97.5 %).
MANY = 500
# After a step this short only roundings are left.
DONE = 1e-9


def normal(chance: float) -> float:
    """Below which number of the standard normal distribution a share of `chance` lies; 1.96 for 97.5 %."""
    return _reached(_within_normal, 2 * chance - 1)


@functools.lru_cache(maxsize=1024)
def student(freedom: int, chance: float) -> float:
    """The same of Student's t, by Abramowitz & Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 to 26.7.5.

    Args:
        freedom: degrees of freedom, at least 1.
        chance: between 0 and 1.
    """
    if freedom > MANY:
        return _expanded(normal(chance), freedom)
    return math.sqrt(freedom) * math.tan(_reached(functools.partial(_within_student, freedom), 2 * chance - 1))


def _reached(within: Callable[[float], tuple[float, float]], share: float) -> float:
    """How far from the middle a share lies within; `within` gives that share, and how fast it grows."""
    place, step = 0.0, 1.0
    while abs(step) > DONE:
        reached, slope = within(place)
        step = (share - reached) / slope
        place += step
    return place


def _within_normal(place: float) -> tuple[float, float]:
    return math.erf(place / math.sqrt(2)), math.sqrt(2 / math.pi) * math.exp(-place * place / 2)


def _within_student(freedom: int, angle: float) -> tuple[float, float]:
    """What lies between −t and t, where t = √freedom · tan(angle), and its derivative by the angle."""
    if freedom == 1:
        return angle * 2 / math.pi, 2 / math.pi
    sine, cosine = math.sin(angle), math.cos(angle)
    square = cosine * cosine
    is_odd = freedom % 2
    terms = [cosine if is_odd else 1.0]
    for number in range(1 + is_odd, freedom - 2, 2):
        terms.append(terms[-1] * square * number / (number + 1))
    total, slope = sine * math.fsum(terms), (freedom - 1) * terms[-1] * cosine
    return ((angle + total) * 2 / math.pi, slope * 2 / math.pi) if is_odd else (total, slope)


def _expanded(z: float, freedom: int) -> float:
    """Student's quantile from the normal one, in powers of 1 / freedom."""
    square = z * z
    orders = (
        (square + 1) / 4,
        ((5 * square + 16) * square + 3) / 96,
        (((3 * square + 19) * square + 17) * square - 15) / 384,
        ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160,
    )
    correction = 0.0
    for order in reversed(orders):
        correction = (correction + order) / freedom
    return z * (1 + correction)
