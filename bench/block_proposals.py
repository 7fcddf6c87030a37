#!/usr/bin/env python3
"""Three ways to propose all coefficients of a logistic regression (10,000 x 31, correlation 0.99) from the normal at
the mode: independent proposals; over-relaxed ones, m + rho (theta - m) + sqrt(1 - rho^2) L z; and independent ones that
take turns with reflections about the mode, whose weights a batch can compute ahead too. Prints effective draws for each
draw kept, of the coefficients and of their squares about the mode: the latter are what standard deviations rest on.
Needs NumPy; takes some minutes."""
import numpy as np

random = np.random.default_rng(1)
rows, predictors, correlation = 10_000, 30, 0.99
shared = random.normal(size=rows)
x = np.sqrt(correlation) * shared[:, None] + np.sqrt(1 - correlation) * random.normal(size=(rows, predictors))
x = np.c_[np.ones(rows), x]
width = predictors + 1
beta = 0.3 * random.normal(size=width)
beta[0] = 0.3
y = (random.random(rows) < 1 / (1 + np.exp(-x @ beta))).astype(float)
precision = np.r_[1 / 100, np.full(predictors, 1 / 6.25)]  # of the priors

mode = np.zeros(width)
for _ in range(20):
    p = 1 / (1 + np.exp(-x @ mode))
    hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
    mode = mode + np.linalg.solve(hessian, x.T @ (y - p) - precision * mode)
factor = np.linalg.cholesky(np.linalg.inv(hessian))
columns, base = x @ factor, x @ mode


def log_weights(places):
    """The log density less that of the normal at the mode, at places in whitened coordinates."""
    eta = base[:, None] + columns @ places.T
    coefficients = mode + places @ factor.T
    return ((y[:, None] * eta - np.logaddexp(0, eta)).sum(0) - 0.5 * (coefficients**2 * precision).sum(1)
            + 0.5 * (places**2).sum(1))


def effective(draws):
    n = len(draws)
    transformed = np.fft.rfft(draws - draws.mean(), 2 * n)
    acf = np.fft.irfft(transformed * np.conj(transformed))[:n]
    acf, total, least = acf / acf[0], 0.0, np.inf
    for k in range(0, n - 1, 2):
        least = min(least, acf[k] + acf[k + 1])
        if least < 0:
            break
        total += least
    return n / max(2 * total - 1, 1 / np.log10(n))


def report(name, draws, accepted):
    places = np.array(draws) @ factor.T
    means = min(effective(places[:, j]) for j in range(width)) / len(draws)
    squares = min(effective(places[:, j] ** 2) for j in range(width)) / len(draws)
    print(f"{name:40s} accepted {accepted:.3f}, for each draw: {means:.2f}, of squares {squares:.2f}", flush=True)


count = 6000
z = random.normal(size=(count, width))
tests = np.log(random.random((2, count)))
weight = {sign: np.concatenate([log_weights(sign * z[i:i + 100]) for i in range(0, count, 100)]) for sign in (1, -1)}


def walk(flip_every):
    at, sign, draws, accepted = 0, 1, [], 0
    for k in range(1, count):
        if tests[0][k] < weight[1][k] - weight[sign][at]:
            at, sign, accepted = k, 1, accepted + 1
        draws.append(sign * z[at])
        if flip_every and k % flip_every == 0:
            if tests[1][k] < weight[-sign][at] - weight[sign][at]:
                sign = -sign
            draws.append(sign * z[at])
    return draws, accepted / count


report("independent", *walk(0))
report("a reflection after each", *walk(1))
report("a reflection after every second", *walk(2))
for rho in (-0.2, -0.4, -0.6, -0.8):
    place, here, draws, accepted = z[0], log_weights(z[:1])[0], [], 0
    for k in range(1, count // 2):
        there = rho * place + np.sqrt(1 - rho**2) * z[k]
        value = log_weights(there[None])[0]
        if tests[0][k] < value - here:
            place, here, accepted = there, value, accepted + 1
        draws.append(place)
    report(f"over-relaxed by {rho}", draws, accepted / (count // 2))
