"""Beam search by transformers' `generate`, recorded for the tests of ours: 50 prompts, 6 settings, and greedy decoding beside them.

    python beam_goldens.py ../crates/structgen/tests/goldens/model ../crates/structgen/tests/goldens/beam_search.json

Made with transformers 4.56.2, the last version that has beams in groups itself, and torch 2.15.0 on a CPU. Each output is its
tokens, end-of-sequence included, and its score. A case is marked as a near tie when other sequences, or another order,
come out of noise of up to 1e-4 on log probabilities: rounding may then decide, and another program may round otherwise.
"""

import argparse
import hashlib
import json
import pathlib
import random

import torch
import transformers
from tokenizers import Tokenizer
from transformers import LogitsProcessor, LogitsProcessorList

from data import SPLITS, sample
from torch_reference import llama

EOS = 1
NEW_TOKENS = 48
NOISE, NOISY_RUNS = 1e-4, 2

# By transformers' names of parameters.
SETTINGS = {
    "defaults": dict(num_beams=4, num_return_sequences=4),
    "sum of log probabilities, exact stop": dict(num_beams=2, num_return_sequences=2, length_penalty=0.0, early_stopping="never"),
    "long outputs, wide": dict(num_beams=8, num_return_sequences=3, length_penalty=2.0, early_stopping="never"),
    "short outputs, at least twelve tokens": dict(num_beams=4, num_return_sequences=2, length_penalty=-1.0, min_new_tokens=12),
    "groups": dict(num_beams=6, num_return_sequences=6, num_beam_groups=3, diversity_penalty=0.7, length_penalty=0.6),
    "first to be full, with penalties": dict(num_beams=4, num_return_sequences=4, early_stopping=True, repetition_penalty=1.15, no_repeat_ngram_size=4),
}


def prompts(tokenizer):
    """Token ids: 36 of the form that the model was trained on, of several lengths, and 14 of none."""
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    out, dice = [], random.Random(7)
    for i in range(36):
        out.append(encode(sample(i // len(SPLITS), SPLITS[i % len(SPLITS)]).prompt))
    for i in range(7):
        one = sample(100 + i)
        # The text alone, and an answer that has begun.
        out.append(encode(one.text))
        out.append(encode(one.prompt + one.target)[: -3 - dice.randrange(12)])
    # One token, tokens by chance, prose, another notation, two languages, one long run, and a special token where none belongs.
    vocabulary = tokenizer.get_vocab_size()
    out[-7:] = [
        [2],
        [dice.randrange(5, vocabulary) for _ in range(30)],
        encode("It was a bright cold day in April, and the clocks were striking "),
        encode("name: Ada\nage: 36\ncity: "),
        encode("Grüße aus Köln, 日本語も少し. "),
        encode("ab" * 60),
        encode("<text>Kim is 7<json><json>"),
    ]
    return out


class Noise(LogitsProcessor):
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, input_ids, scores):
        return scores + (torch.rand(scores.shape, generator=self.generator) * 2 - 1) * NOISE


@torch.no_grad()
def outputs(model, ids, noise=None, **setting):
    """Tokens up to the first end-of-sequence, and scores, in the order of `generate`."""
    ids = torch.tensor([ids])
    found = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW_TOKENS, do_sample=False, eos_token_id=EOS, pad_token_id=0,
        return_dict_in_generate=True, output_scores=True,
        logits_processor=LogitsProcessorList([] if noise is None else [Noise(noise)]), **setting,
    )
    out = []
    scores = found.sequences_scores.tolist() if setting.get("num_beams", 1) > 1 else [None]
    for tokens, score in zip(found.sequences[:, ids.shape[1] :].tolist(), scores, strict=True):
        if EOS in tokens:
            tokens = tokens[: tokens.index(EOS) + 1]
        assert EOS in tokens or len(tokens) == NEW_TOKENS
        out.append([tokens] if score is None else [tokens, round(score, 7)])
    return out


def case(model, ids, setting):
    found = outputs(model, ids, **setting)
    tokens = [one[0] for one in found]
    is_tie = any(tokens != [one[0] for one in outputs(model, ids, noise, **setting)] for noise in range(NOISY_RUNS))
    return {"near_tie": is_tie, "outputs": found}


def write(path, head, settings):
    line = lambda value: json.dumps(value, separators=(",", ":"))
    blocks = [f'{line(name)}:{line(value)[:-1]},"cases":[\n' + ",\n".join(map(line, cases)) + "]}" for name, (value, cases) in settings.items()]
    path.write_text(line(head)[:-1] + ',\n"settings":{\n' + ",\n".join(blocks) + "}}\n")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("folder", type=pathlib.Path)
    args.add_argument("file", type=pathlib.Path)
    args = args.parse_args()
    transformers.logging.set_verbosity_error()
    model, difference = llama(args.folder)
    ids = prompts(Tokenizer.from_file(str(args.folder / "tokenizer.json")))
    assert len(ids) == 50
    settings = {"greedy": {"num_beams": 1}} | SETTINGS
    head = {
        "versions": {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]},
        "model": {"sha256": hashlib.sha256((args.folder / "model.onnx").read_bytes()).hexdigest(), "difference": difference},
        "max_new_tokens": NEW_TOKENS,
        "prompts": ids,
    }
    cases = {}
    for name, setting in settings.items():
        cases[name] = setting, [case(model, one, setting) for one in ids]
        print(name, sum(one["near_tie"] for one in cases[name][1]), "near ties", flush=True)
    write(args.file, head, cases)


if __name__ == "__main__":
    main()
