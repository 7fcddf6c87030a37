"""What the Python module adds to the time of the library; prints JSON.

    PYTHONPATH=python python3 bench/python_overhead.py [--program build/release/onward]

- a Python callable: microseconds a jet beyond the time of the function itself (bar: 3);
- a C function pointer: nanoseconds a step beyond a built-in model of the same dimension (bar: 50);
- `onward.sample` with its summary on the funnel, D = 10, over the time of the program (bar: 1.05);
- `onward.glm` from a DataFrame of 1,000,000 x 50 floats: the peak of memory while the model is made and sampled, less
  what there was before, over the floats. The design has each number once, so that 2 would be a second copy.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

import onward

TRIVIAL = r"""
int jet(void *data, const double *theta, const double *v, int order, double *out, char *message) {
  double f = 0, d = 0, s = 0;
  for (int i = 0; i < 11; ++i) {
    f -= 0.5 * theta[i] * theta[i];
    if (order > 0) { d -= theta[i] * v[i]; s -= v[i] * v[i]; }
  }
  out[0] = f;
  if (order > 0) out[1] = d;
  if (order > 1) out[2] = s;
  return 0;
}
"""


def timed(model, **settings):
    """Seconds of sampling, the best of three."""
    def once():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = onward.sample(model, seed=1, progress=False, chains=1, warmup=0, threads=1, **settings)
        return run.info["seconds"]["sampling"]
    return min(once() for _ in range(3))


def callable_overhead():
    calls = 0

    def jet(theta, v, order):
        nonlocal calls
        calls += 1
        return (-0.5, 0.0, -1.0)[: order + 1] if order else -0.5

    theta = np.zeros(11)
    start = time.perf_counter()
    for _ in range(200_000):
        jet(theta, theta, 1)
    own = (time.perf_counter() - start) / 200_000
    model = onward.target(11, jet)
    calls = 0
    seconds = timed(model, sampler="line-fmala", step_size=0.1, draws=5000, thin=10)
    return {"own_us": 1e6 * own, "with_onward_us": 1e6 * seconds / (calls / 3), "bar_us": 3,
            "overhead_us": 1e6 * (seconds / (calls / 3) - own)}


def pointer_overhead(folder):
    with open(f"{folder}/trivial.c", "w") as file:
        file.write(TRIVIAL)
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", f"{folder}/trivial.c", "-o", f"{folder}/trivial.so"], check=True)
    jet = ctypes.CDLL(f"{folder}/trivial.so").jet
    settings = dict(sampler="line-fmala", step_size=0.5, draws=2000, thin=500)
    steps = 2000 * 500
    pointer = timed(onward.target(11, ctypes.cast(jet, ctypes.c_void_p).value), **settings) / steps
    built_in = timed(onward.model("gaussian", dim=11), **settings) / steps
    return {"pointer_ns": 1e9 * pointer, "built_in_ns": 1e9 * built_in, "overhead_ns": 1e9 * (pointer - built_in), "bar_ns": 50}


def funnel(program, folder):
    settings = {"draws": 200_000, "sampler": "line-fmala", "seed": 1, "thin": 1}
    words = [f"--{k}={v}" for k, v in settings.items()]
    best = {"program": float("inf"), "python": float("inf")}
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([program, "sample", "funnel", "--json", "--quiet", "--out", "none", *words],
                       check=True, capture_output=True)
        best["program"] = min(best["program"], time.perf_counter() - start)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            onward.sample("funnel", progress=False, **settings).summary()
        best["python"] = min(best["python"], time.perf_counter() - start)
    return {**best, "ratio": best["python"] / best["program"], "bar": 1.05}


def table_memory(rows=1_000_000, columns=50):
    import pandas

    x = np.random.default_rng(1).standard_normal(size=(rows, columns), dtype=np.float32)
    frame = pandas.DataFrame(x, columns=[f"x{i}" for i in range(columns)], copy=False)
    frame["y"] = (x[:, 0] > 0.5 * x[:, 1]).astype(np.float32)

    def now(field):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))

    before = now("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins here
    model = onward.glm("y ~ . ", frame, family="bernoulli")
    made = now("VmHWM") - before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onward.sample(model, draws=5, warmup=51 * 4, seed=1, chains=1, progress=False)
    return {"floats_mb": x.nbytes / 1e6, "made_over_floats": made / x.nbytes,
            "sampled_over_floats": (now("VmHWM") - before) / x.nbytes, "bar": 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(os.path.dirname(__file__), "..", "build", "release", "onward"))
    figures = {"callable": lambda _: callable_overhead(), "c_pointer": pointer_overhead,
               "funnel": lambda folder: funnel(words.program, folder), "table_memory": lambda _: table_memory()}
    parser.add_argument("--only", choices=figures, help="one figure alone")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        json.dump({name: make(folder) for name, make in figures.items() if words.only in (None, name)}, sys.stdout,
                  indent=1)
    print()


if __name__ == "__main__":
    main()
