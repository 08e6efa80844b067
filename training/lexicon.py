"""What words mean, as far as a list can say: concepts, and their kinds.

The reader is small and training has few of the words that users write. The lexicon (`crates/structgen/src/reader/lexicon`) tells it
that `vendor` and "shop" are one concept, and that "dachshund" is of the kind that `breed` asks for, in English, German, French and
Spanish. It was written for this. A word that the lexicon does not have is looked for without an ending of inflection, and then by its
last part, as of German compounds; names are only found as they stand.

    kind.concept: word word ...

Words of the kind `glue` have a meaning, but no two texts have anything in common by them. Cues (`cues.txt`, in the same form) are
words near a value that tell what it is, though they do not mean it: who "lets" is the `landlord`.

`crates/structgen/src/reader/lexicon.rs` finds the same: both write `tests/data/senses.jsonl`.
"""

import functools
import json
import pathlib

from words import fold

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "crates/structgen/src/reader/lexicon"
FILES = ("abstracts", "actions", "money", "people", "places", "qualities", "things", "time", "grammar")

CONCEPTS = 4  # of a word at most
WIDTH = 2 * CONCEPTS  # rows of a word: of each concept, that of its kind and its own
FIRST = 256  # row of a concept; before it are those of the kinds, from 1 on
ROWS = 4352

NAMES = ("given", "surname", "town", "country", "region")  # kinds whose words are not found by a part of another
GLUE = "glue"  # the kind of words that share no concept
GRAMMAR = ("link", GLUE)  # kinds by which no value is of the kind that a field asks for, whose words are no parts of others either
ENDINGS = ("es", "en", "er", "s", "n", "e")
CUE_ENDINGS = (*ENDINGS, "ed", "ing", "d")
LEAST_STEM, LEAST_HEAD = 4, 4  # letters of a word without its ending, of the last part of a word and of what stands before it
LONGEST = 40  # letters of a word that is looked for


def read():
    """The rows of each word: of the concepts at the beginning of whose lines it stands, if it has many. Those without names, too; the
    concepts that share nothing, the kinds of grammar; and the concepts of which words are cues."""
    kinds, found, concepts, concept = {}, {}, {}, FIRST
    for name in FILES:
        for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
            label, members = line.split(": ", 1)
            concepts[label] = concept
            kind = kinds.setdefault(label.split(".")[0], len(kinds) + 1)
            for place, word in enumerate(members.split()):
                found.setdefault(fold(word), {}).setdefault(concept, (place, concept, kind))
            concept += 1
    assert len(kinds) < FIRST and concept <= ROWS, (len(kinds), concept)
    names = {kinds[name] for name in (*NAMES, *GRAMMAR)}
    rows = lambda places: tuple(row for _, concept, kind in places[:CONCEPTS] for row in (kind, concept))
    chosen = {word: sorted(places.values()) for word, places in found.items()}
    words = {word: rows(places) for word, places in chosen.items()}
    common = {word: rows([it for it in places if it[2] not in names]) for word, places in chosen.items()}
    cues = {}
    for line in (FOLDER / "cues.txt").read_text("utf-8").splitlines():
        label, members = line.split(": ", 1)
        for word in members.split():
            cues.setdefault(fold(word), set()).add(concepts[label])
    glue = frozenset(row for label, row in concepts.items() if label.startswith(GLUE + "."))
    return words, common, glue, frozenset(kinds[name] for name in GRAMMAR), {word: frozenset(rows) for word, rows in cues.items()}


WORDS, COMMON, SHARE_NOTHING, NO_KINDS, CUES = read()


def without_ending(word):
    """The rows of a word, or of it without the first ending that leaves one, which are no names."""
    forms = [word] + [word[: -len(ending)] for ending in ENDINGS if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM]
    return next((COMMON[form] for form in forms if COMMON.get(form)), ())


@functools.lru_cache(1 << 18)
def senses(word):
    """The rows of a word, which is folded: none where the lexicon does not know it."""
    if len(word) > LONGEST:
        return ()
    starts = range(LEAST_HEAD, len(word) - LEAST_HEAD + 1)
    return WORDS.get(word) or without_ending(word) or next(filter(None, (without_ending(word[at:]) for at in starts)), ())


def concepts(word):
    """The concepts of a word, by which it can have something in common with another."""
    return tuple(row for row in senses(word)[1::2] if row not in SHARE_NOTHING)


def kinds(word):
    """The kinds of a word, grammar apart."""
    return tuple(row for row in senses(word)[::2] if row not in NO_KINDS)


@functools.lru_cache(1 << 18)
def cued(word):
    """The concepts of which a word is a cue, or it without the first ending that leaves one."""
    forms = [word] + [word[: -len(ending)] for ending in CUE_ENDINGS if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM]
    return next((CUES[form] for form in forms if form in CUES), frozenset())


# Words of which both sides find the same.
CASES = "vendor Shops Kaltmiete Lieferzeiten deadlines Dachshund Straße strasse Anna Lisbon xqzt bei Müller kilométrage después NOËL understood Wohnungstür o lets einzieht wrote moved bei Landratsamt meanwhile".split() + [18 * "xy" + "shop", 19 * "xy" + "shop"]


def main():
    for word in CASES:
        print(json.dumps({"word": word, "senses": senses(fold(word)), "cued": sorted(cued(fold(word)))}, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
