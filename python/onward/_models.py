"""What can be sampled: built-in models, regressions, networks, plug-ins, and functions of one's own."""

from __future__ import annotations

import ctypes
import json
import os
import weakref
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _library as c
from ._library import UsageError, lib
from ._table import columns_of


class Model:
    """A model that can be sampled: see `onward.model`, `onward.glm`, `onward.target` and the others.

    `names` are those of the numbers that are reported, `parameters` the shapes of the arrays they make, `dimension`
    is how many numbers are sampled.
    """

    _threads: Optional[int] = None  # that serve it best; None: all

    def __init__(self, make: Callable[[], Optional[int]], keep: Any = None):
        self._make = make
        self._keep = keep  # what the library uses where it is
        self._open()
        description = self._description = json.loads(c.text(lib.onward_model_describe(self._handle)))
        self.dimension: int = description["dimension"]
        self.names: list[str] = description["names"]
        self.parameters: dict[str, tuple[int, ...]] = {p["name"]: tuple(p["shape"]) for p in description["parameters"]}
        self.has_gradient: bool = description["has_gradient"]
        self.notes: list[str] = description["notes"]
        self.specification: dict[str, Any] = description["specification"]

    def _open(self) -> None:
        handle = self._make()
        if not handle:
            raise c.fail()
        self._pid = os.getpid()
        self._raw = handle
        self._free = weakref.finalize(self, _free_model, handle, self._pid)
        self._free.atexit = False  # threads may still use it

    @property
    def _handle(self) -> int:
        if os.getpid() != self._pid:  # after a fork its threads are gone
            self._free.detach()
            self._open()
        return self._raw

    def jet(self, theta, v=None, order: int = 2) -> tuple[float, ...]:
        """Log density, slope and curvature at theta along v, as far as `order` (0, 1 or 2) asks for them.

        >>> import onward
        >>> value, slope, curvature = onward.model("gaussian", dim=1).jet([2.0], [1.0])
        >>> round(slope, 6), round(curvature, 6)
        (-2.0, -1.0)
        """
        theta = self._vector(theta, "theta")
        if v is None and order > 0:
            raise UsageError("slope and curvature need a direction: give `v`, or `order=0`")
        along = None if v is None else self._vector(v, "v")
        out = (ctypes.c_double * 3)()
        code = lib.onward_model_jet(
            self._handle, theta.ctypes.data, None if along is None else along.ctypes.data, order, out
        )
        self._check(code)
        return tuple(out[: order + 1])

    def gradient(self, theta) -> tuple[float, np.ndarray]:
        """The log density at theta and its first derivatives, for models that offer them."""
        theta = self._vector(theta, "theta")
        value, out = ctypes.c_double(), np.empty(self.dimension)
        self._check(lib.onward_model_gradient(self._handle, theta.ctypes.data, ctypes.byref(value), out.ctypes.data))
        return value.value, out

    def constrain(self, theta) -> np.ndarray:
        """What is reported of theta, as `names` have it."""
        theta, out = self._vector(theta, "theta"), np.empty(len(self.names))
        self._check(lib.onward_model_constrain(self._handle, theta.ctypes.data, out.ctypes.data))
        return out

    def _check(self, code: int) -> None:
        if code != c.OK:
            raise self._problem(code)

    def _problem(self, code: Optional[int] = None) -> Exception:
        """The exception for what the library had to say; raises what a function of the user's raised, if it did."""
        problem = c.fail(code)
        self._raise_own(str(problem))
        return problem

    def _raise_own(self, told: str) -> None:
        """Raises what a function of the user's raised, if the library tells of that."""

    def _vector(self, x, name: str) -> np.ndarray:
        x = np.asarray(x)
        if x.dtype.kind not in "fiub":
            raise UsageError(f"`{name}` has the type {x.dtype}: real numbers are needed")
        x = np.ascontiguousarray(x, dtype=np.float64)
        if x.shape != (self.dimension,):
            raise UsageError(f"`{name}` has the shape {x.shape}: the model samples {self.dimension} numbers")
        return x

    def __repr__(self) -> str:
        shapes = ", ".join(n + (str(list(s)) if s else "") for n, s in list(self.parameters.items())[:8])
        more = ", ..." if len(self.parameters) > 8 else ""
        return f"<onward model {self.specification['name']}: {self.dimension} to sample; reports {shapes}{more}>"


def _free_model(handle: int, pid: int) -> None:
    if os.getpid() == pid:
        lib.onward_model_free(handle)


def _array(name: str, values: np.ndarray, keep: list) -> c.Array:
    if values.dtype.kind not in "fiub" or values.dtype.byteorder == ">":
        raise UsageError(f"`{name}` has the type {values.dtype}: numbers are needed")
    fortran = values.flags.f_contiguous and not values.flags.c_contiguous
    if not fortran:
        values = np.ascontiguousarray(values)
    shape = c.sizes(values.shape)
    keep += [values, shape]
    return c.Array(name.encode(), values.dtype.str.encode(), values.ndim, shape, int(fortran), values.ctypes.data)


def _build(specification: Mapping[str, Any], arrays: Mapping[str, np.ndarray] = {}, columns=None, keep=()) -> Model:
    keep = list(keep)
    given = (c.Array * len(arrays))(*[_array(name, values, keep) for name, values in arrays.items()])
    text = c.as_json({field: value for field, value in specification.items() if value is not None})
    count = 0 if columns is None else len(columns)
    return Model(lambda: lib.onward_model_build(text, given, len(arrays), columns, count), keep)


def model(name: str, **options: Any) -> Model:
    """A built-in model by its name, with its options; the command `onward models` lists them.

    >>> import onward
    >>> onward.model("eight-schools").parameters
    {'theta': (8,), 'mu': (), 'tau': ()}
    """
    arrays = {field: value for field, value in options.items() if isinstance(value, np.ndarray)}
    return _build({"name": name, **{f: f"memory:{f}" if f in arrays else v for f, v in options.items()}}, arrays)


def glm(
    formula: str, data: Any, family: str = "gaussian", prior: Union[str, Sequence[str]] = (), **options: Any
) -> Model:
    """A regression from a formula and a table: a pandas DataFrame, a dict of arrays, or the name of a CSV file.

    Columns of numbers are used where they are; text and pandas categories are factors. Options are those of the
    command `onward glm`, with underscores: `contrasts`, `levels`, `missing`, `keep_groups`, ...

    >>> import numpy as np, onward
    >>> x = np.linspace(-1, 1, 50)
    >>> model = onward.glm("y ~ x", {"x": x, "y": 1 + 2 * x + 0.1 * np.sin(50 * x)})
    >>> model.names
    ['(Intercept)', 'x', 'sigma']
    """
    if not isinstance(formula, str):
        raise UsageError(
            f"`formula` is of type {type(formula).__name__} and must be text: the formula comes first and then the "
            'data, as in onward.glm("y ~ x", frame)'
        )
    priors = prior if isinstance(prior, str) else "; ".join(prior)
    specification = {"name": "glm", "formula": formula, "family": family, "prior": priors or None, **options}
    if isinstance(data, (str, os.PathLike)):
        return _build({**specification, "data": os.fspath(data)})
    columns, keep = columns_of(data, formula)
    return _build({**specification, "data": "memory:table"}, {}, columns, keep)


def net(description: Union[Mapping[str, Any], str, os.PathLike], x, y, **options: Any) -> Model:
    """A network: its layers, as a dict or a JSON file (docs/networks.md), on arrays of inputs and answers.

    >>> import numpy as np, onward
    >>> linear = lambda outputs: {"kind": "linear", "outputs": outputs}
    >>> layers = {"input": [1], "layers": [linear(4), "tanh", linear(1)]}
    >>> x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(-1, 1)
    >>> onward.net(layers, x, x**2).dimension
    14
    """
    shape = dict(description) if isinstance(description, Mapping) else os.fspath(description)
    arrays = {"x": np.asarray(x), "y": np.asarray(y)}
    for field in list(options):
        if isinstance(options[field], np.ndarray):
            arrays[field], options[field] = options[field], f"memory:{field}"
    return _build({"name": "net", "net": shape, "x": "memory:x", "y": "memory:y", **options}, arrays)


def plugin(file: Union[str, os.PathLike], data: str = "") -> Model:
    """A model in a shared object that exports onward_plugin (docs/plugins.md). `data` is text that it is handed."""
    return _build({"name": "plugin", "file": os.fspath(file), "data": data or None})
