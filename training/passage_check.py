"""Checks passages by writing each of them many times."""

import collections
import multiprocessing
import re

import noise
from passage_format import FormatError, Leaf, leaves, read, walk
from passage_schema import Asker, subset
from passage_text import Writer
from slot_types import Copied, SlotError
from values import Ctx, Verbatim


def tokens(text):
    return len(re.findall(r"\w+|[^\w\s]", text))


FAMILIES = {"int": "number", "count": "number", "num": "number", "money": "number", "amount": "number", "pct": "number", "dur": "number", "year": "number", "sum": "number", "ord": "number",
            "date": "date", "day": "date", "weekday": "date", "month": "date", "stamp": "date", "time": "time",
            "person": "name", "first": "name", "last": "name", "formal": "name", "org": "name", "city": "name", "place": "name", "address": "name", "street": "name", "country": "name", "brand": "name", "name": "name", "title": "name", "event": "name", "airline": "name",
            "email": "contact", "url": "contact", "phone": "contact", "code": "code", "user": "code", "plate": "code", "ip": "code", "host": "code", "version": "code", "zip": "code"}


PROSE = {"mail", "chat", "letter", "review", "minutes"}


def candidates(passage):
    """How many values of each family a text has."""
    found, seen = collections.Counter(), set()
    for slot, _ in walk(passage.nodes):
        if slot.defines and not slot.tagged and (slot.name is None or slot.many or slot.name not in seen):
            found[FAMILIES.get(slot.type, "phrase")] += 2 if slot.many else 1
            seen.add(slot.name)
    for n in passage.nodes:
        if isinstance(n, str):
            found["number"] += len(re.findall(r"\d+", n))
    return found


def rivalled(passage, field):
    """Whether the text has another value that could be taken for this field's."""
    if not isinstance(field.source, Leaf):
        return False
    slot = passage.slots[field.source.slot]
    return slot.tagged or candidates(passage)[FAMILIES.get(slot.type, "phrase")] > 1


def valid(schema, value):
    """Whether the answer is one of the schema's; the few keywords that are used here."""
    if "anyOf" in schema:
        return any(valid(s, value) for s in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    is_number = isinstance(value, (int, Verbatim)) and not isinstance(value, bool)
    good = {"object": isinstance(value, dict), "array": isinstance(value, list), "null": value is None, "boolean": isinstance(value, bool),
            "string": isinstance(value, str) and not isinstance(value, Verbatim), "number": is_number, "integer": is_number and float(value) == int(float(value))}
    if kinds and not any(good[k] for k in kinds):
        return False
    if isinstance(value, dict):
        return all(k in value for k in schema["required"]) and all(k in schema["properties"] and valid(schema["properties"][k], v) for k, v in value.items())
    if isinstance(value, list):
        return all(valid(schema["items"], v) for v in value)
    if is_number and "minimum" in schema and float(value) < schema["minimum"] or is_number and "maximum" in schema and float(value) > schema["maximum"]:
        return False
    return not (isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value))


def strings(value):
    if isinstance(value, dict):
        for v in value.values():
            yield from strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v)
    elif isinstance(value, Copied):
        yield value


def problems(passage, tries=24):
    """What is wrong with a passage, found by writing it many times."""
    if not 2 <= len(passage.schemas) <= 4:
        yield f"{len(passage.schemas)} schemas; 2 to 4 are wanted"
    for k, fields in enumerate(passage.schemas):
        if not any(rivalled(passage, f) for f in leaves(fields)):
            yield f"schema {k + 1} asks for nothing that has a second candidate of its type in the text"
    lengths, seen = [], set()
    for seed in range(tries):
        c = Ctx(f"check-{passage.id}-{seed}", unseen=seed % 4 == 3)
        try:
            writer = Writer(c, passage)
            pieces = writer.expand(passage.nodes)
            plain = "".join(s for s, _ in pieces)
            text, fold = noise.apply(c, passage, pieces)
            fields = passage.schemas[seed % len(passage.schemas)] if seed % 2 else subset(c, passage)
            schema, answer = Asker(c, writer, fold).object(fields)
        except (SlotError, KeyError, IndexError, TypeError, AttributeError, ValueError) as e:
            yield f"cannot be drawn: {type(e).__name__ if not isinstance(e, SlotError) else ''} {e}"
            return
        lengths.append(tokens(plain))
        found = []
        if not valid(schema, answer):
            found.append(f"the answer is not valid: {answer} for {schema}")
        gap = re.search(r"[^\S\n]{2,}(?=[a-z])|[^\S\n][,](?=\s|$)", plain) if passage.kind in PROSE else None
        if gap:
            found.append(f"spaces beside an alternative do not fit: {plain[max(gap.start() - 20, 0):gap.end() + 20]!r}")
        words = " ".join(text.split())
        for s in strings(answer):
            if " ".join(s.split()) not in words and text.count("\n> ") == 0:
                found.append(f"`{s}` is not in the text")
        for what in found:
            if what.split(":")[0][:24] not in seen:
                seen.add(what.split(":")[0][:24])
                yield what
    if max(lengths) < 20 or min(lengths) < 12:
        yield f"the text is short: {min(lengths)} to {max(lengths)} tokens"
    if max(lengths) > 700 or sorted(lengths)[len(lengths) // 2] > 520:
        yield f"the text is long: up to {max(lengths)} tokens"


def check_file(path):
    """The number of a file's passages, and what is wrong with them."""
    found, bad = read(path)
    errors = [str(e) for e in bad]
    for p in found:
        errors += [str(FormatError(p.path, p.line, f"[{p.name}] {what}")) for what in problems(p)]
    return len(found), errors


def check(paths):
    total = errors = 0
    with multiprocessing.Pool() as pool:
        for found, bad in pool.imap(check_file, paths, chunksize=8):
            total += found
            errors += len(bad)
            for e in bad:
                print(e)
    print(f"{total} passages in {len(paths)} files, {errors} errors")
    return errors
