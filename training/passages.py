"""Written passages: texts with typed slots, and the schemas that ask for them.

    python3 passages.py check [FILE...]    every file is sound, or errors as file:line
    python3 passages.py show N [SPLIT]     N samples
    python3 passages.py samples N SPLIT    N samples as JSON lines, for `structgen-bench extract --set`
    python3 passages.py count              passages by language, domain, kind and split

A sample is a pure function of its seed and its split:

    train               families and domains that no other split has
    validation, test    one family in twenty each, of the domains of training
    validation-domains  one domain in twenty each, held back whole: in every language
    test-domains

The parts are those of a checksum of `domain` and of `domain/family`; so a translation, which has the
name of its original, is in the same part. Values outside of training come from the held-out words.
"""

import collections
import pathlib
import re
import sys

import noise
from data import Sample
from notation import compact
from passage_check import check, rivalled
from passage_format import ROOT, SPLITS, Leaf, leaves, read
from passage_schema import Asker, subset, words_of
from passage_text import Writer
from slot_types import SlotError
from values import Ctx


def make(c, passage):
    """A sample of a passage."""
    for _ in range(10):
        writer = Writer(c, passage)
        text, fold = noise.apply(c, passage, writer.expand(passage.nodes))
        asker = Asker(c, writer, fold)
        schema, answer = asker.object(subset(c, passage))
        if schema["properties"]:
            return Sample(schema, text, answer, passage.id, asker.wordings)
    raise SlotError("no schema asks for anything")


def several(c, passage, count):
    """Samples of one text of a passage, each with a schema of its own."""
    writer = Writer(c, passage)
    text, fold = noise.apply(c, passage, writer.expand(passage.nodes))
    samples = []
    for _ in range(count):
        asker = Asker(c, writer, fold)
        schema, answer = asker.object(subset(c, passage))
        if schema["properties"]:
            samples.append(Sample(schema, text, answer, passage.id, asker.wordings))
    return samples


def choice(c, passage):
    """A sample that asks only for booleans and options, of the sentences that say them: many of these fit where one text does."""
    tagged = [f for schema in passage.schemas for f in leaves(schema) if isinstance(f.source, Leaf) and passage.slots[f.source.slot].tagged]
    tagged = [f for f in tagged if not passage.slots[f.source.slot].many]
    writer = Writer(c, passage)
    text, fold = noise.apply(c, passage, writer.expand(passage.nodes))
    asker, fields = Asker(c, writer, fold), {}
    for f in c.rng.sample(tagged, len(tagged)):
        if len(fields) < 3:
            fields.setdefault(f.source.slot, f)
    schema, answer = asker.object(list(fields.values()))
    places = [text.find(words.strip()) for words in asker.wordings.values()]
    if not places or min(places) < 0:
        raise SlotError("noise has changed what is asked for")
    ends = [at + len(words.strip()) for at, words in zip(places, asker.wordings.values())]
    borders = [0, *(m.end() for m in re.finditer(r"[.!?]\s+|\n", text)), len(text)]
    first = max(k for k, b in enumerate(borders) if b <= min(places)) - c.chance(0.4)
    last = min(k for k, b in enumerate(borders) if b >= max(ends)) + c.chance(0.4)
    return Sample(schema, text[borders[max(first, 0)] : borders[min(last, len(borders) - 1)]].strip(), answer, passage.id, asker.wordings)


CORPUS = {}


def corpus():
    """The passages by split; a file with errors is an error here."""
    if not CORPUS:
        for path in sorted(ROOT.glob("*/*.txt")):
            found, errors = read(path)
            if errors:
                raise errors[0]
            for p in found:
                CORPUS.setdefault(p.split, []).append(p)
    return CORPUS


def sample(seed, split="train"):
    """The sample of a seed."""
    c = Ctx(f"passages-{split}-{seed}", unseen=split != "train")
    return make(c, c.pick(corpus()[split]))


def exported(seed, split):
    """The sample of a seed with its right answer: a line of a set for evaluation. Numbers keep the digits of the text."""
    x = sample(seed, split)
    p = next(p for p in corpus()[split] if p.id == x.kind)
    head = {"id": f"{p.id}#{seed}", "kind": p.kind, "language": p.lang, "domain": p.domain, "text": x.text, "schema": x.schema}
    return f'{compact(head)[:-1]},"expected":{x.target}}}'


def main():
    command, args = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    files = sorted(ROOT.glob("*/*.txt"))
    if command == "check":
        sys.exit(check([pathlib.Path(a).resolve() for a in args] or files) > 0)
    if command == "show":
        split = args[1] if len(args) > 1 and args[1] in SPLITS else "train"
        only = pathlib.Path(args[1]).resolve() if len(args) > 1 and args[1].endswith(".txt") else None
        pool, errors = read(only) if only else (None, [])
        if errors or pool == []:
            sys.exit("\n".join(map(str, errors)) or f"{only} has no passages")
        for seed in range(int(args[0]) if args else 5):
            c = Ctx(f"passages-{split}-{seed}")
            x = make(c, pool[seed % len(pool)]) if pool else sample(seed, split)
            print(f"[{x.kind}]\n{x.text}\n{compact(x.schema)}\n{x.target}\n")
    elif command == "samples" and len(args) == 2 and args[1] in SPLITS:
        for seed in range(int(args[0])):
            print(exported(seed, args[1]))
    elif command == "count":
        tally(files)
    else:
        print(__doc__)
        sys.exit(2)


def tally(files):
    found = [p for path in files for p in read(path)[0]]
    fields = [(p, f) for p in found for s in p.schemas for f in leaves(s)]
    for title, by in (("language", lambda p: p.lang), ("kind", lambda p: p.kind), ("split", lambda p: p.split), ("domain", lambda p: f"{p.lang}/{p.domain}")):
        print(f"{title}: " + ", ".join(f"{k} {n}" for k, n in sorted(collections.Counter(map(by, found)).items())))
    rivals = sum(rivalled(p, f) for p, f in fields)
    print(f"{len(found)} passages, {len({p.domain for p in found})} domains, {sum(len(p.schemas) for p in found)} schemas, {len(fields)} fields, {rivals / max(1, len(fields)):.0%} of them with a rival, {sum(bool(f.about) for _, f in fields) / max(1, len(fields)):.0%} described")


if __name__ == "__main__":
    main()
