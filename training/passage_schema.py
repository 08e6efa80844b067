"""Asks for values of a written text: a JSON Schema, and the answer."""

import re

from articles import without_article
from data import STYLES, restyle, restyle_literal
from passage_format import Leaf, Missing, Nested, Rows, leaves
from slot_types import TYPES, Copied, SlotError


# Words of keys, and what else people call the same thing; keys in English are asked of texts in any language.
SYNONYMS = {
    "en": {
        "phone": "telephone tel phone_number mobile", "email": "mail e_mail email_address", "number": "no nr num id", "date": "day", "cost": "price fee", "price": "cost amount",
        "quantity": "qty count units", "address": "addr", "reason": "cause why", "amount": "sum value", "percent": "pct percentage", "minutes": "mins min", "maximum": "max highest",
        "minimum": "min lowest", "previous": "former prev earlier old", "old": "former previous", "earlier": "previous former", "customer": "client buyer", "company": "firm business organisation",
        "city": "town", "start": "begin beginning", "starts": "begins", "ends": "finishes", "doctor": "physician", "children": "kids", "until": "till to", "total": "sum overall",
        "contact": "contact_person", "guest": "visitor", "owner": "proprietor", "rating": "score stars", "stars": "rating", "items": "positions entries lines", "product": "article item",
        "weight": "mass", "colour": "color", "deadline": "due_date", "due": "deadline payable_by", "boss": "manager", "manager": "head", "partner": "spouse", "size": "dimensions", "city_name": "town",
    },
    "de": {
        "nummer": "nr", "anzahl": "zahl menge", "preis": "kosten betrag", "datum": "tag", "telefon": "tel telefonnummer", "uhrzeit": "zeit", "grund": "ursache", "kunde": "auftraggeber",
        "firma": "unternehmen",
    },
    "fr": {"numero": "no num", "prix": "cout montant", "telephone": "tel", "raison": "motif"},
    "es": {"numero": "no num", "precio": "coste importe", "fecha": "dia", "telefono": "tel", "motivo": "causa"},
}
# Keys that say nothing: the description has to.
VAGUE = ["a b c d e f g h", "field_1 field_2 field_3 field_4 field_5 field_6 field_7 field_8", "value_a value_b value_c value_d value_e value_f value_g value_h", "x1 x2 x3 x4 x5 x6 x7 x8", "q1 q2 q3 q4 q5 q6 q7 q8"]


def words_of(key):
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", key).lower().replace("_", " ")


class Asker:
    """Turns fields into a JSON Schema and the answer."""

    def __init__(self, c, writer, fold):
        self.c, self.w, self.fold = c, writer, fold
        self.style, self.literals = c.pick(STYLES), c.pick(["plain", "plain", "plain", "upper", "space", "kebab", "title"])
        # What was written is mostly needed: without it, nothing says which of several values is meant.
        self.described = c.pick([0.8, 1, 1, 1])
        self.nullable = c.chance(0.6)
        self.glossed = c.chance(0.25)
        self.vague = c.pick(VAGUE).split() if c.chance(0.05) else None
        self.wordings = {}

    def key(self, field, extra=""):
        if self.vague and isinstance(field.source, Leaf):
            return self.vague.pop(0) if self.vague else restyle(self.c, self.c.pick(field.keys), self.style)
        words = words_of(self.c.pick(field.keys)).split()
        others = SYNONYMS["en"] | SYNONYMS[self.w.lang]
        words = [self.c.pick(others[w].split()) if w in others and self.c.chance(0.25) else w for w in words]
        return restyle(self.c, "_".join(words) + extra, self.style)

    def description(self, field, key):
        """What a schema says of a field: what was written, or its name in other words."""
        vague = self.vague is not None
        if field.about and (vague or self.c.chance(self.described)):
            return f"{words_of(field.keys[0])}: {field.about}" if vague else field.about
        if vague or self.glossed and self.c.chance(0.5):
            said = words_of(self.c.pick(field.keys))
            said = self.c.pick([said, said, said.capitalize(), f"the {said}"]) if self.w.lang == "en" else self.c.pick([said, said.capitalize()])
            return said if vague or said != words_of(key) else None
        return None

    def leaf(self, field, v):
        """`(schema, answer, key)` of a value that is there."""
        source = field.source
        if source.view == "given":
            return {"type": "boolean"}, True, self.key(field)
        if v.kind == "tag":
            schema, answer = self.tagged(self.w.passage.slots[source.slot], source.view, v.text)
            key = self.key(field)
            if source.slot in self.w.wordings:
                self.wordings[key] = self.fold(self.w.wordings[source.slot])
            return schema, answer, key
        view = source.view or self.c.pick(v.usual)
        if view not in v.views:
            raise SlotError(f"{{{source.slot}}} cannot be asked for as `.{view}`; there is " + ", ".join(v.views))
        schema, answer = v.views[view]
        schema = {k: [self.fold(x) if isinstance(x, Copied) else x for x in s] if isinstance(s, list) else s for k, s in schema.items()}
        extra = f"_{v.unit}" if view == "number" and hasattr(v, "unit") else ""
        if extra and any(field.keys[0].endswith(u) for u in (extra, "_min", "_" + extra[1])) or extra[1:] in field.keys:
            extra = ""
        return schema, self.copied(answer, schema), self.key(field, extra)

    def copied(self, answer, schema):
        """An answer, as the text has it where it stands in the text."""
        if not isinstance(answer, Copied):
            return answer
        text = self.fold(answer)
        return text if schema.keys() & {"enum", "format", "pattern"} else without_article(text)

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

    def object(self, fields):
        properties, required, answer = {}, [], {}
        for f in fields:
            made = self.field(f)
            if made is None:
                continue
            schema, value, key, needed, there = made
            if key in properties:
                continue
            said = self.description(f, key) if isinstance(f.source, (Leaf, Missing)) else None
            if said:
                schema = {**schema, "description": said}
            properties[key] = schema
            if needed:
                required.append(key)
            if there:
                answer[key] = value
        return {"type": "object", "properties": properties, "required": required}, answer

    def field(self, f):
        """`(schema, answer, key, required, present)`."""
        if isinstance(f.source, Nested):
            schema, value = self.object(f.source.fields)
            return (schema, value, self.key(f), True, True) if schema["properties"] else None
        if isinstance(f.source, Rows):
            return self.array(f)
        v = self.value(f.source.slot) if isinstance(f.source, Leaf) else None
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
            forms = {("format" in s, "enum" in s, "pattern" in s, s.get("type")) for s, _ in made}
            if len(forms) > 1 or "enum" in item or "format" in item or "pattern" in item or "minimum" in item:
                item = self.common(fields[0], columns[0])
                made = [(None, self.viewed(v, item, fields[0].source.view)) for v in columns[0] if v is not None]
            return {"type": "array", "items": item}, [a for _, a in made], self.key(f), True, True
        if self.c.chance(0.25):
            fields = self.c.rng.sample(fields, len(fields))
        # One drawing of keys and views serves all rows.
        plan = [(x, self.key(x), self.row_schema(x, columns, names)) for x in fields]
        said = {key: self.description(x, key) for x, key, _ in plan}
        keys = [key for _, key, _ in plan]
        if len(set(keys)) < len(keys):
            return None
        gaps = {key: any(self.row_value(x, item, at) is None for at in range(count)) for x, key, item in plan}
        properties = {key: (nullable(item) if gaps[key] and self.nullable else item) | ({"description": said[key]} if said[key] else {}) for x, key, item in plan}
        for x, key, _ in plan:
            if isinstance(x.source, Leaf) and self.w.passage.slots[x.source.slot].tagged:
                drawn = [self.value(x.source.slot, at) for at in range(count)]
                self.wordings[key] = [self.fold(getattr(v, "wording", "")) for v in drawn]
        rows = []
        for at in range(count):
            row = {key: self.row_value(x, item, at) for x, key, item in plan}
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
        return self.copied(v.views[view or v.usual[0]][1], item)

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
