#!/usr/bin/env python3
"""How far a chain has gone from its start, in the layers of a network.

    onward sample net --net NET.json ... --init START.safetensors --max-seconds 60 --out RUN --json > RUN.json
    bench/net_distance.py START.safetensors RUN/chain-1.safetensors RUN.json

Prints squared distances in each layer and in all, divided by the seconds that sampling took: the squares grow with
time where a chain walks.
"""
import json
import sys

import numpy as np


def read(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), file.read()
    return {
        name: np.frombuffer(data[slice(*tensor["data_offsets"])], np.float32).astype(float)
        for name, tensor in header.items()
        if name != "__metadata__" and not name.split(".")[-1].startswith("running")
    }


start, end = read(sys.argv[1]), read(sys.argv[2])
with open(sys.argv[3]) as file:
    seconds = json.load(file)["seconds"]["sampling"]
layers = {}
for name, values in start.items():
    layer = name.split(".")[0]
    layers[layer] = layers.get(layer, 0.0) + float(np.sum((end[name] - values) ** 2))
each = {name: distance / seconds for name, distance in layers.items()}
print(json.dumps({"seconds": seconds, "all": sum(each.values()), **each}))
