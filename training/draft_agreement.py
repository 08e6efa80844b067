"""Measures how far a draft model goes along with its main model's greedy tokens, without a constraint.

How right a model's answers are is measured by `structgen-bench extract`.
"""

import argparse

import passages
from greedy_reference import Greedy


class Agreement:
    """Counts over all answers."""

    def __init__(self, draft, ahead=4):
        self.draft, self.ahead = draft, ahead
        self.same = self.tokens = self.passes = 0

    def add(self, prompt_ids, ids):
        logits, _ = self.draft.step(prompt_ids + ids[:-1], self.draft.start())
        agrees = (logits[len(prompt_ids) - 1 :].argmax(-1) == ids).tolist()
        self.same += sum(agrees)
        self.tokens += len(ids)
        at = 0
        while at < len(ids):
            run = 0
            while run < self.ahead and at + run < len(ids) and agrees[at + run]:
                run += 1
            at += run + 1
            self.passes += 1

    def line(self):
        return f"draft agrees on {self.same}/{self.tokens} = {self.same / self.tokens:.3f} of greedy tokens; {self.tokens / self.passes:.2f} tokens per target pass at {self.ahead} drafts"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("model")
    args.add_argument("draft")
    args.add_argument("--samples", type=int, default=400)
    args.add_argument("--split", default="validation", choices=passages.SPLITS)
    args = args.parse_args()
    model, agreement = Greedy(args.model), Agreement(Greedy(args.draft))
    for seed in range(args.samples):
        ids = model.tokenizer.encode(passages.sample(seed, args.split).prompt).ids
        if len(ids) < model.positions:
            agreement.add(ids, model.generate(ids))
    print(agreement.line())


if __name__ == "__main__":
    main()
