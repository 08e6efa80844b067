"""MaskBench files through XGrammar, by the rules of `structgen-bench` and in its layout.

    python -m venv VENV
    VENV/bin/pip install xgrammar transformers tokenizers
    VENV/bin/python crates/structgen-bench/peers/xgrammar_masks.py --tokenizer F [--every N | --sample] PATH...

XGrammar has no Rust crate, so it runs in a process of its own, and a call from Python is part of each of its times: `empty calls` says
how much that is, and the ratio of medians takes it as it is. Schemas are compiled by one thread without a cache; an instance is written as
`json.dumps(data, ensure_ascii=False)` writes it. Only instances up to the first token that is refused are timed, as for the others.
"""

import argparse
import hashlib
import json
import math
import time
import warnings
from pathlib import Path

import tokenizers
import transformers
import xgrammar

HEADER = "   average       p50       p90       p99     p99.9         max"


def files(arguments):
    found = []
    for path in map(Path, arguments.paths):
        found += sorted(path.glob("*.json")) if path.is_dir() else [path]
    if arguments.sample:
        found = [path for path in found if int(hashlib.sha256(path.name.encode()).hexdigest(), 16) % 10 == 4]
    return found[:: max(arguments.every, 1)]


def line(times):
    """The distribution of some times: each percentile is a time that occurs."""
    times = sorted(times)
    if not times:
        return "none"
    at = lambda share: times[min(max(math.ceil(len(times) * share), 1), len(times)) - 1]
    figures = [sum(times) / len(times), at(0.5), at(0.9), at(0.99), at(0.999)]
    return "".join(f" {figure:>9.1f}" for figure in figures) + f" {times[-1]:>11.1f}"


class Peer:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizers.Tokenizer.from_file(tokenizer)
        wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=self.tokenizer)
        with warnings.catch_warnings():
            # Any stop token will do: instances are encoded without one.
            warnings.simplefilter("ignore")
            self.vocabulary = xgrammar.TokenizerInfo.from_huggingface(wrapped)
        self.compiler = xgrammar.GrammarCompiler(self.vocabulary, max_threads=1, cache_enabled=False)
        self.bits = xgrammar.allocate_token_bitmask(1, self.vocabulary.vocab_size)
        # The same memory: reading a bit through it is quick.
        self.words = self.bits.numpy()[0]

    def compile(self, schema):
        """The compiled schema and the microseconds that it and the first mask took."""
        text = json.dumps(schema, ensure_ascii=False)
        begin = time.perf_counter_ns()
        compiled = self.compiler.compile_json_schema(text)
        xgrammar.GrammarMatcher(compiled).fill_next_token_bitmask(self.bits)
        return compiled, (time.perf_counter_ns() - begin) / 1e3

    def accepts(self, compiled, text, times):
        """Whether all tokens are taken and the output may end; adds the microseconds of each token's mask and acceptance."""
        matcher = xgrammar.GrammarMatcher(compiled)
        bits, words, now = self.bits, self.words, time.perf_counter_ns
        for token in self.tokenizer.encode(text, add_special_tokens=False).ids:
            begin = now()
            # Without need of a mask, everything is allowed and nothing is written.
            is_needed = matcher.fill_next_token_bitmask(bits)
            is_allowed = not is_needed or int(words[token >> 5]) >> (token & 31) & 1 == 1
            is_allowed = is_allowed and matcher.accept_token(token)
            times.append((now() - begin) / 1e3)
            if not is_allowed:
                return False
        matcher.fill_next_token_bitmask(bits)
        return any(int(words[stop >> 5]) >> (stop & 31) & 1 for stop in self.vocabulary.stop_token_ids)


def empty_calls():
    """What two calls and a look at a bit cost where nothing is done."""
    import numpy

    words, nothing, now, times = numpy.zeros(4096, dtype=numpy.int32), lambda _: True, time.perf_counter_ns, []
    for token in range(100_000):
        begin = now()
        nothing(token)
        int(words[token >> 5]) >> (token & 31) & 1
        nothing(token)
        times.append((now() - begin) / 1e3)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True, help="a tokenizer.json")
    parser.add_argument("--every", type=int, default=1, help="take every n-th file")
    parser.add_argument("--sample", action="store_true", help="take the files of structgen-bench's --sample")
    parser.add_argument("paths", nargs="+", help="MaskBench files or folders")
    arguments = parser.parse_args()
    peer = Peer(arguments.tokenizer)
    counts = dict.fromkeys(["right", "refused", "rejected", "accepted"], 0)
    to_first, to_next, of_right = [], [], []
    cases = files(arguments)
    for path in cases:
        case = json.loads(path.read_text(encoding="utf-8"))
        try:
            compiled, first = peer.compile(case["schema"])
        except Exception:  # Whatever it throws, it does not compile the schema.
            counts["refused"] += 1
            continue
        to_first.append(first)
        times, verdict = [], "right"
        for instance in case["tests"]:
            text = json.dumps(instance["data"], ensure_ascii=False)
            accepted = peer.accepts(compiled, text, times)
            if accepted and not instance["valid"]:
                verdict = "accepted"
            elif not accepted and instance["valid"] and verdict == "right":
                verdict = "rejected"
        counts[verdict] += 1
        to_next += times
        if verdict == "right":
            of_right += times
    print(f"files                      {len(cases):>8}")
    labels = {
        "right": "every instance right",
        "refused": "refused at compile",
        "rejected": "a valid one rejected",
        "accepted": "an invalid one accepted",
    }
    for verdict, label in labels.items():
        print(f"{label:<27}{counts[verdict]:>8}  {100 * counts[verdict] / max(len(cases), 1):5.1f}%")
    print(f"microseconds               {HEADER}")
    print(f"compile + first mask       {line(to_first)}")
    print(f"mask + accept              {line(to_next)}")
    print(f"  of what is judged right  {line(of_right)}")
    print(f"  empty calls              {line(empty_calls())}")


if __name__ == "__main__":
    main()
