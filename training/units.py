"""The units that the reader reads: words, numbers, marks and the gaps of tables, each as rows of a table.

A unit is a run of letters (`unitPrice` has two), of digits, of blanks if there are several, or of one other character; a line break
is one, and a single space is none. So a question has half as many positions as it has tokens. The rows of a unit are those of its
tokens, those of what it means (`lexicon.py`), and those of its form and of the letters that it has, hashed, so that a word that was
never seen is near those that it shares letters with (Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information"; Weinberger et al. 2009, "Feature Hashing for
Large Scale Multitask Learning").

`crates/structgen/src/reader/units.rs` makes the same units and rows: both write `tests/data/units.jsonl`.
"""

import functools
import json
import pathlib

from tokenizers import Tokenizer

from lexicon import WIDTH as SENSES
from lexicon import senses
from tokenizer import EOS
from tokenizer import JSON as JSON_TOKEN
from tokenizer import SCHEMA as SCHEMA_TOKEN
from tokenizer import TEXT as TEXT_TOKEN
from words import fold

TOKENIZER = Tokenizer.from_file(str(pathlib.Path(__file__).resolve().parent.parent / "crates/structgen-model/assets/main/tokenizer.json"))

ROWS = 16384
TOKENS = 8  # tokens of a unit at most
FEATURES = 16  # rows of its form and letters at most
WIDTH = TOKENS + SENSES + FEATURES  # all that it has: first its tokens, then what it means (`lexicon.py`)

# Rows that stand for themselves. 0 is no row.
FIELD, OPTION, NONE, TEXT, LINE, GAP = range(1, 7)
CASES = 8  # four cases by seven lengths
DIGITS = 36  # eight lengths
OTHER = 44
TOKEN = 64  # of the first token
FIRST = TOKEN + 4096  # of those that are hashed

LENGTHS = (0, 0, 1, 2, 3, 4, 4, 5, 5, 5)  # the class of a word by its letters; longer ones are in the last
LONGEST = 11  # trigrams of a word: the first six and the last five of a longer one


def is_letter(c):
    return c.isalpha() or "\u0300" <= c <= "\u036f"


def kind(c):
    """Units are runs of characters of one kind."""
    if is_letter(c):
        return "letter"
    if c.isalnum():
        return "digit"
    if c == "\n":
        return "line"
    if c.isspace():
        return "blank"
    return c


def units(text):
    """The units of a text: where each begins and ends, and whether a space stands before it."""
    found, at, spaced = [], 0, False
    while at < len(text):
        first, end = kind(text[at]), at + 1
        while end < len(text) and kind(text[end]) == first and first != "line":
            if first == "letter" and text[end].isupper() and text[end - 1].islower():
                break
            end += 1
        if first == "blank" and end == at + 1 and text[at] != "\t":
            spaced = True
        else:
            found.append((at, end, spaced))
            spaced = False
        at = end
    return found


def row(part):
    """The row of a part of a word: its FNV-1a hash of 32 bits."""
    h = 2166136261
    for byte in part.encode():
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return FIRST + h % (ROWS - FIRST)


@functools.lru_cache(1 << 18)
def rows(unit):
    """The rows of a unit."""
    tokens = [TOKEN + t for t in TOKENIZER.encode(unit if kind(unit[0]) != "blank" else " ").ids[:TOKENS]]
    found = senses(fold(unit)) if kind(unit[0]) == "letter" else ()
    return (*tokens, *[0] * (TOKENS - len(tokens)), *found, *[0] * (SENSES - len(found)), *features(unit))


def mark(row):
    """The rows of a mark, whose token is the one that stands there in the prompt."""
    token = {FIELD: SCHEMA_TOKEN, OPTION: JSON_TOKEN, NONE: EOS, TEXT: TEXT_TOKEN}[row]
    return (TOKEN + token, *[0] * (TOKENS + SENSES - 1), row)


@functools.lru_cache(1 << 18)
def features(unit):
    """The rows of a unit's form and letters, as many as it has."""
    first = kind(unit[0])
    if first == "line":
        return (LINE,)
    if first == "blank":
        return (GAP,)
    if first == "digit":
        found = [DIGITS + min(len(unit), 8) - 1, row(unit)]
        if len(unit) > 1:
            found += [row(unit[0] + "#"), row("#" + unit[-1])]
        if len(unit) > 2:
            found += [row(unit[:2] + "#"), row("#" + unit[-2:])]
        return tuple(found)
    if first != "letter":
        return (OTHER, row(unit[0]), *([row(unit[0] + "+")] if len(unit) > 1 else []))
    case = 0 if unit.islower() else 2 if unit.isupper() and len(unit) > 1 else 1 if unit[0].isupper() and unit[1:].lower() == unit[1:] else 3
    word = fold(unit)
    found = [CASES + 7 * case + (LENGTHS[len(word)] if len(word) < len(LENGTHS) else 6), row(word)]
    if len(word) > 4:
        found.append(row(word[:4]))
    if len(word) > 5:
        found += [row(word[:5]), row(word[-5:])]
    whole = f"<{word}>"
    parts = [whole[k : k + 3] for k in range(len(whole) - 2)]
    if len(parts) > LONGEST:
        parts = parts[:6] + parts[-5:]
    return tuple(found + [row(part) for part in parts])[:FEATURES]


# Texts of which both sides make the same units.
TEXTS = [
    "unitPrice: 12,50 €  (Größe)\nDelivered   on 2024-05-12 ... ok",
    "Mrs O'Neill-Śmigły paid 1 234.50 USD; e\u0301te\u0301, ÉTÉ, Straße / STRASSE, Müller / Mueller",
    "| Name\t| qty |\r\n|------|----:|\n  iPhone15Pro\u00a0x3 →→ naïve İstanbul ΣΟΦΟΣ ²½٣ 東京タワー a\u0301\u0301 \u0301x",
    "Donaudampfschifffahrtsgesellschaftskapitän antidisestablishmentarianism A Ab ABC aB 123456789012 7 07 007",
    "después Noël requête situé, Boÿ aë",
    "",
    " \n\n \t ",
]


def main():
    for text in TEXTS:
        found = [[text[a:b], spaced, list(features(text[a:b]))] for a, b, spaced in units(text)]
        print(json.dumps({"text": text, "units": found}, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
