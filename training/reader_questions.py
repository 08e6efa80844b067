"""What the reader is asked, and what is right: the fields of a schema and a text as units, and where each value stands.

A question is, for each leaf of the schema, `<schema>` and its name, then `<json>` and the value for each of its options, then
`<eos>` where there may be no value; and after all of them `<text>` and the text. The answer for a field is a position: of an
option, of `<eos>`, or of the unit at which its value begins; and of the last, the unit at which it ends. Where an option is right, the words of
the text that say so are known as well; of an option in an array, they are what is asked.

    name := keys joined by " / ", then ":" and the type in the notation of `notation.py` where there are no options,
            then the description in brackets

`crates/structgen/src/reader` asks in the same way: both write `tests/data/questions.jsonl`.
"""

import json
import re

import numpy as np

import labels
from notation import compact, described, members
from sites import WIDTH as SITE
from sites import Part, sites
from units import FIELD, NONE, OPTION, TEXT, WIDTH, mark, rows, units

SIGN = r"(?:(?<![\w)./-])[-−–])?"
NUMBER = re.compile(SIGN + r"\d(?:[\d.,'’\u00a0\u202f]*\d)?")
SPACED_NUMBER = re.compile(SIGN + r"(?<![\d.,'’])[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?(?![\d.,]*\d)")


class Leaf:
    """A value that a schema asks for; `many` if it is in an array. The first `array` keys of its path lead to the innermost one."""

    def __init__(self, path, schema, kind, options, optional, array):
        self.path, self.schema, self.kind, self.options, self.optional = path, schema, kind, options, optional
        self.array, self.many = array, array is not None

    @property
    def name(self):
        kind = "" if self.options is not None else ":" + members(self.schema, self.schema, ())[0]
        return " / ".join(self.path) + kind + described(self.schema, self.schema)


def leaves(schema, path=(), optional=False, array=None):
    """The leaves of a schema, in its order."""
    if not isinstance(schema, dict):
        return
    if "anyOf" in schema:
        rest = [s for s in schema["anyOf"] if s != {"type": "null"}]
        optional |= len(rest) < len(schema["anyOf"])
        if len(rest) != 1:
            return
        schema = {**rest[0], **{k: v for k, v in schema.items() if k == "description"}}
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "enum" in schema:
        options = [v for v in schema["enum"] if v is not None]
        yield Leaf(path, schema, "enum", options, optional or None in schema["enum"], array)
        return
    optional |= "null" in kinds
    kinds = [k for k in kinds if k != "null"]
    kind = kinds[0] if len(kinds) == 1 else ("object" if "properties" in schema else "array" if "items" in schema else None) if not kinds else None
    if kind == "object":
        required = set(schema.get("required", ()))
        for key, sub in schema.get("properties", {}).items():
            yield from leaves(sub, (*path, key), optional or key not in required, array)
    elif kind == "array":
        item = schema.get("items")
        if isinstance(item, dict) and "prefixItems" not in schema:
            if "description" in schema:
                item = {"description": schema["description"], **item}
            yield from leaves(item, path, True, len(path))
    elif kind == "boolean":
        yield Leaf(path, schema, "boolean", [True, False], optional, array)
    elif kind in ("integer", "number"):
        yield Leaf(path, schema, "number", None, optional, array)
    elif kind == "string":
        yield Leaf(path, schema, "typed" if schema.keys() & {"format", "pattern"} else "string", None, optional, array)


def values(answer, path):
    """What an answer has at a path, in all items of arrays; None where it has nothing."""
    if isinstance(answer, list):
        return [v for item in answer for v in values(item, path)]
    if not path:
        return [answer]
    return values(answer.get(path[0]), path[1:]) if isinstance(answer, dict) else [None]


# --- where a value stands -----------------------------------------------------------------------------------

MONTHS = {"setiembre": 9, "sept": 9, "juil": 7, "mrz": 3, "fev": 2, "dec": 12, "aout": 8}
for names in ("january february march april may june july august september october november december", "januar februar märz april mai juni juli august september oktober november dezember",
              "janvier février mars avril mai juin juillet août septembre octobre novembre décembre", "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"):
    for at, month in enumerate(names.split(), 1):
        MONTHS[month] = at
        for short in (month[:3], month[:4]):
            MONTHS.setdefault(short, at)
MONTH = "(?P<n>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
DATES = [re.compile(p, re.I) for p in (
    r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})",
    r"\b(?P<a>\d{1,2})[./-] ?(?P<b>\d{1,2})[./-] ?(?P<y>\d{4}|\d{2})?\b",
    r"\b(?P<d>\d{1,2})(?:st|nd|rd|th|er|\.)?[ -](?:of |de )?" + MONTH + r"(?:,? ?(?:de |del )?-?(?P<y>\d{4}))?",
    r"\b" + MONTH + r" (?P<d>\d{1,2})\b(?:st|nd|rd|th)?(?:,? (?P<y>\d{4}))?",
)]
TIME = re.compile(r"\b(\d{1,2})(?:[:.hH] ?(\d{2})| ?(?:am|pm|a\.m\.|p\.m\.|h\b|Uhr))")
WORDS = {30: ["thirty", "dreißig", "trente", "treinta"], 40: ["forty", "vierzig", "quarante", "cuarenta"], 50: ["fifty", "fünfzig", "cinquante", "cincuenta"],
         60: ["sixty", "sechzig", "soixante", "sesenta"], 100: ["hundred", "hundert", "cent", "cien"], 1000: ["thousand", "tausend", "mille", "mil"], 0.5: ["half", "halb", "halbe", "demi", "medio", "media"]}
for names in ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty",
              "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig",
              "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf vingt",
              "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte"):
    for at, word in enumerate(names.split()):
        WORDS.setdefault(at, []).append(word)
WORDS[1] += ["a", "an", "ein", "eine", "einen", "einem", "einer", "une", "una", "once"]
WORDS[2] += ["twice", "both", "pair"]
WORDS[12] += ["dozen", "dutzend", "douzaine", "docena"]


def readings(text):
    """The numbers that digits with separators can mean. A sign may be a dash."""
    plain = re.sub(r"[-−–'’ \u00a0\u202f]", "", text)
    found = set()
    for form in (plain.replace(",", ""), plain.replace(".", "").replace(",", "."), plain.replace(",", "").replace(".", "")):
        try:
            found.add(float(form))
        except ValueError:
            pass
    return found | {-value for value in found} if text[0] in "-−–" else found


def numbers(value, text):
    parts = [m.span() for m in NUMBER.finditer(text) if value in readings(m[0])]
    spaced = list(SPACED_NUMBER.finditer(text))
    # A part of a number is one of its own only if nothing else is.
    found = [(a, b) for a, b in parts if not any(m.start() <= a and b <= m.end() for m in spaced)]
    found = found or [m.span() for m in spaced if value in readings(m[0])] or parts
    if not found and value in WORDS:
        found = [m.span() for m in re.finditer(r"(?i)\b(?:" + "|".join(WORDS[value]) + r")\b", text)]
    return found


def dates(year, month, day, text):
    found = []
    for pattern in DATES:
        for m in pattern.finditer(text):
            g = m.groupdict()
            if g.get("a"):
                same = {int(g["a"]), int(g["b"])} == {month, day}
            else:
                at = MONTHS.get(g["n"].lower().rstrip(".")) if g.get("n") else int(g["m"])
                same = at == month and int(g["d"]) == day
            if same and (not g.get("y") or int(g["y"]) % 100 == year % 100):
                found.append((m.start(), m.start() + len(m[0].rstrip(" ,."))))
    return found


def times(hour, minute, text):
    return [m.span() for m in TIME.finditer(text) if int(m[1]) in (hour, hour - 12) and int(m[2] or 0) == minute]


def spans(leaf, value, text):
    """Where a value stands in a text, as ranges of characters. Not all notations are known: what is not found is not learnt."""
    if leaf.kind == "number":
        return numbers(float(value), text)
    if leaf.schema.get("format") in ("date", "date-time") and (m := re.match(r"(\d{4})-(\d{2})-(\d{2})", str(value))):
        return dates(*map(int, m.groups()), text)
    if leaf.kind == "typed" and (m := re.fullmatch(r"(\d{2}):(\d{2})(?::00)?", str(value))):
        return times(int(m[1]), int(m[2]), text)
    words = str(value).split()
    found = re.finditer(r"\s+".join(map(re.escape, words)), text) if words else ()
    return [m.span() for m in found if is_border(text, m.start()) and is_border(text, m.end())]


def is_border(text, at):
    return at == 0 or at == len(text) or not (text[at - 1].isalnum() and text[at].isalnum())


# --- as units -----------------------------------------------------------------------------------------------

class Asked:
    """A field among the units: its place, its options', that of no value, and where its values begin and end.

    `pairs` are first and last units; `doubtful` are beginnings of which nobody knows whether they are right, as of all of them
    where a list is not `complete`. A field with options in an array is asked for each option (`said_option`): where it is said.
    """

    def __init__(self, sample, leaf, at, options, none, said_option=None):
        self.sample, self.leaf, self.at, self.options, self.none, self.said_option = sample, leaf, at, options, none, said_option
        self.starts, self.pairs, self.said, self.doubtful, self.complete = set(), set(), set(), set(), True
        self.many = leaf.many and (leaf.options is None or said_option is not None)


class Question:
    """The units of samples that have the same text, the fields among them, and where values can begin and end."""

    def __init__(self, sample, *others):
        self.sample, self.units, self.parts, self.fields, self.count = sample, [], [], [], 0
        for one in (sample, *others):
            for leaf in leaves(one.schema):
                at = self.put(FIELD, leaf.many, leaf.name)
                options = [self.put(OPTION, leaf.many, o if isinstance(o, str) else compact(o), k) for k, o in enumerate(leaf.options or (), 1)]
                none = self.put(NONE, leaf.many, "") if leaf.optional else None
                if leaf.many and options:
                    self.fields += [Asked(one, leaf, place, [], none, option) for place, option in zip(options, map(compact, leaf.options))]
                else:
                    self.fields.append(Asked(one, leaf, at, options, none))
                self.count += 1
        self.units.append(mark(TEXT))
        self.first, text = len(self.units), sample.text
        found = units(text)
        self.units += [rows(text[a:b]) for a, b, _ in found]
        self.offsets = [(a, b) for a, b, _ in found]
        self.sites = sites(self.parts, text, found)
        is_space = lambda at: not 0 <= at < len(text) or text[at].isspace()
        self.starts = [self.first + k for k, (a, _) in enumerate(self.offsets) if is_border(text, a) and not is_space(a)]
        self.ends = [self.first + k for k, (_, b) in enumerate(self.offsets) if is_border(text, b) and not is_space(b - 1)]
        self.labels = labels.Labels(text, [self.offsets[k - self.first][0] for k in self.starts])
        own = list(enumerate(self.offsets, self.first))
        self.answer({a: k for k, (a, _) in own}, {b: k for k, (_, b) in own})

    def put(self, kind, many, text, option=0):
        at = len(self.units)
        self.units += [mark(kind), *(rows(text[a:b]) for a, b, _ in units(text))]
        self.parts.append(Part(self.count, many, option, text))
        return at

    def answer(self, starts, ends):
        """Marks what is right."""
        lists, options = {}, {}
        for field in self.fields:
            leaf = field.leaf
            found = values(field.sample.value, leaf.path)
            if field.said_option is not None:
                options.setdefault(id(leaf), (leaf, field.sample, []))[2].append(field)
                continue
            if leaf.options is not None:
                value = found[0] if found else None
                if value in leaf.options:
                    field.starts.add(field.options[leaf.options.index(value)])
                    words = field.sample.wordings.get(leaf.path[-1] if leaf.path else None, value if isinstance(value, str) else "")
                    self.say(field, words if isinstance(words, str) else "")
                elif field.none is not None and found and value is None:
                    field.starts.add(field.none)
                continue
            places = [[(starts[a], ends[b]) for a, b in spans(leaf, v, self.sample.text) if a in starts and b in ends] if v is not None else [] for v in found]
            if leaf.many:
                lists.setdefault((id(field.sample), leaf.path[: leaf.array]), []).append(([field] * len(found), places))
            elif found and found[0] is None:
                if field.none is not None:
                    field.starts.add(field.none)
            else:
                field.pairs |= {p for here in places for p in here}
                field.starts |= {a for a, _ in field.pairs}
        for leaf, sample, fields in options.values():
            found, words = values(sample.value, leaf.path), sample.wordings.get(leaf.path[-1] if leaf.path else None)
            words = words if isinstance(words, list) and len(words) == len(found) else [v if isinstance(v, str) else "" for v in found]
            places = [[(starts[a], ends[b]) for a, b in spans(leaf, w, self.sample.text) if a in starts and b in ends] if v is not None else [] for v, w in zip(found, words)]
            by_option = {field.said_option: field for field in fields}
            lists.setdefault((id(sample), leaf.path[: leaf.array]), []).append(([by_option.get(compact(v)) for v in found], places))
            for field in fields:
                # Of an option that no item has as well.
                field.complete = all(here or v is None for here, v in zip(places, found))
        for columns in lists.values():
            self.align(columns)

    def align(self, columns):
        """Where the items of an array stand that come in the order of the text: each part of a row near the others of its row."""
        sure, ranges = [], []
        for _, places in columns:
            first, last, low, high = [None] * len(places), [None] * len(places), -1, 1 << 30
            for k, here in enumerate(places):
                first[k] = min((p for p in here if p[0] > low), default=None)
                low = first[k][1] if first[k] else low
            for k in reversed(range(len(places))):
                last[k] = max((p for p in places[k] if p[1] < high), default=None)
                high = last[k][0] if last[k] else high
            ranges.append((first, last))
            sure.append([first[k][0] if first[k] and first[k] == last[k] else None for k in range(len(places))])
        for (owners, places), (first, last), own in zip(columns, ranges, sure):
            same = [s for s in sure if len(s) == len(places)]
            for k, (field, here) in enumerate(zip(owners, places)):
                if not here or field is None:
                    continue
                if own[k] is not None:
                    chosen = first[k]
                else:
                    low, high = (first[k] or here[0])[0], (last[k] or here[-1])[0]
                    among = [p for p in here if low <= p[0] <= high] or here
                    near = [s[k] for s in same if s[k] is not None]
                    middle = sum(near) / len(near) if near else low
                    chosen = min(among, key=lambda p: abs(p[0] - middle))
                    field.doubtful |= {p[0] for p in among}
                field.starts.add(chosen[0])
                if field.said_option is None:
                    field.pairs.add(chosen)
            for field in filter(None, owners):
                field.doubtful -= field.starts
                # A value that was not found: where the others do not stand is not known.
                field.complete = all(here or v is None for here, v in zip(places, values(field.sample.value, field.leaf.path)))

    def gains(self, field):
        """What the places of a field that has one value gain by words near them."""
        names = [*field.leaf.path, field.leaf.schema.get("description", "")]
        return self.labels.gains(names) if field.leaf.options is None and not field.many else 0

    def say(self, field, words):
        """Marks the units of the words that say an option, each time that the text has them."""
        words = words.strip()
        for a, b in spans(field.leaf, words, self.sample.text) if words else ():
            field.said |= {self.first + k for k, (c, d) in enumerate(self.offsets) if a <= c < d <= b}


def batch(questions):
    """Arrays of some questions."""
    width = -(-max(len(q.units) for q in questions) // 8) * 8
    count, fields = len(questions), max(len(q.fields) for q in questions)
    known = {(): 0}
    ids, roles = np.zeros((count, width), np.int64), np.zeros((count, width, SITE), np.int64)
    at, many = np.zeros((count, fields), np.int64), np.zeros((count, fields), bool)
    none = np.full((count, fields), -1, np.int64)
    can_start, starts, said = (np.zeros((count, fields, width), bool) for _ in range(3))
    gained = np.zeros((count, fields, width), np.float32)
    pairs = []
    for r, q in enumerate(questions):
        n = len(q.units)
        ids[r, :n] = [known.setdefault(unit, len(known)) for unit in q.units]
        roles[r, :n] = q.sites
        for f, field in enumerate(q.fields):
            at[r, f], many[r, f] = field.at, field.many
            can_start[r, f, field.options or q.starts] = True
            if field.none is not None:
                none[r, f] = field.none
                can_start[r, f, field.none] = not many[r, f]
            if many[r, f] and not field.complete:
                can_start[r, f] = False
                can_start[r, f, list(field.starts)] = True
            can_start[r, f, list(field.doubtful)] = False
            starts[r, f, list(field.starts)] = True
            said[r, f, list(field.said)] = True
            gained[r, f, q.starts] = q.gains(field)
            if field.none is not None and field.leaf.options is None and not field.many:
                gained[r, f, field.none] = labels.NONE
            pairs += [(r, f, a, b) for a, b in field.pairs]
    lists = [np.array(unit, np.int64) for unit in known]
    words = np.zeros((len(lists), WIDTH), np.int64)
    for k, unit in enumerate(lists):
        words[k, : len(unit)] = unit
    can_end = np.zeros((count, width), bool)
    for r, q in enumerate(questions):
        can_end[r, q.ends] = True
    return words, ids, roles, at, none, many, can_start, starts & can_start, said, gained, can_end, np.array(pairs, np.int64).reshape(-1, 4)


# Schemas whose fields the Rust side names alike.
CASES = [
    {"type": "object", "properties": {"name": {"type": "string", "description": "of the  guest"}, "age": {"type": ["integer", "null"], "minimum": 0}, "paid": {"type": "boolean"}}, "required": ["name", "age"]},
    {"type": "object", "properties": {"items": {"type": "array", "description": "what was bought", "items": {"type": "object", "properties": {"unitPrice": {"type": "number"}, "kind": {"enum": ["a b", 3, None]}}, "required": ["unitPrice"]}}}, "required": ["items"]},
    {"type": "object", "properties": {"when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "description": "the day"}, "code": {"type": "string", "pattern": "^[A-Z]{3}$"}, "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}}}},
    {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}, "who": {"type": "object", "properties": {"name": {"type": "string"}}}, "parts": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}}}},
    {"type": "object", "properties": {"either": {"type": ["string", "integer"]}, "pair": {"type": "array", "prefixItems": [{"type": "string"}]}, "map": {"type": "object", "additionalProperties": {"type": "number"}}, "of": {"properties": {"city": {"type": "string"}}}}},
    {"type": "string"},
]


def main():
    for schema in CASES:
        fields = [{"path": leaf.path, "name": leaf.name, "options": leaf.options, "optional": leaf.optional, "many": leaf.many, "array": leaf.array or 0} for leaf in leaves(schema)]
        print(json.dumps({"schema": schema, "fields": fields}, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
