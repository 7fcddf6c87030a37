"""Progress and tables, in a terminal and in notebooks."""

from __future__ import annotations

import html as _html
import sys
import time
from typing import Any


class Table(list):
    """Rows that print as the program's table."""

    def __init__(self, rows, text: str):
        super().__init__(rows)
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _Nothing:
    def show(self, progress: dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass


def _share(progress: dict[str, Any]) -> float:
    total = progress["steps_total"]
    return min(1.0, progress["steps_done"] / total) if total else 0.0


def _words(progress: dict[str, Any]) -> str:
    phase = "warm-up" if progress["chains_warming"] else "sampling"
    left = progress["seconds_left"]
    text = f"{100 * _share(progress):3.0f}%  {phase}  acceptance {progress['acceptance']:.2f}"
    return text + (f"  {left:.0f} s left" if left == left and left < 1e9 else "")


class _Terminal(_Nothing):
    def __init__(self) -> None:
        self._shown = False

    def show(self, progress: dict[str, Any]) -> None:
        print("\r\033[K" + _words(progress), end="", file=sys.stderr, flush=True)
        self._shown = True

    def close(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class _Notebook(_Nothing):
    def __init__(self) -> None:
        from IPython.display import display

        self._handle, self._last = display({"text/plain": "sampling"}, raw=True, display_id=True), 0.0

    def show(self, progress: dict[str, Any]) -> None:
        from IPython.display import HTML

        if time.monotonic() - self._last < 0.3:
            return
        self._last = time.monotonic()
        self._handle.update(HTML(f'<progress value="{_share(progress):.3f}" aria-label="sampling"></progress> '
                                 f"{_html.escape(_words(progress))}"))

    def close(self) -> None:
        from IPython.display import HTML

        self._handle.update(HTML(""))


class _Lines(_Nothing):
    """Where lines cannot be rewritten: one every ten seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 2

    def show(self, progress: dict[str, Any]) -> None:
        if time.monotonic() >= self._next:
            print(_words(progress), file=sys.stderr, flush=True)
            self._next = time.monotonic() + 10


def bar(show: bool):
    if not show:
        return _Nothing()
    shell = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return _Notebook()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else _Lines()


def html(run: Any) -> str:
    """A run as a notebook shows it."""
    columns = ["name", "mean", "sd", "q5", "q50", "q95", "mcse_mean", "ess_bulk", "ess_tail", "rhat"]
    rows = run.info.get("parameters", [])

    def cell(value: Any) -> str:
        return _html.escape(value if isinstance(value, str) else "" if value is None else f"{value:.4g}")

    head = "".join(f"<th>{name}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(row.get(k))}</td>" for k in columns) + "</tr>" for row in rows[:100])
    more = f"<p>and {len(rows) - 100} more</p>" if len(rows) > 100 else ""
    warnings = "".join(f"<p><strong>warning:</strong> {_html.escape(w)}</p>" for w in run.warnings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{warnings}"
