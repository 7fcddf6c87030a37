"""MNIST's softmax regression in PyTorch: what a value, a Line-FMALA step and a MALA step cost.

Usage: torch_logreg.py FOLDER_OF_MNIST THREADS. Prints one line of JSON, times in milliseconds.
"""
import json
import math
import resource
import sys
import time

try:
    import numpy as np
    import torch
    import torch.autograd.forward_ad as forward
except ImportError as problem:
    print(json.dumps({"missing": f"python3-torch is not installed ({problem})"}))
    sys.exit()

folder, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
torch.manual_seed(1)
pixels = np.fromfile(folder + "/train-images-idx3-ubyte", dtype=np.uint8)[16:].reshape(-1, 784)
x = torch.from_numpy(pixels).float().div_(255).sub_(0.1307).div_(0.3081)
y = torch.from_numpy(np.fromfile(folder + "/train-labels-idx1-ubyte", dtype=np.uint8)[8:].astype(np.int64))
del pixels


def log_density(theta):
    logits = x @ theta[:7840].view(784, 10) + theta[7840:]
    likelihood = (logits.gather(1, y[:, None]).squeeze(1) - torch.logsumexp(logits, 1)).sum()
    return likelihood - 0.5 * theta.dot(theta)


def value_and_slope(theta, v):
    with forward.dual_level():
        value, slope = forward.unpack_dual(log_density(forward.make_dual(theta, v)))
        return value, slope


def value_and_gradient(theta):
    theta = theta.detach().requires_grad_(True)
    value = log_density(theta)
    (gradient,) = torch.autograd.grad(value, theta)
    return value.detach(), gradient


theta = torch.randn(7850) / math.sqrt(784)
kept = value_and_gradient(theta)


def line_fmala_step(step_size=1e-4):
    global theta
    v = torch.randn(7850)
    v /= v.norm()
    eta = step_size * math.sqrt(7850)
    value, slope = value_and_slope(theta, v)
    z = torch.randn(())
    move = eta * eta / 2 * slope + eta * z
    there, slope_there = value_and_slope(theta + move * v, v)
    back = (-move - eta * eta / 2 * slope_there) / eta
    if torch.rand(()).log() < there - value - (back * back - z * z) / 2:
        theta = theta + move * v


def mala_step(step_size=1e-3):
    global theta, kept
    value, gradient = kept
    z = torch.randn(7850)
    move = step_size * step_size / 2 * gradient + step_size * z
    proposal = value_and_gradient(theta + move)
    back = (-move - step_size * step_size / 2 * proposal[1]) / step_size
    if torch.rand(()).log() < proposal[0] - value - (back.dot(back) - z.dot(z)) / 2:
        theta, kept = theta + move, proposal


def value():
    with torch.no_grad():
        log_density(theta)


def milliseconds(function):
    """The least of several calls, as for ours."""
    function()
    best, begin = math.inf, time.perf_counter()
    while time.perf_counter() - begin < 6:
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


result = {
    "value_ms": milliseconds(value),
    "line_fmala_ms": milliseconds(line_fmala_step),
    "mala_ms": milliseconds(mala_step),
}
result["peak_rss_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps(result))
