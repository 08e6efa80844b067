"""Trains the reader: an encoder that says where in a text each field of a schema has its value (`reader_questions.py`).

It begins with the weights of a decoder (`train.py`), whose layers it keeps; attention goes in both directions. Of each field, the
state where the field stands is compared with the states of all positions, twice: for where the value begins, and for where it ends,
as in extractive question answering (Chen et al. 2017, "Reading Wikipedia to Answer Open-Domain Questions"). Where a field has
options, the second comparison weighs the tokens of the text by whether they say which one is meant, and their mean is compared with
the states of the options: attention for what is said somewhere in a text (Ilse, Tomczak, Welling 2018, "Attention-based Deep Multiple
Instance Learning").

The loss is the logarithm of the probability of all right positions of a field together; where a field is in an array, the mean over
them, so that none is left out. Checkpoints, seeds and rates are as in `train.py`.
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
import torch.nn as nn
import torch.nn.functional as F
from tokenizers import Tokenizer

import mixture
import shipped
from model import SIZES, Model, Norm, rotary, rotate
from model import Block as DecoderBlock
from reader_questions import NUMBER, Question, batch, readings, spans, values
from tokenizer import JSON as OPTION
from tokenizer import PAD, TEXT
from train import EMA, WARMUP, Muon, share

MIX = (0, 0, 15, 85)  # of copying, retrieval, templates and passages
LONGEST = 900  # tokens of a question
DRAWN = 500  # samples at once
CHOICES = 600  # short ones that ask for options alone
HELD = 300  # questions of each validation split
LONGEST_SPAN = 40  # tokens of a value
WEIGHT_OF_OPTIONS = 3.0  # of a field that has some, in the loss: there are few
OFF = -1e9


class Attention(torch.autograd.Function):
    """Attention that computes its probabilities again on the way back; `mask` is added to the scores.

    The library's fused kernel is fast forwards and slow backwards, its plain softmax is slow in both directions: of a training step
    on a CPU, they took half.
    """

    @staticmethod
    def forward(q, k, v, mask):
        return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, attn_mask=mask)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx, grad, _):
        q, k, v, mask, out, total = ctx.saved_tensors
        scale = float(q.shape[-1]) ** -0.5
        probability = torch.exp((q @ k.mT).float() * scale + mask.float() - total[..., None]).to(q.dtype)
        mean = (grad.float() * out.float()).sum(-1, keepdim=True)
        score = (probability.float() * ((grad @ v.mT).float() - mean) * scale).to(q.dtype)
        return score @ k, score.mT @ q, probability.mT @ grad, None


class Block(DecoderBlock):
    """A block whose attention goes in both directions."""

    def forward(self, x, cos, sin, padding):
        b, t, _ = x.shape
        heads = lambda h: h.view(b, t, self.c.heads, self.c.head_dim).transpose(1, 2)
        h = self.norm1(x)
        q, k, v = rotate(heads(self.q(h)), cos, sin), rotate(heads(self.k(h)), cos, sin), heads(self.v(h))
        a, _ = Attention.apply(q, k, v, padding)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, -1))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Reader(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.dim)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = Norm(config.dim, config.eps)
        self.qs, self.ks, self.qe, self.ke, self.qo, self.ko = (nn.Linear(config.dim, config.dim, bias=False) for _ in range(6))
        nn.init.zeros_(self.qo.weight)
        cos, sin = rotary(torch.arange(config.positions), config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, ids, at):
        """Logits of where the values of the fields at `at` begin and end, both [batch, fields, sequence].

        At an option, the first is that of the option; at the text, the second is how much a token says of the options.
        """
        x = self.embed(ids)
        if torch.is_autocast_enabled("cpu"):
            x = x.bfloat16()
        padding = torch.zeros(ids.shape, dtype=x.dtype).masked_fill(ids == PAD, OFF)[:, None, None].expand(-1, 1, ids.shape[1], -1)
        cos, sin = self.cos[: ids.shape[1]].to(x.dtype), self.sin[: ids.shape[1]].to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin, padding)
        h = self.norm(x)
        field = h.gather(1, at[..., None].expand(-1, -1, h.shape[-1]))
        scale = self.config.dim**-0.5
        starts, ends = (self.qs(field) @ self.ks(h).mT).float() * scale, (self.qe(field) @ self.ke(h).mT).float() * scale
        is_text = ((ids == TEXT).cumsum(-1) > 0)[:, None] & (ids != PAD)[:, None]
        saying = torch.softmax(ends.masked_fill(~is_text, OFF), -1).to(h.dtype)
        chosen = (self.qo(saying @ h) @ self.ko(h).mT).float() * scale
        return starts + torch.where((ids == OPTION)[:, None] & ~is_text, chosen, 0), ends


def missed(logits, can, right, many, weight=1.0):
    """The weighted mean over the fields that have an answer."""
    known = right.any(-1)
    if not known.any():
        return logits.sum() * 0
    within = lambda mask: torch.logsumexp(logits.masked_fill(~mask, OFF), -1)
    each = torch.where(right, logits, 0).sum(-1) / right.sum(-1).clamp(min=1)
    found = torch.where(many, each, within(right | ~known[..., None]))
    weight = known * weight
    return ((within(can | ~known[..., None]) - found) * weight).sum() / weight.sum()


def produce(queue, path, tokens, seed, rank, workers):
    """Puts batches of about `tokens` padded tokens, each of questions of like length, with the seed that comes next."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count()))
    tok = Tokenizer.from_file(path)
    while True:
        mine = seed + rank * DRAWN
        questions = [Question(tok, mixture.sample(mine + k, MIX)) for k in range(DRAWN)]
        questions += [Question(tok, mixture.choice(mine + k)) for k in range(CHOICES)]
        questions = [q for q in questions if len(q.ids) <= LONGEST and any(f.starts for f in q.fields)]
        order = random.Random(seed)
        seed += workers * DRAWN
        questions.sort(key=lambda q: len(q.ids))
        group, groups = [], []
        for q in questions:
            if group and (len(group) + 1) * len(q.ids) > tokens:
                groups.append(group)
                group = []
            group.append(q)
        groups.append(group)
        # The same order for all workers: see `train.py`.
        for _, group in sorted(((order.random(), g) for g in groups), key=lambda x: x[0]):
            queue.put((batch(group), seed))


# --- how often it is right ----------------------------------------------------------------------------------


def best(q, field, starts, ends):
    """The most probable answer: a position, or the first and last token of a span. Numbers are those in digits."""
    if field.options:
        places = field.options + [field.none] * (field.none is not None)
        return max(places, key=lambda k: starts[k])
    places = q.starts + [field.none] * (field.none is not None)
    if not q.starts:
        return field.none
    logs = starts - np.logaddexp.reduce(starts[places])
    if field.leaf.kind == "number":
        first, last = {a: q.first + k for k, (a, _) in reversed(list(enumerate(q.offsets)))}, {b: q.first + k for k, (_, b) in enumerate(q.offsets)}
        found = [m.span() for m in NUMBER.finditer(q.sample.text)]
        pairs = [(first[a], last[b]) for a, b in found if a in first and b in last]
    else:
        near = [k for k in q.starts if logs[k] > max(logs[q.starts]) - 8]
        pairs = [(a, b) for a in near for b in q.ends if a <= b < a + LONGEST_SPAN]
    if field.none is not None and (not pairs or logs[field.none] > np.log(0.5)):
        return field.none
    return max(pairs, key=lambda p: logs[p[0]] + ends[p[1]], default=None)


def is_right(q, field, said):
    leaf, want = field.leaf, values(q.sample.value, field.leaf.path)[0]
    if said is None or said == field.none:
        return want is None and said is not None
    if leaf.options is not None:
        got = leaf.options[field.options.index(said)]
        return got == want and type(got) is type(want)
    a, b = q.offsets[said[0] - q.first][0], q.offsets[said[1] - q.first][1]
    text = q.sample.text[a:b]
    if want is None:
        return False
    if leaf.kind == "number":
        return float(want) in readings(text)
    return (a, b) in spans(leaf, want, q.sample.text) or " ".join(text.split()) == want


def evaluate(model, questions):
    """Shares of right fields outside of arrays, by kind."""
    tally = {}
    for q in questions:
        ids, at, *_ = (torch.from_numpy(a) for a in batch([q]))
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            starts, ends = (x[0].numpy() for x in model(ids, at))
        for f, field in enumerate(q.fields):
            if not field.leaf.many:
                want = values(q.sample.value, field.leaf.path)[0]
                kind = tally.setdefault("null" if want is None else field.leaf.kind, [0, 0])
                kind[0] += is_right(q, field, best(q, field, starts[f], ends[f]))
                kind[1] += 1
    total = [sum(n) for n in zip(*tally.values())]
    return {k: [round(a / n, 4), n] for k, (a, n) in [*sorted(tally.items()), ("all", total)]}


def held(tok, split):
    """Questions that are not learnt from; those of training's own passages have other values."""
    samples = (mixture.sample(10**12 + k, (0, 0, 0, 1), split) for k in range(HELD))
    return [q for q in (Question(tok, x) for x in samples) if q.fields and len(q.ids) <= LONGEST]


# --- training -------------------------------------------------------------------------------------------------


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--tokenizer", required=True)
    args.add_argument("--begin", help="what it begins with: a decoder's checkpoint, or the exported graph of a decoder or a reader")
    args.add_argument("--out", required=True, type=pathlib.Path, help="checkpoint; a run that was stopped goes on from it")
    args.add_argument("--size", choices=SIZES, default="main")
    args.add_argument("--until", type=float, default=60, help="million tokens in all")
    args.add_argument("--decay", type=float, default=15, help="the last million tokens, over which the rate falls to zero")
    args.add_argument("--batch", type=int, default=6144, help="padded tokens a batch")
    args.add_argument("--muon", type=float, default=0.005)
    args.add_argument("--adam", type=float, default=2e-3)
    args.add_argument("--seed", type=int, default=7)
    args.add_argument("--save-every", type=float, default=3, help="million tokens")
    args.add_argument("--workers", type=int, default=1)
    args.add_argument("--port", type=int, default=29482)
    args.add_argument("--eager", action="store_true", help="without torch.compile, which needs a C++ compiler")
    args = args.parse_args()
    if args.workers == 1:
        work(0, args)
    else:
        torch.multiprocessing.spawn(work, (args,), nprocs=args.workers, daemon=False)


def work(rank, args):
    torch.set_num_threads(1)
    if args.workers > 1 and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.manual_seed(args.seed)
    tok = Tokenizer.from_file(args.tokenizer)
    model = Reader(SIZES[args.size])
    # As a decoder's begin: a block that says nothing yet.
    if not args.begin:
        begin = Model(SIZES[args.size]).state_dict()
    elif args.begin.endswith(".onnx"):
        begin = shipped.weights(args.begin, SIZES[args.size])
    else:
        begin = torch.load(args.begin)["model"]
    model.load_state_dict(begin, strict=False)
    matrices = [p for part in (*model.blocks, model.qs, model.ks, model.qe, model.ke, model.qo, model.ko) for p in part.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if all(p is not m for m in matrices)]
    muon, adam = Muon(matrices), torch.optim.AdamW(rest, lr=args.adam, betas=(0.9, 0.98), weight_decay=0.0)
    step, seen, seed = 0, 0, args.seed * 10**9
    average = {k: v.clone() for k, v in model.state_dict().items()}
    if args.out.exists():
        saved = torch.load(args.out)
        model.load_state_dict(saved["last"])
        adam.load_state_dict(saved["adam"])
        for (_, buf), kept in zip(muon.groups, saved["muon"]):
            buf.copy_(kept)
        step, seen, seed, average = saved["step"], saved["tokens"], saved["seed"], saved["model"]
    run = model if args.eager else torch.compile(model, dynamic=True)
    mean = share(matrices + rest, args.port, rank, args.workers)
    sets = {s: held(tok, s) for s in ("train", "validation", "validation-domains")} if rank == 0 else {}

    queue = multiprocessing.Queue(24)
    worker = multiprocessing.Process(target=produce, args=(queue, args.tokenizer, args.batch, seed, rank, args.workers), daemon=True)
    worker.start()
    log = args.out.with_suffix(".jsonl").open("a")
    named, began, seen_then, saved_at, total, count = dict(model.named_parameters()), time.time(), seen, seen, np.zeros(3), 0

    def save():
        temporary = args.out.with_suffix(".new")
        torch.save({"size": args.size, "model": average, "last": model.state_dict(), "adam": adam.state_dict(), "muon": [buf for _, buf in muon.groups],
                    "step": step, "tokens": seen, "seed": seed}, temporary)
        temporary.replace(args.out)

    def report():
        nonlocal began, seen_then, total, count
        judged = Reader(SIZES[args.size])
        judged.load_state_dict(average)
        line = {"tokens": seen, "step": step, "loss": [round(x, 4) for x in total / max(1, count)], "rate": round((seen - seen_then) / (time.time() - began)), "muon": args.muon * scale}
        line |= {s: evaluate(judged, questions) for s, questions in sets.items()}
        print(json.dumps(line), flush=True)
        log.write(json.dumps(line) + "\n")
        log.flush()
        began, seen_then, total, count = time.time(), seen, np.zeros(3), 0

    scale = 0.0
    while seen < args.until * 1e6:
        arrays, seed = queue.get()
        ids, at, can_start, starts, can_end, ends, many, said, text = (torch.from_numpy(a) for a in arrays)
        scale = min(1.0, (step + 1) / WARMUP, max(0.01, (args.until * 1e6 - seen) / (args.decay * 1e6)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            begins, finishes = run(ids, at)
        has_options = (can_start & (ids == OPTION)[:, None]).any(-1)
        first = missed(begins, can_start, starts, many, torch.where(has_options, WEIGHT_OF_OPTIONS, 1.0))
        last, words = missed(finishes, can_end.expand_as(ends), ends, many), missed(finishes, text.expand_as(said), said, torch.zeros_like(many))
        (first + 0.5 * last + 0.5 * words).backward()
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
        total += (first.item(), last.item(), words.item())
        count += 1
        if rank:
            continue
        if step % 50 == 0:
            print(f"step {step} {seen / 1e6:.2f}M tokens, start {total[0] / count:.4f} end {total[1] / count:.4f} words {total[2] / count:.4f}, {(seen - seen_then) / (time.time() - began):.0f} tokens/s", flush=True)
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
