"""What a unit of the text points at and what it stands in, as rows of the table of roles: the last thirteen of `sites.py`.

Every field and every option owns words and, by the lexicon, concepts. A unit points most surely at who owns the word itself; then at
who owns a word with the same beginning, one of the same concept, one of which it is a cue. Up to four fields are told, a field and
its option, and up to two fields of whose kind the unit is: "dachshund" is an animal, as `breed` is. Then come the sentence, whether
brackets or quotation marks are open, whether the text repeats the word, and the field at which alone the last and the next unit of the
sentence point that point at any.

`crates/structgen/src/reader/pointers.rs` makes the same rows, which `sites.py` compares.
"""

import collections

from labels import FUNCTION_WORDS

NOWHERE, FIELDS, CHOSEN, CHOICES, KINDS, SENTENCES, ENCLOSED, REPEATED, LAST, NEXT = 136, 137, 169, 201, 219, 251, 267, 271, 274, 306
ROWS = 338

POINTED = 4  # fields that a unit points at
OF_KIND = 2  # fields of whose kind it is
NEAR = 15  # units to the last and to the next one that points
WIDTH = POINTED + 2 + OF_KIND + 3 + 2
AT_NOTHING = WIDTH * [NOWHERE]


def means_something(form):
    return form.counts and form.text not in FUNCTION_WORDS


class Owners:
    """Who owns which words, beginnings of words, concepts and kinds. Owners come in their order."""

    def __init__(self, owned):
        self.words, self.stems, self.concepts, self.kinds = {}, {}, {}, {}
        for owner, forms in owned:
            for form in forms:
                if means_something(form):
                    self.words.setdefault(form.text, {})[owner] = None
                    self.stems.setdefault(form.stem, {})[owner] = None
                for concept in form.concepts:
                    self.concepts.setdefault(concept, {})[owner] = None
                for kind in form.kinds:
                    self.kinds.setdefault(kind, {})[owner] = None

    def levels(self, form):
        """The owners of a unit of the text, from the surest level on."""
        counts = means_something(form)
        yield list(self.words.get(form.text, ())) if counts else []
        yield list(self.stems.get(form.stem, ())) if counts else []
        for some in (form.concepts, form.cued):
            yield sorted({owner for concept in some for owner in self.concepts.get(concept, ())})

    def fields(self, form):
        """The fields that a unit points at: those of the surest levels, as long as they are few."""
        found = []
        for level in self.levels(form):
            new = [field for field in level if field not in found]
            if len(found) + len(new) > POINTED:
                break
            found += new
        return found

    def choice(self, form):
        """The field and the option that a unit points at; 0 for the option where several of one field are meant as well as each other."""
        level = next(filter(None, self.levels(form)), [])
        if len({field for field, _ in level}) != 1:
            return None
        return level[0][0], level[0][1] if len(level) == 1 else 0

    def of_kind(self, form, but):
        """The fields of whose kind a unit is, if they are few, but for some."""
        found = sorted({owner for kind in form.kinds for owner in self.kinds.get(kind, ())} - set(but))
        return found if len(found) <= OF_KIND else []


def filled(rows, width):
    return rows + (width - len(rows)) * [NOWHERE]


def rows_of(parts, text, found, forms):
    """The rows of the units of a text, whose forms are these."""
    owners = Owners((part.field, part.meant) for part in parts if not part.option)
    kinds = Owners((part.field, part.named) for part in parts if not part.option)
    choices = Owners(((part.field, part.option), part.forms) for part in parts if part.option)
    pointed = [owners.fields(form) for form in forms]
    sentences = sentences_of(text, found)
    last, following = nearest(pointed, sentences, range(len(forms))), nearest(pointed, sentences, reversed(range(len(forms))))
    count, seen = collections.Counter(form.text for form in forms if means_something(form)), set()
    bracketed = quoted = False
    rows = []
    for k, ((a, _, _), form) in enumerate(zip(found, forms)):
        row = filled([FIELDS + field % 32 for field in pointed[k]], POINTED)
        choice = choices.choice(form)
        row += [CHOSEN + choice[0] % 32, CHOICES + min(choice[1], 15)] if choice else [NOWHERE, NOWHERE]
        row += filled([KINDS + field % 32 for field in kinds.of_kind(form, pointed[k])], OF_KIND)
        repeated = 0 if count[form.text] < 2 else 2 if form.text in seen else 1
        seen.add(form.text)
        row += [SENTENCES + sentences[k] % 16, ENCLOSED + bracketed + 2 * quoted, REPEATED + repeated]
        row += [first + fields[k] % 32 if fields[k] is not None else NOWHERE for first, fields in ((LAST, last), (NEXT, following))]
        rows.append(row)
        if text[a] in "([":
            bracketed = True
        elif text[a] in ")]":
            bracketed = False
        elif text[a] in '"“”„«»':
            quoted = not quoted
        elif text[a] == "\n":
            bracketed = quoted = False
    return rows


def sentences_of(text, found):
    """The number of the sentence of each unit; a line break ends one."""
    numbers, sentence = [], 0
    for k, (a, b, _) in enumerate(found):
        numbers.append(sentence)
        is_last = k + 1 == len(found) or found[k + 1][2] or text[b].isspace()
        sentence += text[a] == "\n" or text[a] in ".;!?" and is_last
    return numbers


def nearest(pointed, sentences, order):
    """Of each unit, the field at which alone the nearest unit before it in an order points, of those in its sentence that point at any."""
    found, at = [None] * len(pointed), None
    for k in order:
        if at is not None and sentences[at] == sentences[k] and abs(at - k) <= NEAR and len(pointed[at]) == 1:
            found[k] = pointed[at][0]
        if pointed[k]:
            at = k
    return found
