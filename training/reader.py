"""Trains the reader: an encoder that says where in a text each field of a schema has its value (`reader_questions.py`).

It reads units instead of tokens (`units.py`), and its attention goes in both directions. Of each field, the state where the field
stands is compared with the states of all positions, twice: for where the value begins, and for where it ends, as in extractive
question answering (Chen et al. 2017, "Reading Wikipedia to Answer Open-Domain Questions"). Where a value ends depends on where it
begins as well: by their distance, and by what may be one phrase, which is the same for all fields. A field in an array has its values
at all places that are more probable than no value (Zhou et al. 2021, "Document-Level Relation Extraction with Adaptive Thresholding").

Where a field has options, the second comparison weighs the units of the text by whether they say which one is meant, and their mean
is compared with the states of the options: attention for what is said somewhere in a text (Ilse, Tomczak, Welling 2018,
"Attention-based Deep Multiple Instance Learning").

The loss is the logarithm of the probability of all right positions of a field together. Of most texts, several schemas are asked at
once, since the text is what costs. Checkpoints, seeds and rates are as in `train.py`.
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

import lexicon
import mixture
import shipped
from model import Block as DecoderBlock
from model import Config, Norm, rotary, rotate
from reader_questions import NUMBER, SPACED_NUMBER, Question, batch, readings, spans, values
from sites import CHOICE, READ
from sites import ROWS as ROLES
from train import EMA, WARMUP, Muon, share
from units import CASES, DIGITS, OTHER, ROWS, TOKEN, TOKENS
from units import FEATURES as LETTERS

# Until so many million units: the weights of copying, retrieval, templates and passages, the longest question, the padded units of a
# batch, and how many short questions about options come with 500 samples.
CURRICULUM = [(3, (0, 5, 15, 80), 300, 2048, 150), (1e9, (0, 0, 15, 85), 520, 3072, 300)]
LONGEST = 520  # units of a question
DRAWN = 500  # samples at once
HELD = 300  # questions of each validation split
LONGEST_SPAN = 24  # units of a value
READER = Config(dim=192, layers=12, heads=6, ffn=512)
OF_DECODER = (0, 1, 4, 5)  # the blocks that begin as those of a decoder
FEATURES = 192  # of a row of the table
MEANING = 48  # of a row of the lexicon
PAIR = 64  # of the vectors of a beginning and an end
# How often a word is hidden while the reader learns, each way: all but its case and what it means, its meaning, its tokens, its letters.
HIDDEN = (0.10, 0.08, 0.08, 0.06)
HIDDEN_DIGITS = 0.05
WEIGHT_OF_LISTS = 0.3
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


class Words(nn.Module):
    """Units from the rows of their features, [units, WIDTH], of which 0 is none."""

    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(ROWS, FEATURES)
        nn.init.normal_(self.table.weight, std=0.5)
        self.plain, self.up, self.down = nn.Linear(FEATURES, config.dim, bias=False), nn.Linear(FEATURES, 2 * config.dim, bias=False), nn.Linear(2 * config.dim, config.dim, bias=False)
        nn.init.zeros_(self.down.weight)
        self.concepts, self.meaning = nn.Embedding(lexicon.ROWS, MEANING), nn.Linear(MEANING, FEATURES, bias=False)
        nn.init.normal_(self.concepts.weight, std=0.5)
        nn.init.zeros_(self.meaning.weight)

    def forward(self, words):
        tokens, senses, features = words.split([TOKENS, lexicon.WIDTH, LETTERS], 1)
        x = self.bag(tokens, self.table) + self.bag(features, self.table) + self.meaning(self.bag(senses, self.concepts))
        return self.plain(x) + self.down(F.silu(self.up(x)))

    def bag(self, rows, table):
        count = (rows > 0).sum(-1, keepdim=True).clamp(min=1).float()
        return F.embedding_bag(rows, table.weight, mode="sum", padding_idx=0) * count.rsqrt()


class Reader(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.words = Words(config)
        self.roles = nn.Embedding(ROLES, config.dim)
        nn.init.zeros_(self.roles.weight)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = Norm(config.dim, config.eps)
        for name in ("qs", "ks", "qe", "ke", "qo", "ko"):
            self.add_module(name, nn.Linear(config.dim, config.dim, bias=False))
        self.qp, self.kp = nn.Linear(config.dim, PAIR, bias=False), nn.Linear(config.dim, PAIR, bias=False)
        for zero in (self.qo, self.qp):
            nn.init.zeros_(zero.weight)
        self.distance = nn.Parameter(torch.zeros(LONGEST_SPAN))
        cos, sin = rotary(torch.arange(config.positions), config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, words, ids, roles, at):
        """Logits of where the values of the fields at `at` begin, and end, both [batch, fields, sequence]; and two vectors of each
        position, [batch, sequence, PAIR], whose product is added to the logit of an end where the value begins at the first.

        At an option, the first logits are that of the option; at the text, the second say how much a unit tells of the options.
        """
        return self.encode(self.words(words), ids, roles, at)

    def encode(self, words, ids, roles, at):
        x = F.embedding(ids, words) + self.roles(roles).sum(-2)
        role = roles[..., 0]
        if torch.is_autocast_enabled("cpu"):
            x = x.bfloat16()
        padding = torch.zeros(ids.shape, dtype=x.dtype).masked_fill(ids == 0, OFF)[:, None, None].expand(-1, 1, ids.shape[1], -1)
        cos, sin = self.cos[: ids.shape[1]].to(x.dtype), self.sin[: ids.shape[1]].to(x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin, padding)
        h = self.norm(x)
        field = h.gather(1, at[..., None].expand(-1, -1, h.shape[-1]))
        scale = self.config.dim**-0.5
        starts, ends = (self.qs(field) @ self.ks(h).mT).float() * scale, (self.qe(field) @ self.ke(h).mT).float() * scale
        saying = torch.softmax(ends.masked_fill((role < 2 * READ)[:, None], OFF), -1).to(h.dtype)
        chosen = (self.qo(saying @ h) @ self.ko(h).mT).float() * scale
        is_option = (role // 2 == CHOICE)[:, None]
        return starts + torch.where(is_option, chosen, 0), ends, self.qp(h), self.kp(h)


def begun(path, model):
    """The weights to begin with: those of an exported reader, or of a checkpoint of a reader or a decoder.

    A decoder's vectors of tokens become those of the units' tokens, and its blocks those of `OF_DECODER`; the others, as those of a
    decoder at its beginning, say nothing yet.
    """
    found = shipped.weights(path, READER, PAIR) if path.endswith(".onnx") else torch.load(path)["model"]
    if "embed.weight" not in found:
        return found
    state, embed = model.state_dict(), found["embed.weight"]
    table = 0.1 * embed.pow(2).mean().sqrt() * torch.randn_like(state["words.table.weight"])
    table[TOKEN : TOKEN + len(embed)] = embed
    state |= {"words.table.weight": table, "words.plain.weight": torch.eye(READER.dim), "roles.weight": torch.zeros_like(state["roles.weight"])}
    for old, new in enumerate(OF_DECODER):
        state |= {name.replace(f"blocks.{old}.", f"blocks.{new}."): part for name, part in found.items() if name.startswith(f"blocks.{old}.")}
    return state | {name: part for name, part in found.items() if name in state and not name.startswith("blocks.")}


def missed(logits, can, right, weight):
    """The weighted mean over the fields that have a right answer, of the logarithm of how probable the right ones are together."""
    known = (right & can).any(-1)
    within = lambda mask: torch.logsumexp(logits.masked_fill(~mask, OFF), -1)
    weight = known * weight
    return ((within(can | ~known[..., None]) - within(right | ~known[..., None])) * weight).sum() / weight.sum().clamp(min=1)


def listed(starts, none, can, right, many):
    """The mean over the fields in arrays: at each place, whether it is more probable than none."""
    at = none.clamp(min=0)[..., None]
    gained = starts - starts.gather(-1, at)
    each = F.softplus(torch.where(right, -gained, gained)) * can
    known = many & (none >= 0)
    return (each.sum(-1) * known).sum() / known.sum().clamp(min=1)


def ended(ends, froms, tos, distance, pairs, can_end):
    """The mean over the values: where each ends, among the places at which it can, since it begins where it does."""
    r, f, a, b = pairs.unbind(-1)
    pairs = pairs[(b - a < LONGEST_SPAN) & can_end[r, b]]
    if not len(pairs):
        return (ends.sum() + froms.sum() + tos.sum() + distance.sum()) * 0
    r, f, a, b = pairs.unbind(-1)
    near = a[:, None] + torch.arange(LONGEST_SPAN)
    inside = near < ends.shape[-1]
    near = near.clamp(max=ends.shape[-1] - 1)
    logits = ends[r[:, None], f[:, None], near] + (tos[r[:, None], near] @ froms[r, a][..., None])[..., 0].float() * PAIR**-0.5 + distance
    logits = logits.masked_fill(~(can_end[r[:, None], near] & inside), OFF)
    lost = F.cross_entropy(logits, b - a, reduction="none")
    # Each field counts once.
    field = r * 1000 + f
    _, which, count = field.unique(return_inverse=True, return_counts=True)
    return (lost / count[which]).sum() / len(count)


def hide(words, rng):
    """Hides parts of some words of a batch, wherever they stand, in question and text alike: what a passage says comes in new ways."""
    form = words[:, -LETTERS]
    at, strength = rng.random(len(words)), 2 * rng.random()
    tokens, senses, letters = slice(TOKENS), slice(TOKENS, TOKENS + lexicon.WIDTH), slice(-LETTERS + 1, None)
    below = 0
    for share, parts in zip(HIDDEN, ((tokens, letters), (senses,), (tokens,), (letters,))):
        chosen = (CASES <= form) & (form < DIGITS) & (below <= at) & (at < below + strength * share)
        below += strength * share
        for part in parts:
            words[chosen, part] = 0
    chosen = (DIGITS <= form) & (form < OTHER) & (at < strength * HIDDEN_DIGITS)
    words[chosen, tokens] = words[chosen, letters] = 0


def produce(queue, seed, seen, rank, workers):
    """Puts batches of questions of like length, with the seed that comes next; all workers have seen `seen` units."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count()))
    while True:
        _, mix, longest, units, choices = next(s for s in CURRICULUM if seen < s[0] * 1e6)
        mine = seed + rank * DRAWN
        questions = [Question(*samples) for samples in (mixture.several(mine + k, mix) for k in range(DRAWN)) if samples]
        questions += [Question(mixture.choice(mine + k)) for k in range(choices)]
        questions = [q for q in questions if len(q.units) <= longest and any(f.starts for f in q.fields)]
        order, rng = random.Random(seed), np.random.default_rng(seed)
        seed += workers * DRAWN
        questions.sort(key=lambda q: len(q.units))
        group, groups = [], []
        for q in questions:
            if group and (len(group) + 1) * len(q.units) > units:
                groups.append(group)
                group = []
            group.append(q)
        groups.append(group)
        # The same order for all workers: see `train.py`.
        for _, group in sorted(((order.random(), g) for g in groups), key=lambda x: x[0]):
            arrays = batch(group)
            hide(arrays[0], rng)
            seen += arrays[1].size * workers
            queue.put((arrays, seed))


# --- how often it is right ----------------------------------------------------------------------------------


def best(q, field, starts, ends, froms, tos, distance):
    """The most probable answer: a position, or the first and last unit of a span. Numbers are those in digits."""
    if field.options:
        places = field.options + [field.none] * (field.none is not None)
        return max(places, key=lambda k: starts[k])
    places = q.starts + [field.none] * (field.none is not None)
    if not q.starts:
        return field.none
    logs = starts - np.logaddexp.reduce(starts[places])
    if field.leaf.kind == "number":
        first, last = {a: q.first + k for k, (a, _) in enumerate(q.offsets)}, {b: q.first + k for k, (_, b) in enumerate(q.offsets)}
        found = [m.span() for form in (NUMBER, SPACED_NUMBER) for m in form.finditer(q.sample.text)]
        pairs = [(logs[first[a]], first[a], last[b]) for a, b in found if a in first and b in last]
    else:
        pairs = []
        for a in q.starts:
            if logs[a] > max(logs[q.starts]) - 6:
                lasts = [b for b in q.ends if a <= b < a + LONGEST_SPAN]
                if lasts:
                    own = np.array([ends[b] + froms[a] @ tos[b] * PAIR**-0.5 + distance[b - a] for b in lasts])
                    own -= np.logaddexp.reduce(own)
                    pairs += [(logs[a] + x, a, b) for x, b in zip(own, lasts)]
    if field.none is not None and (not pairs or logs[field.none] > np.log(0.5)):
        return field.none
    return max(pairs, default=(0, None, None))[1:]


def is_right(q, field, said):
    leaf, want = field.leaf, values(q.sample.value, field.leaf.path)[0]
    if said is None or said == field.none:
        return want is None and said is not None
    if leaf.options is not None:
        got = leaf.options[field.options.index(said)]
        return got == want and type(got) is type(want)
    if said[0] is None or want is None:
        return False
    a, b = q.offsets[said[0] - q.first][0], q.offsets[said[1] - q.first][1]
    text = q.sample.text[a:b]
    if leaf.kind == "number":
        return float(want) in readings(text)
    return (a, b) in spans(leaf, want, q.sample.text) or " ".join(text.split()) == want


def evaluate(model, questions):
    """Shares of right fields, by kind; of those in arrays, whether all places are right."""
    tally = {}
    for q in questions:
        words, ids, roles, at, *_, gained, _, _ = (torch.from_numpy(a) for a in batch([q]))
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            starts, ends, froms, tos = (x[0].float().numpy() for x in model(words, ids, roles, at))
        starts, distance = starts + gained[0].numpy(), model.distance.detach().numpy()
        for f, field in enumerate(q.fields):
            if field.leaf.many:
                if field.many:
                    above = {k for k in q.starts if starts[f][k] > starts[f][field.none]}
                    n = tally.setdefault("many" if field.said_option is None else "many options", [0, 0])
                    n[0] += above == field.starts
                    n[1] += 1
                continue
            want = values(q.sample.value, field.leaf.path)[0]
            n = tally.setdefault("null" if want is None else field.leaf.kind, [0, 0])
            n[0] += is_right(q, field, best(q, field, starts[f], ends[f], froms, tos, distance))
            n[1] += 1
    total = [sum(n) for n in zip(*(n for k, n in tally.items() if not k.startswith("many")))]
    return {k: [round(a / n, 4), n] for k, (a, n) in [*sorted(tally.items()), ("all", total)]}


def held(split):
    """Questions that are not learnt from; those of training's own passages have other values."""
    samples = (mixture.sample(10**12 + k, (0, 0, 0, 1), split) for k in range(HELD))
    return [q for q in map(Question, samples) if q.fields and len(q.units) <= LONGEST]


# --- training -------------------------------------------------------------------------------------------------


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--out", required=True, type=pathlib.Path, help="checkpoint; a run that was stopped goes on from it")
    args.add_argument("--begin", help="what it begins with: a checkpoint of a decoder or a reader, or an exported reader")
    args.add_argument("--until", type=float, default=60, help="million units in all")
    args.add_argument("--decay", type=float, default=15, help="the last million units, over which the rate falls to zero")
    args.add_argument("--muon", type=float, default=0.005)
    args.add_argument("--adam", type=float, default=2e-3)
    args.add_argument("--table", type=float, default=3e-3, help="as --adam, for the tables of features and meanings")
    args.add_argument("--seed", type=int, default=7)
    args.add_argument("--save-every", type=float, default=2, help="million units")
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
    model = Reader(READER)
    tables, roles = [model.words.table.weight, model.words.concepts.weight], model.roles.weight
    is_one = lambda p, some: any(p is one for one in some)
    matrices = [p for p in model.parameters() if p.ndim == 2 and not is_one(p, [*tables, roles])]
    rest = [p for p in model.parameters() if not is_one(p, matrices)]
    groups = [{"params": [p for p in rest if not is_one(p, tables)]}, {"params": tables}]
    muon, adam = Muon(matrices), torch.optim.AdamW(groups, lr=args.adam, betas=(0.9, 0.98), weight_decay=0.0)
    if args.begin:
        model.load_state_dict(begun(args.begin, model))
    step, seen, seed = 0, 0, args.seed * 10**9
    average = {k: v.clone() for k, v in model.state_dict().items()}
    if args.out.exists():
        saved = torch.load(args.out)
        model.load_state_dict(saved["last"])
        adam.load_state_dict(saved["adam"])
        for (_, buf), kept in zip(muon.groups, saved["muon"]):
            buf.copy_(kept)
        step, seen, seed, average = saved["step"], saved["units"], saved["seed"], saved["model"]
    run = model.encode if args.eager else torch.compile(model.encode, dynamic=True)
    mean = share(matrices + rest, args.port, rank, args.workers)
    if rank == 0:
        print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    sets = {s: held(s) for s in ("train", "validation", "validation-domains")} if rank == 0 else {}

    queue = multiprocessing.Queue(12)
    worker = multiprocessing.Process(target=produce, args=(queue, seed, seen, rank, args.workers), daemon=True)
    worker.start()
    log = args.out.with_suffix(".jsonl").open("a")
    named, began, seen_then, saved_at, total, count = dict(model.named_parameters()), time.time(), seen, seen, np.zeros(4), 0

    def save():
        temporary = args.out.with_suffix(".new")
        torch.save({"model": average, "last": model.state_dict(), "adam": adam.state_dict(), "muon": [buf for _, buf in muon.groups],
                    "step": step, "units": seen, "seed": seed}, temporary)
        temporary.replace(args.out)

    def report():
        nonlocal began, seen_then, total, count
        judged = Reader(READER)
        judged.load_state_dict(average)
        line = {"units": seen, "step": step, "loss": [round(x, 4) for x in total / max(1, count)], "rate": round((seen - seen_then) / (time.time() - began)), "muon": args.muon * scale}
        line |= {s: evaluate(judged, questions) for s, questions in sets.items()}
        print(json.dumps(line), flush=True)
        log.write(json.dumps(line) + "\n")
        log.flush()
        began, seen_then, total, count = time.time(), seen, np.zeros(4), 0

    scale = 0.0
    while seen < args.until * 1e6:
        arrays, seed = queue.get()
        words, ids, roles, at, none, many, can_start, starts, said, gained, can_end, pairs = (torch.from_numpy(a) for a in arrays)
        scale = min(1.0, (step + 1) / WARMUP, max(0.01, (args.until * 1e6 - seen) / (args.decay * 1e6)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            begins, finishes, froms, tos = run(model.words(words), ids, roles, at)
            begins = begins + gained
            last = ended(finishes, froms, tos, model.distance, pairs, can_end)
        has_options = (can_start & (roles[..., 0] // 2 == CHOICE)[:, None]).any(-1)
        single = torch.where(has_options, WEIGHT_OF_OPTIONS, 1.0) * ~many
        first = missed(begins, can_start, starts, single)
        lists = listed(begins, none, can_start, starts, many)
        says = missed(finishes, (roles[..., 0] >= 2 * READ)[:, None].expand_as(said), said, torch.ones(()))
        (first + 0.5 * last + 0.5 * says + WEIGHT_OF_LISTS * lists).backward()
        tokens = mean(ids.numel())
        torch.nn.utils.clip_grad_norm_(rest, 1.0)
        muon.step(args.muon * scale)
        for group, rate in zip(adam.param_groups, (args.adam, args.table)):
            group["lr"] = rate * scale
        adam.step()
        with torch.no_grad():
            keep = min(EMA, step / (step + 10))
            for name, p in named.items():
                average[name].lerp_(p, 1 - keep)
                p.grad = None
        step += 1
        seen += tokens
        total += (first.item(), last.item(), says.item(), lists.item())
        count += 1
        if rank:
            continue
        if step % 50 == 0:
            print(f"step {step} {seen / 1e6:.2f}M units, start {total[0] / count:.4f} end {total[1] / count:.4f} says {total[2] / count:.4f} lists {total[3] / count:.4f}, {(seen - seen_then) / (time.time() - began):.0f} units/s", flush=True)
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
