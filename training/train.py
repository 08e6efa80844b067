"""Trains a model until a number of tokens, with checkpoints from which a stopped run goes on.

The learning rate is constant after the warm-up and falls to zero over the last tokens, so a run may be made longer
after the fact: begin again at a checkpoint from before the decay. Curriculum and rate follow the tokens that were seen.
Samples are drawn by a process of their own.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
import torch.nn.functional as F
from torch import distributed
from tokenizers import Tokenizer

import mixture
from model import SIZES, Model, parameters
from tokenizer import EOS, PAD

# Until so many million tokens: the weights of copying, retrieval, templates and passages, and the longest sample.
# Copying emerges early this way, and which key comes next is learnt on short samples.
CURRICULUM = [(1.5, (50, 40, 5, 5), 200), (5, (10, 35, 25, 30), 256), (20, (3, 12, 25, 60), 400), (200, (1, 4, 15, 80), 800), (1e9, (1, 4, 15, 80), 3072)]
WARMUP = 200
EMA = 0.998  # of the averaged weights, each step
DRAWN = 1000  # samples at once
HELD = 120  # samples of each validation split


def encode(tok, samples):
    """Ids of prompt + target + EOS, and the length of the prompt."""
    prompts = tok.encode_batch([x.prompt for x in samples])
    targets = tok.encode_batch([x.target for x in samples])
    return [(p.ids + t.ids + [EOS], len(p.ids)) for p, t in zip(prompts, targets)]


def pad(rows):
    """Ids and weights, both [rows, width]: the answer alone has weight."""
    width = -(-max(len(ids) for ids, _ in rows) // 8) * 8
    ids = np.full((len(rows), width), PAD, dtype=np.int64)
    weight = np.zeros((len(rows), width), dtype=np.float32)
    for r, (row, start) in enumerate(rows):
        ids[r, : len(row)] = row
        # position t predicts t+1
        weight[r, start - 1 : len(row) - 1] = 1.0
    return ids, weight


def answers(weight):
    """The positions that have weight, [rows, longest answer], and which of them are a row's own."""
    own = weight > 0
    count, first = own.sum(1), own.float().argmax(1)
    k = torch.arange(-(-int(count.max()) // 8) * 8)
    at = (first[:, None] + k).clamp(max=weight.shape[1] - 1)
    return at, k < count[:, None]


def stage(seen):
    return next(s for s in CURRICULUM if seen < s[0] * 1e6)


def draw(tok, tokens, seed, seen=0, rank=0, workers=1):
    """Batches of about `tokens` padded tokens, each of samples of like length, with the seed that comes next.

    Worker `rank` of `workers` begins when all have seen `seen` tokens; each draws other samples.
    """
    while True:
        _, mix, longest = stage(seen)
        mine = seed + rank * DRAWN
        order = random.Random(seed)
        rows = [r for r in encode(tok, [mixture.sample(mine + k, mix) for k in range(DRAWN)]) if len(r[0]) <= longest]
        seed += workers * DRAWN
        rows.sort(key=lambda r: len(r[0]))
        group, out = [], []
        for row in rows:
            if group and (len(group) + 1) * len(row[0]) > tokens:
                out.append(group)
                group = []
            group.append(row)
        out.append(group)
        # The same order for all workers, so that the batches of a step are of like length and none waits for another.
        for _, rows in sorted(((order.random(), rows) for rows in out), key=lambda x: x[0]):
            ids, weight = pad(rows)
            seen += ids.size * workers
            yield ids, weight, seed


def produce(queue, tokenizer, *args):
    """Puts what `draw` yields."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count()))
    for batch in draw(Tokenizer.from_file(tokenizer), *args):
        queue.put(batch)


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
        """A step; of several workers, whose gradients are the same, each orthogonalises its share of the matrices."""
        rank, workers = (distributed.get_rank(), distributed.get_world_size()) if distributed.is_initialized() else (0, 1)
        updates = []
        for params, buf in self.groups:
            grad = torch.stack([p.grad for p in params])
            buf.mul_(self.momentum).add_(grad)
            update = grad.add_(buf, alpha=self.momentum)
            mine = orthogonal(update[rank::workers].bfloat16()).float()
            updates.append(torch.zeros_like(update).index_copy_(0, torch.arange(rank, len(params), workers), mine))
        if workers > 1:
            flat = torch.cat([u.flatten() for u in updates])
            distributed.all_reduce(flat)
            updates = [part.view_as(u) for part, u in zip(flat.split([u.numel() for u in updates]), updates)]
        for (params, _), update in zip(self.groups, updates):
            rows, cols = update.shape[1:]
            update *= -lr * max(1, rows / cols) ** 0.5
            for p, u in zip(params, update):
                p.add_(u)


def orthogonal(stack):
    """The nearest orthogonal matrices, about: five steps of Newton-Schulz."""
    if not len(stack):
        return stack
    rows, cols = stack.shape[1:]
    if rows > cols:
        stack = stack.mT
    stack = stack / (stack.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = stack @ stack.mT
        stack = 3.4445 * stack + (-4.7750 * gram + 2.0315 * gram @ gram) @ stack
    return stack.mT if rows > cols else stack


def right(model, rows):
    """Shares of answers and of their tokens that greedy decoding gets right: teacher forcing shows it."""
    rows = sorted(rows, key=lambda r: len(r[0]))
    whole = good = total = 0
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for k in range(0, len(rows), 12):
            ids, weight = (torch.from_numpy(a) for a in pad(rows[k : k + 12]))
            same, counts = model(ids)[:, :-1].argmax(-1) == ids[:, 1:], weight[:, :-1] == 1
            whole += (same | ~counts).all(1).sum().item()
            good += (same & counts).sum().item()
            total += counts.sum().item()
    return whole / len(rows), good / total


def share(params, port, rank, workers):
    """A function that makes the gradients of all workers their mean, and adds up their tokens."""
    if workers == 1:
        return lambda tokens: tokens
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=workers)

    def run(tokens):
        flat = torch.cat([p.grad.flatten() for p in params] + [torch.tensor([float(tokens)])])
        distributed.all_reduce(flat)
        for p, part in zip(params, (flat[:-1] / workers).split([p.numel() for p in params])):
            p.grad.copy_(part.view_as(p))
        return int(flat[-1])

    return run


def main():
    args = argparse.ArgumentParser()
    args.add_argument("size", choices=SIZES)
    args.add_argument("--tokenizer", required=True)
    args.add_argument("--out", required=True, type=pathlib.Path, help="checkpoint; a run that was stopped goes on from it")
    args.add_argument("--until", type=float, default=300, help="million tokens in all")
    args.add_argument("--decay", type=float, default=60, help="the last million tokens, over which the rate falls to zero")
    args.add_argument("--batch", type=int, default=6144, help="padded tokens a batch")
    args.add_argument("--muon", type=float, default=0.005)
    args.add_argument("--adam", type=float, default=2e-3)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--save-every", type=float, default=2, help="million tokens")
    args.add_argument("--workers", type=int, default=1, help="processes of one thread each, of which each computes a batch")
    args.add_argument("--port", type=int, default=29481, help="on which the workers meet")
    args.add_argument("--eager", action="store_true", help="without torch.compile, which needs a C++ compiler")
    args = args.parse_args()
    if args.workers == 1:
        work(0, args)
    else:
        torch.multiprocessing.spawn(work, (args,), nprocs=args.workers, daemon=False)


def work(rank, args):
    torch.set_num_threads(1)
    if args.workers > 1 and hasattr(os, "sched_setaffinity"):
        # A core of its own for each: the workers wait for one another at every step.
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.manual_seed(args.seed)
    tok = Tokenizer.from_file(args.tokenizer)
    model = Model(SIZES[args.size])
    matrices = [p for b in model.blocks for p in b.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if all(p is not m for m in matrices)]
    muon, adam = Muon(matrices), torch.optim.AdamW(rest, lr=args.adam, betas=(0.9, 0.98), weight_decay=0.0)
    step, seen, seed = 0, 0, args.seed * 10**9
    if args.out.exists():
        saved = torch.load(args.out)
        model.load_state_dict(saved["last"])
        adam.load_state_dict(saved["adam"])
        for (_, buf), kept in zip(muon.groups, saved["muon"]):
            buf.copy_(kept)
        step, seen, seed, average = saved["step"], saved["tokens"], saved["seed"], saved["model"]
    else:
        average = {k: v.clone() for k, v in model.state_dict().items()}
    hidden = model.hidden if args.eager else torch.compile(model.hidden, dynamic=True)
    mean = share(matrices + rest, args.port, rank, args.workers)
    if rank == 0:
        print(f"{parameters(model):,} parameters, {seen / 1e6:.1f}M tokens seen", flush=True)
    held = {s: [r for r in encode(tok, [mixture.sample(10**12 + k, split=s) for k in range(HELD)]) if len(r[0]) < 800] for s in ("validation", "validation-domains")}

    queue = multiprocessing.Queue(24)
    worker = multiprocessing.Process(target=produce, args=(queue, args.tokenizer, args.batch, seed, seen, rank, args.workers), daemon=True)
    worker.start()
    log = args.out.with_suffix(".jsonl").open("a")
    named, began, seen_then, saved_at, total, count = dict(model.named_parameters()), time.time(), seen, seen, 0.0, 0

    def save():
        temporary = args.out.with_suffix(".new")
        torch.save({"size": args.size, "model": average, "last": model.state_dict(), "adam": adam.state_dict(), "muon": [buf for _, buf in muon.groups],
                    "step": step, "tokens": seen, "seed": seed}, temporary)
        temporary.replace(args.out)

    def report():
        nonlocal began, seen_then, total, count
        judged = Model(SIZES[args.size])
        judged.load_state_dict(average)
        line = {"tokens": seen, "step": step, "loss": round(total / max(1, count), 4), "rate": round((seen - seen_then) / (time.time() - began)), "muon": args.muon * scale}
        line |= {s: [round(x, 4) for x in right(judged, rows)] for s, rows in held.items()}
        print(json.dumps(line), flush=True)
        log.write(json.dumps(line) + "\n")
        log.flush()
        began, seen_then, total, count = time.time(), seen, 0.0, 0

    scale = 0.0
    while seen < args.until * 1e6:
        ids, weight, seed = queue.get()
        ids, weight = torch.from_numpy(ids), torch.from_numpy(weight)
        scale = min(1.0, (step + 1) / WARMUP, max(0.01, (args.until * 1e6 - seen) / (args.decay * 1e6)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            at, own = answers(weight)
            logits = hidden(ids, at=at)[own] @ model.embed.weight.T
        loss = F.cross_entropy(logits.float(), ids.gather(1, (at + 1).clamp(max=ids.shape[1] - 1))[own])
        loss.backward()
        tokens = mean(ids.numel())
        torch.nn.utils.clip_grad_norm_(rest, 1.0)
        muon.step(args.muon * scale)
        for group in adam.param_groups:
            group["lr"] = args.adam * scale
        adam.step()
        with torch.no_grad():
            keep = min(EMA, step / (step + 10))
            for name, p in named.items():
                average[name].lerp_(p, 1 - keep)
                p.grad = None
        step += 1
        seen += tokens
        total += loss.item()
        count += 1
        if rank:
            continue
        if step % 50 == 0:
            print(f"step {step} {seen / 1e6:.2f}M tokens, json loss {total / count:.4f}, {(seen - seen_then) / (time.time() - began):.0f} tokens/s", flush=True)
        if seen - saved_at >= args.save_every * 1e6:
            save()
            report()
            saved_at = seen
    if rank == 0:
        save()
        report()
    worker.terminate()


if __name__ == "__main__":
    main()
