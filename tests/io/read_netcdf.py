"""Reads a netCDF file of draws with xarray and prints what a test compares, as JSON.

usage: python3 -W error read_netcdf.py FILE      (Debian: python3-xarray, python3-netcdf4)
"""
import json
import sys

import netCDF4
import numpy
import xarray

numpy_kinds = {"f": "real", "i": "integer", "u": "integer", "b": "flag"}
groups = {}
with netCDF4.Dataset(sys.argv[1]) as file:
    names = list(file.groups)
for name in names:
    with xarray.open_dataset(sys.argv[1], group=name) as data:
        variables = {}
        for key, values in data.data_vars.items():
            numbers = values.values.astype(float)
            variables[str(key)] = {
                "dims": list(values.dims),
                "kind": numpy_kinds[values.dtype.kind],
                "bytes": values.dtype.itemsize,
                "shape": list(values.shape),
                "values": [None if numpy.isnan(x) else x for x in numbers.ravel()[:2000].tolist()],
                "nan": int(numpy.isnan(numbers).sum()),
                "sum": float(numbers[numpy.isfinite(numbers)].sum()),
            }
        groups[name] = {
            "attributes": {key: str(value) for key, value in data.attrs.items()},
            "coordinates": {str(key): values.values.tolist()[:100] for key, values in data.coords.items()},
            "variables": variables,
        }
print(json.dumps(groups))
