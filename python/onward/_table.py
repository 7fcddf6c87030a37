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
        f"`data` is of type {type(data).__name__}: it must be a DataFrame or a dict of arrays"
    )


def _column(name: str, values: Any, keep: list) -> c.Column:
    levels: list[str] = []
    if hasattr(values, "columns"):
        raise UsageError(f"`data` has two columns of the name {name}: rename one")
    categories = getattr(values, "cat", values)
    if hasattr(categories, "codes") and hasattr(categories, "categories"):  # pandas, in their own order
        levels = [_text(level) for level in categories.categories]
        values = np.asarray(categories.codes)
        if not levels:
            values = np.full(len(values), np.nan)
    else:
        if np.ma.isMaskedArray(values):
            values = np.where(np.ma.getmaskarray(values), None, values.data.astype(object))
        elif hasattr(values, "isna") and not isinstance(getattr(values, "dtype", None), np.dtype):
            values = np.array([None if missing else v for v, missing in zip(values.tolist(), values.isna())], dtype=object)
        values = np.asarray(values)
        if values.ndim != 1:
            raise UsageError(f"the column {name} has the shape {values.shape}: it must have one dimension")
        if values.dtype.kind in "OUS":
            values, levels = _objects(name, values.tolist())
        elif values.dtype.kind not in "fiub":
            raise UsageError(f"the column {name} has the type {values.dtype}: numbers, text or categories are needed")
        elif values.dtype.byteorder == ">" or values.dtype.itemsize not in (1, 2, 4, 8) or values.dtype.str == "<f2":
            values = values.astype(np.float64)
    words = (ctypes.c_char_p * len(levels))(*[level.encode("utf-8", "replace") for level in levels])
    keep += [values, words]
    return c.Column(
        name.encode(), values.dtype.str.encode(), len(values), values.strides[0], values.ctypes.data, len(levels), words
    )


def _text(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if "\0" in text:
        raise UsageError(f"the text {text!r} has a zero byte: take it out")
    return text


def _missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _objects(name: str, values: list) -> tuple[np.ndarray, list[str]]:
    """Python objects: numbers as floats, true and false or text as codes of levels; missing ones are NaN or -1."""
    given = [value for value in values if not _missing(value)]
    if not all(isinstance(value, (str, bytes, bool, np.bool_)) for value in given) or not given:
        if all(isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) for value in given):
            return np.array([np.nan if _missing(value) else float(value) for value in values]), []
        kinds = sorted({type(value).__name__ for value in given})
        if not all(isinstance(value, (str, bytes, bool, int, float)) for value in given):
            raise UsageError(f"the column {name} holds {', '.join(kinds)}: make numbers or text of it")
    if all(isinstance(value, (bool, np.bool_)) for value in given):
        return np.array([-1 if _missing(value) else int(value) for value in values], dtype=np.int32), ["FALSE", "TRUE"]
    places = {level: rank for rank, level in enumerate(sorted({_text(v) for v in given}, key=lambda t: t.encode("utf-8", "replace")))}
    return np.array([-1 if _missing(v) else places[_text(v)] for v in values], dtype=np.int32), list(places)
