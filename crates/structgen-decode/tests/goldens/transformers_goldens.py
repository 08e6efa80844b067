"""Golden values of transformers' logits processors, written to transformers.json.

    python transformers_goldens.py

Made with transformers 4.57.6 and torch 2.15.0 on a CPU; the file names the versions it was made with. Each entry is the number of its
vector, the parameters, and what was kept (or the logits). Parameters at which single and double precision keep different tokens are drawn again. Top-H, which came with transformers 5, is read off its formula in double precision.
"""

import json
import math

import numpy as np
import torch
import transformers
from transformers.generation import logits_process as lp

from vectors import COUNT, Random, bits, history, kept, vector

EOS = 1


def rounded(x):
    """Parameters are f32 numbers, so that both sides use the same."""
    return float(np.float32(x))


def run(processors, logits, seen=(0,)):
    scores = torch.from_numpy(logits.copy()).unsqueeze(0)
    ids = torch.tensor([list(seen)], dtype=torch.long)
    for processor in processors:
        scores = processor(ids, scores)
    return scores[0].numpy()


class Borderline(Exception):
    """Single precision decides, and not the rule."""


def kept_by(processors, logits, seen=(0,)):
    single = survivors(run(processors, logits, seen))
    if single != survivors(run(processors, logits.astype(np.float64), seen)):
        raise Borderline
    return kept(single, len(logits))


def survivors(scores):
    return [i for i, s in enumerate(scores) if s > -math.inf]


def top_h(logits, alpha):
    order = sorted(range(len(logits)), key=lambda i: (-float(logits[i]), i))[:100]
    head = np.array([float(logits[i]) for i in order])
    weights = np.exp(head - head[0])
    p = weights / weights.sum()
    terms = np.where(p > 0, -p * np.log(np.where(p > 0, p, 1)), 0.0)
    within = (np.cumsum(terms) <= alpha * terms.sum()) & (p > 0)
    n = 0
    while n < len(order) and within[n]:
        n += 1
    return order[: max(n, 1)]


def main():
    random = Random(42)
    share = lambda: rounded(0.02 + 0.96 * random.uniform())
    out = {}

    def add(name, entry):
        out.setdefault(name, []).append(entry)

    for number in range(COUNT):
        logits = vector(number, 256)
        n = len(logits)
        keep = lambda processor, l=logits: kept_by([processor], l)

        def drawn(name, draw, case):
            """Adds a case for parameters that `draw` draws."""
            while True:
                parameters = draw()
                try:
                    return add(name, [number, *parameters, case(*parameters)])
                except Borderline:
                    continue

        k = 1 + random.below(n + 2)
        add("top-k", [number, k, keep(lp.TopKLogitsWarper(k))])
        tied = np.round(logits * np.float32(0.5)).astype(np.float32)
        add("top-k-ties", [number, k, keep(lp.TopKLogitsWarper(k), tied)])
        least = 1 + random.below(3)
        drawn("top-p", lambda: (share(), least), lambda p, least: keep(lp.TopPLogitsWarper(p, min_tokens_to_keep=least)))
        share_of_max = lambda: rounded(random.uniform() ** 2)
        drawn("min-p", lambda: (share_of_max(), least), lambda m, least: keep(lp.MinPLogitsWarper(m, min_tokens_to_keep=least)))
        drawn("typical-p", lambda: (share(),), lambda p: keep(lp.TypicalLogitsWarper(p)))
        cutoff = lambda: rounded(0.3 * random.uniform() ** 3 + 1e-6)
        drawn("epsilon", lambda: (cutoff(),), lambda e: keep(lp.EpsilonLogitsWarper(e)))
        cutoff_by_entropy = lambda: rounded(random.uniform() ** 3 * 0.9 + 1e-6)
        drawn("eta", lambda: (cutoff_by_entropy(),), lambda e: keep(lp.EtaLogitsWarper(e)))
        alpha = share()
        add("top-h", [number, alpha, kept(top_h(logits, alpha), n)])

        seen = history(number, n, 1 + random.below(60))
        size = 1 + random.below(4)
        scores = run([lp.NoRepeatNGramLogitsProcessor(size)], logits, seen)
        add("no-repeat-ngram", [number, size, len(seen), kept(survivors(scores), n)])
        banned = random.below(n)
        scores = run([lp.SuppressTokensLogitsProcessor([banned, 0])], logits)
        add("suppress", [number, [banned, 0], kept(survivors(scores), n)])
        words = [[random.below(n)], seen[-2:] + [random.below(n)], [random.below(n), random.below(n)]]
        if len(seen) >= 3:
            scores = run([lp.NoBadWordsLogitsProcessor(words)], logits, seen)
            add("bad-words", [number, words, len(seen), kept(survivors(scores), n)])
        least = random.below(80)
        scores = run([lp.MinLengthLogitsProcessor(least, EOS)], logits, seen)
        add("min-length", [number, least, len(seen), kept(survivors(scores), n)])
        prompt = random.below(len(seen) + 1)
        scores = run([lp.MinNewTokensLengthLogitsProcessor(prompt, least // 2, EOS)], logits, seen)
        add("min-new-tokens", [number, least // 2, prompt, len(seen), kept(survivors(scores), n)])

        logits = vector(number, 40)
        n = len(logits)
        seen = history(number, n, 1 + random.below(60))
        t = rounded(0.05 + 3.0 * random.uniform())
        add("temperature", [number, t, bits(run([lp.TemperatureLogitsWarper(t)], logits))])
        r = rounded(0.5 + 1.5 * random.uniform())
        scores = run([lp.RepetitionPenaltyLogitsProcessor(r)], logits, seen)
        add("repetition-penalty", [number, r, len(seen), bits(scores)])
        prompt = 1 + random.below(len(seen))
        if prompt < len(seen):
            scores = run([lp.RepetitionPenaltyLogitsProcessor(r, prompt_ignore_length=prompt)], logits, seen)
            add("repetition-of-output", [number, r, prompt, len(seen), bits(scores)])
        if n > 1:
            start, f = random.below(6), rounded(0.9 + 0.3 * random.uniform())
            prompt = random.below(len(seen) + 1)
            processor = lp.ExponentialDecayLengthPenalty((start, f), EOS, prompt)
            scores = run([processor], logits, seen)
            add("length-decay", [number, start, f, prompt, len(seen), bits(scores)])
            token, b = 1 + random.below(n - 1), rounded(8 * random.uniform() - 4)
            scores = run([lp.SequenceBiasLogitsProcessor([[[token], b]])], logits)
            add("logit-bias", [number, token, b, bits(scores)])
        gamma, delta = share(), rounded(4 * random.uniform())
        if int(n * gamma) > 0:
            processor = lp.WatermarkLogitsProcessor(n, "cpu", greenlist_ratio=gamma, bias=delta)
            add("watermark", [number, gamma, delta, seen[-1], bits(run([processor], logits, seen))])

        # The order of `generate`, with what is on by it.
        while True:
            t, k, p = rounded(0.3 + 2 * random.uniform()), 1 + random.below(n + 5), share()
            m, y = rounded(0.1 * random.uniform()), share()
            chain = [
                lp.RepetitionPenaltyLogitsProcessor(r),
                lp.NoRepeatNGramLogitsProcessor(3),
                lp.TemperatureLogitsWarper(t),
                lp.TopKLogitsWarper(k),
                lp.TopPLogitsWarper(p),
                lp.MinPLogitsWarper(m),
                lp.TypicalLogitsWarper(y),
            ]
            try:
                kept_by(chain, logits, seen)
            except Borderline:
                continue
            break
        scores = run(chain, logits, seen)
        if survivors(scores):
            add("chain", [number, r, t, k, p, m, y, len(seen), bits(scores)])

    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    with open("transformers.json", "w") as file:
        write(file, versions, out)


def write(file, versions, out):
    """One entry a line."""
    file.write('{"versions": %s' % json.dumps(versions))
    for name, entries in out.items():
        lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        file.write(',\n"%s": [\n%s\n]' % (name, lines))
    file.write("\n}\n")


if __name__ == "__main__":
    main()
