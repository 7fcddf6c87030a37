#!/usr/bin/env python3
"""A simulator as a program: a quantity that decays, seen at seven times. One line of JSON in, one out."""
import json
import math
import sys

times = [0, 0.5, 1, 2, 3, 4, 6]

for line in sys.stdin:
    ask = json.loads(line)
    if ask["ask"] == "model":
        answer = {"inputs": ["amount", "rate"], "outputs": len(times), "jacobian": True}
    else:
        amount, rate = ask["input"]
        answer = {"output": [amount * math.exp(-rate * t) for t in times]}
        if ask["ask"] == "jacobian":
            by_amount, by_rate = ask["vector"]
            answer["tangent"] = [(by_amount - amount * t * by_rate) * math.exp(-rate * t) for t in times]
    print(json.dumps(answer), flush=True)
