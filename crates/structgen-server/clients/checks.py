"""Runs checks one after the other, reports each, and fails if one does."""

import asyncio
import inspect
import os
import sys
import traceback
from collections.abc import Callable

BASE_URL = os.environ.get("STRUCTGEN_URL", "http://127.0.0.1:8080").rstrip("/") + "/v1"
API_KEY = os.environ.get("STRUCTGEN_API_KEY", "none")
TEXT = (
    "My name is Ruben Keller and I live in Utrecht. "
    "Call me on 0606300391 or write to ruben@keller.com."
)

_checks: list[Callable] = []


def check(function: Callable) -> Callable:
    """Registers a check; its name states what must hold."""
    _checks.append(function)
    return function


def run() -> None:
    """Runs what was registered. `python with_….py NAME` runs one check."""
    chosen = [it for it in _checks if len(sys.argv) < 2 or it.__name__ in sys.argv[1:]]
    failed = 0
    for function in chosen:
        try:
            result = function()
            if inspect.iscoroutine(result):
                asyncio.run(result)
            print(f"ok      {function.__name__}")
        except Exception:  # noqa: BLE001 - every fault is reported, and the next check runs
            failed += 1
            print(f"FAILED  {function.__name__}")
            # What the clients do in between is of no interest.
            frames = traceback.extract_tb(sys.exc_info()[2])
            own = [it for it in frames if os.path.dirname(it.filename) == os.path.dirname(__file__)]
            message = "".join(traceback.format_exception_only(*sys.exc_info()[:2])).strip()
            print(f"        line {own[-1].lineno}: {own[-1].line}\n        {message[:600]}")
    print(f"{len(chosen) - failed} of {len(chosen)} hold")
    sys.exit(1 if failed else 0)
