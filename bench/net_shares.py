#!/usr/bin/env python3
"""Which functions of x lines of a network change, by kind of direction.

    onward sample net --net NET.json --x X.npy --y Y.npy ... --format npy --out RUN
    bench/net_shares.py RUN/chain-1.npy X.npy 1 100 100 100 100 100 1

At the last draw of a fully connected ReLU network with those widths it takes the Jacobian J of the outputs, and the
eigenvectors of J J^T, functions of x from the most to the least moved. For each kind of direction it prints the share
of |J v|^2 in some of these, averaged over the lines of that kind, each with its own length.
"""
import sys

import numpy as np

draws, inputs, widths = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2]), [int(w) for w in sys.argv[3:]]
theta, x = draws[-1].astype(float), inputs.reshape(len(inputs), -1).astype(float)

layers, at = [], 0
for n_in, n_out in zip(widths, widths[1:]):
    weight = theta[at : at + n_in * n_out].reshape(n_out, n_in)
    bias = theta[at + n_in * n_out : at + n_in * n_out + n_out]
    layers.append((weight, bias))
    at += n_in * n_out + n_out

# forward, then backward for every row at once
inside = [x]
for weight, bias in layers[:-1]:
    inside.append(np.maximum(inside[-1] @ weight.T + bias, 0))
delta, by_bias = np.ones((len(x), 1)), []
for k in reversed(range(len(layers))):
    by_bias.insert(0, delta)
    delta = (delta @ layers[k][0]) * (inside[k] > 0)
by_weight = [d[:, :, None] * h[:, None, :] for d, h in zip(by_bias, inside)]  # rows x outputs x inputs

everything = np.concatenate([b.reshape(len(x), -1) for b in by_weight + by_bias], axis=1)
functions = np.linalg.eigh(everything @ everything.T)[1][:, ::-1]
numbers = [1, 2, 3, 6, 10, 17, 25]


def show(name, lines):
    shares = [((functions[:, [n - 1 for n in numbers]].T @ j) ** 2).sum(1) / max((j**2).sum(), 1e-300) for j in lines]
    print(f"{name:24s}" + "".join(f"{share:10.1e}" for share in np.mean(shares, axis=0)))


print(f"{'function':24s}" + "".join(f"{n:10d}" for n in numbers))
show("all parameters", [everything])
for k, (weight, bias) in enumerate(zip(by_weight, by_bias)):
    show(f"layer {k}, weights", [weight.reshape(len(x), -1)])
    show(f"layer {k}, biases", [bias])
    show(f"layer {k}, one unit", [np.c_[weight[:, u], bias[:, u]] for u in range(bias.shape[1])])
