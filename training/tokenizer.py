"""Trains the byte-level BPE tokenizer and writes it as a `tokenizer.json`.

A word must have the same tokens in the text and in the JSON, or copying cannot be learnt: so a space
is a token of its own, digits stand alone, and JSON punctuation comes in runs (`":"`, `"},{"`).
"""

import argparse

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import mixture
from notation import render

PAD, EOS, SCHEMA, TEXT, JSON = range(5)
SPECIAL = ["<pad>", "<eos>", "<schema>", "<text>", "<json>"]
PATTERN = r"""[\p{L}\p{M}]+|\p{N}|["\[\]{}:,|?]+|\s|[^\s\p{L}\p{M}\p{N}"\[\]{}:,|?]"""


def train(samples, vocab_size):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(s, special=True, normalized=False) for s in SPECIAL],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )

    def texts():
        for seed in range(samples):
            x = mixture.sample(seed, mix=(1, 3, 6, 90))
            yield from (render(x.schema), x.text, x.target)

    tok.train_from_iterator(texts(), trainer)
    return tok


if __name__ == "__main__":
    args = argparse.ArgumentParser()
    args.add_argument("out")
    args.add_argument("--samples", type=int, default=30000)
    args.add_argument("--vocab", type=int, default=4096)
    args = args.parse_args()
    tok = train(args.samples, args.vocab)
    assert [tok.token_to_id(s) for s in SPECIAL] == list(range(5)) and tok.get_vocab_size() == args.vocab
    tok.save(args.out)
