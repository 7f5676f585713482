# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency histogram as analyzer/base/hist.h defines it."""
import math


def index(v):
    if v < 128:
        return v
    e = v.bit_length() - 1
    return 128 + 64 * (e - 7) + ((v >> (e - 6)) - 64)


def edges(i):
    """(lower edge, width) of bucket i"""
    if i < 128:
        return i, 1
    e, k = (i - 128) // 64 + 7, (i - 128) % 64
    return (64 + k) << (e - 6), 1 << (e - 6)


class Hist:
    def __init__(self, values=()):
        self.values = list(values)

    def add(self, v):
        self.values.append(v)

    def buckets(self):
        out = {}
        for v in self.values:
            out[index(v)] = out.get(index(v), 0) + 1
        return sorted(out.items())

    def quantile(self, permille):
        """permille of 1000; the count that must be reached is exact: ceil(q * count)"""
        need = max(1, -(-permille * len(self.values) // 1000))
        cum = 0
        for i, n in self.buckets():
            cum += n
            if cum >= need:
                low, width = edges(i)
                return min(max(low + width // 2, min(self.values)), max(self.values))
        return None

    def latency(self, with_histogram=False):
        """The object L of doc/json.md"""
        out = {"count": len(self.values), "sum_ns": sum(self.values)}
        if self.values:
            out.update(min_ns=min(self.values), max_ns=max(self.values), p50_ns=self.quantile(500), p90_ns=self.quantile(900),
                       p99_ns=self.quantile(990), p999_ns=self.quantile(999))
        if with_histogram:
            out["histogram"] = [[*edges(i), n] for i, n in self.buckets()]
        return out


def share(n, of):
    """6 decimals; None where nothing was counted"""
    return math.floor(n / of * 1e6 + 0.5) / 1e6 if of else None
