"""Trains a model for a given time on one core.

The learning rate and the curriculum follow the elapsed time, so that any `--minutes` is a whole run.
"""

import argparse
import os
import random
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import data
from model import SIZES, Model, parameters
from tokenizer import EOS, PAD

# Shares of copying, retrieval and extraction until a fraction of the time: copying emerges early this way.
CURRICULUM = [(0.06, (50, 40, 10)), (0.20, (10, 35, 55)), (1.01, (3, 12, 85))]
PROMPT_SAMPLED, PROMPT_WEIGHT = 0.10, 0.5  # together a weight of 0.05 on the prompt
SHORT_UNTIL, SHORT = 0.45, 170  # only samples of at most so many tokens until this fraction: which key comes next is learnt on short ones
WARMUP = 60


def encode(tok, samples):
    """Ids of prompt + target + EOS, and the length of the prompt."""
    prompts = tok.encode_batch([x.prompt for x in samples])
    targets = tok.encode_batch([x.target for x in samples])
    return [(p.ids + t.ids + [EOS], len(p.ids)) for p, t in zip(prompts, targets)]


def pad(rows):
    width = -(-max(len(ids) for ids, _ in rows) // 16) * 16
    ids = torch.full((len(rows), width), PAD, dtype=torch.long)
    weight = torch.zeros(len(rows), width)
    for r, (row, start) in enumerate(rows):
        ids[r, : len(row)] = torch.tensor(row)
        # position t predicts t+1
        weight[r, : start - 1] = (torch.rand(start - 1) < PROMPT_SAMPLED) * PROMPT_WEIGHT
        weight[r, start - 1 : len(row) - 1] = 1.0
    return ids, weight


def batches(tok, tokens, limit, elapsed, seed):
    """Batches of about `tokens` padded tokens, each of samples of like length."""
    rng = random.Random(seed)
    while True:
        mix = next(m for until, m in CURRICULUM if elapsed() < until)
        longest = min(limit, SHORT) if elapsed() < SHORT_UNTIL else limit
        rows = [r for r in encode(tok, [data.sample(seed + k, mix=mix) for k in range(400)]) if len(r[0]) <= longest]
        seed += 400
        rows.sort(key=lambda r: len(r[0]))
        group, out = [], []
        for row in rows:
            if group and (len(group) + 1) * len(row[0]) > tokens:
                out.append(group)
                group = []
            group.append(row)
        out.append(group)
        rng.shuffle(out)
        yield from map(pad, out)


class Muon:
    """Momentum, orthogonalised by Newton-Schulz (Jordan 2024); matrices of one shape go as a stack."""

    def __init__(self, params, momentum=0.95):
        shapes = {}
        for p in params:
            shapes.setdefault(tuple(p.shape), []).append(p)
        self.groups = [(ps, torch.zeros(len(ps), *shape)) for shape, ps in shapes.items()]
        self.momentum = momentum

    @torch.no_grad()
    def step(self, lr):
        for params, buf in self.groups:
            grad = torch.stack([p.grad for p in params])
            buf.mul_(self.momentum).add_(grad)
            update = grad.add_(buf, alpha=self.momentum).bfloat16()
            rows, cols = update.shape[1:]
            if rows > cols:
                update = update.mT
            update = update / (update.norm(dim=(1, 2), keepdim=True) + 1e-7)
            for _ in range(5):
                gram = update @ update.mT
                update = 3.4445 * update + (-4.7750 * gram + 2.0315 * gram @ gram) @ update
            if rows > cols:
                update = update.mT
            update = update.float() * (-lr * max(1, rows / cols) ** 0.5)
            for p, u in zip(params, update):
                p.add_(u)


def exact(model, tok, split, n, limit):
    """Share of samples that greedy decoding gets right to the last token: teacher forcing tells."""
    rows = [r for r in encode(tok, [data.sample(10**9 + k, split) for k in range(n)]) if len(r[0]) <= limit]
    rows.sort(key=lambda r: len(r[0]))
    good = 0
    with torch.no_grad():
        for k in range(0, len(rows), 12):
            ids, weight = pad(rows[k : k + 16])
            right = (model(ids)[:, :-1].argmax(-1) == ids[:, 1:]) | (weight[:, :-1] < 1)
            good += right.all(1).sum().item()
    return good / len(rows)


def pick_blocks(state, blocks):
    if not blocks:
        return state
    out = {name: tensor for name, tensor in state.items() if not name.startswith("blocks.")}
    for new, old in enumerate(blocks.split(",")):
        prefix = f"blocks.{old}."
        out |= {f"blocks.{new}.{name[len(prefix):]}": tensor for name, tensor in state.items() if name.startswith(prefix)}
    return out


def main():
    args = argparse.ArgumentParser()
    args.add_argument("size", choices=SIZES)
    args.add_argument("--tokenizer", required=True)
    args.add_argument("--out", required=True, help="checkpoint file")
    args.add_argument("--minutes", type=float, default=55)
    args.add_argument("--tokens", type=int, default=2400, help="padded tokens a batch")
    args.add_argument("--limit", type=int, default=1000, help="longest sample in tokens")
    args.add_argument("--muon", type=float, default=0.02)
    args.add_argument("--adam", type=float, default=3e-3)
    args.add_argument("--hold", type=float, default=0.45, help="fraction of the time with a constant rate")
    args.add_argument("--resume", help="checkpoint to go on from")
    args.add_argument("--blocks", help="of the checkpoint, only these blocks, such as 0,2: a draft begins as a part of its main model")
    args.add_argument("--curriculum-from", type=float, default=0.0, help="where in the curriculum to begin")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--compile", action="store_true")
    args = args.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    tok = Tokenizer.from_file(args.tokenizer)
    model = Model(SIZES[args.size])
    if args.resume:
        model.load_state_dict(pick_blocks(torch.load(args.resume)["model"], args.blocks))
    hidden = torch.compile(model.hidden, dynamic=True) if args.compile else model.hidden
    matrices = [p for b in model.blocks for p in b.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if all(p is not m for m in matrices)]
    muon, adam = Muon(matrices), torch.optim.AdamW(rest, lr=args.adam, betas=(0.9, 0.98), weight_decay=0.0)
    print(f"{parameters(model):,} parameters", flush=True)

    start = time.time()
    elapsed = lambda: (time.time() - start) / (60 * args.minutes)
    progress = lambda: args.curriculum_from + (1 - args.curriculum_from) * elapsed()
    step, seen, last, saved, total = 0, 0, start, start, 0.0
    for ids, weight in batches(tok, args.tokens, args.limit, progress, args.seed * 10**8):
        f = elapsed()
        if f >= 1:
            break
        scale = min(1.0, (step + 1) / WARMUP) * min(1.0, max(0.01, (1 - f) / (1 - args.hold)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = hidden(ids)
            mask = (weight > 0).flatten()
            logits = h.flatten(0, 1)[mask] @ model.embed.weight.T
        w = weight.flatten()[mask]
        target = F.pad(ids[:, 1:], (0, 1)).flatten()[mask]
        ce = F.cross_entropy(logits.float(), target, reduction="none")
        loss = (ce * w).sum() / w.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(rest, 1.0)
        muon.step(args.muon * scale)
        for group in adam.param_groups:
            group["lr"] = args.adam * scale
        adam.step()
        for p in model.parameters():
            p.grad = None
        step += 1
        seen += ids.numel()
        total += (ce * (w == 1)).sum().item() / (w == 1).sum().item()
        if step % 50 == 0:
            now = time.time()
            print(f"{f:6.1%} step {step} tokens {seen / 1e6:.2f}M json loss {total / 50:.4f} lr {scale:.2f} {(now - last) / 50 * 1000:.0f} ms/step", flush=True)
            last, total = now, 0.0
        if time.time() - saved > 150:
            torch.save({"size": args.size, "model": model.state_dict(), "step": step, "tokens": seen}, args.out)
            scores = " ".join(f"{s} {exact(model, tok, s, 72, 300):.2f}" for s in ("values", "templates", "domains"))
            print(f"{f:6.1%} exact objects: {scores}", flush=True)
            saved = time.time()
    torch.save({"size": args.size, "model": model.state_dict(), "step": step, "tokens": seen}, args.out)
    scores = " ".join(f"{s} {exact(model, tok, s, 400, args.limit):.3f}" for s in data.SPLITS)
    print(f"done: {step} steps, {seen / 1e6:.2f}M tokens; exact objects: {scores}", flush=True)


if __name__ == "__main__":
    main()
