"""Reads the Parquet files that `cargo test -p structgen-datafusion round_trip` leaves in the target folder with pandas, and
compares each value with the JSON Lines beside it.

    python3 -m venv venv && venv/bin/pip install pandas pyarrow
    venv/bin/python crates/structgen-datafusion/clients/check_pandas.py target/tmp/round-trip
"""

import datetime
import decimal
import json
import math
import pathlib
import sys

import numpy
import pandas


def plain(value):
    """A value of pandas as Arrow writes it in JSON; maps, which pandas has as lists of pairs, as lists of pairs."""
    if isinstance(value, (list, numpy.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        # Arrow's JSON leaves out what is NULL.
        return {key: plain(item) for key, item in value.items() if item is not None}
    if value is None or value is pandas.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, pandas.Timestamp):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value.item() if isinstance(value, numpy.generic) else value


def expected(value):
    """A value of JSON in the same form; the members of maps and structs, which JSON does not tell apart, stay an object."""
    if isinstance(value, list):
        return [expected(item) for item in value]
    if isinstance(value, dict):
        return {key: expected(item) for key, item in value.items() if item is not None}
    return value


def equal(found, wanted):
    if isinstance(wanted, dict) and isinstance(found, list):
        found = {key: item for key, item in found if item is not None}
    if isinstance(wanted, decimal.Decimal):
        return found is not None and decimal.Decimal(str(found)) == wanted
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(equal, found, wanted))
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(equal(found[key], wanted[key]) for key in wanted)
    return found == wanted


def main(folder):
    files = sorted(pathlib.Path(folder).glob("*.parquet"))
    assert files, f"there is no Parquet file in {folder}: run the test first"
    for path in files:
        # Integers that may be missing stay integers.
        found = pandas.read_parquet(path, dtype_backend="numpy_nullable")["value"]
        found = [None if item is pandas.NA else plain(item) for item in found]
        lines = path.with_suffix(".jsonl").read_text().splitlines()
        wanted = [json.loads(line, parse_float=decimal.Decimal, parse_int=decimal.Decimal) for line in lines]
        wanted = [expected(line.get("value")) for line in wanted]
        assert len(found) == len(wanted) and all(map(equal, found, wanted)), (path.name, found, wanted)
    print(f"{len(files)} files are the same in pandas {pandas.__version__}")


main(sys.argv[1])
