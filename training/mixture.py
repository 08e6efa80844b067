"""What the model learns from: the tasks of `data.py` and the written passages, by weight, and more forms of schemas.

    python3 mixture.py N [SPLIT]     N samples as the model reads them

A sample is a pure function of its seed, its split and the weights.
"""

import passages
from data import Sample, copying, extraction, retrieval
from notation import compact
from slot_types import SlotError
from values import Ctx, Verbatim

TASKS = ("copying", "retrieval", "templates", "passages")
LONG = 0.04  # of the passages stand between others


def sample(seed, mix=(0, 0, 1, 3), split="train"):
    """The sample of a seed; `mix` weighs the tasks."""
    c = Ctx(f"mixture-{split}-{seed}", unseen=split != "train")
    task = c.rng.choices(TASKS, mix)[0]
    if task == "copying":
        return copying(c)
    if task == "retrieval":
        return retrieval(c)
    if task == "templates":
        return reshape(c, extraction(c, "train" if split == "train" else "values"))
    corpus = passages.corpus()
    passage = c.pick(corpus[split])
    x = passages.make(c, passage)
    if c.chance(LONG):
        x = surround(c, x, passage, corpus[split])
    return reshape(c, x)


def several(seed, mix, split="train"):
    """Samples of a seed that have one text: one as `sample` makes it, or for most passages a few."""
    c = Ctx(f"several-{split}-{seed}", unseen=split != "train")
    if c.rng.choices(TASKS, mix)[0] != "passages" or c.chance(0.35):
        return [sample(seed, mix, split)]
    try:
        return [reshape(c, x) for x in passages.several(c, c.pick(passages.corpus()[split]), c.pick([2, 3, 4]))]
    except SlotError:
        return [sample(seed, mix, split)]


def choice(seed, split="train"):
    """A short sample of a seed that asks for booleans and options."""
    c = Ctx(f"choice-{split}-{seed}", unseen=split != "train")
    while True:
        passage = c.pick(passages.corpus()[split])
        if any(slot.tagged and not slot.many for slot in passage.slots.values()):
            try:
                return reshape(c, passages.choice(c, passage))
            except SlotError:
                pass


# --- long texts -------------------------------------------------------------------------------------------


def surround(c, x, passage, pool):
    """The text between others of its language which hold nothing that could be meant instead."""
    asked = words(x.schema)
    others, wanted = [], c.pick([1, 1, 2, 3, 5, 9])
    for _ in range(40):
        other = c.pick(pool)
        if len(others) >= wanted:
            break
        if other.lang == passage.lang and other.domain != passage.domain:
            y = passages.make(c, other)
            if not asked & words(y.schema):
                others.append(y.text)
    cut = c.rng.randint(0, len(others))
    joint = c.pick(["\n\n", "\n\n", "\n", "\n---\n", "\n\n* * *\n\n"])
    return Sample(x.schema, joint.join([*others[:cut], x.text, *others[cut:]]), x.value, x.kind, x.wordings)


def words(schema):
    """The words of all keys."""
    found = set()
    for key, sub in schema.get("properties", {}).items():
        found |= set(passages.words_of(key).split()) | words(sub)
    if isinstance(schema.get("items"), dict):
        found |= words(schema["items"])
    return found


# --- other forms of the same question ---------------------------------------------------------------------


def reshape(c, x):
    """Bounds that hold, arrays of rows as maps or tuples: what users write, and the notation shows."""
    schema, value = x.schema, x.value
    if c.chance(0.25):
        schema = unrequired(schema)
    if c.chance(0.10):
        schema, value = rows(c, schema, value)
    if c.chance(0.25):
        schema = bounded(c, schema, value)
    return Sample(schema, x.text, value, x.kind, x.wordings)


def unrequired(schema):
    """Nullable values need not be there, as in the schemas of Rust's and Python's optional types; they are answered all the same."""
    if not isinstance(schema, dict) or "properties" not in schema:
        return schema
    properties = {k: unrequired(s) for k, s in schema["properties"].items()}
    return {**schema, "properties": properties, "required": [k for k in schema.get("required", ()) if not is_nullable(properties[k])]}


def is_nullable(schema):
    if not isinstance(schema, dict):
        return False
    kinds = schema.get("type", ())
    return "null" in kinds and kinds != "null" or None in schema.get("enum", ()) or any(s == {"type": "null"} for s in schema.get("anyOf", ()))


def rows(c, schema, value):
    properties, answer = {}, {}
    for key, sub in schema["properties"].items():
        v = value.get(key)
        item = sub.get("items") if isinstance(sub, dict) and sub.get("type") == "array" else None
        if isinstance(v, list) and v and isinstance(item, dict) and item.get("type") == "object":
            columns = list(item["properties"])
            whole = len(item.get("required", ())) == len(columns)
            first = [row.get(columns[0]) for row in v]
            if whole and len(columns) == 2 and all(isinstance(n, str) and not isinstance(n, Verbatim) for n in first) and len(set(first)) == len(first) and c.chance(0.6):
                sub, v = {"type": "object", "additionalProperties": item["properties"][columns[1]]}, {row[columns[0]]: row[columns[1]] for row in v}
            elif whole and len(columns) <= 4 and c.chance(0.5):
                # A tuple's items have no keys: the descriptions say which they are.
                items = [s if "description" in s else {**s, "description": passages.words_of(k)} for k, s in item["properties"].items()]
                sub, v = {"type": "array", "items": {"type": "array", "prefixItems": items}}, [[row[k] for k in columns] for row in v]
        properties[key] = sub
        if key in value:
            answer[key] = v
    return {**schema, "properties": properties}, answer


def bounded(c, schema, value):
    """Bounds on numbers, lengths and counts that the answer keeps."""
    if not isinstance(schema, dict) or not c.chance(0.9):
        return schema
    kind = schema.get("type")
    if kind == "object" and isinstance(value, dict) and "properties" in schema:
        return {**schema, "properties": {k: bounded(c, s, value.get(k)) for k, s in schema["properties"].items()}}
    if not c.chance(0.4):
        return schema
    if kind in ("integer", "number") and value is not None and "minimum" not in schema:
        x = float(value)
        low, high = (0 if x >= 0 else -1000), next(h for h in c.rng.sample((1, 5, 10, 100, 127, 255, 1000, 10**4, 32767, 65535, 10**6, 2**31 - 1, 2**32 - 1), 13) + [10**15] if x <= h)
        return schema | c.pick([{"minimum": low}, {"minimum": low, "maximum": high}, {"maximum": high}, {"exclusiveMinimum": low - 1}])
    if kind == "string" and isinstance(value, str) and not schema.keys() & {"format", "pattern", "enum"}:
        longest = next(h for h in (10, 20, 40, 80, 200, 10**4) if len(value) <= h)
        return schema | c.pick([{"maxLength": longest}, {"minLength": 1}, {"minLength": 1, "maxLength": longest}])
    if kind == "array" and isinstance(value, list):
        return schema | c.pick([{"minItems": min(1, len(value))}, {"maxItems": next(h for h in (5, 10, 100) if len(value) <= h)}])
    return schema


def main():
    import sys

    split = sys.argv[2] if len(sys.argv) > 2 else "train"
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
        x = sample(seed, split=split)
        print(f"[{x.kind}] {x.prompt}{x.target}\n    {compact(x.schema)}\n")


if __name__ == "__main__":
    main()
