"""Models by a function of one's own: in Python, or compiled."""

from __future__ import annotations

import ctypes
import inspect
import math
import struct
from types import CodeType
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _library as c
from ._library import Reject, UsageError, lib
from ._models import Model

Shape = Union[int, Sequence[int]]
WANTED = ("the log density", "a tuple (log density, slope)", "a tuple (log density, slope, curvature)")


def _is_rejection(problem: BaseException) -> bool:
    """What Python raises where a number has no logarithm, or is too large."""
    return isinstance(problem, (Reject, ArithmeticError)) or (
        type(problem) is ValueError and str(problem) == "math domain error"
    )


def shapes_of(parameters: Optional[Mapping[str, Shape]]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    if parameters is not None and not isinstance(parameters, Mapping):
        raise UsageError(f"`parameters` must be a dict of names and shapes, not {type(parameters).__name__}")
    for name, shape in (parameters or {}).items():
        shapes[str(name)] = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
        if any(n < 1 for n in shapes[str(name)]):
            raise UsageError(f"`parameters` give {name} the shape {shapes[str(name)]}: sizes must be 1 or more")
    return shapes


class FunctionModel(Model):
    """A model whose jet is a Python function."""

    _threads = 1  # the interpreter runs one at a time, and handing it over costs

    def __init__(self, dim, jet, gradient=None, constrain=None, parameters=None, name="target"):
        for what, function in (("jet", jet), ("gradient", gradient), ("constrain", constrain)):
            if function is not None and not callable(function):
                raise UsageError(f"`{what}` must be a function, not {type(function).__name__}")
        self._troubles: dict[str, BaseException] = {}  # by the words that C was given
        functions = _Functions(self, dim, jet, gradient, constrain, shapes_of(parameters))
        make, keep = from_functions(name, dim, functions.pointers(), functions.shapes, c.THREADS)
        super().__init__(make, [keep, functions])

    def _raise_own(self, told: str) -> None:
        for words, trouble in list(self._troubles.items()):
            if words and words in told:
                del self._troubles[words]
                raise trouble


_from_chains: set[CodeType] = set()  # the code by which chains call functions


def _known(call):
    _from_chains.add(call.__code__)
    return call


def called_by_chain(model: Model) -> bool:
    """Whether this is within a function of the model that one of a run's own threads has called."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code in _from_chains and frame.f_locals.get("owner") is model:
            return True
        frame = frame.f_back
    return False


class _Functions:
    """Python functions as C calls them. Each answers with a code: nothing may be raised through C."""

    def __init__(self, owner, dim, jet, gradient, constrain, shapes):
        self.shapes = shapes
        self._callbacks = [
            c.JET(_jet_callback(owner, dim, jet)),
            c.GRADIENT(_gradient_callback(owner, dim, gradient)) if gradient else None,
            c.CONSTRAIN(_constrain_callback(owner, dim, constrain, shapes)) if constrain else None,
        ]

    def pointers(self):
        return [None if f is None else ctypes.cast(f, ctypes.c_void_p) for f in self._callbacks]


def _told(owner, problem: BaseException, message: int) -> int:
    rejected = _is_rejection(problem)
    try:
        words = f"{type(problem).__name__}: {problem}"
    except Exception:  # noqa: BLE001: its own text cannot be had
        words = type(problem).__name__
    # C has room for so many bytes, and what it says of them may be made printable: the first line is told.
    line = words.splitlines()[0] if words.splitlines() else words
    told = line.encode("utf-8", "replace")[: c.MESSAGE_SIZE - 1].decode("utf-8", "ignore")
    if not rejected:
        while len(owner._troubles) > 20:
            owner._troubles.pop(next(iter(owner._troubles)))
        owner._troubles.setdefault(told, problem)
    data = told.encode("utf-8", "replace") + b"\0"
    ctypes.memmove(message, data, len(data))
    return c.NO_DENSITY if rejected else c.FAILED


def _shown(answer: Any) -> str:
    try:
        return repr(answer)
    except Exception:  # noqa: BLE001
        return f"an object of type {type(answer).__name__}"


def _jet_callback(owner, dim: int, jet: Callable):
    # All that is looked up here is not looked up at each call; theta and v are copies, so that a function that
    # keeps them does no harm, and arrays over bytes, so that they cannot be changed.
    size, string_at, frombuffer, memmove = 8 * dim, ctypes.string_at, np.frombuffer, ctypes.memmove
    pack = struct.Struct("3d").pack

    def call(_, theta, v, order, out, message):
        answer = call
        try:
            if order == 2:
                answer = jet(frombuffer(string_at(theta, size)), frombuffer(string_at(v, size)), 2)
                value, slope, curvature = answer
                if isinstance(value, complex) or isinstance(slope, complex) or isinstance(curvature, complex):
                    raise TypeError
                memmove(out, pack(value, slope, curvature), 24)
            elif order == 1:
                answer = jet(frombuffer(string_at(theta, size)), frombuffer(string_at(v, size)), 1)
                value, slope = answer if len(answer) != 3 else answer[:2]
                if isinstance(value, complex) or isinstance(slope, complex):
                    raise TypeError
                memmove(out, pack(value, slope, 0.0), 24)
            else:
                answer = jet(frombuffer(string_at(theta, size)), None, 0)
                value = answer[0] if isinstance(answer, tuple) and 1 <= len(answer) <= 3 else answer
                if isinstance(value, complex):
                    raise TypeError
                memmove(out, pack(value, 0.0, 0.0), 24)
            return 0
        except BaseException as problem:  # noqa: BLE001
            if answer is not call and isinstance(problem, (TypeError, ValueError, struct.error)):
                problem = UsageError(
                    f"for order {order} `jet` must give {WANTED[order]}, as real numbers: it gave {_shown(answer)}"
                )
            return _told(owner, problem, message)

    return _known(call)


def _gradient_callback(owner, dim: int, gradient: Callable):
    def call(_, theta, value, out, message):
        try:
            answer = gradient(np.frombuffer(ctypes.string_at(theta, 8 * dim)))
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise UsageError(f"`gradient` must give a tuple (log density, gradient): it gave {answer!r}")
            if np.iscomplexobj(answer[0]) or np.iscomplexobj(answer[1]):
                raise UsageError("`gradient` gave complex numbers: real ones are needed")
            slopes = np.ascontiguousarray(answer[1], dtype=np.float64)
            if slopes.shape != (dim,):
                raise UsageError(f"`gradient` gave an array of the shape {slopes.shape}: {dim} numbers are needed")
            ctypes.memmove(value, ctypes.byref(ctypes.c_double(answer[0])), 8)
            ctypes.memmove(out, slopes.ctypes.data, 8 * dim)
            return 0
        except BaseException as problem:  # noqa: BLE001
            return _told(owner, problem, message)

    return _known(call)


def _constrain_callback(owner, dim: int, constrain: Callable, shapes: Mapping[str, tuple[int, ...]]):
    width = sum(math.prod(s) for s in shapes.values()) if shapes else dim

    def call(_, theta, out, message):
        try:
            answer = constrain(np.frombuffer(ctypes.string_at(theta, 8 * dim)))
            if isinstance(answer, Mapping):
                if set(answer) != set(shapes):
                    raise UsageError(f"`constrain` gave {', '.join(answer)}: `parameters` are {', '.join(shapes)}")
                for name, shape in shapes.items():
                    if np.size(answer[name]) != math.prod(shape):
                        raise UsageError(f"`constrain` gave {np.size(answer[name])} numbers for {name}, whose shape is {shape}")
                answer = np.concatenate([np.ravel(answer[name]) for name in shapes])
            answer = np.ascontiguousarray(answer, dtype=np.float64).ravel()
            if answer.size != width:
                raise UsageError(f"`constrain` gave {answer.size} numbers: `parameters` have {width}")
            ctypes.memmove(out, answer.ctypes.data, 8 * width)
            return 0
        except BaseException as problem:  # noqa: BLE001
            return _told(owner, problem, message)

    return _known(call)


def from_functions(name: str, dim: int, pointers, shapes: Mapping[str, tuple[int, ...]], threads=(None, None)):
    """What makes a model of C functions, and what must outlive it."""
    extents = [c.sizes(shape) for shape in shapes.values()]
    rows = [c.Parameter(n.encode(), len(s), extent) for (n, s), extent in zip(shapes.items(), extents)]
    table = (c.Parameter * len(rows))(*rows)
    density = c.Density(
        c.INTERFACE, c.THREAD_SAFE, dim, None, *pointers, len(rows), table, 0, None, None, None, *threads
    )
    return lambda: lib.onward_model_from(name.encode(), ctypes.byref(density)), [extents, table, density]


def _address(function: Any) -> Optional[int]:
    """Where a compiled function is: numba's cfunc has an address, cffi's and plain numbers are one."""
    if isinstance(function, bool) or function is None:
        return None
    if isinstance(function, int):
        return function
    if isinstance(getattr(function, "address", None), int):
        return function.address
    if isinstance(function, ctypes._CFuncPtr):
        return ctypes.cast(function, ctypes.c_void_p).value
    if type(function).__module__ == "_cffi_backend":
        import cffi

        return int(cffi.FFI().cast("uintptr_t", function))
    return None


def _check_arguments(jet: Any) -> None:
    """Refuses, before a run, what cannot be called as jet(theta, v, order)."""
    called = "it is called as jet(theta, v, order): the place, the direction, and 0, 1 or 2 derivatives along it"
    if not callable(jet):
        raise UsageError(f"`jet` is of type {type(jet).__name__} and must be a function: {called}")
    try:
        signature = inspect.signature(jet)
    except (TypeError, ValueError):  # some functions that are written in C have none
        return
    try:
        signature.bind(None, None, 0)
    except TypeError:
        raise UsageError(
            f"`jet` cannot take the arguments {signature}: {called}. If you have the log density alone, "
            "onward.from_torch and onward.from_jax make the derivatives"
        ) from None


def target(
    dim: int,
    jet: Any,
    gradient: Any = None,
    constrain: Any = None,
    parameters: Optional[Mapping[str, Shape]] = None,
    name: str = "target",
) -> Model:
    """A model of your own, by its jet.

    `jet(theta, v, order)` gives the log density for order 0, (log density, slope) for order 1 and (log density,
    slope, curvature) for order 2, at theta along v; it may give more of the three than it is asked for, but v is None
    for order 0. theta and v are read-only arrays. Raise `onward.Reject` where there is no density. `gradient(theta)` gives (log density, gradient), for samplers that need one. `parameters`
    names what is reported, {"mu": (), "theta": 8}, and `constrain(theta)` gives those numbers, or a dict of them.

    >>> import onward
    >>> def jet(theta, v, order):
    ...     log_density = -0.5 * theta @ theta
    ...     return log_density if order == 0 else (log_density, -theta @ v, -v @ v)[: order + 1]
    >>> run = onward.sample(onward.target(2, jet), draws=200, seed=1, sampler="newton-line", progress=False)
    >>> run["theta"].shape
    (4, 200, 2)

    `jet` may also be a compiled function with the signature that onward.h has, as numba's cfunc, cffi and ctypes
    give it, or its address: it runs without the interpreter's lock, in as many threads as there are. Then
    `gradient` and `constrain` must be compiled ones too.
    """
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or not 1 <= dim < 2**40:
        raise UsageError(f"`dim` {dim!r} must be a whole number, 1 or more: how many numbers are sampled")
    dim = int(dim)
    address = _address(jet)
    if address is None:
        _check_arguments(jet)
        return FunctionModel(dim, jet, gradient, constrain, parameters, name)
    pointers = [ctypes.c_void_p(address)]
    for what, function in (("gradient", gradient), ("constrain", constrain)):
        other = _address(function)
        if function is not None and other is None:
            raise UsageError(f"`jet` is a compiled function, so `{what}` must be one too")
        pointers.append(ctypes.c_void_p(other))
    make, keep = from_functions(name, dim, pointers, shapes_of(parameters))
    return Model(make, [keep, jet, gradient, constrain])
