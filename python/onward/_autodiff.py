"""Models from PyTorch and JAX functions, by their forward mode: no backward pass and nothing stored for one."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Union

import numpy as np

from ._library import UsageError
from ._models import Model
from ._target import Shape, shapes_of, target

# Above so many numbers to sample the gradient is left out: it would cost as many tangents at once.
MOST_BATCHED = 256


def _layout(parameters: Union[int, Mapping[str, Shape]]):
    """The shapes of the parameters, where each begins, and how many numbers they have."""
    if isinstance(parameters, (int, np.integer)) and not isinstance(parameters, bool):
        return None, int(parameters)
    if not isinstance(parameters, Mapping):
        raise UsageError(
            f"`parameters` must be how many numbers there are, or a dict of shapes, not {type(parameters).__name__}"
        )
    places, first = {}, 0
    for name, shape in shapes_of(parameters).items():
        size = int(np.prod(shape, dtype=int))
        places[name] = (first, first + size, shape)
        first += size
    return places, first


def _unpacked(places, theta):
    """A dict of arrays from one vector: the same for NumPy's, PyTorch's and JAX's."""
    return {name: theta[first:end].reshape(shape) for name, (first, end, shape) in places.items()}


def from_torch(
    log_density: Callable,
    parameters: Union[int, Mapping[str, Shape]],
    constrain: Optional[Callable] = None,
    reports: Optional[Mapping[str, Shape]] = None,
    gradient: Optional[bool] = None,
    dtype: Any = None,
    name: str = "torch",
) -> Model:
    """A model from a PyTorch function that gives the log density as a tensor of one number.

    `parameters` is how many numbers are sampled, and the function is given them as one tensor; or a dict of shapes,
    {"w": (3, 2), "b": 2}, and it is given a dict of tensors. Slopes and curvatures come from PyTorch's forward mode.
    With `gradient` the model also offers its gradient, by a batch of tangents, one for each number (by default up to
    256 of them), which samplers such as mala need.

    >>> import onward, torch                                              # doctest: +SKIP
    >>> def log_density(p):                                               # doctest: +SKIP
    ...     return -0.5 * (p["mu"] ** 2 + ((p["z"] - p["mu"]) ** 2).sum())
    >>> model = onward.from_torch(log_density, {"mu": (), "z": 3})        # doctest: +SKIP
    """
    import torch

    try:
        from torch.func import jvp, vmap
    except ImportError:  # before PyTorch 2
        from functorch import jvp, vmap

    places, dim = _layout(parameters)
    dtype = torch.float64 if dtype is None else dtype

    def density(theta):
        try:
            value = log_density(theta if places is None else _unpacked(places, theta))
        except RuntimeError as problem:
            if "scalar type" not in str(problem) and "dtype" not in str(problem):
                raise
            raise UsageError(
                f"the log density mixes types of numbers ({problem}): its parameters are {dtype}. Convert the data, as "
                "in x.double(), or give from_torch the `dtype` of the data"
            ) from problem
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            shape = tuple(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
            raise UsageError(f"the log density must be a tensor of one number: it gave {shape}")
        return value.reshape(())

    def tensor(x):
        return torch.tensor(x, dtype=dtype)

    def jet(theta, v, order):
        with torch.no_grad():
            theta = tensor(theta)
            if order == 0:
                return float(density(theta))
            v = tensor(v)
            if order == 1:
                value, slope = jvp(density, (theta,), (v,))
                return float(value), float(slope)
            (value, slope), (_, curvature) = jvp(lambda x: jvp(density, (x,), (v,)), (theta,), (v,))
            return float(value), float(slope), float(curvature)

    eye = torch.eye(dim, dtype=dtype)

    def slopes(theta):
        with torch.no_grad():
            theta = tensor(theta)
            values, along = vmap(lambda v: jvp(density, (theta,), (v,)))(eye)
            return float(values[0]), along.to(torch.float64).numpy()

    wanted = dim <= MOST_BATCHED if gradient is None else gradient
    return _finished(dim, jet, slopes if wanted else None, places, constrain, reports, name)


def from_jax(
    log_density: Callable,
    parameters: Union[int, Mapping[str, Shape]],
    constrain: Optional[Callable] = None,
    reports: Optional[Mapping[str, Shape]] = None,
    gradient: Optional[bool] = None,
    jit: bool = True,
    name: str = "jax",
    jax: Any = None,
) -> Model:
    """A model from a JAX function that gives the log density; see `from_torch`.

    The function is compiled unless `jit` is false. Enable 64-bit numbers first, by
    `jax.config.update("jax_enable_x64", True)`: with 32-bit ones chains reject more often. `jax` may be another
    module with the same jvp, vmap and jit.
    """
    if jax is None:
        import jax
    places, dim = _layout(parameters)
    compiled = jax.jit if jit else lambda f: f

    def density(theta):
        return log_density(theta if places is None else _unpacked(places, theta))

    value_of = compiled(density)
    first = compiled(lambda theta, v: jax.jvp(density, (theta,), (v,)))
    second = compiled(
        lambda theta, v: jax.jvp(lambda x: jax.jvp(density, (x,), (v,)), (theta,), (v,))
    )

    def jet(theta, v, order):
        if order == 0:
            return float(value_of(theta))
        if order == 1:
            value, slope = first(theta, v)
            return float(value), float(slope)
        (value, slope), (_, curvature) = second(theta, v)
        return float(value), float(slope), float(curvature)

    eye = np.eye(dim) if dim <= MOST_BATCHED or gradient else None
    batch = compiled(lambda theta, vs: jax.vmap(lambda v: jax.jvp(density, (theta,), (v,)))(vs))

    def slopes(theta):
        values, along = batch(theta, eye)
        return float(np.asarray(values).ravel()[0]), np.asarray(along, dtype=np.float64)

    wanted = dim <= MOST_BATCHED if gradient is None else gradient
    return _finished(dim, jet, slopes if wanted else None, places, constrain, reports, name)


def _finished(dim, jet, gradient, places, constrain, reports, name) -> Model:
    shapes = {n: shape for n, (_, _, shape) in places.items()} if places is not None else None
    if constrain is None:
        if reports is not None:
            raise UsageError("`reports` names what `constrain` gives: give both, or neither")
        return target(dim, jet, gradient, None, shapes, name)
    if reports is None:
        reports = shapes
    given = constrain if places is None else lambda theta: constrain(_unpacked(places, theta))
    return target(dim, jet, gradient, given, reports, name)
