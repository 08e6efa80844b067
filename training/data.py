"""Synthetic samples: a text, a JSON Schema, and the object that the text holds.

A sample is a pure function of its seed and its split:

    train      what the model learns from
    values     training's templates, filled from the unseen part of the word lists
    templates  sentences and whole texts that training never used
    domains    two subjects that training never used
    keys       training's templates, asked for by keys that training never used
"""

import re

from notation import compact, prompt, render
from templates import ATTR, COMMON_BITS, DOMAINS, Slot
from values import *  # noqa: F403 - a vocabulary of generators, used as such

SPLITS = ("train", "values", "templates", "domains", "keys")
TRAIN_DOMAINS = [d for d in DOMAINS if not d.heldout]
HELDOUT_DOMAINS = [d for d in DOMAINS if d.heldout]


class Sample:
    """A schema, a text, the right answer, and by key the words of the text that say a boolean or one of several options."""

    def __init__(self, schema, text, value, kind, wordings=None):
        self.schema, self.text, self.value, self.kind, self.wordings = schema, text, value, kind, wordings or {}

    @property
    def prompt(self):
        return prompt(self.schema, self.text)

    @property
    def target(self):
        return write(self.value)


def write(value):
    """Compact JSON, numbers with the digits of the text."""
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{compact(k)}:{write(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return compact(value)


# --- templates -> text ---------------------------------------------------------------------------

TOKEN = re.compile(r"\\.|[()\[\]|~]|\{\w+\}|[^\\()\[\]|~{]+", re.S)


def parse(template):
    """The template as nested lists: str, ("slot", name), ("alt", branches), ("opt", seq), ("fill",)."""
    tokens = TOKEN.findall(template)
    pos = 0

    def seq(stops):
        nonlocal pos
        out = []
        while pos < len(tokens) and tokens[pos] not in stops:
            t = tokens[pos]
            pos += 1
            if t == "(":
                branches = [seq("|)")]
                while tokens[pos] == "|":
                    pos += 1
                    branches.append(seq("|)"))
                pos += 1
                out.append(("alt", branches))
            elif t == "[":
                out.append(("opt", seq("]")))
                pos += 1
            elif t == "~":
                out.append(("fill",))
            elif t[0] == "{":
                out.append(("slot", t[1:-1]))
            else:
                out.append(t[1:] if t[0] == "\\" else t)
        return out

    return seq("")


def slots_of(node):
    names = []
    for x in node:
        if isinstance(x, tuple):
            if x[0] == "slot":
                names.append(x[1])
            elif x[0] == "alt":
                for b in x[1]:
                    names += slots_of(b)
            elif x[0] == "opt":
                names += slots_of(x[1])
    return names


CACHE = {}


def parsed(template):
    if template not in CACHE:
        node = parse(template)
        CACHE[template] = node, frozenset(slots_of(node))
    return CACHE[template]


class Text:
    """A text being written: draws values on first mention and remembers them."""

    def __init__(self, c, slots):
        self.c, self.slots, self.drawn, self.shown = c, slots, {}, set()
        self.quote = c.pick(["'{}'", '"{}"']) if c.chance(0.04) else None
        self.lower = c.chance(0.04)

    def draw(self, name):
        if name not in self.drawn:
            self.drawn[name] = self.slots[name].gen(self.c)
        return self.drawn[name]

    def expand(self, node):
        out = []
        for x in node:
            if isinstance(x, str):
                out.append(x.lower() if self.lower else x)
            elif x[0] == "slot":
                shown = self.draw(x[1])[1]
                self.shown.add(x[1])
                slot = self.slots[x[1]]
                if self.quote and slot.kind == "string":
                    shown = self.quote.format(shown)
                out.append(shown)
            elif x[0] == "alt":
                out.append(self.expand(self.c.pick(x[1])))
            elif x[0] == "opt":
                if self.c.chance(0.55):
                    out.append(self.expand(x[1]))
            else:
                out.append(filler(self.c))
        return "".join(out)


    def sentence(self, node):
        """With a capital, unless it begins with a value to be copied."""
        said = tidy(self.expand(node))
        copied = any(said.startswith(shown) for name, (_, shown) in self.drawn.items() if self.slots[name].kind == "string")
        return said if copied else capital(said)


def tidy(text):
    """One space between words, a capital after a full stop where a phrase was put first."""
    text = re.sub(r" {2,}", " ", text).strip()
    return re.sub(r"\.\.+(?=\s|$)", ".", text)


def capital(s):
    return s[:1].upper() + s[1:]


def filler(c):
    if c.chance(0.75):
        return FILLER(c)
    return c.pick([lambda: f"The {NOUN(c)} was {MOOD(c)} again.", lambda: f"I have told {first_name(c)} already.", lambda: f"{first_name(c)} says hello.",
                   lambda: f"We had {c.rng.randint(2, 40)} {c.pick(['minutes', 'people', 'degrees', 'tries'])} or so.", lambda: f"It reminds me of {title_name(c)}.",
                   lambda: f"Last time in {city_name(c)} it was easier.", lambda: f"The {THING(c)} can wait.", lambda: f"My {c.pick(['boss', 'sister', 'neighbor', 'friend'])} {first_name(c)} agrees."])()


def templates_for(domain, split, which):
    """Every sixth template is kept for the test; a held-out domain uses all of its own."""
    items = getattr(domain, which)
    if domain.heldout:
        return items
    return [t for k, t in enumerate(items) if (k % 6 == 5) == (split == "templates")] or items


GREETINGS = ["Hi,", "Hello,", "Dear team,", "Hey,", "Good morning,", "Hi there,", "Dear Sir or Madam,", "Hello everyone,", "Hi all,", "Good evening,", "To whom it may concern,", "Hey guys,", "Dear {n},", "Hi {n},"]
CLOSINGS = ["Best regards", "Thanks", "Cheers", "Kind regards", "Best", "Many thanks", "Sincerely", "Yours", "Thank you", "See you", "Best wishes"]


def prose(c, domain, split):
    """A whole template, sentences of a domain, or both, with filler around them."""
    t = Text(c, domain.slots)
    parts = []
    docs, bits = templates_for(domain, split, "docs"), templates_for(domain, split, "bits")
    shared = [b for b in COMMON_BITS if parsed(b)[1] <= domain.slots.keys()]
    whole = c.chance(0.5)
    if whole:
        parts.append(t.sentence(parsed(c.pick(docs))[0]))
    wanted = 0 if whole and c.chance(0.55) else c.pick([1, 2, 3]) if whole else c.pick([2, 3, 4, 4, 5, 6, 7])
    pool = [(b, parsed(b)) for b in bits] + [(b, parsed(b)) for b in c.rng.sample(shared, min(3, len(shared)))]
    c.rng.shuffle(pool)
    for _, (node, names) in pool:
        if wanted <= 0:
            break
        if names & t.shown and not c.chance(0.04):
            continue
        parts.append(t.sentence(node))
        wanted -= 1
    if not whole:
        c.rng.shuffle(parts)
    for _ in range(c.pick([0, 0, 0, 0, 1, 1, 2, 3])):
        parts.insert(c.rng.randint(0, len(parts)), filler(c))
    joint = " " if c.chance(0.8) else "\n"
    if c.chance(0.12):
        parts = merge(c, parts)
    text = joint.join(parts)
    if c.chance(0.2):
        text = wrap(c, text)
    return text, t


STARTERS = set("The It This There We My Our Please You She He They For With At By".split())


def merge(c, parts):
    """Run two sentences together, as people do."""
    out = [parts[0]]
    for p in parts[1:]:
        if c.chance(0.5) and out[-1].endswith(".") and p.split(" ")[0] in STARTERS:
            out[-1] = out[-1][:-1] + c.pick([", and ", "; ", ", ", " - ", " and "]) + p[0].lower() + p[1:]
        else:
            out.append(p)
    return out


def wrap(c, text):
    r = c.rng.random()
    if r < 0.3:
        return f"{c.pick(GREETINGS).format(n=first_name(c))}{c.pick([' ', chr(10), chr(10) * 2])}{text}"
    if r < 0.6:
        return f"{c.pick(GREETINGS).format(n=first_name(c))}\n\n{text}\n\n{c.pick(CLOSINGS)}{c.pick([',', '', '!'])}"
    if r < 0.7:
        return f"Subject: {c.pick(['Re: ', 'Fwd: ', ''])}{c.pick(['your request', 'update', 'question', 'quick note', 'important', 'our call', 'hello'])}\n\n{text}"
    if r < 0.8:
        return f"[{c.rng.randint(0, 23):02}:{c.rng.randint(0, 59):02}] {text}"
    if r < 0.9:
        return f"> {text}"
    return f"{text}\n--\n{c.pick(['Sent from my phone', 'This message is confidential.', 'Get our app today!', 'Customer care'])}"


# --- forms -------------------------------------------------------------------------------------------


def label_of(c, key):
    words = key.rstrip("_").split("_")
    return c.pick([" ".join(words).capitalize(), " ".join(words), " ".join(w.capitalize() for w in words), " ".join(words).capitalize(), " ".join(words).upper(), key])


def form(c, domain, split):
    """Lines of label and value, as in forms, logs and tables."""
    t = Text(c, domain.slots)
    t.quote = None
    names = c.rng.sample(list(domain.slots), min(len(domain.slots), c.rng.randint(2, 8)))
    style = c.rng.randint(0, 9)
    cells = []
    for name in names:
        slot = domain.slots[name]
        value, shown = t.draw(name)
        t.shown.add(name)
        if slot.kind == "boolean":
            shown = c.pick([("yes", "no"), ("true", "false"), ("Yes", "No"), ("on", "off"), ("y", "n")])[0 if value else 1]
        elif slot.kind == "enum":
            shown = value.replace("_", c.pick([" ", "_", "-"])) if c.chance(0.7) else shown
        cells.append((label_of(c, pick_key(c, slot, "train")), shown))
    if style <= 3:
        text = "\n".join(f"{k}: {v}" for k, v in cells)
    elif style == 4:
        text = ", ".join(f"{k}: {v}" for k, v in cells)
    elif style == 5:
        text = "\n".join(f"- {k}: {v}" for k, v in cells)
    elif style == 6:
        text = " ".join(f'{k.replace(" ", "_").lower()}={v}' for k, v in cells)
    elif style == 7:
        text = " | ".join(f"{k}: {v}" for k, v in cells)
    elif style == 8:
        text = "\n".join(f"**{k}** {v}" for k, v in cells)
    else:
        text = "; ".join(f"{k} {v}" for k, v in cells)
    if c.chance(0.3):
        text = f"{filler(c)}\n{text}"
    if c.chance(0.2):
        text = f"{text}\n{filler(c)}"
    return text, t


# --- attributes of a nameless thing: keys that occur in the text -----------------------------------------

ATTR_PHRASES = """The {k} is {v}.|Its {k} is {v}.|{k}: {v}.|It has a {k} of {v}.|The {k} was set to {v}.|We chose {v} as the {k}.|{v} is the {k}.|With {k} {v}.|
For the {k}, take {v}.|{K}: {v}.|The {k} equals {v}.|It lists {v} as its {k}.|{K} = {v}.|The {k} should be {v}.|I think the {k} was {v}.|As for the {k}, it is {v}.|
They changed the {k} to {v}.|According to the label the {k} is {v}.|{v} is what I know about the {k}.|{K} is {v}.|The {k} happens to be {v}.|Our {k} is {v} now.|
You can see that the {k} reads {v}.|We call the {k} {v}.|There is a {k}, namely {v}.|My {k} is {v}.|{K} - {v}.|Please set {k} to {v}.|{v} was given as {k}.|The {k} must not differ from {v}.""".replace("\n", "").split("|")
TRAIN_ATTR_PHRASES = [p for k, p in enumerate(ATTR_PHRASES) if k % 6 != 5]
TEST_ATTR_PHRASES = [p for k, p in enumerate(ATTR_PHRASES) if k % 6 == 5]
STRINGS = [person_name, city_name, company_name, product_name, COLOR, code_str, date_str, time_str, TAG, NOUN, title_name, MATERIAL, JOB, email_addr, synth,
           lambda c: f"{synth(c)} {synth(c)}", lambda c: f"{MOOD(c)} {NOUN(c)}", lambda c: synth(c).capitalize(), version_str, NOTE, url_str, phone_no]
FREE_KINDS = [lambda c, k: Slot("string", same(c.pick(STRINGS)), k), lambda c, k: Slot("string", same(c.pick(STRINGS)), k), lambda c, k: Slot("string", same(c.pick(STRINGS)), k),
              lambda c, k: Slot("integer", integer(0, c.pick([10, 100, 1000, 100000])), k), lambda c, k: Slot("number", number(0, c.pick([1, 10, 500]), (1, 2, 3)), k),
              lambda c, k: Slot("[string]", several(c.pick([TAG, FOOD, COLOR, SKILL, NOUN, first_name, city_name, synth]), 1, 5), k),
              lambda c, k: Slot("[integer]", numbers(integer(0, 300, 0), 2, 5), k)]


def told(kind, gen, key, options=None):
    """A slot whose generator writes the whole sentence."""
    slot = Slot(kind, gen, key, options)
    slot.told = True
    return slot


TRAITS = [  # keys; sentences that affirm; sentences that deny
    ("{w} is_{w}", "It is {w}.|It's {w}.|This one is {w}.|It is definitely {w}.|Everybody says it is {w}.|{w}: yes", "It is not {w}.|It isn't {w}.|This one is not {w}.|It is by no means {w}.|It was never {w}.|{w}: no"),
    ("{w} has_{w} with_{w} {w}_included", "It has a {w}.|It comes with a {w}.|A {w} is included.|There is a {w}.|With {w}.|The {w} is part of it.", "It has no {w}.|It comes without a {w}.|The {w} is not included.|There is no {w}.|Without {w}.|The {w} is missing."),
    ("{w} {w}_allowed needs_{w} {w}_required", "{w} is allowed.|We need the {w}.|A {w} is required.|Yes to the {w}.|Please include the {w}.|The {w} is wanted.", "{w} is not allowed.|We do not need the {w}.|No {w} required.|No {w}, please.|Please leave out the {w}.|The {w} is not wanted."),
]
COUNTED = ["There are {v} {w}s.", "We have {v} {w}s.", "It has {v} {w}s.", "{v} {w}s were counted.", "I need {v} {w}s.", "With {v} {w}s", "It took {v} {w}s.", "They brought {v} {w}s.", "In total {v} {w}s.", "It comes with {v} {w}s."]
CHOSEN = ["It is {v}.", "We went with {v}.", "{v} it is.", "Make it {v}.", "This one is {v}.", "I would say {v}.", "Let us take {v}.", "They prefer {v}.", "I chose {v}.", "Clearly {v}.", "Set to {v}.", "Somebody said {v}."]


def unlabelled(c):
    """An attribute told without naming its key as a label: a trait, a count, one of several options."""
    r = c.rng.random()
    if r < 0.5:
        keys, yes, no = c.pick(TRAITS)
        w = (ADJ if "is_{w}" in keys else lambda c: THING(c).split()[-1])(c) if c.chance(0.7) else synth(c)
        key = c.pick(keys.split()).format(w=w)

        def trait(c):
            v = c.chance(0.5)
            return v, c.pick((yes if v else no).split("|")).format(w=w)

        return key, told("boolean", trait, key)
    if r < 0.75:
        w = THING(c).split()[-1] if c.chance(0.7) else synth(c)
        key = c.pick(["{w}s", "{w}_count", "number_of_{w}s", "num_{w}s", "{w}s"]).format(w=w)

        def count(c):
            v, shown = integer(2, 60, 0.5)(c)
            return v, c.pick(COUNTED).format(v=shown, w=w)

        return key, told("integer", count, key)
    words = c.pick([COLOR, MATERIAL, TAG, GENRE, FOOD, SKILL, SPORT, synth, NOUN, MOOD])
    options = list({words(c).replace(" ", "_"): 0 for _ in range(9)})[:5]
    key = ATTR(c).replace(" ", "_")

    def choice(c):
        v = c.pick(options)
        return v, c.pick(CHOSEN).format(v=v.replace("_", " "))

    return key, told("enum", choice, key, options)


def attributes(c, split):
    words = []
    for _ in range(c.rng.randint(2, 8)):
        w = ATTR(c) if c.chance(0.7) else c.pick([lambda: NOUN(c), lambda: synth(c), lambda: f"{synth(c)} {NOUN(c)}", lambda: f"{ATTR(c)} {c.pick(['a', 'b', 'one', 'two', 'left', 'right', 'old', 'new'])}"])()
        if w not in words:
            words.append(w)
    slots, parts = {}, []
    for w in words:
        key = w.replace(" ", "_")
        if c.chance(0.3):
            key, slot = unlabelled(c)
            slots.setdefault(key, slot)
        else:
            slots[key] = c.pick(FREE_KINDS)(c, key)
            if slots[key].kind == "string" and c.chance(0.2):
                slots[key].options = slots[key].gen
    t = Text(c, slots)
    line = c.pick(["\n", " ", " ", " "])
    for key, slot in slots.items():
        _, shown = t.draw(key)
        t.shown.add(key)
        if slot.told:
            parts.append(capital(shown))
        else:
            k = key.replace("_", " ")
            phrase = c.pick(TEST_ATTR_PHRASES if split == "templates" else TRAIN_ATTR_PHRASES)
            v = f'"{shown}"' if slot.kind == "string" and c.chance(0.06) else shown
            said = phrase.format(k=k, K=k.capitalize(), v=v)
            parts.append(said if phrase.startswith("{v}") else capital(said))
    c.rng.shuffle(parts)
    if c.chance(0.4):
        parts.insert(0, c.pick([f"Here is the {NOUN(c)}.", f"About the {THING(c)}:", f"Data sheet of {synth(c).capitalize()}.", f"I looked at the {product_name(c)}.", filler(c)]))
    return line.join(parts), t


# --- lists of records ------------------------------------------------------------------------------------

ROWS = [
    ("items lines order_items positions products entries", dict(name=("product item name article description", same(product_name), "string"), qty=("quantity qty count amount", integer(1, 40, 0), "integer"), price=("price unit_price cost", number(0.5, 300), "number")),
     ["{qty} x {name} at {price}", "{name}, {qty} pieces, {price} each", "{qty} {name} \\({price}\\)", "{name}: {qty} for {price}", "{name} x{qty} @ {price}", "{qty} of the {name} \\({price} per piece\\)"]),
    ("people team members attendees contacts staff participants", dict(name=("name person full_name", same(person_name), "string"), role=("role job position title", same(JOB), "string"), age=("age years", integer(18, 80, 0), "integer")),
     ["{name}, {age}, {role}", "{name} \\({role}, {age}\\)", "{name} is a {role} and {age} years old", "{role} {name}, {age} years", "{age} year old {role} {name}", "{name} - {role} - {age}"]),
    ("contacts people users addresses recipients", dict(name=("name contact person", same(person_name), "string"), email=("email mail address", same(email_addr), "string"), city=("city town", same(city_name), "string")),
     ["{name} from {city}, {email}", "{name} <{email}>, {city}", "{name} \\({email}, {city}\\)", "{email} belongs to {name} in {city}", "in {city} {name}, {email}", "{name}: {email}, {city}"]),
    ("schedule agenda sessions slots program timetable", dict(time=("time start at", same(time_str), "string"), title=("title topic talk session", same(title_name), "string"), speaker=("speaker by presenter who", same(person_name), "string")),
     ["{time} {title} by {speaker}", "{time}: {speaker}, {title}", "{title} \\({speaker}\\) at {time}", "at {time} {speaker} talks about {title}", "{speaker} presents {title} at {time}", "{time} - {title} - {speaker}"]),
    ("cities trips legs stops route destinations", dict(city=("city place town stop", same(city_name), "string"), date=("date day arrival", same(date_str), "string"), nights=("nights days stay", integer(1, 14, 0.3), "integer")),
     ["{nights} nights in {city} from {date}", "{city} on {date} for {nights} nights", "{date}: {city}, {nights} nights", "{city} \\({nights} nights, {date}\\)", "on {date} {city}, staying {nights} nights", "{nights} days {city}, starting {date}"]),
    ("measurements readings samples sensors data", dict(sensor=("sensor id device name", same(host_str), "string"), value=("value reading temperature level", number(-10, 120, (1,)), "number"), unit=("unit scale", same(lambda c: c.pick(["C", "F", "bar", "kPa", "V", "A", "lux", "ppm"])), "string")),
     ["{sensor}: {value} {unit}", "{sensor} shows {value} {unit}", "{value} {unit} at {sensor}", "{sensor} = {value} {unit}", "{sensor} reported {value} {unit}", "we read {value} {unit} from {sensor}"]),
]
ROW_HEADS = ["Here is the list:", "We have", "I noted:", "These are:", "My list:", "Please add", "Summary.", "The following:", "So far:", ""]


def records(c, split):
    """A text with several alike records, asked for as an array of objects."""
    keys, columns, phrasings = c.pick(ROWS)
    usable = [p for k, p in enumerate(phrasings) if (k % 6 == 5) == (split == "templates")]
    node = parsed(c.pick(usable))[0]
    slots = {name: Slot(kind, gen, k) for name, (k, gen, kind) in columns.items()}
    chosen = c.rng.sample(list(columns), c.rng.randint(1, len(columns)) if c.chance(0.4) else len(columns))
    names = {name: restyle(c, pick_key(c, slots[name], split), style_of(c)) for name in chosen}
    if len(set(names.values())) < len(names):
        return records(c, split)
    rows, shown = [], []
    for _ in range(c.pick([1, 2, 2, 2, 3, 3, 4])):
        t = Text(c, slots)
        t.quote, t.lower = None, False
        shown.append(t.expand(node))
        rows.append({names[k]: t.drawn[k][0] for k in chosen})
    r = c.rng.random()
    if r < 0.35:
        body = "\n".join(f"{c.pick(['- '])}{x}" for x in shown)
    elif r < 0.5:
        body = "\n".join(f"{k + 1}. {x}" for k, x in enumerate(shown))
    elif r < 0.75:
        body = "; ".join(shown) + "."
    else:
        body = ", ".join(shown[:-1]) + (" and " if len(shown) > 1 else "") + shown[-1] + "."
    head = c.pick(ROW_HEADS)
    text = (filler(c) + " " if c.chance(0.25) else "") + head + ("\n" if r < 0.5 else " ") + body + (" " + filler(c) if c.chance(0.25) else "")
    row_schema = {"type": "object", "properties": {names[k]: {"type": slots[k].kind} for k in chosen}, "required": list(names.values())}
    array_key = restyle(c, c.pick(keys.split()), style_of(c))
    properties, value = {array_key: {"type": "array", "items": row_schema}}, {array_key: rows}
    if c.chance(0.4):
        extra, shown_as = c.pick([("customer", person_name), ("id", code_str), ("date", date_str), ("project", lambda c: synth(c).capitalize()), ("city", city_name)])
        if extra not in properties:
            v = shown_as(c)
            text = c.pick([f"{extra.capitalize()}: {v}. {text}", f"{text}\n{extra}: {v}", f"The {extra} is {v}. {text}"])
            if c.chance(0.5):
                properties, value = {extra: {"type": "string"}} | properties, {extra: v} | value
            else:
                properties, value = properties | {extra: {"type": "string"}}, value | {extra: v}
    return Sample({"type": "object", "properties": properties, "required": list(properties)}, text.strip(), value, "records")


# --- schema ------------------------------------------------------------------------------------------------


def pick_key(c, slot, split):
    """The first key of a slot is always known; every fourth of the others is for the test only."""
    train = [k for n, k in enumerate(slot.keys) if n % 4 != 3]
    test = [k for n, k in enumerate(slot.keys) if n % 4 == 3]
    return c.pick(test if split == "keys" and test else train)


STYLES = ("snake", "snake", "snake", "camel", "camel", "kebab", "pascal", "upper", "spaced")


def style_of(c):
    return c.pick(STYLES)


def restyle(c, key, style):
    words = [w for w in key.split("_") if w]
    if style == "camel":
        return words[0] + "".join(w.capitalize() for w in words[1:])
    if style == "pascal":
        return "".join(w.capitalize() for w in words)
    if style == "kebab":
        return "-".join(words)
    if style == "upper":
        return "_".join(words).upper()
    if style == "spaced":
        return " ".join(words)
    return "_".join(words)


def restyle_literal(literal, how):
    if how == "upper":
        return literal.upper()
    if how == "space":
        return literal.replace("_", " ")
    if how == "kebab":
        return literal.replace("_", "-")
    if how == "title":
        return literal.replace("_", " ").capitalize()
    return literal


def typed(c, slot, value):
    """Schema of a value and the value as this schema states it."""
    kind = slot.kind
    if kind == "enum":
        how = c.pick(["plain", "plain", "plain", "upper", "space", "kebab", "title"])
        others = [o for o in slot.options if o != value]
        keep = c.rng.sample(others, c.rng.randint(1, len(others)) if c.chance(0.3) else len(others)) + ([value] if value is not None else [])
        if c.chance(0.5):
            c.rng.shuffle(keep)
        else:
            keep.sort(key=slot.options.index)
        return {"enum": [restyle_literal(o, how) for o in keep]}, None if value is None else restyle_literal(value, how)
    if kind == "string":
        if slot.options and value is not None and c.chance(0.35):
            options = {value} if value is not None else set()
            for _ in range(12):
                if len(options) >= 5 or (len(options) >= 2 and c.chance(0.2)):
                    break
                o = slot.options(c)
                options.add(o[0] if isinstance(o, tuple) else o)
            options = sorted(options)
            c.rng.shuffle(options)
            if len(options) > 1:
                return {"enum": options}, value
        return {"type": "string"}, value
    if kind[0] == "[":
        item = kind[1:-1]
        return {"type": "array", "items": {"type": "number" if item == "integer" and c.chance(0.2) else item}}, value
    if kind == "integer" and c.chance(0.12):
        kind = "number"
    return {"type": kind}, value


def nullable(schema):
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    if schema["type"] == "array":
        return {"anyOf": [schema, {"type": "null"}]}
    return {"type": [schema["type"], "null"]}


def ask(c, t, split):
    """Choose fields of what the text shows, and some of what it does not, as schema and object."""
    shown = [n for n in t.slots if n in t.shown]
    absent = [n for n in t.slots if n not in t.shown]
    c.rng.shuffle(shown)
    c.rng.shuffle(absent)
    count = c.pick([1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8])
    fields = [(n, True) for n in shown[:count]]
    if absent and c.chance(0.4):
        fields += [(n, False) for n in absent[: c.pick([1, 1, 2, 3])]]
    if c.chance(0.35):
        order = {n: k for k, n in enumerate(t.slots)}
        fields.sort(key=lambda f: order[f[0]])
    else:
        c.rng.shuffle(fields)
    style = style_of(c)
    return fields, style


def build(c, t, fields, style, split, used=None):
    properties, required, value = {}, [], {}
    for name, there in fields:
        slot = t.slots[name]
        key = None
        for _ in range(6):
            k = restyle(c, pick_key(c, slot, split), style)
            if k not in properties:
                key = k
                break
        if key is None:
            continue
        v = t.drawn[name][0] if there else None
        schema, v = typed(c, slot, v)
        if there:
            r = c.rng.random()
            if r < 0.1:
                schema = nullable(schema)
            if r > 0.01 and (r < 0.9 or r < 0.1):
                required.append(key)
            if r > 0.995:
                schema = True
            value[key] = v
        else:
            r = c.rng.random()
            if schema.get("type") == "array" and r < 0.45:
                required.append(key)
                value[key] = []
            elif schema.get("type") == "boolean" and r < 0.3:
                required.append(key)
                value[key] = False
            elif r < 0.7:
                schema = nullable(schema)
                required.append(key)
                value[key] = None
            # else: an optional property that is left out
        properties[key] = schema
    return {"type": "object", "properties": properties, "required": required}, value


def nest(c, t, fields, groups, style, split):
    """Put a group of fields into an object of its own."""
    options = [(keys, names.split()) for keys, names in groups.items()]
    c.rng.shuffle(options)
    for keys, names in options:
        inner = [f for f in fields if f[0] in names and f[1]]
        if len(inner) >= 2 or (inner and c.chance(0.2)):
            outer = [f for f in fields if f not in inner]
            return c.pick(keys.split()), inner, outer
    return None


def assemble(c, t, split, groups):
    fields, style = ask(c, t, split)
    if not fields:
        return None
    found = nest(c, t, fields, groups, style, split) if groups and c.chance(0.45) else None
    if not found and len(fields) >= 3 and c.chance(0.06):
        k = c.rng.randint(1, len(fields) - 1)
        found = c.pick(["data", "details", "info", "record", "extra", "attributes", "payload"]), fields[:k], fields[k:]
    if not found:
        return build(c, t, fields, style, split)
    key, inner, outer = found
    key = restyle(c, key, style)
    if len(inner) >= 3 and c.chance(0.08):
        schema, value = build(c, t, inner[:-1], style, split)
        sub, sub_value = build(c, t, inner[-1:], style, split)
        name = c.pick(["meta", "more", "extra"])
        schema["properties"][name], value[name] = sub, sub_value
        schema["required"].append(name)
    else:
        schema, value = build(c, t, inner, style, split)
    before, after = outer[: len(outer) // 2], outer[len(outer) // 2 :]
    if c.chance(0.5):
        before, after = outer, []
    a, av = build(c, t, before, style, split)
    properties, required, out = a["properties"], a["required"], av
    if key in properties:
        return None
    properties[key], out[key] = schema, value
    required.append(key)
    b, bv = build(c, t, after, style, split)
    for k, sub in b["properties"].items():
        if k not in properties:
            properties[k] = sub
            if k in b["required"]:
                required.append(k)
            if k in bv:
                out[k] = bv[k]
    return {"type": "object", "properties": properties, "required": required}, out


def lengthen(c, text):
    """The text within much more talk: what is asked for is far from the end."""
    around = [filler(c) for _ in range(c.pick([6, 12, 25, 40]))]
    cut = c.rng.randint(0, len(around))
    return " ".join([*around[:cut], text, *around[cut:]])


def extraction(c, split):
    """The task itself."""
    for _ in range(20):
        r = c.rng.random()
        if r < 0.08 and split != "domains":
            return records(c, split)
        if r < 0.22 and split != "domains":
            (text, t), groups, kind = attributes(c, split), {}, "attributes"
        else:
            domain = c.pick(HELDOUT_DOMAINS if split == "domains" else TRAIN_DOMAINS)
            groups, kind = domain.groups, domain.name
            text, t = form(c, domain, split) if r < 0.36 and split not in ("templates", "domains") else prose(c, domain, split)
        built = assemble(c, t, split, groups)
        if built is None or not built[0]["properties"] or not text:
            continue
        return Sample(built[0], lengthen(c, text) if c.chance(0.03) else text, built[1], kind)
    raise RuntimeError("no sample after 20 tries")


# --- the easier tasks of the curriculum ----------------------------------------------------------------------


def random_word(c):
    return c.pick([synth, synth, code_str, lambda c: digits(c, c.rng.randint(1, 6)), NOUN, first_name, last_name, email_addr, TAG, date_str, lambda c: synth(c).capitalize()])(c)


def copying(c, split="train"):
    """One string, to be repeated."""
    s = " ".join(random_word(c) for _ in range(c.rng.randint(1, 8)))
    key = restyle(c, ATTR(c).replace(" ", "_"), style_of(c))
    return Sample({"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}, s, {key: s}, "copying")


def retrieval(c, split="train"):
    """Pairs of key and value, some of them asked for."""
    keys = list({c.pick([ATTR, NOUN, synth, TAG])(c).replace(" ", "_"): 0 for _ in range(c.rng.randint(2, 8))})
    style = style_of(c)
    sep, eq = c.pick(["\n", ", ", "; ", " "]), c.pick([": ", " = ", "=", " is ", " "])
    pairs = {}
    for k in keys:
        if c.chance(0.25):
            v, shown = integer(0, 9999, 0)(c)
            pairs[k] = v, shown, "integer"
        else:
            v = " ".join(random_word(c) for _ in range(c.pick([1, 1, 1, 2, 3])))
            pairs[k] = v, v, "string"
    text = sep.join(f"{k.replace('_', ' ') if c.chance(0.5) else restyle(c, k, style)}{eq}{shown}" for k, (_, shown, _) in pairs.items())
    asked = c.rng.sample(keys, c.rng.randint(1, len(keys)))
    names = {restyle(c, k, style): k for k in asked}
    return Sample({"type": "object", "properties": {n: {"type": pairs[k][2]} for n, k in names.items()}, "required": list(names)}, text, {n: pairs[k][0] for n, k in names.items()}, "retrieval")


def sample(seed, split="train", mix=(0, 0, 1)):
    """The sample of a seed; `mix` weighs copying, retrieval and extraction."""
    c = Ctx(f"{split}-{seed}", unseen=split in ("values", "domains"))
    r = c.rng.random() * sum(mix)
    if r < mix[0]:
        return copying(c)
    if r < mix[0] + mix[1]:
        return retrieval(c)
    return extraction(c, split)


if __name__ == "__main__":
    import sys

    split = sys.argv[1] if len(sys.argv) > 1 else "train"
    for seed in range(int(sys.argv[2]) if len(sys.argv) > 2 else 10):
        x = sample(seed, split)
        print(f"[{x.kind}] {x.prompt}{x.target}\n")
