"""Gradient-based MCMC without the backward pass.

>>> import onward
>>> run = onward.sample(onward.model("eight-schools"), seed=1, progress=False)
>>> run["theta"].shape                                                   # chains, draws, schools
(4, 1000, 8)
"""

from . import prior
from ._autodiff import from_jax, from_torch
from ._library import Error, Reject, UsageError
from ._library import lib as _lib
from ._models import Model, glm, model, net, plugin
from ._observed import observed
from ._run import Handle, Predictions, Run, sample
from ._target import target

__version__ = _lib.onward_version().decode()
__all__ = [
    "Error",
    "Handle",
    "Model",
    "Predictions",
    "Reject",
    "Run",
    "UsageError",
    "from_jax",
    "from_torch",
    "glm",
    "model",
    "net",
    "observed",
    "plugin",
    "prior",
    "sample",
    "target",
]
