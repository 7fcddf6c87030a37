"""What the draws of a regression say of rows of a table."""

from __future__ import annotations

import json
from typing import Optional, Sequence

import numpy as np

from . import _library as c
from ._library import lib


class Predictions:
    """`mean`, `sd`, `quantiles` (and `draws`) of each row; rows with missing values are NaN.

    Where the response has several classes the arrays have a dimension for them, and `classes` names them.
    """

    def __init__(self, raw: int, probabilities: Sequence[float], with_draws: bool):
        about = json.loads(c.text(lib.onward_predictions_describe(raw)))
        self.classes: list[str] = about["classes"]
        self.notes: list[str] = about["notes"]
        self.probabilities = list(probabilities)
        each = max(1, len(self.classes))
        rows = about["rows"]
        summaries = np.empty((rows, each, 2 + len(probabilities)))
        draws = np.empty((rows, each, about["draws"])) if with_draws else None
        c.check(
            lib.onward_predictions_values(raw, summaries.ctypes.data, None if draws is None else draws.ctypes.data)
        )
        place = np.asarray(about["table_rows"], dtype=int)

        def shaped(values):
            if place.size:  # rows that were left out are there, without figures
                whole = np.full((about["table_length"], *values.shape[1:]), np.nan)
                whole[place] = values
                values = whole
            return values if self.classes else values[:, 0]

        self.mean, self.sd = shaped(summaries[:, :, 0]), shaped(summaries[:, :, 1])
        self.quantiles = shaped(summaries[:, :, 2:])
        self.draws: Optional[np.ndarray] = None if draws is None else shaped(draws)

    def __len__(self) -> int:
        return len(self.mean)

    def __repr__(self) -> str:
        return f"<predictions of {len(self)} rows: mean, sd, quantiles {self.probabilities}>"
