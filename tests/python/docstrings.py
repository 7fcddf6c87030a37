"""Runs the examples in the module's docstrings; ends with 1 if one gives something else."""

import doctest
import importlib
import pkgutil
import sys

import onward

failed = tried = 0
for module in [onward, *(importlib.import_module(f"onward.{m.name}") for m in pkgutil.iter_modules(onward.__path__))]:
    result = doctest.testmod(module)
    failed, tried = failed + result.failed, tried + result.attempted
print(f"{tried} examples, {failed} failed")
sys.exit(1 if failed or tried < 10 else 0)
