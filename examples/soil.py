"""A simulator in C, called from Python: the soil of examples/plugins/soil.c with the same data and priors.

    cc -O2 -shared -fPIC examples/plugins/soil.c -lm -o libsoil.so
    PYTHONPATH=python python3 examples/soil.py ./libsoil.so
"""

import ctypes
import math
import os
import sys

import numpy as np

import onward
from onward import prior

PARAMETERS, OUTPUTS = 4, 144
soil = ctypes.CDLL(os.path.abspath(sys.argv[1]))
numbers = ctypes.POINTER(ctypes.c_double)


def pointer(x):
    return x.ctypes.data_as(numbers)


def checked(code):
    if code != 0:
        raise onward.Reject("a diffusivity is too large for the step")


def forward(x):
    seen = np.empty(OUTPUTS)
    checked(soil.soil_run(pointer(x), pointer(seen)))
    return seen


def jvp(x, v):
    seen, tangent = np.empty(OUTPUTS), np.empty(OUTPUTS)
    checked(soil.soil_run_tl(pointer(x), pointer(v), pointer(seen), pointer(tangent)))
    return seen, tangent


data = np.loadtxt(os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugins", "soil.txt"))
priors = {
    "upper": prior.lognormal(math.log(0.5), 0.5),
    "lower": prior.lognormal(math.log(0.5), 0.5),
    "mean": prior.normal(15, 5),
    "swing": prior.half_normal(8),
    "sigma": prior.exponential(1),
}
model = onward.observed(forward, data, noise="sigma", prior=priors, jvp=jvp)
run = onward.sample(model, sampler="newton-line", draws=500, seed=1, progress=False)
print(run)

# The test that runs this wants what the data were made with.
truth = {"upper": 0.7, "lower": 0.35, "mean": 16, "swing": 8, "sigma": 0.3}
right = all(abs(run[name].mean() - value) < 4 * run[name].std() for name, value in truth.items())
sys.exit(0 if right and not run.warnings else 1)
