"""Noise: what happens to a text on its way to the reader.

A text is a list of pieces `(string, is_value)`. Typing and scanning errors stay outside of values, so
that an answer is still what the text shows; a change of case goes through both.
"""

from values import FILLER

PERSONAL = {"mail", "chat", "letter", "review"}
PAPER = {"receipt", "form", "table", "letter", "report", "list", "minutes"}
NEAR = {"a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo", "k": "jl", "l": "ko", "m": "n", "n": "mb", "o": "ip", "p": "o", "r": "et", "s": "ad", "t": "ry", "u": "yi", "v": "cb", "w": "qe", "y": "tu"}
SCANNED = [("l", "1"), ("O", "0"), ("rn", "m"), ("m", "rn"), ("cl", "d"), ("i", "!"), ("e", "c"), (" ", "  "), (",", "."), ("S", "5"), ("ü", "u"), ("é", "e"), ("h", "b")]
GREETINGS = {
    "en": ["Hi,", "Hello,", "Hey,", "Good morning,", "Hi there,", "Hello everyone,", "Dear all,", "Hi all,", "Good evening,", "hey"],
    "de": ["Hallo,", "Guten Tag,", "Guten Morgen,", "Hallo zusammen,", "Moin,", "Sehr geehrte Damen und Herren,", "Liebe alle,"],
    "fr": ["Bonjour,", "Bonsoir,", "Salut,", "Bonjour à tous,", "Madame, Monsieur,"],
    "es": ["Hola,", "Buenos días,", "Buenas tardes,", "Hola a todos:", "Estimados señores:"],
}
CLOSINGS = {
    "en": ["Best regards", "Thanks", "Cheers", "Kind regards", "Best", "Many thanks", "Sent from my phone", "-- \nThis message is confidential.", "Thanks in advance!"],
    "de": ["Viele Grüße", "Mit freundlichen Grüßen", "Danke", "LG", "Von meinem Handy gesendet", "Besten Dank im Voraus!"],
    "fr": ["Cordialement", "Merci", "Bien à vous", "À bientôt", "Envoyé de mon téléphone"],
    "es": ["Un saludo", "Gracias", "Saludos cordiales", "Hasta pronto", "Enviado desde mi móvil"],
}
OPENERS = ("hi", "hello", "hey", "dear", "good ", "hallo", "guten", "lieb", "sehr ", "moin", "bonjour", "bonsoir", "salut", "cher", "madame", "monsieur", "hola", "buen", "estimad", "querid", "subject", "from:", "to:")
HEADINGS = {
    "en": ["NOTES", "Summary", "FYI", "Forwarded message", "--- begin ---", "# Update", "Page 1 of 2", "*** please read ***", "Transcript"],
    "de": ["NOTIZ", "Zur Info", "Weitergeleitete Nachricht", "Seite 1 von 2", "# Stand", "*** bitte lesen ***"],
    "fr": ["NOTE", "Pour info", "Message transféré", "Page 1 sur 2", "# Résumé"],
    "es": ["NOTA", "Para su información", "Mensaje reenviado", "Página 1 de 2", "# Resumen"],
}


def same(s):
    return s


def typo(c, word):
    k = c.rng.randrange(len(word) - 1)
    ch = word[k].lower()
    return c.pick([
        word[:k] + word[k + 1] + word[k] + word[k + 2:],
        word[:k] + word[k + 1:],
        word[:k] + word[k] + word[k:],
        word[:k] + c.pick(NEAR[ch]) + word[k + 1:] if ch in NEAR else word,
    ])


def mistype(c, s, rate):
    return "".join(typo(c, w) if len(w) > 3 and w.isalpha() and c.chance(rate) else w for w in split_words(s))


def split_words(s):
    out, run = [], ""
    for ch in s:
        if run and ch.isalpha() == run[-1].isalpha():
            run += ch
        else:
            out += [run] if run else []
            run = ch
    return out + [run] if run else out


def scan(c, s, rate):
    for wrong in c.rng.sample(SCANNED, 4):
        parts = s.split(wrong[0])
        s = parts[0] + "".join((wrong[1] if c.chance(rate) else wrong[0]) + p for p in parts[1:])
    return s


def wrapped(c, text):
    """Lines broken at spaces, wherever they are."""
    width, out = c.rng.randint(34, 76), []
    for line in text.split("\n"):
        column, words = 0, []
        for word in line.split(" "):
            if column and column + len(word) > width:
                words.append("\n")
                column = 0
            elif words:
                words.append(" ")
            words.append(word)
            column += len(word) + 1
        out.append("".join(words))
    return "\n".join(out)


def apply(c, passage, pieces):
    """The text as it arrives, and what happened to the case of copied strings."""
    kind, lang, fold = passage.kind, passage.lang, same
    if c.chance(0.1 if kind not in ("log", "table") else 0.02):
        rate = c.pick([0.02, 0.04, 0.09])
        pieces = [(s if v else mistype(c, s, rate), v) for s, v in pieces]
    if c.chance(0.08 if kind in PAPER else 0):
        rate = c.pick([0.03, 0.08])
        pieces = [(s if v else scan(c, s, rate), v) for s, v in pieces]
    if c.chance(0.14 if kind == "chat" else 0.03 if kind in PERSONAL else 0.01):
        fold = str.lower
    elif c.chance(0.08 if kind in ("receipt", "form") else 0.01):
        fold = str.upper
    text = "".join(fold(s) for s, _ in pieces).strip()
    if kind in PERSONAL and not text.lower().startswith(OPENERS) and c.chance(0.1):
        text = f"{c.pick(GREETINGS[lang])}{c.pick([' ', chr(10), chr(10) * 2])}{text}"
    if kind in PERSONAL and c.chance(0.08):
        text = f"{text}{c.pick([chr(10), chr(10) * 2])}{c.pick(CLOSINGS[lang])}"
    if c.chance(0.04):
        text = f"{c.pick(HEADINGS[lang])}{c.pick([chr(10), chr(10) * 2])}{text}"
    if lang == "en" and c.chance(0.03):
        text = surrounded(c, text)
    if kind not in ("log", "table", "receipt") and c.chance(0.06):
        text = wrapped(c, text)
    elif kind in ("mail", "chat") and c.chance(0.04):
        text = "\n".join("> " + line for line in text.split("\n"))
    return text, fold


def surrounded(c, text):
    """The text within much more talk: what is asked for is far from the end."""
    around = [FILLER(c) for _ in range(c.pick([2, 4, 8, 20]))]
    cut = c.rng.randint(0, len(around))
    return "\n".join(part for part in (" ".join(around[:cut]), text, " ".join(around[cut:])) if part)
