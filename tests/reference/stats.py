#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Statistics computed anew, by other ways than analyzer/stats/: sums of fractions instead of floating point, Student's t by quadrature instead of the incomplete
beta function, Mann-Whitney U by counting deals group of ties by group of ties, binomial tails as whole numbers. Slow, and exact where that is possible."""
import math
import random
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 50


def root(x):
    """Square root of a fraction to 50 digits."""
    return (Decimal(x.numerator) / Decimal(x.denominator)).sqrt()


def decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def mean_variance(values):
    f = [Fraction(v) for v in values]
    mean = sum(f) / len(f)
    return mean, sum((x - mean) ** 2 for x in f) / (len(f) - 1) if len(f) > 1 else None


def describe(values):
    """[n, mean, harmonic mean, stddev, cv, min, max]; None: unknown"""
    n = len(values)
    if not n:
        return [0] + [None] * 6
    mean, variance = mean_variance(values)
    harmonic = n / sum(1 / Fraction(v) for v in values) if min(values) > 0 else None
    stddev = root(variance) if variance is not None else None
    cv = stddev / abs(decimal(mean)) if stddev is not None and mean else None
    return [n, decimal(mean), decimal(harmonic) if harmonic is not None else None, stddev, cv, min(values), max(values)]


def integral(f, low, high):
    """Tanh-sinh quadrature: good to the last digits for what is smooth inside, whatever it does at the ends."""
    def at(step):
        total = []
        for k in range(-int(4 / step), int(4 / step) + 1):
            u = math.pi / 2 * math.sinh(k * step)
            weight = math.pi / 2 * math.cosh(k * step) / math.cosh(u) ** 2
            x = (low + high) / 2 + (high - low) / 2 * math.tanh(u)
            if low < x < high:
                total.append(f(x) * weight)
        return math.fsum(total) * step * (high - low) / 2
    return at(1 / 64)


def student_tails(t, df):
    """P(|T| >= |t|): with t = sqrt(df) / tan(a), the density of a is sin(a)^(df - 1) but for a factor, which is the integral over all."""
    edge = math.atan2(math.sqrt(df), abs(t))
    # What lies before the edge, in units of the density there: nothing is left below where it has fallen to e^-60.
    def piece(edge):
        low = math.asin(math.sin(edge) * math.exp(-60 / (df - 1))) if df > 1 else 0.0
        return integral(lambda a: math.exp((df - 1) * (math.log(math.sin(a)) - math.log(math.sin(edge)))), low, edge)
    return piece(edge) / piece(math.pi / 2) * math.exp((df - 1) * math.log(math.sin(edge)))


def welch(a, b):
    """(t, df, p) or None"""
    if len(a) < 2 or len(b) < 2:
        return None
    (ma, va), (mb, vb) = mean_variance(a), mean_variance(b)
    ea, eb = va / len(a), vb / len(b)
    if ea + eb == 0:
        return None
    t = decimal(mb - ma) / root(ea + eb)
    df = (ea + eb) ** 2 / (ea ** 2 / (len(a) - 1) + eb ** 2 / (len(b) - 1))
    return float(t), float(df), student_tails(float(t), float(df))


def mwu(a, b):
    """(U of b, exact two-sided p) over all ways to deal the values. ways: (values of b so far, 2 U) -> number."""
    if not a or not b:
        return None
    twice = sum(2 * (y > x) + (y == x) for x in a for y in b)
    ties = {}
    for v in [*a, *b]:
        ties[v] = ties.get(v, 0) + 1
    ways, seen = {(0, 0): 1}, 0
    for v in sorted(ties):
        t, new = ties[v], {}
        for (k, u), count in ways.items():
            for j in range(max(0, t - (len(a) - (seen - k))), min(t, len(b) - k) + 1):
                key = (k + j, u + j * (2 * (seen - k) + (t - j)))
                new[key] = new.get(key, 0) + count * math.comb(t, j)
        ways, seen = new, seen + t
    far = sum(c for (_, u), c in ways.items() if abs(u - len(a) * len(b)) >= abs(twice - len(a) * len(b)))
    return Fraction(twice, 2), Fraction(far, math.comb(len(a) + len(b), len(b)))


def mwu_normal(a, b):
    """p by the approximation, corrected for ties and continuity."""
    u, n, pairs = sum((y > x) + 0.5 * (y == x) for x in a for y in b), len(a) + len(b), len(a) * len(b)
    ties = sum(t ** 3 - t for t in ([*a, *b].count(v) for v in {*a, *b}))
    variance = pairs / 12 * (n + 1 - ties / (n * (n - 1)))
    return math.erfc(max(abs(u - pairs / 2) - 0.5, 0) / math.sqrt(2 * variance)) if variance > 0 else 1.0


def holm(p):
    out, least, known = list(p), 0, sorted((x, i) for i, x in enumerate(p) if x is not None)
    for k, (x, i) in enumerate(known):
        least = max(least, min(1, (len(known) - k) * x))
        out[i] = least
    return out


def order_statistics(n, q, alpha=Fraction(1, 20)):
    """Ranks (low, high) of n values that hold the q-quantile between them with at most alpha / 2 on either side, or None; q a fraction."""
    terms = [math.comb(n, k) * q.numerator ** k * (q.denominator - q.numerator) ** (n - k) for k in range(n + 1)]
    whole, limit = q.denominator ** n, alpha / 2
    low, below = 0, 0
    while low < n and Fraction(below + terms[low], whole) <= limit:
        below += terms[low]
        low += 1
    high, above = n + 1, 0
    while high > 1 and Fraction(above + terms[high - 1], whole) <= limit:
        above += terms[high - 1]
        high -= 1
    return (low, high) if low >= 1 and high <= n else None


def moments(values):
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)


def studentized(point, error):
    return point / math.sqrt(error) if error > 0 else 0 if point == 0 else math.copysign(math.inf, point)


def halfway(t, alpha):
    """The two critical values: halfway between the quantiles of t* and of |t*|."""
    t, size = sorted(t), sorted(abs(x) for x in t)
    k, both = int(alpha / 2 * (len(t) + 1)) - 1, size[-int(alpha * (len(t) + 1))]
    return (t[k] - both) / 2, (t[-1 - k] + both) / 2


def bootstrap(a, b, resamples, seed, alpha=0.05):
    """((low, high) of the difference, (low, high) of the ratio less 1): the studentized bootstrap with other random numbers."""
    draw = random.Random(seed)
    (ma, ea), (mb, eb) = moments(a), moments(b)
    t, tl = [], []
    for _ in range(resamples):
        (xa, fa), (xb, fb) = moments(draw.choices(a, k=len(a))), moments(draw.choices(b, k=len(b)))
        t.append(studentized(xb - mb - (xa - ma), fa + fb))
        tl.append(studentized(math.log(xb / mb) - math.log(xa / ma), fa / xa ** 2 + fb / xb ** 2))
    low, high = halfway(t, alpha)
    se, d = math.sqrt(ea + eb), mb - ma
    difference = d - high * se, d - low * se
    low, high = halfway(tl, alpha)
    se, d = math.sqrt(ea / ma ** 2 + eb / mb ** 2), math.log(mb / ma)
    return difference, (math.expm1(d - high * se), math.expm1(d - low * se))
