"""The vectors that golden values are about, from their numbers alone; `tests/goldens.rs` has the same in Rust.

Every operation is exact, or the one rounding of an IEEE double, so that both languages get the same bits.
"""

import numpy as np

MASK = (1 << 64) - 1
COUNT = 200


class Random:
    """SplitMix64 (Steele, Lea and Flood 2014)."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53

    def below(self, n):
        return self.next() % n


def vector(number, longest):
    """Logits number `number`, at most `longest` of them: peaked, flat, bimodal, ordinary, or odd."""
    random = Random(number)
    kind = number % 5
    n = 2 + random.below(longest - 1)
    odd = number // 5
    if kind == 4 and odd < 3:
        n = min(odd + 1, longest)
    logits = []
    # Which of two equal logits goes first is nobody's rule but ours: there are none.
    while len(logits) < n:
        i = len(logits)
        # The sum of four uniform numbers is near enough to a normal one.
        noise = random.uniform() + random.uniform() + random.uniform() + random.uniform() - 2.0
        if kind == 0:
            logit = noise * 4.0 + (12.0 if i % 17 == number % 17 else 0.0)
        elif kind == 1:
            logit = noise * 0.125
        elif kind == 2:
            logit = noise * 1.5 + (8.0 if random.below(2) == 1 else 0.0)
        elif kind == 3:
            logit = noise * 5.0 - 3.0
        elif odd % 4 == 0:
            logit = noise * 4096.0
        elif odd % 4 == 1:
            logit = noise * 2.0 - 24.0
        elif odd % 4 == 2:
            logit = noise * 0.03125
        else:
            logit = noise * 20.0
        logit = np.float32(logit)
        if logit not in logits:
            logits.append(logit)
    return np.array(logits, dtype=np.float32)


def history(number, n, length):
    """Token ids below `n` that repeat themselves."""
    random = Random(1_000_000 + number)
    tokens = []
    for _ in range(length):
        if len(tokens) > 4 and random.below(2) == 1:
            # Go on with something that has come before.
            start = random.below(len(tokens) - 2)
            tokens.extend(tokens[start : start + 1 + random.below(4)])
        else:
            tokens.append(random.below(n))
    return tokens[:length]


def kept(ids, n):
    """A set of ids as hexadecimal digits, four ids a digit, the lowest id the lowest bit."""
    ids = set(int(i) for i in ids)
    digits = []
    for start in range(0, n, 4):
        digits.append("%x" % sum(1 << b for b in range(4) if start + b in ids))
    return "".join(digits)


def bits(logits):
    """Numbers as the hexadecimal bits of f32, eight digits each."""
    return "".join("%08x" % b for b in np.asarray(logits, dtype=np.float32).view(np.uint32))
