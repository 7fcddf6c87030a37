"""Priors for `onward.observed`: each says what a parameter may be, and how likely that is before the data.

>>> from onward import prior
>>> prior.lognormal(0, 1)                        # above 0
lognormal(0, 1)
>>> prior.normal(0, 2, shape=3)                  # three numbers, each by itself
normal(0, 2, shape=(3,))
"""

from __future__ import annotations

import math
from typing import Callable, Optional, Sequence, Union

import numpy as np

from ._library import UsageError

__all__ = ["Prior", "beta", "exponential", "gamma", "half_normal", "lognormal", "normal", "student_t", "uniform"]
Shape = Union[int, Sequence[int], None]


class Prior:
    """A distribution of one number, or of several alike.

    The numbers that are sampled, u, go over the whole real line; x are the values. `density(u, x)` gives the log
    density over u, up to a constant, and its first and second derivative, for each number.
    """

    def __init__(self, words: str, kind: str, density: Callable, shape: Shape, lower: float = 0.0, upper: float = 1.0):
        if shape is not None:
            shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
            if any(n < 1 for n in shape):
                raise UsageError(f"`shape` {shape} of a prior: sizes must be 1 or more")
        self.shape, self.size = shape, 1 if shape is None else math.prod(shape)
        self.words, self.kind, self.density = words, kind, density
        self.lower, self.width = lower, upper - lower

    def value(self, u):
        if self.kind == "real":
            return u
        if self.kind == "positive":
            return np.exp(u)
        return self.lower + self.width * _inv_logit(u)

    def jet(self, u, v):
        """The values, what they change by along v, and log density, slope and curvature of all together."""
        x = self.value(u)
        if self.kind == "real":
            dx = v
        elif self.kind == "positive":
            dx = x * v
        else:
            dx = (x - self.lower) * _inv_logit(-u) * v
        f, first, second = self.density(u, x)
        ones = np.ones(self.size)
        return x, dx, (f * ones).sum(), (first * v * ones).sum(), (second * v * v * ones).sum()

    def __repr__(self) -> str:
        return self.words if self.shape is None else f"{self.words[:-1]}, shape={self.shape})"


def _inv_logit(u):
    return np.exp(-np.logaddexp(0.0, -u))


def _above_zero(name: str, **values: float) -> None:
    for what, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise UsageError(f"the prior {name} has {what} {value!r}: it must be above 0 and finite")


def normal(mean: float = 0.0, sd: float = 1.0, shape: Shape = None) -> Prior:
    """Any number."""
    _above_zero("normal", sd=sd)
    p = 1 / sd**2
    return Prior(
        f"normal({mean:g}, {sd:g})", "real", lambda u, x: (-0.5 * p * (u - mean) ** 2, -p * (u - mean), -p), shape
    )


def student_t(degrees: float, location: float = 0.0, scale: float = 1.0, shape: Shape = None) -> Prior:
    """Any number, with heavy tails; `degrees` 1 is the Cauchy distribution."""
    _above_zero("student_t", degrees=degrees, scale=scale)

    def density(u, x):
        z = (u - location) / scale
        m = degrees + z * z
        return (
            -0.5 * (degrees + 1) * np.log1p(z * z / degrees),
            -(degrees + 1) * z / (m * scale),
            -(degrees + 1) * (degrees - z * z) / (m * m * scale**2),
        )

    return Prior(f"student_t({degrees:g}, {location:g}, {scale:g})", "real", density, shape)


def lognormal(mean: float = 0.0, sd: float = 1.0, shape: Shape = None) -> Prior:
    """Above 0: the logarithm is normal with that mean and sd."""
    _above_zero("lognormal", sd=sd)
    p = 1 / sd**2
    return Prior(
        f"lognormal({mean:g}, {sd:g})", "positive", lambda u, x: (-0.5 * p * (u - mean) ** 2, -p * (u - mean), -p), shape
    )


def half_normal(sd: float = 1.0, shape: Shape = None) -> Prior:
    """Above 0."""
    _above_zero("half_normal", sd=sd)

    def density(u, x):
        z2 = (x / sd) ** 2
        return u - 0.5 * z2, 1 - z2, -2 * z2

    return Prior(f"half_normal({sd:g})", "positive", density, shape)


def exponential(rate: float = 1.0, shape: Shape = None) -> Prior:
    """Above 0, with the mean 1 / rate."""
    _above_zero("exponential", rate=rate)
    return Prior(
        f"exponential({rate:g})", "positive", lambda u, x: (u - rate * x, 1 - rate * x, -rate * x), shape
    )


def gamma(a: float, rate: float, shape: Shape = None) -> Prior:
    """Above 0, with the mean a / rate."""
    _above_zero("gamma", a=a, rate=rate)
    return Prior(f"gamma({a:g}, {rate:g})", "positive", lambda u, x: (a * u - rate * x, a - rate * x, -rate * x), shape)


def beta(a: float, b: float, shape: Shape = None) -> Prior:
    """Between 0 and 1, with the mean a / (a + b)."""
    _above_zero("beta", a=a, b=b)
    return Prior(f"beta({a:g}, {b:g})", "interval", _beta(a, b), shape)


def uniform(lower: float = 0.0, upper: float = 1.0, shape: Shape = None) -> Prior:
    """Between two bounds, all alike."""
    if not (lower < upper and math.isfinite(upper - lower)):
        raise UsageError(f"the prior uniform has the bounds {lower!r} and {upper!r}: give them in rising order")
    return Prior(f"uniform({lower:g}, {upper:g})", "interval", _beta(1.0, 1.0), shape, lower, upper)


def _beta(a, b):
    def density(u, x):
        s = _inv_logit(u)
        return -a * np.logaddexp(0.0, -u) - b * np.logaddexp(0.0, u), a - (a + b) * s, -(a + b) * s * (1 - s)

    return density
