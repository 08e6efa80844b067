"""Writes the demonstration's texts: ten of the hand-written ones, by a rule that does not look at what comes out.

    python3 demo_samples.py > ../crates/structgen-cli/src/commands/demo_samples.json

Of the texts that have an id and at most 600 characters, the ten whose id has the smallest CRC-32.
"""

import json
import pathlib
import zlib

LONGEST, COUNT = 600, 10


def main():
    texts = json.loads((pathlib.Path(__file__).parent / "handwritten.json").read_text())
    short = [x for x in texts if "id" in x and len(x["text"]) <= LONGEST]
    drawn = sorted(short, key=lambda x: zlib.crc32(x["id"].encode()))[:COUNT]
    kept = [{k: x[k] for k in ("id", "kind", "text", "schema", "expected")} for x in drawn]
    print(json.dumps(kept, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
