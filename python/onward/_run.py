"""Sampling, and what comes of it."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import sys
import threading
import time
import warnings
import weakref
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _display
from . import _library as c
from ._library import Error, UsageError, lib
from ._models import Model
from ._models import model as _built_in
from ._predictions import Predictions
from ._table import columns_of
from ._target import called_by_chain


def sample(
    model: Union[Model, str],
    draws: int = 1000,
    warmup: Optional[int] = None,
    chains: int = 4,
    seed: Optional[int] = None,
    sampler: str = "auto",
    until_ess: Optional[float] = None,
    out: Optional[Union[str, os.PathLike]] = None,
    progress: bool = True,
    blocking: bool = True,
    *,
    max_draws: int = 100000,
    threads: Optional[int] = None,
    init: Any = None,
    force: bool = False,
    resume: bool = False,
    format: str = "csv",
    keep: str = "draws",
    log_likelihood: bool = False,
    **settings: Any,
) -> Union["Run", "Handle"]:
    """Samples a model and gives its draws, as a `Run`.

    With `until_ess` it goes on until every effective sample size is so large, for at most `max_draws` draws, and
    `draws` is not used. With `blocking=False` it gives a `Handle` at once, while the run goes on. With `out` the run
    is also written to that folder, from where `resume=True` goes on. `init` is where chains begin: an array, the name
    of a file, "zeros" or "random". Other settings are those of the command `onward sample`, with underscores:
    `thin`, `step_size`, `metric`, `max_seconds`, `target_acceptance`, ...

    >>> import onward
    >>> run = onward.sample(onward.model("eight-schools"), seed=1, progress=False)
    >>> run["theta"].shape
    (4, 1000, 8)
    >>> bool(abs(run["mu"].mean() - 4.4) < 0.5)
    True
    """
    if isinstance(model, str):
        model = _built_in(model)
    if not isinstance(model, Model):
        remedy = "; onward.target, onward.from_torch and onward.from_jax make one of a function" if callable(model) else ""
        raise UsageError(
            f"`model` must be a model, such as onward.model('funnel'), not {type(model).__name__}{remedy}"
        )
    about_files = {k: settings.pop(k) for k in _ABOUT_FILES if k in settings}
    given = {"draws": draws if until_ess is None else max_draws, "chains": chains, "sampler": sampler,
             "warmup": warmup, "seed": seed, "until_ess": until_ess,
             "threads": model._threads if threads is None else threads, **settings}
    if init is not None:
        given["init"] = init if isinstance(init, (str, os.PathLike)) else model._vector(init, "init").tolist()
    if out is None and (about_files or resume or keep != "draws" or format != "csv" or log_likelihood):
        raise UsageError(
            "`resume`, `keep`, `format`, `log_likelihood` and the like are about files: say where they are by `out`"
        )
    recording: dict[str, Any] = {}
    if out is not None:
        into = "resumed" if resume else "replaced" if force else "fresh"
        recording = {"folder": os.fspath(out), "into": into, "format": format, "keep": keep,
                     "log_likelihood": bool(log_likelihood), **about_files}
        if resume:
            asked = {"seed": seed, "warmup": warmup, "sampler": None if sampler == "auto" else sampler, **settings}
            _require_same(os.fspath(out), asked)
    handle = Handle(model, {k: v for k, v in given.items() if v is not None}, recording, progress)
    return handle.wait() if blocking else handle


_OF_TRAJECTORIES = {"tree_depth": np.int64, "n_steps": np.int64, "diverging": bool, "energy": np.float64}
_ABOUT_FILES = ("checkpoint_seconds", "single_precision", "unconstrained", "no_data")


def _require_same(folder: str, asked: Mapping[str, Any]) -> None:
    """A run that goes on keeps its settings: others are refused, but for how long it may take."""
    try:
        with open(os.path.join(folder, "run.json")) as file:
            then = json.load(file).get("settings", {})
    except (OSError, ValueError):
        return  # the library says what is wrong
    for field, value in asked.items():
        if value is not None and field in then and field not in ("max_seconds", "min_draws") and then[field] != value:
            raise UsageError(f"the run in {folder} has the setting {field} {then[field]}, not {value}: leave it out")


class Handle:
    """A run that goes on in the background. It ends when the last reference to it is gone."""

    def __init__(self, model: Model, settings: Mapping[str, Any], recording: dict, show: bool):
        self.model, self._settings, self._recording, self._show = model, dict(settings), recording, show
        self._result: Optional[Run] = None
        self._start()

    def _start(self) -> None:
        if _over:
            raise Error("the interpreter is about to end: no run is started")
        raw = lib.onward_run_start(self.model._handle, c.as_json(self._settings), c.as_json(self._recording))
        if not raw:
            raise self.model._problem()
        self._raw, self._pid = raw, os.getpid()
        self._free = weakref.finalize(self, _free_run, raw, self._pid, self.model)
        self._free.atexit = False  # see _stop_all
        _going_on.add(self)

    @property
    def _handle(self) -> int:
        if os.getpid() != self._pid:
            raise Error("this run belongs to the process that started it: sample again in this one")
        return self._raw

    @property
    def progress(self) -> dict[str, Any]:
        """How far it is: steps, chains, acceptance, seconds."""
        now = c.Progress()
        lib.onward_run_progress(self._handle, ctypes.byref(now))
        return {name: getattr(now, name) for name, _ in c.Progress._fields_}

    @property
    def running(self) -> bool:
        return self._result is None and lib.onward_run_wait(self._handle, 0.0) == 1

    def stop(self) -> Optional["Run"]:
        """Ends it, and gives what there is. Within a function of the model itself it is asked to end, and gives None."""
        lib.onward_run_stop(self._handle)
        return None if called_by_chain(self.model) else self.wait()

    def resume(self, **settings: Any) -> "Handle":
        """Goes on with a run that has a folder (`out`) and was stopped; or, with more `draws`, had ended."""
        if not self._recording:
            raise UsageError("only a run with a folder can go on: give `out` when it begins")
        if self.running:
            raise UsageError("the run goes on already: stop it first, or wait for it")
        seed = self.wait().seed if "seed" not in self._settings else self._settings["seed"]
        before = self._settings, self._recording
        free = self._free
        self._settings = {**self._settings, **settings, "seed": seed}
        self._recording = {**self._recording, "into": "resumed"}
        try:
            self._start()
        except BaseException:
            self._settings, self._recording = before
            raise
        self._result = None
        free()
        return self

    def wait(self, seconds: Optional[float] = None) -> "Run":
        """Waits until it has ended, and gives the result. Ctrl-C stops it and gives what there is.

        With `seconds` there is a TimeoutError after that time, and the run goes on.
        """
        if self._result is not None:
            return self._result
        if called_by_chain(self.model):
            raise UsageError("a function of the model cannot wait for the run that calls it: `stop()` asks it to end")
        bar = _display.bar(self._show)
        end = None if seconds is None else time.monotonic() + seconds
        interrupted = False
        try:
            while True:
                try:
                    left = 0.1 if end is None else max(0.0, min(0.1, end - time.monotonic()))
                    code = lib.onward_run_wait(self._handle, left)
                    if code != 1:
                        break
                    bar.show(self.progress)
                    if end is not None and time.monotonic() > end:
                        raise TimeoutError(f"the run had not ended after {seconds} seconds, and goes on")
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
                    lib.onward_run_stop(self._handle)
        finally:
            bar.close()
        if code != 0:
            raise self.model._problem(-code)
        notes = c.text(lib.onward_run_notes(self._handle)).splitlines()
        self._result = result = Run(self)
        if self._show:
            for note in notes:
                print("note:", note, file=sys.stderr)
        # Whoever was in a hurry is not to wait for diagnostics.
        if result.ending != "interrupted":
            for warning in result.warnings:
                warnings.warn(warning, stacklevel=3)
        return result


_going_on: "weakref.WeakSet[Handle]" = weakref.WeakSet()
_ending: set[threading.Thread] = set()
_over = False


def _free_run(raw: int, pid: int, model: Model) -> None:
    """The model is kept until here: chains may still ask it."""
    if os.getpid() != pid:
        return
    if lib.onward_run_wait(raw, 0.0) != 1:
        lib.onward_run_free(raw)
        return
    # This may be one of the run's own threads, in a function of the user's: another one waits for its end.
    lib.onward_run_stop(raw)

    def finish(_kept=model) -> None:
        lib.onward_run_free(raw)
        _ending.discard(threading.current_thread())

    thread = threading.Thread(target=finish, daemon=True)
    _ending.add(thread)
    thread.start()


@atexit.register
def _stop_all() -> None:
    """Runs end before the interpreter does. They are not freed: other threads may be waiting for them."""
    global _over
    _over = True
    running = [h for h in list(_going_on) if h._pid == os.getpid()]
    for handle in running:
        lib.onward_run_stop(handle._raw)
    for handle in running:
        lib.onward_run_wait(handle._raw, 60.0)
    for thread in list(_ending):
        thread.join(60.0)


class Run(Mapping):
    """Draws by name, run["mu"], each with the shape (chain, draw, ...), and what is known of them.

    `statistics` has what the sampler tells of each draw, by the names of ArviZ: "lp", and of a sampler that follows
    trajectories "tree_depth", "n_steps", "diverging" and "energy".

    >>> import onward
    >>> run = onward.sample(onward.model("funnel", dim=5), sampler="nuts", draws=100, seed=1, progress=False)
    >>> sorted(run.statistics)
    ['diverging', 'energy', 'lp', 'n_steps', 'tree_depth']
    """

    def __init__(self, handle: Handle):
        self._handle, self.model = handle, handle.model
        raw = handle._handle
        about = json.loads(c.text(lib.onward_run_summary(raw, 0)))
        self.ending: str = about["ending"]
        self.seed: int = about["seed"]
        self.folder: Optional[str] = about["folder"] or None
        self._info: Optional[dict[str, Any]] = None
        chains = lib.onward_run_chains(raw)
        lengths = [lib.onward_run_draws(raw, k) for k in range(chains)]
        least, width = min(lengths, default=0), lib.onward_run_width(raw)
        values = np.empty((chains, least, width))
        self.log_density = np.empty((chains, least))
        for k, length in enumerate(lengths):
            one = values[k] if length == least else np.empty((length, width))
            density = self.log_density[k] if length == least else np.empty(length)
            c.check(lib.onward_run_values(raw, k, one.ctypes.data))
            c.check(lib.onward_run_log_density(raw, k, density.ctypes.data))
            if length != least:
                values[k], self.log_density[k] = one[:least], density[:least]
        self._values = values
        self.statistics: dict[str, np.ndarray] = {"lp": self.log_density}
        if lib.onward_run_follows(raw):
            for name, kind in _OF_TRAJECTORIES.items():
                made = np.empty((chains, least), dtype=kind)
                for k, length in enumerate(lengths):
                    one = np.empty(length)
                    c.check(lib.onward_run_statistic(raw, k, name.encode(), one.ctypes.data))
                    made[k] = one[:least]
                self.statistics[name] = made
        self.draws: dict[str, np.ndarray] = {}
        order, first = self.model._description["order"], 0
        for parameter in self.model._description["parameters"]:
            shape = parameter["shape"]
            size = int(np.prod(shape, dtype=int))
            places = order[first : first + size]
            if places == list(range(first, first + size)):  # a view
                part = values[:, :, first : first + size]
            else:
                part = values[:, :, places]
            self.draws[parameter["name"]] = part.reshape(chains, least, *shape)
            first += size

    @property
    def info(self) -> dict[str, Any]:
        """What summary.json has: settings, times, diagnostics. It is made when it is first asked for."""
        if self._info is None:
            self._info = json.loads(c.text(lib.onward_run_summary(self._handle._handle, sys.maxsize)))
        return self._info

    @property
    def warnings(self) -> list[str]:
        """What not to trust, a sentence for each problem."""
        return self.info["warnings"]

    def __getitem__(self, name: str) -> np.ndarray:
        """The draws of a parameter; or of one of its numbers, by the name that the table has, such as a predictor's."""
        if name in self.draws:
            return self.draws[name]
        try:
            return self._values[:, :, self.model.names.index(name)]
        except ValueError:
            raise KeyError(f"there is no parameter {name!r}: they are {', '.join(self.draws)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.draws)

    def __len__(self) -> int:
        return len(self.draws)

    @property
    def table(self) -> str:
        """The table that the program prints, with notes and warnings."""
        return c.text(lib.onward_run_table(self._handle._handle))

    def summary(self):
        """Mean, sd, quantiles, standard error, ESS and R-hat of each number: a DataFrame where pandas is installed.

        Without pandas it is a list of dicts that prints as the program's table.
        """
        rows = self.info.get("parameters", [])
        try:
            import pandas
        except ImportError:
            return _display.Table(rows, self.table)
        return pandas.DataFrame(rows).set_index("name")

    def to_xarray(self):
        """The draws as an xarray Dataset, with dimensions and coordinates as ArviZ has them."""
        return self._dataset(
            {p["name"]: self.draws[p["name"]] for p in self.model._description["parameters"]},
        )

    def _dataset(self, variables: Mapping[str, np.ndarray]):
        import xarray

        described = {p["name"]: p for p in self.model._description["parameters"]}
        chains, draws = self.log_density.shape
        coordinates: dict[str, Any] = {"chain": np.arange(chains), "draw": np.arange(draws)}
        made = {}
        for name, values in variables.items():
            parameter = described.get(name, {})
            shape = values.shape[2:]
            dims = parameter.get("dims") or [f"{name}_dim_{i}" for i in range(len(shape))]
            for dim, extent, labels in zip(dims, shape, parameter.get("coordinates") or [[] for _ in shape]):
                coordinates[dim] = labels if labels else np.arange(extent)
            made[name] = (("chain", "draw", *dims), values)
        attributes = {"inference_library": "onward", "inference_library_version": lib.onward_version().decode()}
        return xarray.Dataset(made, coordinates, attributes)

    def _statistics(self):
        return self._dataset(self.statistics)

    def to_netcdf(self, path: Union[str, os.PathLike]) -> None:
        """Writes the draws as ArviZ has them: the groups posterior and sample_stats."""
        self.to_xarray().to_netcdf(path, group="posterior", mode="w", engine="netcdf4")
        self._statistics().to_netcdf(path, group="sample_stats", mode="a", engine="netcdf4")

    def to_inference_data(self):
        """ArviZ's InferenceData, where ArviZ is installed."""
        import arviz

        return arviz.InferenceData(posterior=self.to_xarray(), sample_stats=self._statistics())

    def save(self, folder: Union[str, os.PathLike], force: bool = False) -> None:
        """Writes a run that was sampled without `out` to a folder, for the program's commands."""
        c.check(lib.onward_run_save(self._handle._handle, os.fsencode(folder), int(force)))

    def report(self, file: Union[str, os.PathLike] = "report.html") -> str:
        """Writes one HTML page with a verdict, tables and pictures, for any browser; gives the file's name."""
        c.check(lib.onward_run_report(self._handle._handle, os.fsencode(file)))
        return os.fspath(file)

    def loo(self, waic: bool = False) -> dict[str, Any]:
        """How well a regression predicts what it has not seen: PSIS-LOO, or WAIC, with `pointwise` arrays."""
        result = json.loads(c.text(lib.onward_run_loo(self._handle._handle, int(waic))))
        result["pointwise"] = {
            name: np.array([np.nan if x is None else x for x in values]) for name, values in result["pointwise"].items()
        }
        return result

    def predict(
        self,
        data: Any = None,
        what: str = "fitted",
        new_levels: str = "refuse",
        probabilities: Sequence[float] = (0.05, 0.5, 0.95),
        seed: int = 1,
        groups: bool = True,
        draws: bool = False,
    ) -> "Predictions":
        """What the draws of a regression say of the rows of a table; without one, of those it was fitted to.

        `what` is "fitted" (the expected response), "predictive" (responses drawn) or "linear" (the predictor). Levels
        of groups that the fit has not seen are refused, or drawn from their distribution by `new_levels="draw"`.
        With `draws` each draw is kept as well.
        """
        columns, keep = None, None
        if data is not None:
            columns, keep = columns_of(data, self.model.specification.get("formula", "y ~ ."), False)
        options = {"what": what, "new_levels": new_levels, "probabilities": list(probabilities), "seed": seed,
                   "groups": groups}
        raw = lib.onward_run_predict(
            self._handle._handle, c.as_json(options), columns, 0 if columns is None else len(columns)
        )
        if not raw:
            raise c.fail()
        try:
            return Predictions(raw, list(probabilities), draws)
        finally:
            lib.onward_predictions_free(raw)
            del keep

    def __repr__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        return _display.html(self)
