"""How words are compared: without their accents, whatever their case."""

import functools

PLAIN = {a: plain for letters, plain in (("àáâãäå", "a"), ("ç", "c"), ("èéêë", "e"), ("ìíîï", "i"), ("ñ", "n"), ("òóôõö", "o"), ("ùúûü", "u"), ("ý", "y")) for a in letters}


@functools.lru_cache(1 << 18)
def fold(word):
    """In small letters without accents; `ae` and `ä` are the same, as are `oe`, `ö`, `ue` and `ü`."""
    out = []
    for letter in word:
        for c in letter.lower():
            c = PLAIN.get(c, c)
            if c == "ß":
                out += "ss"
            elif "\u0300" <= c <= "\u036f" or c == "e" and out and out[-1] in "aou":
                pass
            else:
                out.append(c)
    return "".join(out)
