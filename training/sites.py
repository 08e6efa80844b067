"""Where a unit of a question stands and what it has in common with the other side, as rows of the table of roles.

A unit has five rows besides those of its form (`units.py`), and those of what it points at (`pointers.py`). The first is what it is
for. In the text, the next four are its line, how many cells of a table and how many commas come before it in the line, and whether
fields or options have the same word or concept, or it is a cue of theirs. In the schema, they are its field, its option, whether it is
in an array, and whether the text has the same word or concept; a mark records whether the text has none, some or all of the words of
its name or option. What a question and a text share is hard to learn and easy to compute, as for the reader of Chen et al. 2017,
"Reading Wikipedia to Answer Open-Domain Questions" (3.2, exact match).

`crates/structgen/src/reader/sites.rs` makes the same rows: both write `tests/data/sites.jsonl`.
"""

import functools
import json

import pointers
from lexicon import concepts, cued, kinds
from pointers import AT_NOTHING, ROWS  # noqa: F401
from units import kind, units
from words import fold

# What a unit is for. Its first row is twice this, and one more if a space stands before it.
QUESTION, CHOICE, READ = range(3)

WIDTH = 5 + pointers.WIDTH  # rows of a unit
LINES, FIELDS, CELLS, OPTIONS, COMMAS, SINGLE, SHARED, MANY = 6, 38, 70, 86, 102, 118, 119, 132
# A concept in common, where there is no word: of a unit of the text with a field or an option, of a unit of the schema with the text.
FIELD_CONCEPT, OPTION_CONCEPT, TEXT_CONCEPT = 133, 134, 135
# A cue of a field or an option, which has nothing else in common with any.
FIELD_CUE, OPTION_CUE = 217, 218

# What is shared. Of a unit of the text: a word of a field or an option, whole or at its beginning, or an option word by word.
NOTHING, FIELD_STEM, FIELD_WORD, OPTION_STEM, OPTION_WORD = range(5)
# Of a unit of the schema; the text's word at its beginning is one more, the whole word two more.
UNSAID = 5
# Of a mark: of some of its words one more, of all of them two more.
MARK_UNSAID = 8
OPTION_SAID, SAID_OF_OPTION = 11, 12

STEM = 4  # letters at the beginning of a word


class Form:
    """What is compared of a unit: its form, and whether it is a word or a number that means something by itself."""

    def __init__(self, unit):
        first = kind(unit[0])
        self.text = fold(unit) if first == "letter" else unit
        self.counts = len(self.text) > (2 if first == "letter" else 1) and first in ("letter", "digit")
        self.stem = self.text[:STEM] if first == "letter" else self.text
        self.concepts = concepts(self.text) if first == "letter" else ()
        self.cued = cued(self.text) if first == "letter" else ()
        self.kinds = kinds(self.text) if first == "letter" else ()


# Units come again and again.
form_of = functools.lru_cache(1 << 18)(Form)


class Part:
    """A mark of a question and the units that follow it; `option` counts from 1, 0 is none; `many` where the field is in an array."""

    def __init__(self, field, many, option, text):
        self.field, self.many, self.option = field, many, option
        found = units(text)
        self.forms = [form_of(text[a:b]) for a, b, _ in found]
        self.spaced = [spaced for *_, spaced in found]
        # A name ends where its type or its description begins.
        ends = [k for k, form in enumerate(self.forms) if form.text in (":", "(") and not option]
        self.named = self.forms[: ends[0]] if ends else self.forms
        # What has a meaning besides the type: the name and the description, which begins with a bracket.
        about = next((k for k in ends if self.forms[k].text == "("), len(self.forms))
        self.meant = self.named + self.forms[about:]


class Words:
    """The words of one side."""

    def __init__(self, forms):
        counted = [form for form in forms if form.counts]
        self.words, self.stems = {form.text for form in counted}, {form.stem for form in counted}
        self.concepts = {concept for form in forms for concept in form.concepts}

    def share(self, form):
        """0, 1 for the beginning of a word, 2 for a whole one."""
        return 0 if not form.counts else 2 if form.text in self.words else 1 if form.stem in self.stems else 0

    def mean(self, form):
        """Whether one of them means what this form does."""
        return not self.concepts.isdisjoint(form.concepts)

    def are_cued(self, form):
        """Whether this form is a cue of one of them."""
        return not self.concepts.isdisjoint(form.cued)


def rows_of_parts(parts, text):
    """The rows of the units of a question, whose text has these forms, and the places in the text at which options are said."""
    places, said, rows = {}, set(), []
    for at, form in enumerate(text):
        places.setdefault(form.text, []).append(at)
    words = Words(text)
    for part in parts:
        shared = [words.share(form) or words.mean(form) and TEXT_CONCEPT - SHARED - UNSAID for form in part.forms]
        met = [words.share(form) > 0 for form in part.named if form.counts]
        mark = MARK_UNSAID + (2 if met and all(met) else any(met))
        if part.option and part.forms:
            own = [form.text for form in part.forms]
            found = [at for at in places.get(own[0], ()) if [form.text for form in text[at : at + len(own)]] == own]
            mark = OPTION_SAID if found else mark
            said |= {at + k for at in found for k in range(len(own))}
        site = [FIELDS + part.field % 32, OPTIONS + min(part.option, 15), MANY if part.many else SINGLE]
        rows.append([2 * (CHOICE if part.option else QUESTION), *site, SHARED + mark, *AT_NOTHING])
        rows += [[2 * QUESTION + spaced, *site, SHARED + UNSAID + how, *AT_NOTHING] for spaced, how in zip(part.spaced, shared)]
    return rows, said


def rows_of_text(text, found, forms, parts, said):
    """The rows of the units of a text, whose forms are these."""
    line = cell = comma = 0
    names = Words([form for part in parts if not part.option for form in part.forms])
    options = Words([form for part in parts if part.option for form in part.forms])
    pointing = pointers.rows_of(parts, text, found, forms)
    rows = []
    for k, ((a, b, spaced), form) in enumerate(zip(found, forms)):
        in_options, in_names = options.share(form), names.share(form)
        if k in said:
            how = SAID_OF_OPTION
        elif in_options or in_names:
            how = FIELD_WORD + in_options if in_options else in_names
        elif options.mean(form):
            how = OPTION_CONCEPT - SHARED
        elif names.mean(form):
            how = FIELD_CONCEPT - SHARED
        else:
            cue = OPTION_CUE if options.are_cued(form) else FIELD_CUE if names.are_cued(form) else SHARED
            how = cue - SHARED
        rows.append([2 * READ + spaced, LINES + line % 32, CELLS + min(cell, 15), COMMAS + min(comma, 15), SHARED + how, *pointing[k]])
        if text[a] == "\n":
            line, cell, comma = line + 1, 0, 0
        elif text[a] in "|;" or kind(text[a]) == "blank":
            cell += 1
        elif text[a] == "," and not (0 < a and b < len(text) and kind(text[a - 1]) == kind(text[b]) == "digit"):
            comma += 1
    return rows


def sites(parts, text, found):
    """The rows of all units of a question and its text, between which stands the mark of the text."""
    forms = [form_of(text[a:b]) for a, b, _ in found]
    asked, said = rows_of_parts(parts, forms)
    return [*asked, [2 * QUESTION, LINES, CELLS, COMMAS, SHARED + MARK_UNSAID, *AT_NOTHING], *rows_of_text(text, found, forms, parts, said)]


# Questions of which both sides make the same rows: fields and their options, of which every other is in an array, and a text.
CASES = [
    ([("unitPrice:number (of one piece)", []), ("paid", ["true", "false"]), ("Farbe", ["dunkelblau", "dark green", "rot", ""])], "Stück | Preis;  Farbe\nUnit | 12,50; dark, dark green, 2,5\t rote Farben\nPaid, 1,000 pieces"),
    ([(f"a{k}:string", [str(10 * j) for j in range(18)] if k == 1 else []) for k in range(34)], "| " * 18 + "120 und 160" + ",\n" * 34 + "," * 18),
    ([("größe (cm)", ["S", "M", "10 20"]), ("después", ["Noël", "requête"])], "DESPUES d'une requete à noel, après Noël ÿ"),
    ([("größe (cm)", ["S", "M", "10 20"])], ""),
    # What points at what: words, beginnings, concepts, kinds; too many fields; options of several fields; sentences and brackets.
    (
        [("landlord:string (who lets the flat)", []), ("breed:string", []), ("total:number (the sum)", []), ("totalNet:number", []), ("vet", []), ("status (of the payment)", ["paid late", "open"]), ("state", ["open", "closed"])],
        'The flat (two rooms; new) is vermietet by "Eva". A dachshund, 2 y.o., paid totals: 500!\nThe totals are open... late „Rest“ closing total net? Payment total, sum, total [flat',
    ),
    ([(f"total{name}:number (the total amount)", []) for name in ("A", "Bc", "Def", "Ghij", "Klmno")], "total amount Ghij. " + "word " * 20 + "Def " + "x " * 15 + "y klmn"),
]


def main():
    for fields, text in CASES:
        parts = [Part(f, f % 2 == 1, o, name) for f, (field, options) in enumerate(fields) for o, name in enumerate([field, *options])]
        print(json.dumps({"fields": fields, "text": text, "rows": sites(parts, text, units(text))}, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
