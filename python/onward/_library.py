"""libonward.so by ctypes: its structs, its functions, and errors as exceptions."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p
from typing import Any, Optional

from ._cpu import usable

INTERFACE = 1
OK, NO_DENSITY, FAILED, USAGE = 0, 1, 2, 3
MESSAGE_SIZE = 1024
THREAD_SAFE = 1


class Error(Exception):
    """Something could not be done: bad data, a file that cannot be written, a model that failed."""


class UsageError(Error, ValueError):
    """What was asked for makes no sense: a setting out of range, an unknown name."""


class Reject(Exception):
    """Raise this in a model of yours where it has no density: the move is rejected, and counted."""


JET = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p)
GRADIENT = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)
CONSTRAIN = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)
THREAD = ctypes.CFUNCTYPE(None)


# Without this the interpreter would make the state of a thread anew for each call from C.
@THREAD
def _thread_begins() -> None:
    ctypes.pythonapi.PyGILState_Ensure()


@THREAD
def _thread_ends() -> None:
    ctypes.pythonapi.PyGILState_Release(0)  # that it was locked: it is, while this runs


THREADS = tuple(ctypes.cast(f, c_void_p) for f in (_thread_begins, _thread_ends))


class Parameter(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("rank", c_size_t), ("shape", POINTER(c_size_t))]


class Density(ctypes.Structure):
    _fields_ = [
        ("version", c_uint32),
        ("flags", c_uint32),
        ("dimension", c_size_t),
        ("data", c_void_p),
        ("jet", c_void_p),
        ("gradient", c_void_p),
        ("constrain", c_void_p),
        ("parameter_count", c_size_t),
        ("parameters", POINTER(Parameter)),
        ("block_count", c_size_t),
        ("blocks", POINTER(c_size_t)),
        ("copy", c_void_p),
        ("release", c_void_p),
        ("thread_begins", c_void_p),
        ("thread_ends", c_void_p),
    ]


class Array(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("rank", c_size_t),
        ("shape", POINTER(c_size_t)),
        ("fortran_order", c_int),
        ("values", c_void_p),
    ]


class Column(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("rows", c_size_t),
        ("stride", c_ssize_t),
        ("values", c_void_p),
        ("level_count", c_size_t),
        ("levels", POINTER(c_char_p)),
    ]


class Progress(ctypes.Structure):
    _fields_ = [
        ("steps_done", c_uint64),
        ("steps_total", c_uint64),
        ("chains_warming", c_uint64),
        ("chains_sampling", c_uint64),
        ("chains_done", c_uint64),
        ("acceptance", c_double),
        ("seconds", c_double),
        ("seconds_left", c_double),
        ("steps_per_second", c_double),
        ("choosing", c_int),
    ]


_FUNCTIONS = {
    "onward_version": (c_char_p, []),
    "onward_message": (c_char_p, []),
    "onward_code": (c_int, []),
    "onward_model_build": (c_void_p, [c_char_p, POINTER(Array), c_size_t, POINTER(Column), c_size_t]),
    "onward_model_from": (c_void_p, [c_char_p, POINTER(Density)]),
    "onward_model_free": (None, [c_void_p]),
    "onward_model_dimension": (c_size_t, [c_void_p]),
    "onward_model_describe": (c_char_p, [c_void_p]),
    "onward_model_jet": (c_int, [c_void_p, c_void_p, c_void_p, c_int, c_void_p]),
    "onward_model_gradient": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "onward_model_constrain": (c_int, [c_void_p, c_void_p, c_void_p]),
    "onward_run_start": (c_void_p, [c_void_p, c_char_p, c_char_p]),
    "onward_run_wait": (c_int, [c_void_p, c_double]),
    "onward_run_stop": (None, [c_void_p]),
    "onward_run_free": (None, [c_void_p]),
    "onward_run_progress": (None, [c_void_p, POINTER(Progress)]),
    "onward_run_notes": (c_char_p, [c_void_p]),
    "onward_run_chains": (c_size_t, [c_void_p]),
    "onward_run_draws": (c_size_t, [c_void_p, c_size_t]),
    "onward_run_width": (c_size_t, [c_void_p]),
    "onward_run_values": (c_int, [c_void_p, c_size_t, c_void_p]),
    "onward_run_log_density": (c_int, [c_void_p, c_size_t, c_void_p]),
    "onward_run_statistic": (c_int, [c_void_p, c_size_t, c_char_p, c_void_p]),
    "onward_run_follows": (c_int, [c_void_p]),
    "onward_run_summary": (c_char_p, [c_void_p, c_size_t]),
    "onward_run_table": (c_char_p, [c_void_p]),
    "onward_run_report": (c_int, [c_void_p, c_char_p]),
    "onward_run_save": (c_int, [c_void_p, c_char_p, c_int]),
    "onward_run_loo": (c_char_p, [c_void_p, c_int]),
    "onward_run_predict": (c_void_p, [c_void_p, c_char_p, POINTER(Column), c_size_t]),
    "onward_predictions_describe": (c_char_p, [c_void_p]),
    "onward_predictions_values": (c_int, [c_void_p, c_void_p, c_void_p]),
    "onward_predictions_free": (None, [c_void_p]),
    "onward_formula_variables": (c_char_p, [c_char_p]),
}


def _candidates() -> list[str]:
    if os.environ.get("ONWARD_LIBRARY"):
        return [os.environ["ONWARD_LIBRARY"]]
    here = pathlib.Path(__file__).resolve().parent
    # In a wheel: one for this processor, or one for each level of processors. Installed by CMake: in lib/, above
    # python3/dist-packages. In a source tree that was built: in build/release.
    folders = [here, *(here / level for level in usable()), here.parents[2], here.parents[0].parent / "build" / "release"]
    return [str(folder / "libonward.so.1") for folder in folders] + ["libonward.so.1"]


def _open() -> ctypes.CDLL:
    for name in _candidates():
        if "/" in name and not os.path.exists(name):
            continue
        try:
            library = ctypes.CDLL(name)
        except OSError as problem:
            if "/" in name:
                raise ImportError(f"{name} cannot be loaded: {problem}") from None
            continue
        for function, (result, arguments) in _FUNCTIONS.items():
            getattr(library, function).restype = result
            getattr(library, function).argtypes = arguments
        return library
    raise ImportError(
        "libonward.so.1 was not found. In the source tree `./run` builds it; else install Onward by `pip install .`, or "
        "say where the library is by the environment variable ONWARD_LIBRARY"
    )


lib = _open()


def message() -> str:
    return lib.onward_message().decode("utf-8", "replace")


def fail(code: Optional[int] = None) -> Exception:
    """The exception for what the last call from this thread had to say."""
    code = lib.onward_code() if code is None else code
    return (UsageError if code == USAGE else Reject if code == NO_DENSITY else Error)(message())


def check(code: int) -> None:
    if code != OK:
        raise fail(code)


def text(answer: Optional[bytes]) -> str:
    """What a function gave as text; its message as an exception if it gave none."""
    if answer is None:
        raise fail()
    return answer.decode("utf-8", "replace")


def _plain(value: Any) -> Any:
    """NumPy's numbers and paths, as JSON has them."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    raise UsageError(f"{value!r} is of type {type(value).__name__}, which no setting can be")


def as_json(value: Any) -> bytes:
    try:
        return json.dumps(value, default=_plain, allow_nan=False).encode()
    except ValueError:
        wrong = [k for k, v in value.items() if isinstance(v, float) and (v != v or abs(v) == float("inf"))]
        raise UsageError(f"{', '.join(wrong) or 'a setting'} must be a finite number") from None


def sizes(shape) -> Optional[ctypes.Array]:
    return (c_size_t * len(shape))(*shape) if len(shape) else None
