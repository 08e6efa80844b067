"""Types of the slots in `passages/`: what a text shows, and what an answer may state of it.

A type is a function of a `Writer` and the words that follow its name in the slot; it returns a
`Value`. Notation (decimal comma, order of day and month, currency sign, clock) is chosen once per
text, as a person writes, and follows the language of the passage.
"""

import datetime
import re
import unicodedata

from values import (AIRLINE, CITY, COLOR, COUNTRY, FIRST, FOOD, JOB, LAST, THING, VENUE, Lex, Verbatim, company_name,
                    digits, event_name, host_str, ip_str, phone_no, product_name, street_addr, synth, title_name, version_str, zip_code)


class Copied(str):
    """A string of the answer that stands in the text as it is."""


class Value:
    """What one slot shows, with the ways to ask for it.

    `views` maps a view's name to `(schema, answer)`; `usual` lists the views a schema may pick when it
    names none. `shown` has other ways to mention the value in the text. `order` is what `+slot` adds to.
    """

    def __init__(self, kind, text, views, usual, shown=None, order=None):
        self.kind, self.text, self.views, self.usual, self.shown, self.order = kind, text, views, usual, shown or {}, order


def string(kind, text, shown=None, schema=None, order=None, **views):
    return Value(kind, text, {"text": (schema or {"type": "string"}, Copied(text)), **views}, ["text"], shown, order)


class SlotError(ValueError):
    """A slot that cannot be drawn as written."""


# --- names ---------------------------------------------------------------------------------------

NAMES = {
    "de": (Lex("""Anna Lena Jonas Lukas Sabine Jürgen Ute Katrin Thomas Stefan Heike Markus Birgit Uwe Claudia Florian Nele Moritz Hannah Leon Emil Frieda
Paul Greta Karl Ingrid Dieter Monika Bernd Renate Matthias Silke Torsten Anja Sven Petra Wolfgang Gisela Kai Maren Jannik Pia Tim Svenja Ole Merle Fabian
Julia Tobias Miriam Ayşe Mehmet Elif Ahmet Agnieszka Piotr Lotte Ruth Hans Erika Friedrich Käthe Sönke Björn"""),
           Lex("""Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf Schröder Neumann Schwarz
Zimmermann Braun Krüger Hofmann Hartmann Lange Schmitt Werner Krause Lehmann Köhler Maier König Huber Fuchs Peters Lang Scholz Möller Weiß Jung Hahn Vogel
Keller Günther Frank Berger Winkler Roth Beck Lorenz Baumann Franke Albrecht Simon Ludwig Böhm Winter Kraus Vogt Stein Jäger Otto Sommer Groß Seidel Brandt
Yilmaz Kaya Nowak Petersen Hansen Thiele Reuter Busch Haas Kuhn""")),
    "fr": (Lex("""Marie Camille Léa Manon Chloé Julie Sophie Nathalie Isabelle Hélène Céline Aurélie Élodie Pierre Jean Luc Antoine Julien Nicolas Thomas
Hugo Louis Mathieu François Philippe Olivier Sébastien Benoît Émile Jeanne Margaux Inès Yasmine Karim Mehdi Fatou Amadou Guillaume Laure Virginie Pascal
Thierry Didier Solène Maud Romain Théo Noémie Clément Agathe Bruno Colette Denise Gérard Odile"""),
           Lex("""Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefebvre Michel Garcia David Bertrand Roux Vincent
Fournier Morel Girard André Lefèvre Mercier Dupont Lambert Bonnet François Martinez Legrand Garnier Faure Rousseau Blanc Guérin Muller Henry Roussel Nicolas
Perrin Morin Mathieu Clément Gauthier Dumont Lopez Fontaine Chevalier Robin Masson Sanchez Gérard Nguyen Boyer Denis Lemaire Duval Joly Benali Diallo Traoré""")),
    "es": (Lex("""María Carmen Lucía Elena Marta Laura Sofía Paula Isabel Pilar Rosa Ana Cristina Beatriz Nuria Inés José Antonio Manuel Javier Carlos
Miguel Alejandro Pablo Sergio Diego Álvaro Raúl Andrés Fernando Luis Jorge Ramón Ignacio Rubén Óscar Víctor Adrián Hugo Mateo Valentina Camila Ximena
Julián Emilio Rocío Teresa Lola Gonzalo Tomás Esteban Irene Noelia Marcos"""),
           Lex("""García Rodríguez González Fernández López Martínez Sánchez Pérez Gómez Martín Jiménez Ruiz Hernández Díaz Moreno Muñoz Álvarez Romero
Alonso Gutiérrez Navarro Torres Domínguez Vázquez Ramos Gil Ramírez Serrano Blanco Molina Morales Suárez Ortega Delgado Castro Ortiz Rubio Marín Sanz Iglesias
Núñez Medina Garrido Cortés Castillo Santos Lozano Guerrero Cano Prieto Méndez Cruz Flores Herrera Peña León Vega Fuentes Campos Ríos""")),
}
CITIES = {
    "de": Lex("""Berlin,Hamburg,München,Köln,Frankfurt,Stuttgart,Düsseldorf,Leipzig,Dortmund,Essen,Bremen,Dresden,Hannover,Nürnberg,Duisburg,Bochum,Wuppertal,
Bielefeld,Bonn,Münster,Karlsruhe,Mannheim,Augsburg,Wiesbaden,Kiel,Lübeck,Freiburg,Erfurt,Mainz,Rostock,Kassel,Potsdam,Oldenburg,Göttingen,Ulm,Jena,Trier,
Wien,Graz,Linz,Salzburg,Innsbruck,Zürich,Basel,Bern,Bad Homburg,Weimar,Passau,Husum,Lüneburg""", ","),
    "fr": Lex("""Paris,Lyon,Marseille,Toulouse,Nice,Nantes,Strasbourg,Montpellier,Bordeaux,Lille,Rennes,Reims,Le Havre,Saint-Étienne,Toulon,Grenoble,Dijon,
Angers,Nîmes,Brest,Le Mans,Tours,Limoges,Amiens,Metz,Besançon,Perpignan,Orléans,Caen,Rouen,Nancy,Avignon,La Rochelle,Annecy,Bayonne,Colmar,Quimper,
Bruxelles,Liège,Genève,Lausanne,Montréal,Québec""", ","),
    "es": Lex("""Madrid,Barcelona,Valencia,Sevilla,Zaragoza,Málaga,Murcia,Palma,Bilbao,Alicante,Córdoba,Valladolid,Vigo,Gijón,Granada,Oviedo,Cartagena,
Pamplona,Almería,San Sebastián,Burgos,Santander,Salamanca,Logroño,Huelva,Badajoz,Lleida,Cádiz,Jaén,Girona,Lugo,Toledo,Cáceres,Segovia,Bogotá,Lima,Quito,
Guadalajara,Puebla,Rosario,Mendoza,Montevideo,Ciudad de México""", ","),
}
COUNTRIES = {
    "de": Lex("Deutschland,Österreich,die Schweiz,Frankreich,Italien,Spanien,Polen,Dänemark,Schweden,Norwegen,Portugal,Griechenland,Tschechien,Ungarn,Kroatien,Irland,Kanada,Japan,Marokko,Island", ","),
    "fr": Lex("France,Belgique,Suisse,Allemagne,Italie,Espagne,Portugal,Grèce,Irlande,Suède,Norvège,Pologne,Croatie,Maroc,Tunisie,Sénégal,Canada,Japon,Islande,Autriche", ","),
    "es": Lex("España,Portugal,Francia,Italia,Alemania,México,Argentina,Chile,Perú,Colombia,Uruguay,Ecuador,Costa Rica,Marruecos,Irlanda,Suecia,Noruega,Grecia,Croacia,Japón", ","),
}
VENUES = {
    "de": Lex("Rathaus,Stadthalle,Gemeindehaus,Hotel Krone,Gasthof Zur Linde,Kulturzentrum,Raum 204,Turnhalle Nord,Stadtbibliothek,Haus am See,Café Sommer,Alte Mühle,Kongresszentrum,Aula,Bürgerhaus,Pavillon 3,Konferenzraum B", ","),
    "fr": Lex("salle des fêtes,Hôtel de la Gare,mairie,médiathèque,salle Molière,Café de la Place,gymnase Jean Moulin,Palais des congrès,salle 204,Maison des associations,Théâtre municipal,La Grange,Espace Rivoli,Bistrot du Port,pavillon C", ","),
    "es": Lex("Ayuntamiento,Hotel Miramar,Casa de la Cultura,biblioteca central,Sala 204,Café Comercial,Polideportivo Norte,Palacio de Congresos,Teatro Principal,Aula Magna,Centro Cívico,La Bodega,Salón de Actos,Finca El Olivo,Edificio C", ","),
}
SUFFIXES = {
    "de": ["GmbH", "AG", "KG", "& Söhne", "Elektrotechnik", "Logistik", "Bau GmbH", "Verlag", "Reisen", "Immobilien", "Medien", "Haustechnik"],
    "fr": ["SARL", "SAS", "SA", "& Fils", "Conseil", "Transports", "Bâtiment", "Éditions", "Voyages", "Immobilier", "Services"],
    "es": ["S.L.", "S.A.", "e Hijos", "Consultores", "Transportes", "Construcciones", "Editorial", "Viajes", "Inmobiliaria", "Servicios"],
}
FORMS = {"en": ["Mr", "Ms", "Mrs", "Mr.", "Ms.", "Dr.", "Dr", "Prof."], "de": ["Herr", "Frau", "Dr.", "Frau Dr.", "Prof."], "fr": ["M.", "Mme", "Monsieur", "Madame", "Dr"], "es": ["Sr.", "Sra.", "Don", "Doña", "Dr.", "Dra."]}


def plain(name):
    """A name as an address has it: small letters without accents."""
    name = name.lower()
    for ch, instead in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("ø", "o"), ("ł", "l"), ("ı", "i")):
        name = name.replace(ch, instead)
    return "".join(ch for ch in unicodedata.normalize("NFD", name) if ch.isascii() and ch.isalnum()) or "info"


def given(w):
    return synth(w.c, 2, 2).capitalize() if w.c.chance(0.05) else NAMES[w.lang][0](w.c) if w.lang in NAMES and w.c.chance(0.9) else FIRST(w.c)


def family(w):
    return synth(w.c, 2, 3).capitalize() if w.c.chance(0.1) else NAMES[w.lang][1](w.c) if w.lang in NAMES and w.c.chance(0.9) else LAST(w.c)


def person(w, args):
    f, l = given(w), family(w)
    if w.lang == "es" and w.c.chance(0.25):
        l = f"{l} {family(w)}"
    elif w.c.chance(0.04):
        l = f"{l}-{family(w)}"
    text = f"{f} {w.c.pick('ABCDEFGHJKLMPRST')}. {l}" if w.c.chance(0.03) else f"{f} {l}"
    text = f"{l}, {f}" if "listed" in args else text
    return string("person", text, {"first": f, "last": l})


def formal(w, args):
    title, l = w.c.pick(FORMS[w.lang]), family(w)
    return string("person", f"{title} {l}", {"last": l, "first": l})


def org(w, args):
    if w.lang not in SUFFIXES or w.c.chance(0.1):
        return string("org", company_name(w.c))
    head = w.c.pick([lambda: family(w), lambda: family(w), lambda: synth(w.c).capitalize(), lambda: f"{family(w)} & {family(w)}"])()
    return string("org", f"{head} {w.c.pick(SUFFIXES[w.lang])}")


def street(w, args=()):
    n = w.c.rng.randint(1, 160)
    if w.lang == "de":
        return f"{w.c.pick(['Linden', 'Bahnhof', 'Garten', 'Schiller', 'Goethe', 'Berg', 'Wald', 'Markt', 'Ring', 'Kirch', 'Mühlen', 'Birken', 'Rosen', 'Park', 'Hafen', family(w)])}{w.c.pick(['straße', 'straße', 'str.', 'weg', 'gasse', 'allee', 'platz'])} {n}{w.c.pick(['', '', '', 'a', 'b'])}"
    if w.lang == "fr":
        return f"{n}{w.c.pick(['', '', ' bis'])}{w.c.pick([',', ''])} {w.c.pick(['rue', 'avenue', 'boulevard', 'place', 'chemin', 'quai'])} {w.c.pick(['de la Gare', 'des Lilas', 'Victor Hugo', 'du Moulin', 'Pasteur', 'de la République', 'Jean Jaurès', 'des Écoles', 'Voltaire', 'du Port', family(w)])}"
    if w.lang == "es":
        return f"{w.c.pick(['Calle', 'C/', 'Avenida', 'Avda.', 'Plaza', 'Paseo'])} {w.c.pick(['Mayor', 'del Sol', 'San Juan', 'de la Paz', 'Cervantes', 'del Carmen', 'Real', 'Goya', 'de los Olivos', 'del Mar', family(w)])}{w.c.pick([',', ''])} {n}"
    return street_addr(w.c)


def city(w, args=()):
    return synth(w.c).capitalize() if w.c.chance(0.04) else CITIES[w.lang](w.c) if w.lang in CITIES else CITY(w.c)


def postcode(w, args=()):
    return digits(w.c, 5) if w.lang in CITIES else zip_code(w.c)


def address(w, args):
    s, z, t = street(w), postcode(w), city(w)
    return string("place", w.c.pick([f"{s}, {z} {t}", f"{s}, {z} {t}", f"{s}, {t}"]), {"city": t, "street": s})


def phone(w, args):
    d = lambda n: digits(w.c, n)
    if w.lang == "de":
        return w.c.pick([f"0{w.c.rng.randint(151, 179)} {d(7)}", f"+49 {w.c.rng.randint(30, 899)} {d(6)}", f"0{w.c.rng.randint(201, 899)}/{d(6)}", f"0{w.c.rng.randint(30, 899)} - {d(3)} {d(2)} {d(2)}"])
    if w.lang == "fr":
        return w.c.pick([f"0{w.c.rng.randint(1, 9)} {d(2)} {d(2)} {d(2)} {d(2)}", f"0{w.c.rng.randint(1, 9)}.{d(2)}.{d(2)}.{d(2)}.{d(2)}", f"+33 {w.c.rng.randint(1, 9)} {d(2)} {d(2)} {d(2)} {d(2)}"])
    if w.lang == "es":
        return w.c.pick([f"6{d(2)} {d(3)} {d(3)}", f"9{d(1)} {d(3)} {d(2)} {d(2)}", f"+34 6{d(2)} {d(2)} {d(2)} {d(2)}"])
    return phone_no(w.c)


TLDS = {"de": ["de", "de", "com", "org", "at"], "fr": ["fr", "fr", "com", "org", "be"], "es": ["es", "es", "com", "org", "mx"], "en": ["com", "com", "org", "net", "io", "co.uk", "eu", "example"]}


def host_name(w):
    head = w.c.pick([lambda: synth(w.c), lambda: plain(family(w)), lambda: THING(w.c).split()[0] + w.c.pick(["", "s", "hub", "world", "-shop"]), lambda: f"{synth(w.c)}-{synth(w.c, 1, 2)}"])()
    return f"{head}.{w.c.pick(TLDS[w.lang])}"


def email(w, args):
    owner = w.value(args[0]) if args else None
    f, l = (plain(owner.shown["first"]), plain(owner.shown["last"])) if owner and "last" in owner.shown else (plain(owner.text), plain(family(w))) if owner else (plain(given(w)), plain(family(w)))
    local = w.c.pick([f"{f}.{l}", f"{f}.{l}", f"{f[0]}.{l}", f"{f}{digits(w.c, 2)}", f"{f}_{l}", f"{f[0]}{l}", f] + ([] if owner else [w.c.pick(["info", "office", "sales", "help", "orders", "team", "booking"])] * 2))
    host = w.c.pick(["gmail.com", "web.de" if w.lang == "de" else "outlook.com", "posteo.net"]) if w.c.chance(0.2) else host_name(w)
    return string("email", f"{local}@{host}", schema={"type": "string", "format": "email"} if w.c.chance(0.4) else None)


def url(w, args):
    tail = w.c.pick(["", "", f"/{synth(w.c)}", f"/{synth(w.c)}/{digits(w.c, 3)}", f"/{synth(w.c)}?id={digits(w.c, 4)}", f"/{synth(w.c)}.html"])
    head = w.c.pick(["https://", "https://", "https://www.", "http://", "www.", ""])
    text = f"{head}{host_name(w)}{tail}"
    return string("url", text, schema={"type": "string", "format": "uri"} if head.startswith("http") and w.c.chance(0.4) else None)


def code(w, args):
    """`#` is a digit, `@` a capital, `%` a small letter, `*` one of both, all else stands for itself."""
    pattern = " ".join(args) if args else w.c.pick(["@@-####", "@@@-#####", "####-##", "@####", "@@######", "#######", "@@##-@@", "####/##"])
    table = {"#": "0123456789", "@": "ABCDEFGHJKLMNPQRSTUVWXYZ", "%": "abcdefghijkmnopqrstuvwxyz", "*": "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"}
    return string("code", "".join(w.c.pick(table[ch]) if ch in table else ch for ch in pattern))


def user(w, args):
    return string("user", w.c.pick([lambda: f"{plain(given(w))}{digits(w.c, 2)}", lambda: f"{plain(given(w))}_{plain(family(w))[:4]}", lambda: f"{synth(w.c)}{w.c.pick(['', '_', '.'])}{synth(w.c, 1, 2)}", lambda: plain(given(w))[0] + plain(family(w))])())


# --- numbers ---------------------------------------------------------------------------------------

UNITS = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(),
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split(),
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf".split(),
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve".split(),
}
TENS = {
    "en": {20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety", 100: "a hundred"},
    "de": {20: "zwanzig", 30: "dreißig", 40: "vierzig", 50: "fünfzig", 60: "sechzig", 70: "siebzig", 80: "achtzig", 90: "neunzig", 100: "hundert"},
    "fr": {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante", 80: "quatre-vingts", 100: "cent"},
    "es": {20: "veinte", 30: "treinta", 40: "cuarenta", 50: "cincuenta", 60: "sesenta", 70: "setenta", 80: "ochenta", 90: "noventa", 100: "cien"},
}
DOZENS = {"en": {12: "a dozen", 6: "half a dozen", 24: "two dozen"}, "de": {12: "ein Dutzend", 6: "ein halbes Dutzend"}, "fr": {}, "es": {}}
PROSE = {"mail", "chat", "letter", "review", "minutes", "ad", "report"}


def in_words(w, n):
    """A number as a word, or None."""
    if n in DOZENS[w.lang] and w.c.chance(0.3):
        return DOZENS[w.lang][n]
    if 2 <= n < 20:
        return UNITS[w.lang][n]
    if n in TENS[w.lang]:
        return TENS[w.lang][n]
    if w.lang == "en" and 20 < n < 100:
        return f"{TENS['en'][n // 10 * 10]}-{UNITS['en'][n % 10]}"
    return None


def span(args, default):
    """The range `lo-hi` and the number of decimals it is written with."""
    lo, hi = default
    for a in args:
        m = re.fullmatch(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)[a-z]*", a)
        if m:
            lo, hi = m.groups()
    places = max(len(str(x).partition(".")[2]) for x in (lo, hi))
    if float(lo) > float(hi):
        raise SlotError(f"the range {lo}-{hi} is empty")
    return float(lo), float(hi), places


def written(w, digits_text):
    """Plain digits (`1234.50`) in the notation of the text."""
    whole, _, frac = digits_text.partition(".")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    if len(whole) > 3 and w.group:
        whole = f"{int(whole):,}".replace(",", w.group)
    return sign + whole + (w.decimal + frac if frac else "")


def between(w, lo, hi, places, cents=False):
    step = 10 ** places
    a, b = round(lo * step), round(hi * step)
    n = w.c.rng.randint(a, b)
    if cents and places == 2 and w.c.chance(0.6):
        n = max(a, n // 100 * 100 + w.c.pick([0, 50, 90, 99, 95, 20, 80, 49, 25]))
        n = n if n <= b else a
    if not places and b - a > 200 and w.c.chance(0.5):
        n = max(a, n // (5 if b < 1000 else 50) * (5 if b < 1000 else 50))
    return f"{n / step:.{places}f}" if places else str(n)


def bounds(w, schema, lo, hi):
    """Sometimes what values the schema allows."""
    if w.c.chance(0.12):
        schema |= {"minimum": 0 if lo >= 0 else int(lo) - 5}
        if w.c.chance(0.5):
            schema |= {"maximum": 10 ** len(str(int(hi)))}
    return schema


def integer(w, args):
    lo, hi, _ = span(args, (2, 40))
    n = int(between(w, lo, hi, 0))
    return Value("number", written(w, str(n)), {"number": (bounds(w, {"type": "number" if w.c.chance(0.08) else "integer"}, lo, hi), n)}, ["number"], order=n)


def count(w, args):
    """A number of things, which prose may spell."""
    lo, hi, _ = span(args, (2, 20))
    n = int(between(w, lo, hi, 0))
    text = in_words(w, n) if w.passage.kind in PROSE and w.c.chance(0.5) else None
    return Value("number", text or written(w, str(n)), {"number": (bounds(w, {"type": "number" if w.c.chance(0.08) else "integer"}, lo, hi), n)}, ["number"], order=n)


def ordinal(w, args):
    lo, hi, _ = span(args, (1, 12))
    n = int(between(w, lo, hi, 0))
    if w.lang != "en":
        text = {"de": f"{n}.", "fr": f"{n}e" if n > 1 else "1er", "es": f"{n}.º"}[w.lang]
    else:
        text = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()[n - 1] if n <= 12 and w.c.chance(0.5) else f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
    return Value("number", text, {"number": ({"type": "integer"}, n)}, ["number"], order=n)


def number(w, args):
    lo, hi, places = span(args, ("0.5", "90.0"))
    x = between(w, lo, hi, places)
    return Value("number", written(w, x), {"number": (bounds(w, {"type": "number"}, lo, hi), Verbatim(x) if places else int(x))}, ["number"], order=float(x))


def percent(w, args):
    lo, hi, places = span(args, (5, 60))
    x = between(w, lo, hi, places)
    sign = {"en": ["%", "%", " %", " percent", " per cent"], "de": [" %", "%", " Prozent"], "fr": [" %", "%", " pour cent"], "es": [" %", "%", " por ciento"]}[w.lang]
    text = written(w, x) + w.once("percent", sign)
    return Value("number", text, {"number": ({"type": "number"}, Verbatim(x) if places else int(x)), "text": ({"type": "string"}, Copied(text))}, ["number"], order=float(x))


CURRENCIES = {  # how it is written, by code
    "EUR": {"en": ["€{}", "€{}", "{} EUR", "{} euros", "EUR {}", "{} €"], "de": ["{} €", "{} €", "{} Euro", "{} EUR", "€ {}"], "fr": ["{} €", "{} €", "{} euros", "{} EUR"], "es": ["{} €", "{} €", "{} euros", "{} EUR"]},
    "USD": {"en": ["${}", "${}", "${}", "{} USD", "{} dollars", "US${}"]},
    "GBP": {"en": ["£{}", "£{}", "£{}", "{} GBP", "{} pounds"]},
    "CHF": {"en": ["CHF {}", "{} CHF", "{} francs"], "de": ["CHF {}", "{} Franken", "Fr. {}"], "fr": ["{} CHF", "CHF {}"]},
    "SEK": {"en": ["SEK {}", "{} SEK", "{} kr", "{} kronor"]},
    "PLN": {"en": ["{} PLN", "{} zł", "PLN {}"]},
    "CAD": {"en": ["CAD {}", "C${}", "{} CAD"]},
    "MXN": {"es": ["{} pesos", "{} MXN"]},
}
USUAL_CURRENCY = {"en": ["EUR", "USD", "USD", "GBP", "EUR", "CHF", "SEK", "PLN", "CAD"], "de": ["EUR"] * 6 + ["CHF"], "fr": ["EUR"] * 6 + ["CHF"], "es": ["EUR"] * 6 + ["MXN"]}


def decimals(w, lo, hi, places):
    """Whether amounts of this slot have cents: one choice for all rows of a list."""
    return places or (2 if w.once(f"cents {lo} {hi}", [True] * 17 + [False] * 3 if hi < 60 else [True, False] if hi < 1000 else [True, False, False, False]) else 0)


def priced(w, x, signed, lo=0.0, hi=0.0):
    """An amount, with its currency if `signed`."""
    views = {"number": (bounds(w, {"type": "number"}, lo, hi or float(x)), Verbatim(x) if "." in x else int(x))}
    text = written(w, x)
    if signed:
        text = w.once("money", CURRENCIES[w.currency].get(w.lang) or CURRENCIES[w.currency]["en"]).format(text)
        others = [k for k in CURRENCIES if k != w.currency]
        codes = sorted([w.currency, *w.c.rng.sample(others, w.c.rng.randint(1, 4))])
        views |= {"text": ({"type": "string"}, Copied(text)), "currency": ({"enum": codes} if w.c.chance(0.75) else {"type": "string", "pattern": "^[A-Z]{3}$"}, w.currency)}
    return Value("number", text, views, ["number"], order=float(x))


def money(w, args):
    lo, hi, places = span(args, (5, 400))
    for a in args:
        if a in CURRENCIES:
            w.currency = a
    return priced(w, between(w, lo, hi, decimals(w, lo, hi, places), True), True, lo, hi)


def amount(w, args):
    lo, hi, places = span(args, ("5.00", "400.00"))
    return priced(w, between(w, lo, hi, places, True), False, lo, hi)


def total(w, args):
    """`sum price` or `sum price*qty` [`+fee`] [`with sign`]: what the rows above add up to."""
    cents, signed, places = 0, False, 0
    for a in args:
        if a == "signed":
            signed = True
            continue
        columns = [w.column(name) for name in a.strip("+").split("*")]
        places = max(places, *(len(f"{v.views['number'][1]}".partition(".")[2]) for col in columns for v in col))
        for row in zip(*columns):
            product = 1.0
            for v in row:
                product *= v.order
            cents += round(product * 100)
    return priced(w, f"{cents / 100:.{places}f}", signed)


def year(w, args):
    lo, hi, _ = span(args, (1965, 2027))
    n = int(between(w, lo, hi, 0)) if hi - lo < 200 else w.c.rng.randint(int(lo), int(hi))
    return Value("number", str(n), {"number": ({"type": "integer"}, n), "text": ({"type": "string"}, Copied(n))}, ["number"], order=n)


# --- dates and times ---------------------------------------------------------------------------------

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
}
WEEKDAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
}


def suffix(n):
    return "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


# Slashes in English are month first, unless the day can be no month and the text is written day first.
DATE_STYLES = {
    "en": ["D M Y", "D M Y", "M D, Y", "M D, Y", "iso", "iso", "d.m.Y", "m/d/y", "m/d/Y", "D Mon Y", "Mon D, Y", "Mth D, Y", "W, D M Y", "D of M Y"],
    "de": ["d.m.Y", "d.m.Y", "d.m.Y", "D. M Y", "D. M Y", "d.m.y", "iso", "W, D. M Y"],
    "fr": ["D M Y", "D M Y", "D M Y", "d/m/Y", "d/m/Y", "iso", "W D M Y", "d/m/y"],
    "es": ["D de M de Y", "D de M de Y", "d/m/Y", "d/m/Y", "iso", "d-m-Y", "W D de M de Y"],
}
DAY_STYLES = {
    "en": ["D M", "M D", "M Dth", "Dth of M", "Mon D", "W, M D", "W Dth", "m/d"],
    "de": ["D. M", "D. M", "D.m.", "d.m.", "W, D. M", "W, den D. M"],
    "fr": ["D M", "D M", "W D M", "d/m"],
    "es": ["D de M", "D de M", "W D de M", "d/m"],
}


def dated(w, d, style):
    month, wd, D = MONTHS[w.lang][d.month - 1], WEEKDAYS[w.lang][d.weekday()], d.day
    if style == "iso":
        return d.isoformat()
    table = {"Dth": f"{D}{suffix(D)}", "Mth": f"{month} {D}{suffix(D)}", "Mon": month[:3], "W": wd, "M": month, "D": str(D), "Y": str(d.year), "d": f"{D:02}", "m": f"{d.month:02}", "y": f"{d.year % 100:02}", "of": "of", "de": "de", "den": "den"}
    if style in ("m/d/y", "m/d/Y", "m/d") and w.once("padded", [False, False, True]) is False:
        table |= {"d": str(D), "m": str(d.month)}
    if style == "Mth D, Y":
        return f"{table['Mth']}, {d.year}"
    return re.sub(r"[A-Za-z]+", lambda m: table[m[0]], style)


def drawn_date(w, args):
    for k, a in enumerate(args):
        if a.startswith("+"):
            base = w.value(a[1:]).order
            lo, hi, _ = span(args[k + 1:], (1, 10))
            return base + datetime.timedelta(days=w.c.rng.randint(int(lo), int(hi)))
    if args:
        lo, hi, _ = span(args, (2019, 2027))
        return datetime.date(w.c.rng.randint(int(lo), int(hi)), w.c.rng.randint(1, 12), w.c.rng.randint(1, 28))
    return w.today + datetime.timedelta(days=w.c.rng.randint(-60, 60))


def date(w, args):
    d = drawn_date(w, args)
    style = w.once("date", DATE_STYLES[w.lang]) if w.c.chance(0.9) else w.c.pick(DATE_STYLES[w.lang])
    if w.passage.kind in ("log", "table", "receipt") and style[0] not in "idm":
        style = "iso" if w.lang == "en" else "d.m.Y" if w.lang == "de" else "d/m/Y"
    text = dated(w, d, style)
    v = Value("date", text, {"text": ({"type": "string"}, Copied(text)), "iso": ({"type": "string", "format": "date"}, d.isoformat())}, ["text", "iso"], order=d)
    v.shown |= {"weekday": WEEKDAYS[w.lang][d.weekday()], "month": MONTHS[w.lang][d.month - 1], "day": str(d.day), "year": str(d.year)}
    return v


def day(w, args):
    """A date without its year: there is no other way to state it than as it is written."""
    d = drawn_date(w, args)
    style = w.once("day", DAY_STYLES[w.lang]) if w.c.chance(0.85) else w.c.pick(DAY_STYLES[w.lang])
    return string("date", dated(w, d, style), {"weekday": WEEKDAYS[w.lang][d.weekday()], "month": MONTHS[w.lang][d.month - 1], "day": str(d.day)}, order=d)


def weekday(w, args):
    d = drawn_date(w, args)
    return string("weekday", WEEKDAYS[w.lang][d.weekday()], order=d)


def month(w, args):
    d = drawn_date(w, args) if args else datetime.date(2024, w.c.rng.randint(1, 12), 1)
    return string("month", MONTHS[w.lang][d.month - 1] + (f" {d.year}" if args else ""), order=d)


CLOCKS = {
    "en": ["24", "24", "pm", "pm", "p.m.", "words"],
    "de": ["24", "24", "Uhr", "Uhr", "words"],
    "fr": ["h", "h", "24", "heures"],
    "es": ["24", "24", "h", "words"],
}


def clock(w, minutes, style):
    """How people write a time of day. A bare `half past nine` is half past nine in the morning."""
    h, m = divmod(minutes, 60)
    next12 = UNITS[w.lang][h % 12 + 1] if w.lang in UNITS else ""
    if w.lang == "en":
        h12, half = (h - 1) % 12 + 1, "am" if h < 12 else "pm"
        if minutes == 720 and style != "24":
            return w.c.pick(["noon", "12 noon"])
        if style == "words" and m in (0, 15, 30, 45) and 1 <= h < 23:
            part = "" if h < 12 else " in the afternoon" if h + (m > 30) < 18 else " in the evening"
            return {0: f"{UNITS['en'][h12]} o'clock", 15: f"quarter past {UNITS['en'][h12]}", 30: f"half past {UNITS['en'][h12]}", 45: f"quarter to {next12}"}[m] + part
        if style == "p.m.":
            return f"{h12}:{m:02} {half[0]}.m."
        if style == "pm":
            return f"{h12}{half}" if not m and w.c.chance(0.7) else f"{h12}:{m:02}{w.once('gap', ['', ' '])}{half}"
    if w.lang == "de":
        if style == "words" and m in (15, 30, 45) and 1 <= h < 12:
            return {15: f"Viertel nach {UNITS['de'][h]}", 30: f"halb {UNITS['de'][h + 1] if h < 12 else 'eins'}", 45: f"Viertel vor {UNITS['de'][h + 1]}"}[m]
        if style == "Uhr":
            return f"{h}{w.once('uhr', ['.', ':'])}{m:02} Uhr" if m else f"{h} Uhr"
    if w.lang == "fr":
        if style == "h":
            return f"{h}h{m:02}" if m else f"{h}h"
        if style == "heures":
            return f"{h} heures" + (f" {m}" if m else "")
    if w.lang == "es":
        if style == "words" and 1 < h < 12 and m in (0, 15, 30):
            return f"{UNITS['es'][h]}" + {0: "", 15: " y cuarto", 30: " y media"}[m]
        if style == "h":
            return f"{h}:{m:02} h"
    return f"{h:02}:{m:02}" if w.once("clock zero", [True, True, False]) else f"{h}:{m:02}"


def time(w, args):
    minutes = None
    for k, a in enumerate(args):
        if a.startswith("+"):
            lo, hi, _ = span(args[k + 1:], (30, 180))
            step = 5 if hi < 60 else 15
            minutes = min(23 * 60 + 45, int(w.value(a[1:]).order + w.c.rng.randint(max(1, int(lo) // step), max(1, int(hi) // step)) * step))
    if minutes is None:
        lo, hi, _ = span(args, (7, 21))
        minutes = w.c.rng.randint(int(lo), int(hi)) * 60 + (w.c.rng.randint(0, 59) if "exact" in args else w.c.pick([0, 0, 30]) if "round" in args else w.c.pick([0, 0, 0, 15, 30, 30, 45, 10, 20, 40]))
    style = w.once("time", CLOCKS[w.lang]) if w.passage.kind in PROSE | {"list"} and "exact" not in args else "24"
    text = clock(w, minutes, style)
    return Value("time", text, {"text": ({"type": "string"}, Copied(text)), "iso": ({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}, f"{minutes // 60:02}:{minutes % 60:02}")}, ["text", "text", "iso"], order=minutes)


def stamp(w, args):
    """Date and time of a log line."""
    at = datetime.datetime.combine(w.today, datetime.time(0)) + datetime.timedelta(seconds=w.c.rng.randint(0, 86399))
    for k, a in enumerate(args):
        if a.startswith("+"):
            lo, hi, _ = span(args[k + 1:], (1, 600))
            at = w.value(a[1:]).order + datetime.timedelta(seconds=w.c.rng.randint(int(lo), int(hi)))
    style = w.once("stamp", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%H:%M:%S", "%d/%b/%Y:%H:%M:%S", "%b %d %H:%M:%S", "%Y/%m/%d %H:%M:%S"])
    text = at.strftime(style)
    iso = style == "%Y-%m-%dT%H:%M:%SZ" and w.c.chance(0.5)
    return string("stamp", text, schema={"type": "string", "format": "date-time"} if iso else None, order=at)


SPANS = {  # minutes of a unit, and its names: singular, plural, short
    "m": (1, {"en": ("minute", "minutes", "min"), "de": ("Minute", "Minuten", "Min."), "fr": ("minute", "minutes", "min"), "es": ("minuto", "minutos", "min")}, "minutes"),
    "h": (60, {"en": ("hour", "hours", "h"), "de": ("Stunde", "Stunden", "Std."), "fr": ("heure", "heures", "h"), "es": ("hora", "horas", "h")}, "hours"),
    "d": (1440, {"en": ("day", "days", "days"), "de": ("Tag", "Tage", "Tage"), "fr": ("jour", "jours", "jours"), "es": ("día", "días", "días")}, "days"),
    "w": (10080, {"en": ("week", "weeks", "wks"), "de": ("Woche", "Wochen", "Wochen"), "fr": ("semaine", "semaines", "semaines"), "es": ("semana", "semanas", "semanas")}, "weeks"),
    "o": (43200, {"en": ("month", "months", "months"), "de": ("Monat", "Monate", "Monate"), "fr": ("mois", "mois", "mois"), "es": ("mes", "meses", "meses")}, "months"),
    "y": (525600, {"en": ("year", "years", "yrs"), "de": ("Jahr", "Jahre", "Jahre"), "fr": ("an", "ans", "ans"), "es": ("año", "años", "años")}, "years"),
    "s": (1 / 60, {"en": ("second", "seconds", "s"), "de": ("Sekunde", "Sekunden", "s"), "fr": ("seconde", "secondes", "s"), "es": ("segundo", "segundos", "s")}, "seconds"),
}


def duration(w, args):
    """`dur 20-90m`, `dur 2-5h`, also `s`, `d`, `w`, `o` (months), `y`: asked for as written or as a number of that unit."""
    lo, hi, places = span(args, (10, 90))
    unit = args[0][-1] if args and args[0][-1] in SPANS else "m"
    _, names, plural = SPANS[unit]
    one, many, short = names[w.lang]
    n = between(w, lo, hi, places)
    if unit == "m" and hi >= 60:
        n = str(max(5, int(float(n)) // 5 * 5))
    views = {"number": ({"type": "number" if "." in n else "integer"}, Verbatim(n) if "." in n else int(n))}
    word = in_words(w, int(n)) if "." not in n and w.passage.kind in PROSE and w.c.chance(0.35) else None
    text = f"{word or written(w, n)} {one if n == '1' else many}" if w.once("dur", [True, True, False]) or word else f"{written(w, n)} {short}"
    if unit == "m" and w.lang == "en" and w.passage.kind in PROSE and int(n) in (30, 60, 90) and w.c.chance(0.5):
        text = {30: "half an hour", 60: "an hour", 90: "an hour and a half"}[int(n)]
    elif unit == "m" and int(n) > 60 and w.c.chance(0.3):
        h, m = divmod(int(n), 60)
        text = f"{h}h{m:02}" if m and w.c.chance(0.4) else f"{h} h {m} min" if m else f"{h} h"
    v = Value("number", text, {"text": ({"type": "string"}, Copied(text)), **views}, ["text", "number"], order=float(n))
    v.unit = plural
    return v


# --- words -------------------------------------------------------------------------------------------


def listed(kind, lex):
    return lambda w, args: string(kind, lex(w.c) if callable(lex) else lex[w.lang](w.c))


def by_language(tables, fallback):
    return lambda w, args: string("place", tables[w.lang](w.c) if w.lang in tables else fallback(w.c))


def plate(w, args):
    d, u = lambda n: digits(w.c, n), lambda n: "".join(w.c.pick("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(n))
    return string("code", {"de": f"{u(w.c.rng.randint(1, 3))}-{u(2)} {d(w.c.rng.randint(2, 4))}", "fr": f"{u(2)}-{d(3)}-{u(2)}", "es": f"{d(4)} {u(3)}"}.get(w.lang) or w.c.pick([f"{u(2)}{d(2)} {u(3)}", f"{u(3)} {d(4)}", f"{d(3)}-{u(3)}"]))


TYPES = {
    "person": person, "first": lambda w, a: string("person", given(w)), "last": lambda w, a: string("person", family(w)), "formal": formal,
    "org": org, "city": lambda w, a: string("place", city(w)), "street": lambda w, a: string("place", street(w)), "address": address,
    "zip": lambda w, a: string("code", postcode(w)), "country": by_language(COUNTRIES, COUNTRY), "place": by_language(VENUES, VENUE),
    "email": email, "url": url, "phone": lambda w, a: string("phone", phone(w, a)), "code": code, "user": user, "plate": plate,
    "ip": lambda w, a: string("code", ip_str(w.c)), "host": lambda w, a: string("code", host_str(w.c)), "version": lambda w, a: string("code", version_str(w.c)),
    "product": lambda w, a: string("product", product_name(w.c)), "thing": listed("product", THING), "color": listed("color", COLOR), "food": listed("product", FOOD),
    "job": listed("job", JOB), "airline": listed("org", AIRLINE), "title": lambda w, a: string("title", title_name(w.c)), "event": lambda w, a: string("title", event_name(w.c)),
    "brand": lambda w, a: string("org", synth(w.c).capitalize()), "name": lambda w, a: string("org", synth(w.c, 2, 2).capitalize()),
    "int": integer, "count": count, "ord": ordinal, "num": number, "pct": percent, "money": money, "amount": amount, "sum": total, "year": year,
    "date": date, "day": day, "weekday": weekday, "month": month, "time": time, "stamp": stamp, "dur": duration,
}
