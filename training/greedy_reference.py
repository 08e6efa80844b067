"""Greedy decoding in a bare loop: plain onnxruntime, numpy caches, one thread, no constraint.

Reads JSON lines, each a string, or an object with "prompt", or with "schema" and "text"; prints for
each {"prompt_ids", "ids", "text"}. With --bench it prints tokens per second instead. This is the
reference that the Rust loop is compared with, in results and in speed.
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from notation import prompt


class Greedy:
    def __init__(self, folder, threads=1):
        folder = pathlib.Path(folder)
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.heads = config["num_hidden_layers"], config["num_key_value_heads"]
        self.head_dim, self.eos = config["head_dim"], config["eos_token_id"]
        self.positions = config["max_position_embeddings"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        self.session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.inputs = {given.name for given in self.session.get_inputs()}
        self.past_names = [f"past_key_values.{i}.{part}" for i in range(self.layers) for part in ("key", "value")]
        self.outputs = ["logits"] + [name.replace("past_key_values", "present") for name in self.past_names]

    def start(self):
        return [np.zeros((1, self.heads, 0, self.head_dim), np.float32)] * (2 * self.layers)

    def feeds(self, ids, past):
        before, n = past[0].shape[2], len(ids)
        feeds = dict(zip(self.past_names, past))
        feeds["input_ids"] = np.array([ids], np.int64)
        feeds["attention_mask"] = np.ones((1, before + n), np.int64)
        feeds["position_ids"] = np.arange(before, before + n, dtype=np.int64)[None]
        return {name: value for name, value in feeds.items() if name in self.inputs}

    def step(self, ids, past):
        """Runs `ids` after `past`; logits [sequence, vocab] and the grown cache."""
        logits, *past = self.session.run(self.outputs, self.feeds(ids, past))
        return logits[0], past

    def hidden(self, ids):
        """The hidden states behind each of `ids`, [sequence, width]."""
        return self.session.run(["hidden_states"], self.feeds(ids, self.start()))[0][0]

    def generate(self, ids, limit=256, stop=True):
        past, out = self.start(), []
        limit = min(limit, self.positions - len(ids))
        while len(out) < limit:
            logits, past = self.step(ids, past)
            token = int(logits[-1].argmax())
            out.append(token)
            if stop and token == self.eos:
                break
            ids = [token]
        return out

    def text(self, ids):
        return self.tokenizer.decode([i for i in ids if i != self.eos], skip_special_tokens=False)


def prompt_of(line):
    value = json.loads(line)
    if isinstance(value, str):
        return value
    return value["prompt"] if "prompt" in value else prompt(value["schema"], value["text"])


def bench(model, steps, rounds):
    """Median tokens per second of `steps` greedy steps after a prompt of 100 tokens."""
    ids = np.random.default_rng(0).integers(5, 1000, 100).tolist()
    rates, prefill = [], []
    for _ in range(rounds + 1):
        past = model.start()
        began = time.perf_counter()
        logits, past = model.step(ids, past)
        prefilled = time.perf_counter()
        for _ in range(steps):
            logits, past = model.step([int(logits[-1].argmax())], past)
        ended = time.perf_counter()
        rates.append(steps / (ended - prefilled))
        prefill.append(len(ids) / (prefilled - began))
    rates, prefill = sorted(rates[1:]), sorted(prefill[1:])
    print(f"decode {rates[len(rates) // 2]:,.0f} tokens/s (best {rates[-1]:,.0f}), prefill {prefill[len(prefill) // 2]:,.0f} tokens/s, {steps} steps after 100 tokens, {rounds} rounds")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("model", help="folder with model.onnx, config.json, tokenizer.json")
    args.add_argument("prompts", nargs="?", help="JSON lines; standard input if absent")
    args.add_argument("--limit", type=int, default=256)
    args.add_argument("--bench", action="store_true")
    args.add_argument("--steps", type=int, default=150)
    args.add_argument("--rounds", type=int, default=20)
    args = args.parse_args()
    model = Greedy(args.model)
    if args.bench:
        return bench(model, args.steps, args.rounds)
    for line in open(args.prompts) if args.prompts else sys.stdin:
        if line.strip():
            ids = model.tokenizer.encode(prompt_of(line)).ids
            out = model.generate(ids, args.limit)
            print(json.dumps({"prompt_ids": ids, "ids": out, "text": model.text(out)}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
