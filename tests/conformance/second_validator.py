#!/usr/bin/env python3
"""Compares verdicts with those of Python's jsonschema.

    STRUCTGEN_FULL=1 STRUCTGEN_VERDICTS=verdicts.jsonl cargo test -p structgen-tests --test conformance changed
    pip install jsonschema
    python3 tests/conformance/second_validator.py verdicts.jsonl FOLDER

FOLDER has the files of MaskBench. Each line of the verdicts is {"file": ..., "document": ..., "valid": ...}.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from jsonschema import validators
from jsonschema.exceptions import SchemaError


def main(verdicts, folder):
    compared, others, wrong = 0, Counter(), []
    file, validator = None, None
    for line in open(verdicts, encoding="utf-8"):
        verdict = json.loads(line)
        if verdict["file"] != file:
            file, validator = verdict["file"], None
            case = json.loads(Path(folder, file).read_text(encoding="utf-8"))
            schema = case["schema"]
            kind = validators.validator_for(schema, default=validators.Draft202012Validator)
            try:
                kind.check_schema(schema)
                validator = kind(schema)
            except SchemaError:
                others["schemas that it refuses"] += 1
        if validator is None:
            continue
        try:
            is_valid = validator.is_valid(verdict["document"])
        except Exception as error:  # It stops at references that it cannot resolve, and at patterns that Python lacks.
            others[f"documents that it fails on: {type(error).__name__}"] += 1
            continue
        compared += 1
        if is_valid != verdict["valid"]:
            wrong.append((file, is_valid, verdict["document"]))
    print(f"{compared} documents compared, {len(wrong)} judged otherwise")
    for what, count in others.items():
        print(f"  {count} {what}")
    for file, is_valid, document in wrong:
        print(file, "valid to it:" if is_valid else "invalid to it:", json.dumps(document)[:2_000])


if __name__ == "__main__":
    main(*sys.argv[1:])
