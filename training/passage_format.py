"""Reads the files of `passages/`: the text as nodes, the schemas as fields.

A passage is `@ name kind`, its text, and lines of fields that begin with `?`. `%name = a | b` is a
list for the slots of the file. Language and domain are the names of folder and file.
"""

import pathlib
import re
import zlib

from slot_types import TYPES

ROOT = pathlib.Path(__file__).parent / "passages"
KINDS = ("mail", "chat", "form", "log", "receipt", "minutes", "ad", "report", "review", "list", "table", "letter")
LANGUAGES = ("en", "de", "fr", "es")
SPLITS = ("train", "validation", "test", "validation-domains", "test-domains")
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
            if nodes and isinstance(nodes[-1], str):
                nodes[-1] = nodes[-1].rstrip(" \n")
            if not any(nodes):
                self.fail("a group without text", start)
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
