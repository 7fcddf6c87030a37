"""The paper's two networks in PyTorch: what a value, a Line-FMALA step and a MALA step cost.

Usage: torch_net.py regression|cnn THREADS IMAGES. Prints one line of JSON, times in milliseconds. Data are
random numbers; images go through the network in batches of 250.
"""
import json
import math
import resource
import sys
import time

try:
    import torch
    import torch.autograd.forward_ad as forward
    import torch.nn.functional as F
except ImportError as problem:
    print(json.dumps({"missing": f"python3-torch is not installed ({problem})"}))
    sys.exit()

case, threads, images = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)
torch.manual_seed(1)

if case == "regression":
    shapes = [(100, 1), (100,)] + 4 * [(100, 100), (100,)] + [(1, 100), (1,)]
    x, y = torch.randn(400, 1), torch.randn(400)
    batches = [(x, y)]
    prior_sd, step_size = 1.0, 1e-6
else:
    shapes = []
    channels = 3
    for wider in (32, 64, 128):
        shapes += [(wider, channels, 3, 3), (wider,), (wider, wider, 3, 3), (wider,)]
        channels = wider
    shapes += [(1024, 2048), (1024,), (10, 1024), (10,)]
    batches = []
    for first in range(0, images, 250):
        count = min(250, images - first)
        batches.append((torch.randn(count, 3, 32, 32), torch.randint(10, (count,))))
    prior_sd, step_size = 10.0, 1e-8
sizes = [math.prod(shape) for shape in shapes]
dimension = sum(sizes)


def log_likelihood(theta, x, y):
    tensors = [part.view(shape) for part, shape in zip(theta.split(sizes), shapes)]
    if case == "regression":
        h = x
        for i in range(0, 10, 2):
            h = F.relu(F.linear(h, tensors[i], tensors[i + 1]))
        r = (y - F.linear(h, tensors[10], tensors[11]).squeeze(1)) / 0.025
        return -0.5 * (r * r).sum()
    h = x
    for i in range(0, 12, 2):
        h = F.relu(F.conv2d(h, tensors[i], tensors[i + 1], padding=1))
        if i % 4 == 2:
            h = F.max_pool2d(h, 2)
    h = F.relu(F.linear(h.flatten(1), tensors[12], tensors[13]))
    logits = F.linear(h, tensors[14], tensors[15])
    return F.log_softmax(logits, 1).gather(1, y[:, None]).sum()


def log_prior(theta):
    return -0.5 * theta.dot(theta) / prior_sd**2


def value():
    with torch.no_grad():
        return log_prior(theta) + sum(log_likelihood(theta, x, y) for x, y in batches)


def value_and_slope(theta, v):
    value, slope = 0, 0
    terms = [log_prior] + [lambda t, x=x, y=y: log_likelihood(t, x, y) for x, y in batches]
    with torch.no_grad(), forward.dual_level():
        for term in terms:
            f, s = forward.unpack_dual(term(forward.make_dual(theta, v)))
            value, slope = value + f, slope + s
    return value, slope


def value_and_gradient(theta):
    theta = theta.detach().requires_grad_(True)
    value = log_prior(theta)
    (gradient,) = torch.autograd.grad(value, theta)
    value = value.detach()
    for x, y in batches:
        f = log_likelihood(theta, x, y)
        gradient += torch.autograd.grad(f, theta)[0]
        value += f.detach()
    return value, gradient


theta = torch.cat([torch.randn(size) / math.sqrt(math.prod(shape[1:]) or 1) for size, shape in zip(sizes, shapes)])
kept = value_and_gradient(theta)


def line_fmala_step():
    global theta
    v = torch.randn(dimension)
    v /= v.norm()
    eta = step_size * math.sqrt(dimension)
    value, slope = value_and_slope(theta, v)
    z = torch.randn(())
    move = eta * eta / 2 * slope + eta * z
    there, slope_there = value_and_slope(theta + move * v, v)
    back = (-move - eta * eta / 2 * slope_there) / eta
    if torch.rand(()).log() < there - value - (back * back - z * z) / 2:
        theta = theta + move * v


def mala_step():
    global theta, kept
    value, gradient = kept
    z = torch.randn(dimension)
    move = step_size * step_size / 2 * gradient + step_size * z
    proposal = value_and_gradient(theta + move)
    back = (-move - step_size * step_size / 2 * proposal[1]) / step_size
    if torch.rand(()).log() < proposal[0] - value - (back.dot(back) - z.dot(z)) / 2:
        theta, kept = theta + move, proposal


def milliseconds(function, seconds):
    """The least of several calls, as for ours."""
    function()
    best, begin = math.inf, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


seconds = 2 if case == "regression" else 8
result = {
    "value_ms": milliseconds(value, seconds),
    "line_fmala_ms": milliseconds(line_fmala_step, seconds),
    "mala_ms": milliseconds(mala_step, seconds),
}
result["peak_rss_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps(result))
