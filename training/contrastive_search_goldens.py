"""Contrastive search by transformers' `generate`, recorded for the tests of ours.

    python contrastive_search_goldens.py ../crates/structgen/tests/goldens/model ../crates/structgen/tests/goldens/contrastive_search.json

Made with transformers 4.53.3, one of the last versions that have contrastive search themselves, and torch 2.15.0 on a CPU. Each output is
its tokens, end-of-sequence included. It is computed in single and in double precision: where they differ, rounding
decides, and the case is left out. Special tokens but the end are suppressed, as ours never come without a constraint that names them.
"""

import argparse
import json
import pathlib

import torch
import transformers
from tokenizers import Tokenizer

import data
from tokenizer import EOS, JSON, PAD, SCHEMA, TEXT
from torch_reference import llama

SETTINGS = [(0.6, 4), (0.3, 6), (0.9, 3)]
NEW = 24


@torch.no_grad()
def outputs(model, prompts):
    for number, ids in enumerate(prompts):
        for alpha, k in SETTINGS:
            out = model.generate(
                torch.tensor([ids]), penalty_alpha=alpha, top_k=k, do_sample=False, max_new_tokens=NEW,
                eos_token_id=EOS, pad_token_id=PAD, suppress_tokens=[PAD, SCHEMA, TEXT, JSON], attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            )
            yield number, alpha, k, out[0, len(ids) :].tolist()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("model", type=pathlib.Path)
    args.add_argument("out", type=pathlib.Path)
    args.add_argument("--prompts", type=int, default=8)
    args = args.parse_args()
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    prompts = [tokenizer.encode(data.sample(3 * 10**9 + seed, "values").prompt).ids for seed in range(args.prompts)]
    model, worst = llama(args.model)
    single = list(outputs(model, prompts))
    double = list(outputs(model.double(), prompts))
    sure = [a for a, b in zip(single, double) if a == b]
    print(f"logits differ by {worst:.1e}; {len(single) - len(sure)} of {len(single)} outputs hang on rounding")
    lines = [json.dumps({"prompt": p, "alpha": a, "top_k": k, "tokens": out}) for p, a, k, out in sure]
    prompts = ",\n".join(map(json.dumps, prompts))
    cases = ",\n".join(lines)
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text(f'{{"transformers": "{transformers.__version__}", "new_tokens": {NEW}, "prompts": [\n{prompts}\n], "cases": [\n{cases}\n]}}\n')


if __name__ == "__main__":
    main()
