"""What the logits of places gain that are near a word of their field: what the reader does not have to learn.

Labels stand before values ("Total: 12.50") or after them ("3 rooms"). The gain is part of the logits that the reader learns with and is
read with, so that it learns where labels mislead. `crates/structgen/src/reader/labels.rs` computes the same:
both write `tests/data/labels.jsonl`.
"""

import functools
import json
import re

import numpy as np

from words import fold

AFTER, BEFORE = (3.5, 60), (3.2, 40)  # the gain next to a word, and the bytes over which it falls to nothing
NONE = 0.4  # the gain of no value, to be level with those

LEAST_CONTENT, LEAST_STEM, LEAST_PART = 3, 4, 5  # letters of a word that means something, of a stem, of a part of a compound
FUNCTION_WORDS = set("""and are avec been can con dans darf das del der des did die doit dos ein eine est esta for had has hat have hay
    ist its kann las les los may mit muss must one para peut pour pude qui should sind soll sont that the this tiene una und une von war
    was werden what whether which who will wird with wurde""".split())

SENTENCE_END = re.compile(r"\n|[.;!?](?=\s|$)")


RUN = re.compile(r"[^\W_]+(?:['’](?=[tT])[^\W_]+)*")  # of letters and digits: mostly a word
ACCENT = re.compile("[\u0300-\u036f]")


def words(text):
    """The words of a text or a name: their letters as `fold` has them, where they begin and end. `camelCase` is two, `don't` is one."""
    if ACCENT.search(text):
        return letter_by_letter(text)
    found = []
    for m in RUN.finditer(text):
        run, at = m[0], m.start()
        if run[1:].islower() or run.isdigit() or len(run) == 1:
            found.append((fold(run.replace("'", "").replace("’", "")), at, m.end()))
        else:
            found += [(word, at + a, at + b) for word, a, b in letter_by_letter(run)]
    return found


def letter_by_letter(text):
    found, last = [], ""
    for at, c in enumerate(text):
        inside = last.isalnum()
        if c in "'’" and inside and text[at + 1 : at + 2] in ("t", "T"):
            continue
        if "\u0300" <= c <= "\u036f" and inside and found:
            found[-1][2] = at + 1
            continue
        if c.isalnum():
            if not inside or c.isupper() and last.islower():
                found.append(["", at, at])
            found[-1][0] += c
            found[-1][2] = at + 1
        last = c
    return [(fold(word), start, end) for word, start, end in found]


def content_words(names):
    """The words of names and descriptions that mean something."""
    return {word for name in names for word, _, _ in words(name) if len(word) >= LEAST_CONTENT and word not in FUNCTION_WORDS}


@functools.lru_cache(1 << 20)
def are_related(a, b):
    """Whether two words are forms of one, or one is a part of the other, as in German compounds."""
    shared = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    short, long = sorted((a, b), key=len)
    return a == b or shared >= LEAST_STEM and 5 * shared >= 3 * len(long) or len(short) >= LEAST_PART and short in long


class Labels:
    """The words of a text, and the places at which its values can begin, which `starts` are, as characters."""

    def __init__(self, text, starts):
        # In bytes of UTF-8, as on the other side.
        byte = np.cumsum([0, *(len(c.encode()) for c in text)])
        self.starts = byte[np.array(starts, np.int64)]
        self.ends = byte[np.array([m.start() for m in SENTENCE_END.finditer(text)], np.int64)]
        self.sentences = np.searchsorted(self.ends, self.starts)
        self.words = {}
        for word, start, end in words(text):
            self.words.setdefault(word, []).append((byte[start], byte[end]))

    def gains(self, names):
        """What each place gains for a field of these names."""
        found = np.zeros(len(self.starts), np.float32)
        labels = content_words(names)
        for word, places in self.words.items():
            if any(are_related(label, word) for label in labels):
                for start, end in places:
                    here = self.sentences == np.searchsorted(self.ends, start)
                    after, before = self.starts - end, start - self.starts
                    for distance, near, (most, width) in ((after, after >= 0, AFTER), (before, before > 0, BEFORE)):
                        gain = np.where(here & near & (distance <= width), most * (1 - distance / width), 0)
                        np.maximum(found, gain, out=found)
        return found


# Fields and texts of which both sides compute the same.
CASES = [
    ("total", "the amount due", "9 apiece. Total: 12 or 13; 14 due 15\n16"),
    ("roomCount", "", "5 €\nDie 3 Rooms – groß – kosten 7, 2 other rooms"),
    ("Kaltmiete", "ohne Nebenkosten", "Miete 700 € kalt, Nebenkosten (ohne Strom): 90 €; e\u0301te\u0301 don't 3"),
]


def main():
    from reader_questions import is_border
    from units import units

    for key, description, text in CASES:
        starts = [a for a, _, _ in units(text) if is_border(text, a) and not text[a].isspace()]
        gains = Labels(text, starts).gains([key, description])
        print(json.dumps({"key": key, "description": description, "text": text, "gains": [round(float(g), 3) for g in gains]}, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
