"""Random patterns, random texts, and what Python's own `re` says of them: one JSON object a line.

    python3 patterns.py SEED COUNT
"""

import json
import random
import re
import signal
import sys
import warnings

# What a dialect may get wrong: digits, letters and spaces beyond ASCII, letters that are one another's other case, joiners, marks, line ends.
ALPHABET = "abABzZ019 _-.\n\t\u00e9\u00b2\u0663\u00df\u017fK\u212aks\u2028\u00a0\u200d\u03a3\u03c3\u03c2\U0001f600\u0130i\u0301"
ESCAPES = ["\\d", "\\w", "\\s", "\\D", "\\W", "\\S"]
ANCHORS = ["^", "$", "\\b", "\\B", "\\A", "\\Z"]
TEXTS = 30


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong


class Patterns:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.opened = 0
        self.closed = []
        self.refers = False

    def chance(self, probability):
        return self.random.random() < probability

    def literal(self, char=None):
        char = char or self.random.choice(ALPHABET)
        if char in "\\.^$|?*+()[]{}-":
            return "\\" + char
        written = [char, char, char, char]
        if ord(char) < 0x100:
            written.append(f"\\x{ord(char):02x}")
        if ord(char) < 0x10000:
            written.append(f"\\u{ord(char):04x}")
        written.append(f"\\U{ord(char):08x}")
        return self.random.choice(written)

    def char_class(self):
        items = []
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.random()
            if kind < 0.5:
                items.append(self.literal())
            elif kind < 0.75:
                low, high = sorted(self.random.choices(ALPHABET, k=2))
                items.append(self.literal(low) + "-" + self.literal(high))
            else:
                items.append(self.random.choice(ESCAPES))
        return "[" + ("^" if self.chance(0.3) else "") + "".join(items) + "]"

    def atom(self, depth):
        kind = self.random.random()
        if kind < 0.42 or depth == 0:
            return self.literal()
        if kind < 0.5:
            return "."
        if kind < 0.58:
            return self.random.choice(ESCAPES)
        if kind < 0.7:
            return self.char_class()
        if kind < 0.78:
            return "(?:" + self.random.choice(ANCHORS) + ")"
        if kind < 0.84 and self.closed:
            self.refers = True
            number, name = self.random.choice(self.closed)
            by_name = name and self.chance(0.5)
            return f"(?P={name})" if by_name else f"(?:\\{number})"
        if kind < 0.9:
            return self.group(depth)
        elif kind < 0.94:
            opening = self.random.choice(["(?:(?=", "(?:(?!"])
        elif kind < 0.96:
            behind = self.literal() + (self.literal() if self.chance(0.4) else "")
            return self.random.choice(["(?:(?<=", "(?:(?<!"]) + behind + "))"
        else:
            flags = self.random.choice(["i", "s", "m", "a", "-i", "x"])
            opening = f"(?{flags}:"
        closing = "))" if opening.startswith("(?:(") else ")"
        return opening + self.alternatives(depth - 1) + closing

    def group(self, depth):
        if self.chance(0.3):
            return "(?:" + self.alternatives(depth - 1) + ")"
        self.opened += 1
        number = self.opened
        name = f"n{number}" if self.chance(0.5) else None
        # Few texts, so that references to the group are supported.
        body = self.char_class() if self.chance(0.6) else self.alternatives(depth - 1)
        self.closed.append((number, name))
        return (f"(?P<{name}>" if name else "(") + body + ")"

    def term(self, depth):
        if self.chance(0.08):
            return self.random.choice(ANCHORS)
        atom = self.atom(depth)
        if self.chance(0.3):
            atom += self.random.choice(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}"])
            atom += "?" if self.chance(0.3) else ""
        return atom

    def sequence(self, depth):
        fewest = 0 if self.chance(0.1) else 1
        return "".join(self.term(depth) for _ in range(self.random.randint(fewest, 4)))

    def alternatives(self, depth):
        count = self.random.choice([1, 1, 1, 2, 3])
        return "|".join(self.sequence(depth) for _ in range(count))

    def pattern(self):
        self.opened = 0
        self.closed = []
        self.refers = False
        flags = self.random.choice(["(?i)", "(?s)", "(?m)", "(?is)", "(?a)", "(?ia)"])
        return (flags if self.chance(0.2) else "") + self.alternatives(3)

    def text(self):
        length = self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 7])
        text = "".join(self.random.choices(ALPHABET, k=length))
        # What is there once may be referred to.
        return text * 2 if self.chance(0.2) else "".join(c * self.random.choice([1, 1, 2]) for c in text)


def main():
    seed, count = map(int, sys.argv[1:])
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    patterns = Patterns(seed)
    while count > 0:
        pattern = patterns.pattern()
        try:
            compiled = re.compile(pattern)
        except re.error:
            continue
        texts = [patterns.text() for _ in range(TEXTS)]
        # Until Python 3.14 `\\B` is not at the edge of the empty text.
        if "\\B" in pattern:
            texts = [text for text in texts if text]
        try:
            # Going back takes Python exponential time in some patterns.
            signal.setitimer(signal.ITIMER_REAL, 1)
            whole = [compiled.fullmatch(text) is not None for text in texts]
            # Not by `search`: where flags differ within a pattern, CPython passes over places at
            # which `match` finds one.
            within = [
                any(compiled.match(text, at) for at in range(len(text) + 1)) for text in texts
            ]
            signal.setitimer(signal.ITIMER_REAL, 0)
        except TooLong:
            continue
        count -= 1
        case = {"pattern": pattern, "texts": texts, "whole": whole, "within": within}
        case["refers"] = patterns.refers
        print(json.dumps(case))


if __name__ == "__main__":
    main()
