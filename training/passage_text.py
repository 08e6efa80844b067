"""Writes a text of a passage: draws its values, once each, and remembers them."""

import collections
import datetime

from passage_format import Choice, Group, walk
from slot_types import TYPES, USUAL_CURRENCY, Copied, SlotError, Value

AND = {"en": [" and ", " and ", ", and ", " & "], "de": [" und "], "fr": [" et "], "es": [" y "]}


class Writer:
    """Writes one text of a passage: draws each value once and remembers it."""

    def __init__(self, c, passage):
        self.c, self.passage, self.lang = c, passage, passage.lang
        self.drawn, self.row, self.choices, self.taken = {}, None, {}, collections.defaultdict(set)
        self.wordings = {}
        self.index = 0
        self.currency = c.pick(USUAL_CURRENCY[self.lang])
        point = [(".", ","), (".", ","), (".", ""), (".", "")] + [(",", "."), (",", "")] * c.chance(0.25) if self.lang == "en" else [(",", " "), (",", ""), (",", "")] if self.lang == "fr" else [(",", "."), (",", "."), (",", "")]
        if self.currency == "CHF" and c.chance(0.5):
            point = [(".", "'"), (".", "")]
        self.decimal, self.group = c.pick(point)
        self.today = datetime.date(c.rng.randint(2019, 2027), c.rng.randint(1, 12), c.rng.randint(1, 28))

    def once(self, what, options):
        """A choice that holds for the whole text."""
        if what not in self.choices:
            self.choices[what] = self.c.pick(options)
        return self.choices[what]

    def value(self, name):
        """The value of another slot, drawn if need be."""
        if self.row is not None and name in self.row:
            return self.row[name]
        v = self.drawn.get(name)
        if isinstance(v, list):
            v = v[-1]
        if v is None:
            slot = self.passage.slots.get(name)
            if slot is None:
                raise SlotError(f"the slot {{{name}}} that another one refers to is not there")
            if slot.many:
                raise SlotError(f"{{{name}}} is drawn row by row, and later than where it is used")
            v = self.drawn[name] = self.draw(slot)
            v.hidden = True
        return v

    def column(self, name):
        v = self.drawn.get(name)
        if v is None:
            raise SlotError(f"the sum needs {{{name}}} before it")
        return [x for x in (v if isinstance(v, list) else [v]) if x is not None]

    def draw(self, slot):
        """A value unlike the others of its kind."""
        for _ in range(20):
            v = self.phrase(slot) if slot.options is not None else TYPES[slot.type](self, slot.args)
            if slot.tagged or slot.type == "sum" or v.text not in self.taken[v.kind]:
                break
        self.taken[v.kind].add(v.text)
        return v

    def phrase(self, slot):
        if slot.tagged:
            tags = list(dict.fromkeys(t for t, _ in slot.options))
            tag = self.c.pick(tags)
            return Value("tag", tag, {}, [])
        texts = [flat(b) for _, b in slot.options]
        _, branch = self.c.pick(slot.options)
        if flat(branch) is None:
            pieces = [(s, True) for s, _ in self.expand(branch)]
            v = Value("phrase", "".join(s for s, _ in pieces), {}, ["text"])
            v.pieces = pieces
        else:
            v = Value("phrase", flat(branch), {}, ["text"])
        v.views["text"] = ({"type": "string"}, Copied(v.text))
        if None not in texts and 2 <= len(set(texts)) and all(len(t) < 40 for t in texts) and self.c.chance(0.25):
            others = self.c.rng.sample([t for t in dict.fromkeys(texts) if t != v.text], min(len(set(texts)) - 1, self.c.rng.randint(1, 6)))
            options = [v.text, *others]
            self.c.rng.shuffle(options)
            v.views["text"] = ({"enum": [Copied(o) for o in options]}, Copied(v.text))
        return v

    def expand(self, nodes):
        """Pieces `(string, is_value)`."""
        out = []
        for n in nodes:
            if n == "#":
                out.append((str(self.index), False))
            elif isinstance(n, str):
                out.append((n, False))
            elif isinstance(n, Choice):
                out += self.expand(self.c.pick(n.branches))
            elif isinstance(n, Group):
                out += self.rows(n)
            else:
                out += self.mention(n)
            if len(out) > 1 and out[-1][0].startswith(".") and not out[-1][1] and out[-2][0].endswith("."):
                out[-1] = out[-1][0][1:], False
        return out

    def mention(self, slot):
        if not slot.name:
            return [(self.draw(slot).text, True)]
        definition = slot if slot.defines else self.passage.slots[slot.name]
        if definition.many and self.row is not None:
            v = self.row.get(slot.name)
            if v is None:
                v = self.row[slot.name] = self.draw(definition)
        elif definition.many and self.row is None:
            if slot.defines:
                v = self.draw(slot)
                self.drawn.setdefault(slot.name, []).append(v)
            else:
                v = self.drawn[slot.name][-1]
        else:
            v = self.drawn.get(slot.name)
            if v is None:
                v = self.drawn[slot.name] = self.draw(definition)
            v.hidden = False
        if definition.tagged:
            said = [b for t, b in definition.options if t == v.text]
            pieces = self.expand(self.c.pick(said))
            v.wording = "".join(s for s, _ in pieces)
            if self.row is None:
                self.wordings[slot.name] = v.wording
            return pieces
        if slot.view:
            if slot.view not in v.shown:
                raise SlotError(f"{{{slot.name}.{slot.view}}}: a value of this type has no such mention")
            return [(v.shown[slot.view], True)]
        return getattr(v, "pieces", None) or [(v.text, True)]

    def rows(self, group):
        names = list(dict.fromkeys(s.name for s, _ in walk(group.nodes) if s.name and self.passage.slots[s.name].many))
        said = []
        for k in range(self.c.rng.randint(group.lo, group.hi)):
            self.row, self.index = {}, k + 1
            said.append(self.expand(group.nodes))
            for name in names:
                self.drawn.setdefault(name, []).append(self.row.get(name))
        self.row = None
        out = []
        for k, row in enumerate(said):
            if k:
                out.append((("\n" if group.joint == "lines" else self.c.pick(AND[self.lang]) if k == len(said) - 1 and group.joint == "list" else ", " if group.joint == "list" else group.joint[1:-1].replace("\\n", "\n")), False))
            out += row
        return out


def flat(nodes):
    """A phrase without slots as a string, else None."""
    return "".join(nodes) if all(isinstance(n, str) for n in nodes) else None
