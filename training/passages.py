"""Written passages: texts with typed slots, and the schemas that ask for them.

    python3 passages.py check [FILE...]    every file is sound, or errors as file:line
    python3 passages.py show N [SPLIT]     N samples
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
import zlib

import noise
import slot_types
from data import STYLES, Sample, restyle, restyle_literal
from notation import compact
from slot_types import TYPES, USUAL_CURRENCY, Copied, SlotError, Value
from values import Ctx, Verbatim

ROOT = pathlib.Path(__file__).parent / "passages"
KINDS = ("mail", "chat", "form", "log", "receipt", "minutes", "ad", "report", "review", "list", "table", "letter")
LANGUAGES = ("en", "de", "fr", "es")
SPLITS = ("train", "validation", "test", "validation-domains", "test-domains")
AND = {"en": [" and ", " and ", ", and ", " & "], "de": [" und "], "fr": [" et "], "es": [" y "]}
ABSENT = ("string", "number", "integer", "boolean", "date")


class FormatError(ValueError):
    """What is wrong with a file, and in which line."""

    def __init__(self, path, line, what):
        super().__init__(f"{path}:{line}: {what}")


# --- the text: nodes ------------------------------------------------------------------------------------


class Slot:
    """`{name:...}`: a value. `options` has `(tag, nodes)` of phrases, else `type` and `args` draw it."""

    def __init__(self, name, many, view, type_=None, args=(), options=None):
        self.name, self.many, self.view, self.type, self.args, self.options = name, many, view, type_, args, options

    @property
    def defines(self):
        return self.type is not None or self.options is not None

    @property
    def tagged(self):
        return self.options is not None and self.options[0][0] is not None


class Choice:
    """`{a|b}`: one of the branches. `{?a}`: a, or nothing."""

    def __init__(self, branches):
        self.branches = branches


class Group:
    """`{*2-4 lines: ...}`: rows."""

    def __init__(self, lo, hi, joint, nodes):
        self.lo, self.hi, self.joint, self.nodes = lo, hi, joint, nodes


SLOT = re.compile(r"([a-z_][a-z0-9_]*)?(\[\])?(?:\.([a-z]+))?(?=[:}])")
GROUP = re.compile(r'\*(\d+)-(\d+) +(lines|list|"(?:[^"\\]|\\.)*"):[ \n]?')
TAG = re.compile(r"\s*([a-z0-9][\w-]*)=")


class Parser:
    """Reads the text of a passage into nodes: str, Slot, Choice, Group, and "#" for the row's number."""

    def __init__(self, text, lists, fail):
        self.text, self.pos, self.lists, self.fail, self.grouped = text, 0, lists, fail, False

    def nodes(self, stops=""):
        out, literal = [], ""
        while self.pos < len(self.text) and self.text[self.pos] not in stops:
            ch = self.text[self.pos]
            self.pos += 1
            if ch == "\\" and self.pos < len(self.text):
                literal += self.text[self.pos]
                self.pos += 1
            elif ch == "{":
                out += [literal] if literal else []
                literal = ""
                out.append(self.braces())
            elif ch == "}":
                self.fail("`}` without `{` (write `\\}` for the character)", self.pos)
            else:
                literal += ch
        return out + [literal] if literal else out

    def close(self, start):
        if self.pos >= len(self.text):
            self.fail("`{` is never closed", start)
        self.pos += 1

    def branches(self, start):
        out = [self.nodes("|}")]
        while self.pos < len(self.text) and self.text[self.pos] == "|":
            self.pos += 1
            out.append(self.nodes("|}"))
        self.close(start)
        return out

    def braces(self):
        start = self.pos
        if self.text.startswith("#}", start):
            self.pos += 2
            return "#"
        if self.text.startswith("?", start):
            self.pos += 1
            return Choice([*self.branches(start), []])
        m = GROUP.match(self.text, start)
        if m:
            if self.grouped:
                self.fail("a group within a group", start)
            self.pos, self.grouped = m.end(), True
            nodes = self.nodes("}")
            self.close(start)
            self.grouped = False
            if isinstance(nodes[-1], str):
                nodes[-1] = nodes[-1].rstrip(" \n")
            return Group(int(m[1]), int(m[2]), m[3], nodes)
        if self.text.startswith("*", start):
            self.fail('a group is `{*2-4 lines: ...}`, `{*2-4 list: ...}` or `{*2-4 "; ": ...}`', start)
        m = SLOT.match(self.text, start)
        if not m or not m[0] and self.text[m.end()] == "}":
            out = self.branches(start)
            if len(out) < 2:
                self.fail("braces without alternatives (`{a|b}`) or a slot (`{name:type}`)", start)
            return Choice(out)
        self.pos = m.end() + 1
        many = bool(m[2]) or self.grouped
        if self.text[m.end()] == "}":
            return Slot(m[1], many, m[3])
        return self.definition(m[1], many, m[3], start)

    def definition(self, name, many, view, start):
        out = self.branches(start)
        whole = out[0][0].strip() if len(out) == 1 and len(out[0]) == 1 and isinstance(out[0][0], str) else None
        if whole is not None and whole.startswith("%"):
            if whole[1:] not in self.lists:
                self.fail(f"the list {whole} is not defined above", start)
            return Slot(name, many, view, options=self.lists[whole[1:]])
        if whole is not None:
            type_, *args = whole.split() or [""]
            if type_ not in TYPES:
                self.fail(f"`{type_}` is not a type; phrases need two alternatives or more", start)
            return Slot(name, many, view, type_, args)
        return Slot(name, many, view, options=options_of(out, lambda what: self.fail(what, start)))


def options_of(branches, fail):
    """Branches of phrases as `(tag, nodes)`; an untagged one has the tag of the one before."""
    out, tag = [], None
    for branch in branches:
        branch = list(branch)
        m = TAG.match(branch[0]) if branch and isinstance(branch[0], str) else None
        if m:
            tag, branch[0] = m[1], branch[0][m.end():]
        if branch and isinstance(branch[0], str):
            branch[0] = branch[0].lstrip()
        if branch and isinstance(branch[-1], str):
            branch[-1] = branch[-1].rstrip()
        out.append((tag, [n for n in branch if n != ""]))
    tags = [t for t, _ in out]
    if tags[0] is None and any(tags):
        fail("the first alternative has no tag, a later one has")
    if tags[0] and len(set(tags)) < 2:
        fail("one tag alone decides nothing")
    if len(out) < 2:
        fail("phrases need two alternatives or more")
    return out


# --- schemas: fields ---------------------------------------------------------------------------------------


class Field:
    """`key/other_key=slot.view "description"`, `key=!type`, `key{fields}`, `key[fields]`."""

    def __init__(self, keys, source, about):
        self.keys, self.source, self.about = keys, source, about


class Leaf:
    def __init__(self, slot, view):
        self.slot, self.view = slot, view


class Missing:
    def __init__(self, type_):
        self.type = type_


class Nested:
    def __init__(self, fields):
        self.fields = fields


class Rows:
    """One field: an array of its values. More: an array of objects."""

    def __init__(self, fields):
        self.fields = fields


FIELD = re.compile(r"\s*([\w./-]+?)\s*(?:=\s*(!?\w+(?:\.\w+)?)\s*)?(?=[\s,\"\[\]{}]|$)")
ABOUT = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')


def fields_of(text, fail, pos=0, stop=None):
    """The fields up to `stop`, and the position after it."""
    out = []
    while True:
        m = FIELD.match(text, pos)
        if not m:
            fail(f"a field is expected at `{text[pos:pos + 20]}`")
        name, source = m[1], m[2]
        pos = m.end()
        while pos < len(text) and text[pos] == " ":
            pos += 1
        if pos < len(text) and text[pos] in "{[":
            closing, wrap = ("}", Nested) if text[pos] == "{" else ("]", Rows)
            inner, pos = fields_of(text, fail, pos + 1, closing)
            made = wrap(inner)
        elif source and source[0] == "!":
            made = Missing(source[1:])
            if made.type not in ABSENT:
                fail(f"`!{made.type}` is not one of " + ", ".join("!" + a for a in ABSENT))
        else:
            slot, _, view = (source or name.split("/")[0]).partition(".")
            made = Leaf(slot, view or None)
        m = ABOUT.match(text, pos)
        about = None
        if m:
            about, pos = m[1], m.end()
        keys = (name.partition(".")[0] if source is None else name).split("/")
        out.append(Field(keys, made, about))
        while pos < len(text) and text[pos] == " ":
            pos += 1
        if pos < len(text) and text[pos] == ",":
            pos += 1
        elif stop and pos < len(text) and text[pos] == stop:
            return out, pos + 1
        elif not stop and pos == len(text):
            return out, pos
        else:
            fail(f"`,` or the end is expected at `{text[pos:pos + 20]}`")


def leaves(fields):
    for f in fields:
        if isinstance(f.source, (Nested, Rows)):
            yield from leaves(f.source.fields)
        else:
            yield f


# --- files --------------------------------------------------------------------------------------------------


class Passage:
    def __init__(self, path, line, lang, domain, name, kind, nodes, schemas):
        self.path, self.line, self.lang, self.domain, self.name, self.kind, self.nodes, self.schemas = path, line, lang, domain, name, kind, nodes, schemas
        self.slots = {}
        self.nulls = set()  # slots that a text may leave out

    @property
    def id(self):
        return f"{self.lang}/{self.domain}/{self.name}"

    @property
    def split(self):
        return split_of(self.domain, self.name)


def split_of(domain, family):
    at = zlib.crc32(domain.encode()) % 20
    if at < 2:
        return ("test-domains", "validation-domains")[at]
    at = zlib.crc32(f"{domain}/{family}".encode()) % 20
    return ("test", "validation")[at] if at < 2 else "train"


def walk(nodes, optional=False):
    """Every slot, with whether it may be left out."""
    for n in nodes:
        if isinstance(n, Slot):
            yield n, optional
            for _, branch in n.options or ():
                yield from walk(branch, True)
        elif isinstance(n, Choice):
            for b in n.branches:
                yield from walk(b, True)
        elif isinstance(n, Group):
            yield from walk(n.nodes, optional)


def read(path):
    """The passages of a file, and its errors."""
    lang, domain = path.parent.name, path.stem
    shown = path.relative_to(ROOT.parent.parent) if path.is_relative_to(ROOT.parent.parent) else path
    errors, out, lists = [], [], {}
    if lang not in LANGUAGES:
        return [], [FormatError(shown, 1, f"the folder names the language, one of {', '.join(LANGUAGES)}")]
    lines = path.read_text(encoding="utf-8").split("\n")
    k = 0

    class Stop(Exception):
        pass

    def fail_at(line):
        def fail(what, *_):
            errors.append(FormatError(shown, line, what))
            raise Stop

        return fail

    while k < len(lines):
        head = lines[k]
        k += 1
        if not head.strip() or head.startswith("# "):
            continue
        try:
            if head.startswith("%"):
                m = re.match(r"%(\w+)\s*=\s*(.*)", head)
                if not m:
                    fail_at(k)("a list is `%name = a | b | c`")
                parser = Parser(m[2] + "}", lists, fail_at(k))
                lists[m[1]] = options_of(parser.branches(0), fail_at(k))
                continue
            m = re.fullmatch(r"@ ([a-z0-9][a-z0-9-]*) (\w+)\s*", head)
            if not m or m[2] not in KINDS:
                fail_at(k)(f"a passage begins with `@ its-name kind`, kind one of {', '.join(KINDS)}")
            start = k
            while k < len(lines) and not lines[k].startswith(("? ", "@ ")):
                k += 1
            body, first = "\n".join(lines[start:k]).strip("\n"), start
            while first < k and not lines[first].strip():
                first += 1
            asked = k
            while k < len(lines) and (lines[k].startswith("? ") or lines[k].startswith("  ") and k > asked):
                k += 1

            def fail(what, pos=0):
                errors.append(FormatError(shown, first + 1 + body.count("\n", 0, pos), what))
                raise Stop

            nodes = Parser(body, lists, fail).nodes()
            schemas = []
            for n in range(asked, k):
                if lines[n].startswith("? "):
                    text = lines[n][2:]
                    more = n + 1
                    while more < k and lines[more].startswith("  "):
                        text, more = f"{text} {lines[more].strip()}", more + 1
                    schemas.append((n + 1, fields_of(text.strip().rstrip(","), fail_at(n + 1))[0]))
            passage = Passage(shown, start, lang, domain, m[1], m[2], nodes, [s for _, s in schemas])
            resolve(passage, schemas, fail_at)
            out.append(passage)
        except Stop:
            while k < len(lines) and not lines[k].startswith("@ "):
                k += 1
    seen = {}
    for p in out:
        if p.name in seen:
            errors.append(FormatError(shown, p.line, f"the name {p.name} is taken in line {seen[p.name]}"))
        seen[p.name] = p.line
    return out, errors


def resolve(passage, schemas, fail_at):
    """Ties slots to their definitions and fields to slots."""
    at = fail_at(passage.line)
    mentioned, always = set(), set()
    for slot, optional in walk(passage.nodes):
        if not slot.name:
            continue
        mentioned.add(slot.name)
        known = passage.slots.get(slot.name)
        if slot.defines and known is None:
            passage.slots[slot.name] = slot
        elif slot.defines and not (known.tagged and slot.tagged) and not slot.many and not optional:
            at(f"{{{slot.name}}} is defined twice; only phrases with tags may be, and branches of alternatives")
        if slot.tagged and known is not None and {t for t, _ in slot.options} != {t for t, _ in known.options}:
            at(f"{{{slot.name}}} has other tags where it is written again")
        if not optional:
            always.add(slot.name)
    for name in mentioned - passage.slots.keys():
        at(f"the slot {{{name}}} is never defined (`{{{name}:type}}`)")
    passage.nulls = mentioned - always
    for name, slot in passage.slots.items():
        if slot.tagged and any(t == "null" for t, _ in slot.options):
            passage.nulls.add(name)
    for line, fields in schemas:
        check_fields(passage, fields, fail_at(line), False)


def check_fields(passage, fields, fail, in_rows):
    keys = set()
    for f in fields:
        for key in f.keys:
            if not re.fullmatch(r"[A-Za-z][\w-]*", key) or key in keys:
                fail(f"the key `{key}` is taken, or no key")
            keys.add(key)
        if isinstance(f.source, (Nested, Rows)):
            if isinstance(f.source, Rows) and in_rows:
                fail("an array within rows")
            check_fields(passage, f.source.fields, fail, in_rows or isinstance(f.source, Rows))
        elif isinstance(f.source, Leaf):
            f.source.slot = next((k for k in (f.source.slot, *f.keys) if k in passage.slots), f.source.slot)
            slot = passage.slots.get(f.source.slot)
            if slot is None:
                fail(f"there is no slot {{{f.source.slot}}}")
            if slot.many != in_rows:
                fail(f"{{{f.source.slot}}} is a list: ask for it in brackets, `key[{f.source.slot}]`" if slot.many else f"{{{f.source.slot}}} is no list: it cannot be in brackets")
            if slot.tagged and f.source.view and f.source.view != "given" and f.source.view not in {t for t, _ in slot.options}:
                fail(f"{{{f.source.slot}}} has no tag `{f.source.view}`")
            if slot.options is not None and not slot.tagged and f.source.view not in (None, "given", "text"):
                fail(f"a phrase has no view `{f.source.view}`")


# --- drawing ---------------------------------------------------------------------------------------------------


class Writer:
    """Writes one text of a passage: draws each value once and remembers it."""

    def __init__(self, c, passage):
        self.c, self.passage, self.lang = c, passage, passage.lang
        self.drawn, self.row, self.choices, self.taken = {}, None, {}, collections.defaultdict(set)
        self.index = 0
        self.currency = c.pick(USUAL_CURRENCY[self.lang])
        point = [(".", ","), (".", ","), (".", ""), (".", "")] + [(",", "."), (",", "")] * c.chance(0.25) if self.lang == "en" else [(",", " "), (",", ""), (",", "")] if self.lang == "fr" else [(",", "."), (",", "."), (",", "")]
        if self.currency == "CHF" and c.chance(0.5):
            point = [(".", "'"), (".", "")]
        self.decimal, self.group = c.pick(point)
        self.today = slot_types.datetime.date(c.rng.randint(2019, 2027), c.rng.randint(1, 12), c.rng.randint(1, 28))

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
            pieces = self.expand(branch)
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
            return self.expand(self.c.pick(said))
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


# --- asking -------------------------------------------------------------------------------------------------------


class Asker:
    """Turns fields into a JSON Schema and the answer."""

    def __init__(self, c, writer, fold):
        self.c, self.w, self.fold = c, writer, fold
        self.style, self.literals = c.pick(STYLES), c.pick(["plain", "plain", "plain", "upper", "space", "kebab", "title"])
        self.described = c.pick([0, 0.5, 1, 1])
        self.nullable = c.chance(0.6)

    def key(self, field, extra=""):
        return restyle(self.c, re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", self.c.pick(field.keys)).lower() + extra, self.style)

    def leaf(self, field, v):
        """`(schema, answer, key)` of a value that is there."""
        source = field.source
        if source.view == "given":
            return {"type": "boolean"}, True, self.key(field)
        if v.kind == "tag":
            return *self.tagged(self.w.passage.slots[source.slot], source.view, v.text), self.key(field)
        view = source.view or self.c.pick(v.usual)
        if view not in v.views:
            raise SlotError(f"{{{source.slot}}} cannot be asked for as `.{view}`; there is " + ", ".join(v.views))
        schema, answer = v.views[view]
        schema = {k: [self.fold(x) if isinstance(x, Copied) else x for x in s] if isinstance(s, list) else s for k, s in schema.items()}
        extra = f"_{v.unit}" if view == "number" and hasattr(v, "unit") else ""
        if extra and any(field.keys[0].endswith(u) for u in (extra, "_min", "_" + extra[1])) or extra[1:] in field.keys:
            extra = ""
        return schema, self.fold(answer) if isinstance(answer, Copied) else answer, self.key(field, extra)

    def tagged(self, slot, view, tag):
        tags = list(dict.fromkeys(t for t, _ in slot.options if t != "null"))
        if view and view != "given":
            return {"type": "boolean"}, tag == view
        if set(tags) == {"yes", "no"}:
            if self.c.chance(0.08):
                return {"enum": ["yes", "no"]}, None if tag == "null" else tag
            return {"type": "boolean"}, None if tag == "null" else tag == "yes"
        if self.c.chance(0.4):
            self.c.rng.shuffle(tags)
        if len(tags) == 1:
            return {"type": "string", "enum": tags}, None if tag == "null" else tag
        schema = {"enum": [restyle_literal(t, self.literals) for t in tags]}
        return schema, None if tag == "null" else restyle_literal(tag, self.literals)

    def absent(self, field):
        """The schema that a value which is not in the text would have had."""
        source = field.source
        if isinstance(source, Missing):
            return {"type": "string", "format": "date"} if source.type == "date" else {"type": source.type}
        if source.view == "given":
            return None
        slot = self.w.passage.slots[source.slot]
        if slot.tagged:
            return self.tagged(slot, source.view, "null")[0]
        if slot.options is not None:
            return {"type": "string"}
        v = TYPES[slot.type](self.w, [a for a in slot.args if not a.startswith("+")]) if slot.type != "sum" else None
        view = (source.view or v.usual[0]) if v else "number"
        return v.views[view][0] if v else {"type": "number"}

    def value(self, name, at=None):
        v = self.w.drawn.get(name)
        if at is not None and v is not None:
            v = v[at]
        return None if v is None or getattr(v, "hidden", False) or (v.kind == "tag" and v.text == "null") else v

    def object(self, fields, at=None, plan=None):
        """`plan` keeps keys and schemas alike in the rows of a list."""
        properties, required, answer = {}, [], {}
        for f in fields:
            made = self.field(f, at, plan)
            if made is None:
                continue
            schema, value, key, needed, there = made
            if key in properties:
                continue
            if f.about and (plan is None or at in (None, 0)) and "description" not in schema and self.c.chance(self.described):
                schema = {**schema, "description": f.about}
            properties[key] = schema
            if needed:
                required.append(key)
            if there:
                answer[key] = value
        return {"type": "object", "properties": properties, "required": required}, answer

    def field(self, f, at, plan):
        """`(schema, answer, key, required, present)`."""
        if isinstance(f.source, Nested):
            schema, value = self.object(f.source.fields, at, plan)
            return (schema, value, self.key(f), True, True) if schema["properties"] else None
        if isinstance(f.source, Rows):
            return self.array(f)
        v = self.value(f.source.slot, at) if isinstance(f.source, Leaf) else None
        if v is None and isinstance(f.source, Leaf) and f.source.view == "given":
            return {"type": "boolean"}, False, self.key(f), True, True
        if v is not None:
            schema, value, key = self.leaf(f, v)
        else:
            schema, value, key = self.absent(f), None, self.key(f)
        if v is None or self.c.chance(0.8 if f.source.slot in self.w.passage.nulls else 0.1):
            if self.nullable:
                return nullable(schema), value, key, True, True
            return schema, value, key, False, v is not None
        return schema, value, key, True, True

    def array(self, f):
        fields = f.source.fields
        names = [x.source.slot for x in leaves(fields) if isinstance(x.source, Leaf)]
        columns = [self.w.drawn.get(n) or [] for n in names]
        if len({len(col) for col in columns}) > 1:
            raise SlotError("the columns of an array have different lengths: " + ", ".join(f"{n} {len(col)}" for n, col in zip(names, columns)))
        count = len(columns[0])
        if len(fields) == 1:
            made = [self.leaf(fields[0], v)[:2] for v in columns[0] if v is not None]
            item = made[0][0] if made else {"type": "string"}
            forms = {("format" in s, "enum" in s, s.get("type")) for s, _ in made}
            if len(forms) > 1 or "enum" in item or "format" in item or "pattern" in item or "minimum" in item:
                item = self.common(fields[0], columns[0])
                made = [(None, self.viewed(v, item)) for v in columns[0] if v is not None]
            return {"type": "array", "items": item}, [a for _, a in made], self.key(f), True, True
        # One drawing of keys and views serves all rows.
        plan = [(x, self.key(x), self.row_schema(x, columns, names), self.c.chance(self.described)) for x in fields]
        keys = [key for _, key, _, _ in plan]
        if len(set(keys)) < len(keys):
            return None
        gaps = {key: any(self.row_value(x, item, at) is None for at in range(count)) for x, key, item, _ in plan}
        properties = {key: (nullable(item) if gaps[key] and self.nullable else item) | ({"description": x.about} if x.about and said else {}) for x, key, item, said in plan}
        rows = []
        for at in range(count):
            row = {key: self.row_value(x, item, at) for x, key, item, _ in plan}
            rows.append(row if self.nullable else {k: v for k, v in row.items() if v is not None})
        required = [k for k in keys if self.nullable or not gaps[k]]
        return {"type": "array", "items": {"type": "object", "properties": properties, "required": required}}, rows, self.key(f), True, True

    def row_schema(self, x, columns, names):
        if isinstance(x.source, Missing):
            return self.absent(x)
        return self.common(x, columns[names.index(x.source.slot)])

    def common(self, x, column):
        """A schema that holds for all rows."""
        slot = self.w.passage.slots[x.source.slot]
        if slot.tagged:
            return self.tagged(slot, x.source.view, "null")[0]
        present = [v for v in column if v is not None]
        view = x.source.view or (present[0].usual[0] if present else "text")
        if not present:
            return {"type": "string"}
        kinds = [v.views[view][0] for v in present]
        kind = kinds[0].get("type", "string")
        if kind == "integer" and any(k.get("type") == "number" for k in kinds):
            kind = "number"
        keep = {k: s for k, s in kinds[0].items() if k in ("format", "pattern") and all(other.get(k) == s for other in kinds)}
        if view == "currency":
            keep, kind = {"pattern": "^[A-Z]{3}$"}, "string"
        return {"type": kind, **keep}

    def viewed(self, v, item, view=None):
        answer = v.views[view or v.usual[0]][1]
        return self.fold(answer) if isinstance(answer, Copied) else answer

    def row_value(self, x, item, at):
        if isinstance(x.source, Missing):
            return None
        v = self.value(x.source.slot, at)
        if v is None:
            return None
        if v.kind == "tag":
            if item.get("type") == "boolean":
                return v.text == (x.source.view or "yes")
            if x.source.view is None and "enum" in item:
                return next(o for o in item["enum"] if o == restyle_literal(v.text, self.literals) or o == v.text)
        return self.viewed(v, item, x.source.view)


def nullable(schema):
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]} if "type" not in schema else {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def subset(c, passage):
    """One of the schemas as written, a part of it, or fields of several."""
    if c.chance(0.3) and len(passage.schemas) > 1:
        pool = [f for s in passage.schemas for f in s]
        c.rng.shuffle(pool)
        fields, slots, keys = [], set(), set()
        wanted = c.pick([1, 2, 3, 3, 4, 5, 6])
        for f in pool:
            used = {x.source.slot for x in leaves([f]) if isinstance(x.source, Leaf)}
            if len(fields) < wanted and not (used & slots or keys & set(f.keys)):
                fields.append(f)
                slots |= used
                keys |= set(f.keys)
        return fields
    fields = list(c.pick(passage.schemas))
    if len(fields) > 2 and c.chance(0.3):
        fields = [f for k, f in enumerate(fields) if k == 0 or not c.chance(0.3)]
    if c.chance(0.35):
        c.rng.shuffle(fields)
    return fields


def make(c, passage):
    """A sample of a passage."""
    for _ in range(10):
        writer = Writer(c, passage)
        text, fold = noise.apply(c, passage, writer.expand(passage.nodes))
        schema, answer = Asker(c, writer, fold).object(subset(c, passage))
        if schema["properties"]:
            return Sample(schema, text, answer, passage.id)
    raise SlotError("no schema asks for anything")


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


# --- checks ----------------------------------------------------------------------------------------------------------


def tokens(text):
    return len(re.findall(r"\w+|[^\w\s]", text))


FAMILIES = {"int": "number", "count": "number", "num": "number", "money": "number", "amount": "number", "pct": "number", "dur": "number", "year": "number", "sum": "number", "ord": "number",
            "date": "date", "day": "date", "weekday": "date", "month": "date", "stamp": "date", "time": "time",
            "person": "name", "first": "name", "last": "name", "formal": "name", "org": "name", "city": "name", "place": "name", "address": "name", "street": "name", "country": "name", "brand": "name", "name": "name", "title": "name", "event": "name", "airline": "name",
            "email": "contact", "url": "contact", "phone": "contact", "code": "code", "user": "code", "plate": "code", "ip": "code", "host": "code", "version": "code", "zip": "code"}


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
        gap = re.search(r".{0,20}(?:[^\S\n]{2,}(?=[a-z])|[^\S\n][,;](?=\s|$)).{0,20}", plain)
        if gap and passage.kind not in ("table", "receipt", "log", "form", "list"):
            found.append(f"spaces beside an alternative do not fit: {gap[0]!r}")
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


def check(paths):
    total = errors = 0
    for path in paths:
        found, bad = read(path)
        total += len(found)
        for e in bad:
            errors += 1
            print(e)
        for p in found:
            for what in problems(p):
                errors += 1
                print(FormatError(p.path, p.line, f"[{p.name}] {what}"))
    print(f"{total} passages in {len(paths)} files, {errors} errors")
    return errors


def main():
    command, args = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    files = sorted(ROOT.glob("*/*.txt"))
    if command == "check":
        sys.exit(check([pathlib.Path(a).resolve() for a in args] or files) > 0)
    if command == "show":
        split = args[1] if len(args) > 1 and args[1] in SPLITS else "train"
        only = pathlib.Path(args[1]).resolve() if len(args) > 1 and args[1].endswith(".txt") else None
        pool = read(only)[0] if only else None
        for seed in range(int(args[0]) if args else 5):
            c = Ctx(f"passages-{split}-{seed}")
            x = make(c, pool[seed % len(pool)]) if pool else sample(seed, split)
            print(f"[{x.kind}]\n{x.text}\n{compact(x.schema)}\n{x.target}\n")
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
