"""Measures an exported model: greedy, unconstrained, exact objects and exact fields.

A field is a leaf of the object; an array counts as one field; an absent optional property is right
if it is absent. Numbers are compared by value, all else exactly.
"""

import argparse
import collections
import json
import pathlib

import data
from greedy_reference import Greedy
from notation import prompt

ABSENT = object()


def kind_of(schema):
    if not isinstance(schema, dict):
        return "any"
    if "enum" in schema:
        return "enum"
    if "anyOf" in schema:
        return kind_of(schema["anyOf"][0])
    kind = schema.get("type", "any")
    kind = kind[0] if isinstance(kind, list) else kind
    return "array of objects" if kind == "array" and schema["items"].get("type") == "object" else kind


def fields(schema, want, got):
    """(kind, right) of every leaf that the schema names."""
    for key, sub in schema["properties"].items():
        w = want.get(key, ABSENT)
        g = got.get(key, ABSENT) if isinstance(got, dict) else ABSENT
        if isinstance(sub, dict) and sub.get("type") == "object":
            yield from fields(sub, w, g)
        else:
            kind = "absent" if w is ABSENT else "null" if w is None else kind_of(sub)
            yield kind, w is g or (w is not ABSENT and g is not ABSENT and type(w) is type(g) and w == g) or numbers_equal(w, g)


def numbers_equal(a, b):
    return all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b)) and a == b


class Score:
    def __init__(self):
        self.objects = self.right = self.broken = 0
        self.kinds = collections.defaultdict(lambda: [0, 0])

    def add(self, schema, want, text):
        try:
            got = json.loads(text)
        except ValueError:
            got, self.broken = None, self.broken + 1
        results = list(fields(schema, want, got))
        for kind, good in results:
            self.kinds[kind][0] += good
            self.kinds[kind][1] += 1
        self.objects += 1
        exact = isinstance(got, dict) and got == want
        self.right += exact
        return exact

    def line(self, name):
        good, total = (sum(v[k] for v in self.kinds.values()) for k in (0, 1))
        kinds = ", ".join(f"{k} {a / n:.3f} ({n})" for k, (a, n) in sorted(self.kinds.items()))
        return f"{name}: objects {self.right}/{self.objects} = {self.right / self.objects:.3f}, fields {good}/{total} = {good / total:.3f}, not JSON {self.broken}\n    {kinds}"


class Agreement:
    """How far a draft model goes along with the main model's greedy tokens."""

    def __init__(self, draft, ahead=4):
        self.draft, self.ahead = draft, ahead
        self.same = self.tokens = self.passes = 0

    def add(self, prompt_ids, ids):
        logits, _ = self.draft.step(prompt_ids + ids[:-1], self.draft.start())
        agrees = (logits[len(prompt_ids) - 1 :].argmax(-1) == ids).tolist()
        self.same += sum(agrees)
        self.tokens += len(ids)
        at = 0
        while at < len(ids):
            run = 0
            while run < self.ahead and at + run < len(ids) and agrees[at + run]:
                run += 1
            at += run + 1
            self.passes += 1

    def line(self):
        return f"draft agrees on {self.same}/{self.tokens} = {self.same / self.tokens:.3f} of greedy tokens; {self.tokens / self.passes:.2f} tokens per target pass at {self.ahead} drafts"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("model")
    args.add_argument("--draft")
    args.add_argument("--samples", type=int, default=400, help="samples of each split")
    args.add_argument("--splits", default=",".join(data.SPLITS))
    args.add_argument("--handwritten", default=pathlib.Path(__file__).parent / "handwritten.json", type=pathlib.Path)
    args.add_argument("--show", action="store_true", help="print the hand-written texts' answers")
    args = args.parse_args()
    model = Greedy(args.model)
    agreement = Agreement(Greedy(args.draft)) if args.draft else None

    def answer(text):
        ids = model.tokenizer.encode(text).ids
        out = model.generate(ids)
        return ids, out, model.text(out)

    for split in filter(None, args.splits.split(",")):
        score = Score()
        for seed in range(args.samples):
            x = data.sample(2 * 10**9 + seed, split)
            ids, out, text = answer(x.prompt)
            score.add(x.schema, json.loads(x.target), text)
            if agreement and split == "values":
                agreement.add(ids, out)
        print(score.line(split), flush=True)
    if agreement and agreement.tokens:
        print(agreement.line())
    score = Score()
    for item in json.loads(args.handwritten.read_text()):
        _, _, text = answer(prompt(item["schema"], item["text"]))
        exact = score.add(item["schema"], item["expected"], text)
        if args.show:
            print(("right " if exact else "WRONG ") + text)
            if not exact:
                print("      " + json.dumps(item["expected"], ensure_ascii=False, separators=(",", ":")))
    print(score.line("hand-written"))


if __name__ == "__main__":
    main()
