"""Tables in memory, DataFrames and dicts of arrays, as columns that the library uses where they are."""

from __future__ import annotations

import ctypes
import difflib
import json
from typing import Any

import numpy as np

from . import _library as c
from ._library import UsageError, lib


def columns_of(data: Any, formula: str, need_all: bool = True) -> tuple[ctypes.Array, list]:
    """The columns of a table that the formula names, and what must outlive them."""
    wanted = json.loads(c.text(lib.onward_formula_variables(formula.encode())))
    names = _names(data)
    known = [str(name) for name in names]
    for name in wanted:
        if need_all and name != "." and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]}?" if near else f" Its columns: {', '.join(known[:20])}."
            raise UsageError(f"`data` has no column {name}, which the formula names.{hint}")
    if "." not in wanted:
        names = [name for name in names if str(name) in wanted]
    keep: list = []
    columns = [_column(str(name), data[name], keep) for name in names]
    # The library names what is missing; it needs some column to have rows at all.
    if not columns:
        columns = [_column(str(name), data[name], keep) for name in _names(data)[:1]]
    if not columns:
        raise UsageError("`data` has no columns")
    return (c.Column * len(columns))(*columns), keep


def _names(data: Any) -> list:
    if hasattr(data, "columns"):
        return list(data.columns)
    if hasattr(data, "keys"):
        return list(data.keys())
    if getattr(getattr(data, "dtype", None), "names", None):  # a structured array
        return list(data.dtype.names)
    raise UsageError(
        f"`data` is of type {type(data).__name__}: it must be a DataFrame, a dict of arrays, or the name of a CSV file"
    )


def _column(name: str, values: Any, keep: list) -> c.Column:
    levels: list[str] = []
    if hasattr(values, "cat"):  # pandas categories, in their own order
        levels = [str(level) for level in values.cat.categories]
        values = np.asarray(values.cat.codes)
    else:
        if hasattr(values, "isna") and not isinstance(getattr(values, "dtype", None), np.dtype):
            values = _plain_values(values)
        values = np.asarray(values)
        if values.dtype.kind in "OUS":
            values, levels = _words(name, values)
        elif values.dtype.kind not in "fiub":
            raise UsageError(f"the column {name} has the type {values.dtype}: numbers, text or categories are needed")
        elif values.dtype.byteorder == ">" or values.dtype.itemsize not in (1, 2, 4, 8) or values.dtype.str == "<f2":
            values = values.astype(np.float64)
    if values.ndim != 1:
        raise UsageError(f"the column {name} has the shape {values.shape}: it must have one dimension")
    words = (ctypes.c_char_p * len(levels))(*[level.encode() for level in levels])
    keep += [values, words]
    return c.Column(
        name.encode(), values.dtype.str.encode(), len(values), values.strides[0], values.ctypes.data, len(levels), words
    )


def _plain_values(values: Any) -> np.ndarray:
    """pandas' columns that know missing entries: numbers as floats with NaN, the others as objects."""
    kind = getattr(values.dtype, "kind", "O")
    if kind in "iuf":
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "b" and not values.isna().any():
        return values.to_numpy(dtype=bool)
    return values.astype(object).where(~values.isna(), None).to_numpy()


def _words(name: str, values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Text as codes of levels, which are sorted by their bytes; missing entries are -1."""
    places: dict[str, int] = {}
    codes = np.empty(len(values), dtype=np.int32) if values.ndim == 1 else np.empty(values.shape, dtype=np.int32)
    if values.ndim != 1:
        return codes, ["-"]
    numbers = True
    for i, value in enumerate(values.tolist()):
        if value is None or value != value:
            codes[i] = -1
            continue
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        numbers = numbers and isinstance(value, (int, float))
        codes[i] = places.setdefault(str(value), len(places))
    if numbers and places:
        raise UsageError(
            f"the column {name} holds Python objects that are numbers: give them a type, as by astype(float)"
        )
    levels = sorted(places, key=str.encode)
    order = np.empty(len(places) + 1, dtype=np.int32)
    for rank, level in enumerate(levels):
        order[places[level]] = rank
    order[-1] = -1
    return order[codes], levels
