"""Models from a simulator, noisy data and priors."""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Union

import numpy as np

from ._library import UsageError
from ._models import Model
from ._target import _is_rejection, target
from .prior import Prior

DIFFERENCE = 1e-4  # beside the free number that moves most, in its size or 1


class _Layout:
    """Which of the numbers that are sampled belongs to which prior."""

    def __init__(self, priors: Mapping[str, Prior]):
        self.priors = dict(priors)
        self.slices: dict[str, slice] = {}
        first = 0
        for name, prior in self.priors.items():
            self.slices[name] = slice(first, first + prior.size)
            first += prior.size
        self.size = first

    def values(self, u):
        x = np.empty(self.size)
        for name, prior in self.priors.items():
            at = self.slices[name]
            x[at] = prior.value(u[at])
        x.setflags(write=False)
        return x

    def log_density(self, u):
        return sum(prior.jet(u[at], 0.0)[2] for prior, at in zip(self.priors.values(), self.slices.values()))

    def jets(self, u, v):
        """x, what it changes by, and log density, slope and curvature."""
        x, dx, jet = np.empty(self.size), np.empty(self.size), np.zeros(3)
        for name, prior in self.priors.items():
            at = self.slices[name]
            x[at], dx[at], *own = prior.jet(u[at], v[at])
            jet += own
        x.setflags(write=False)
        dx.setflags(write=False)
        return x, dx, jet


class _Runs:
    """The simulator, with its last two results kept: a sampler asks again about where it is."""

    def __init__(self, forward, jvp, size):
        self.forward, self.jvp, self.size = forward, jvp, size
        self.kept: list[tuple[bytes, np.ndarray]] = []

    def checked(self, what, answer):
        out = np.ascontiguousarray(answer, dtype=np.float64).ravel()
        if out.size != self.size:
            raise UsageError(f"`{what}` gave {out.size} numbers: there are {self.size} data")
        return out

    def outputs(self, x):
        key = x.tobytes()
        for i, (where, out) in enumerate(self.kept):
            if where == key:
                self.kept.insert(0, self.kept.pop(i))
                return out
        out = self.checked("forward", self.forward(x))
        self.kept = [(key, out), *self.kept[:1]]
        return out

    def outputs_and_tangent(self, x, dx):
        answer = self.jvp(x, dx)
        if isinstance(answer, tuple):
            if len(answer) != 2:
                raise UsageError("`jvp` must give J v, or a tuple (outputs, J v)")
            return self.checked("jvp", answer[0]), self.checked("jvp", answer[1])
        return self.outputs(x), self.checked("jvp", answer)

    def beside(self, x):
        """Outputs at a place of a difference; None where there are none."""
        try:
            out = self.checked("forward", self.forward(x))
        except Exception as problem:
            if not _is_rejection(problem):
                raise
            return None
        return out if np.isfinite(out).all() else None


def observed(
    forward: Callable,
    data: Any,
    noise: Any,
    prior: Mapping[str, Prior],
    jvp: Union[Callable, str, None] = None,
    degrees: float = math.inf,
    difference_step: float = DIFFERENCE,
    name: str = "observed",
) -> Model:
    """A model from a simulator, noisy data and priors.

    `forward(x)` gives the outputs for the inputs x, an array of numbers in the order of `prior`. `jvp(x, v)` gives
    their derivative J v along v, or a tuple of outputs and J v; without it the simulator is run at two places beside
    x, and the difference stands for J v: samplers stay exact. Raise `onward.Reject` where nothing can be simulated.
    With `jvp="torch"` or `jvp="jax"` the simulator is a function of that library's arrays, and J v comes from its
    forward mode.

    `noise` is the standard deviation: a number, an array with one for each datum, or the name of one of the priors,
    which then is no input of the simulator. With `degrees` of freedom the noise is Student's t. `prior` has a
    distribution of `onward.prior` for each parameter.

    >>> import numpy, onward
    >>> from onward import prior
    >>> t = numpy.array([0.0, 1.0, 2.0, 3.0])
    >>> model = onward.observed(
    ...     lambda x: x[0] * numpy.exp(-x[1] * t),
    ...     data=[2.1, 1.0, 0.6, 0.4],
    ...     noise=0.1,
    ...     prior={"a": prior.lognormal(0, 1), "k": prior.lognormal(0, 1)},
    ... )
    >>> run = onward.sample(model, sampler="newton-line", draws=500, seed=1, progress=False)
    >>> list(run), round(run["a"].mean(), 1)
    (['a', 'k'], 2.1)

    The slope is exact where `jvp` is, and the curvature that of Gauss and Newton, which needs no second derivatives.
    """
    y = np.ascontiguousarray(data, dtype=np.float64).ravel()
    if y.size == 0 or not np.isfinite(y).all():
        raise UsageError("`data` must be finite numbers, at least one: leave data that are missing out")
    if not callable(forward):
        raise UsageError(f"`forward` must be a function, not {type(forward).__name__}")
    if isinstance(jvp, str):
        if jvp not in _FORWARD_MODES:
            raise UsageError(f"`jvp` is {jvp!r}: give a function, or one of {', '.join(_FORWARD_MODES)}")
        forward, jvp = _FORWARD_MODES[jvp](forward)
    elif jvp is not None and not callable(jvp):
        raise UsageError(f"`jvp` must be a function, not {type(jvp).__name__}")
    _check_priors(prior)
    if not degrees > 0:
        raise UsageError(f"`degrees` {degrees!r} must be above 0")
    if not 0 < difference_step < 1:
        raise UsageError(f"`difference_step` {difference_step!r} must be between 0 and 1")

    unknown = isinstance(noise, str)
    if unknown and noise not in prior:
        raise UsageError(f"`noise` is {noise!r}, which has no prior: the priors are {', '.join(prior)}")
    # The noise goes last, so that inputs are a slice.
    layout = _Layout({**{n: p for n, p in prior.items() if n != noise}, **({noise: prior[noise]} if unknown else {})})
    inputs = layout.slices[noise].start if unknown else layout.size
    scale_at = layout.slices[noise] if unknown else None
    if unknown and prior[noise].size not in (1, y.size):
        raise UsageError(f"`noise` {noise!r} has {prior[noise].size} numbers: 1 or {y.size} are needed, one for each datum")
    fixed = None if unknown else np.broadcast_to(_scale(noise, y.size), y.shape)
    runs = _Runs(forward, jvp, y.size)
    likelihood = _Likelihood(y, degrees)

    def difference(u, v, x, outputs):
        step = difference_step / np.max(np.abs(v) / np.maximum(1.0, np.abs(u)))
        ahead, behind = (runs.beside(layout.values(u + s * v)[:inputs]) for s in (step, -step))
        both = ahead is not None and behind is not None
        high, low = outputs if ahead is None else ahead, outputs if behind is None else behind
        return (high - low) / (2 * step if both else step)

    def jet(u, v, order):
        if order == 0:
            x = layout.values(u)
            scale = x[scale_at] if unknown else fixed
            return layout.log_density(u) + likelihood.value(runs.outputs(x[:inputs]), scale)
        x, dx, own = layout.jets(u, v)
        if not dx[:inputs].any():
            outputs, tangent = runs.outputs(x[:inputs]), np.zeros(y.size)
        elif jvp is not None:
            outputs, tangent = runs.outputs_and_tangent(x[:inputs], dx[:inputs])
        else:
            outputs = runs.outputs(x[:inputs])
            tangent = difference(u, v, x, outputs)
        scale, widens = (x[scale_at], dx[scale_at]) if unknown else (fixed, 0.0)
        return tuple(own + likelihood.jet(outputs, tangent, scale, widens))[: order + 1]

    parameters = {n: () if p.shape is None else p.shape for n, p in layout.priors.items()}
    return target(layout.size, jet, constrain=layout.values, parameters=parameters, name=name)


class _Likelihood:
    """Normal or Student-t noise: what src/target/noise.cpp is in C++."""

    def __init__(self, data, degrees):
        self.data, self.nu = data, degrees
        self.normal = math.isinf(degrees)
        nu = degrees
        self.constant = (
            -0.5 * math.log(2 * math.pi)
            if self.normal
            else math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * nu) - 0.5 * math.log(nu * math.pi)
        )
        self.location = 1.0 if self.normal else (nu + 1) / (nu + 3)
        self.spread = 2.0 if self.normal else 2 * nu / (nu + 3)

    def _value(self, z2, scale):
        each = 0.5 * z2 if self.normal else 0.5 * (self.nu + 1) * np.log1p(z2 / self.nu)
        return self.data.size * self.constant - each.sum() - np.broadcast_to(np.log(scale), z2.shape).sum()

    def value(self, outputs, scale):
        return self._value(((self.data - outputs) / scale) ** 2, scale)

    def jet(self, outputs, tangent, scale, widens):
        z, moves, widens = (self.data - outputs) / scale, tangent / scale, widens / scale
        z2 = z * z
        weight = 1.0 if self.normal else (self.nu + 1) / (self.nu + z2)
        slope = (weight * z * moves + (weight * z2 - 1) * widens).sum()
        curvature = -(self.location * moves**2 + self.spread * widens**2 * np.ones_like(z)).sum()
        return np.array([self._value(z2, scale), slope, curvature])


def _torch(forward):
    import torch

    try:
        from torch.func import jvp
    except ImportError:  # before PyTorch 2
        from functorch import jvp

    def tensor(x):
        return torch.tensor(x, dtype=torch.float64)

    def outputs(x):
        with torch.no_grad():
            return forward(tensor(x)).numpy()

    def both(x, v):
        with torch.no_grad():
            out, tangent = jvp(forward, (tensor(x),), (tensor(v),))
        return out.numpy(), tangent.numpy()

    return outputs, both


def _jax(forward):
    import jax

    return jax.jit(forward), jax.jit(lambda x, v: jax.jvp(forward, (x,), (v,)))


_FORWARD_MODES = {"torch": _torch, "jax": _jax}


def _scale(noise, size):
    scale = np.asarray(noise, dtype=np.float64)
    if scale.ndim > 1 or scale.size not in (1, size):
        raise UsageError(f"`noise` has {scale.size} numbers: 1 or {size} are needed, one for each datum")
    if not ((scale > 0) & np.isfinite(scale)).all():
        raise UsageError("`noise` must be above 0 and finite")
    return scale


def _check_priors(prior):
    if not isinstance(prior, Mapping) or not prior:
        raise UsageError("`prior` must be a dict with a distribution of onward.prior for each parameter")
    for name, one in prior.items():
        if not isinstance(one, Prior):
            raise UsageError(
                f"the prior of {name} is of type {type(one).__name__}: take one of onward.prior, such as "
                "onward.prior.normal(0, 1)"
            )
