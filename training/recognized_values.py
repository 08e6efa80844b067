"""Samples for the recognisers of `structgen-recognize`: texts, and the typed values that answers take from them.

    python3 recognized_values.py passages N [LENGTH] > values.jsonl   N samples of written passages
    python3 recognized_values.py templates N [LENGTH] > values.jsonl  N samples of templates
    python3 recognized_values.py handwritten > values.jsonl           the hand-written texts

A line has the text, its language and its values, each as the leaf that the schema asks for and the text of the answer.
Strings without a format or pattern are spans of the text and no matter for a recogniser. With LENGTH, only texts of
at most so many characters from which an answer takes a typed value.
"""

import json
import pathlib
import sys

import data
import passages

PATTERNS = {"^([01][0-9]|2[0-3]):[0-5][0-9]$": "hour-minute", "^[A-Z]{3}$": "currency"}


def leaves(schema, value):
    """The typed values of an answer, as `(leaf, text)`."""
    schema = {} if isinstance(schema, bool) else schema
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if value is None or isinstance(value, bool) or "enum" in schema or "const" in schema:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(schema.get("properties", {}).get(key, {}), item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(schema.get("items", {}), item)
    elif "integer" in kinds or "number" in kinds:
        yield "integer" if "integer" in kinds else "number", str(value)
    elif leaf := schema.get("format") or PATTERNS.get(schema.get("pattern")):
        yield leaf, value


def samples(source, count):
    """Texts with language, schema and answer; numbers of the answer as they are written."""
    if source == "handwritten":
        for item in json.loads((pathlib.Path(__file__).parent / "handwritten.json").read_text()):
            yield item["text"], item.get("language", "en"), item["schema"], item["expected"]
    for seed in range(count):
        x = passages.sample(seed) if source == "passages" else data.sample(seed)
        language = x.kind.split("/")[0] if source == "passages" else "en"
        yield x.text, language, x.schema, json.loads(x.target, parse_float=str)


def main():
    source, count, length = sys.argv[1], int((sys.argv[2:] or [0])[0]), int((sys.argv[3:] or [0])[0])
    for text, language, schema, answer in samples(source, count):
        values = [{"leaf": leaf, "text": value} for leaf, value in leaves(schema, answer)]
        if not length or values and len(text) <= length:
            print(json.dumps({"text": text, "language": language, "values": values}, ensure_ascii=False))


if __name__ == "__main__":
    main()
