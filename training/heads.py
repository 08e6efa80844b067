"""Trains extra heads on a frozen model (Medusa, Cai et al. 2024) and exports them beside it.

Head k guesses the token that comes k places after the next one, from the hidden state alone: one residual block,
silu(W h + b) + h, then the model's own output matrix. W and b begin at zero, where a head says what the model says.
What it learns is not the text but the model: at each place of an answer, the distribution that the model gives k
places further on, which is what a draft is held against.

    hidden_states  [n, width]          float   the model's output of that name, a place a row
    logits         [heads, n, vocab]   float

Weights are int8 as in the model (`export.py`), and the output matrix is the model's, so that a graph is whole.
"""

import argparse
import hashlib
import json
import os
import pathlib
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import TensorProto, helper
from tokenizers import Tokenizer

import mixture
from export import Graph, dequantised, quantise, session
from greedy_reference import Greedy
from model import SIZES, Model
from train import draw

WARMUP = 60


class Heads(nn.Module):
    def __init__(self, count, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(count, dim, dim))  # [head, in, out]
        self.bias = nn.Parameter(torch.zeros(count, 1, dim))

    def forward(self, hidden):
        """[n, width] -> [heads, n, width]"""
        return F.silu(hidden @ self.weight + self.bias) + hidden


def train(model, heads, tok, args):
    optimizer = torch.optim.AdamW(heads.parameters(), lr=args.rate, betas=(0.9, 0.98), weight_decay=0.0)
    start = time.time()
    elapsed = lambda: (time.time() - start) / (60 * args.minutes)
    totals, count = torch.zeros(2, args.heads), 0
    # The part of the curriculum with samples of up to 800 tokens.
    for step, (ids, weight, _) in enumerate(draw(tok, args.tokens, args.seed * 10**9, 30e6)):
        ids, weight = torch.from_numpy(ids), torch.from_numpy(weight)
        f = elapsed()
        if f >= 1:
            break
        scale = min(1.0, (step + 1) / WARMUP) * max(0.01, 1 - f)
        for group in optimizer.param_groups:
            group["lr"] = args.rate * scale
        answer = weight == 1
        with torch.no_grad():
            hidden = model.hidden(ids)
        loss = 0.0
        for k in range(1, args.heads + 1):
            # Both places have to be the answer's.
            both = answer[:, :-k] & answer[:, k:]
            with torch.no_grad():
                target = model.logits(hidden[:, k:][both])
            guess = model.logits(heads(hidden[:, :-k][both])[k - 1])
            ce = -(target.softmax(-1) * guess.log_softmax(-1)).sum(-1).mean()
            loss = loss + ce
            totals[0, k - 1] += ce.item()
            totals[1, k - 1] += (guess.argmax(-1) == target.argmax(-1)).float().mean().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1
        if count == 100:
            ce, right = (totals / count).tolist()
            print(f"{f:6.1%} step {step + 1} loss", *(f"{x:.3f}" for x in ce), "agrees", *(f"{x:.3f}" for x in right), flush=True)
            totals, count = torch.zeros(2, args.heads), 0


def build(weight, bias, embed):
    """The graph of heads [heads, in, out] over an output matrix [vocab, width]."""
    count, dim = weight.shape[0], embed.shape[1]
    g = Graph()
    # One scale for an output channel of a head: the heads stand side by side.
    side = g.quantised("heads", weight.transpose(1, 0, 2).reshape(dim, count * dim), 1)
    x = g.op("Add", g.op("MatMul", "hidden_states", side), g.constant("bias", bias.reshape(-1)))
    x = g.op("Mul", x, g.op("Sigmoid", x))
    x = g.op("Transpose", g.op("Reshape", x, g.ints(-1, count, dim)), perm=[1, 0, 2])
    x = g.op("Add", x, "hidden_states")
    g.op("MatMul", x, g.op("Transpose", g.quantised("embed", embed, 0), perm=[1, 0]), out="logits")
    info = helper.make_tensor_value_info
    inputs = [info("hidden_states", TensorProto.FLOAT, ["n", dim])]
    outputs = [info("logits", TensorProto.FLOAT, [count, "n", embed.shape[0]])]
    graph = helper.make_graph(g.nodes, "structgen-heads", inputs, outputs, g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="structgen")
    helper.set_model_props(model, {"session.disable_quant_qdq": "1", "weights": "int8, symmetric, per output channel"})
    onnx.checker.check_model(model, full_check=True)
    return model


def parity(path, model, heads):
    """Largest difference of logits from PyTorch, for one place and for many."""
    run, worst = session(path), 0.0
    dim = heads.weight.shape[1]
    same = Heads(*heads.weight.shape[:2])
    side = heads.weight.detach().transpose(0, 1).reshape(dim, -1).numpy()
    side = torch.from_numpy(quantise(side, 1)[2]).reshape(dim, -1, dim).transpose(0, 1)
    same.load_state_dict({"weight": side, "bias": heads.bias.detach()})
    for n in (1, 7):
        hidden = torch.randn(n, dim, generator=torch.Generator().manual_seed(n))
        with torch.no_grad():
            want = model.logits(same(hidden)).numpy()
        worst = max(worst, np.abs(run.run(None, {"hidden_states": hidden.numpy()})[0] - want).max())
    return float(worst)


def measure(folder, path, samples):
    """How often each head says what the model then says, on the model's own greedy answers to unseen values."""
    model, run = Greedy(folder), session(path)
    same = total = None
    for seed in range(samples):
        ids = model.tokenizer.encode(mixture.sample(10**12 + seed, split="validation").prompt).ids
        out = model.generate(ids)
        hidden = model.hidden(ids + out[:-1])[len(ids) - 1 :]
        guesses = run.run(None, {"hidden_states": hidden})[0].argmax(-1)
        right = [guesses[k, : len(out) - k - 1] == out[k + 1 :] for k in range(len(guesses))]
        same = [r.sum() for r in right] if same is None else [a + r.sum() for a, r in zip(same, right)]
        total = [len(r) for r in right] if total is None else [a + len(r) for a, r in zip(total, right)]
    for k, (a, n) in enumerate(zip(same, total), 1):
        print(f"head {k} agrees on {a}/{n} = {a / n:.3f} of the greedy tokens {k} after the next one")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("checkpoint", help="of the model")
    args.add_argument("--model", required=True, type=pathlib.Path, help="the exported model's folder, where heads.onnx goes")
    args.add_argument("--heads", type=int, default=2)
    args.add_argument("--minutes", type=float, default=6)
    args.add_argument("--tokens", type=int, default=4800, help="padded tokens a batch")
    args.add_argument("--rate", type=float, default=3e-3)
    args.add_argument("--samples", type=int, default=300, help="answers to measure on")
    args.add_argument("--seed", type=int, default=9)
    args = args.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    saved = torch.load(args.checkpoint, map_location="cpu")
    config = SIZES[saved["size"]]
    # The weights that the exported file stands for.
    model = Model(config)
    model.load_state_dict(dequantised(saved["model"], config))
    model.requires_grad_(False)
    heads = Heads(args.heads, config.dim)
    train(model, heads, Tokenizer.from_file(str(args.model / "tokenizer.json")), args)
    path = args.model / "heads.onnx"
    onnx.save(build(heads.weight.detach().numpy(), heads.bias.detach().numpy(), saved["model"]["embed.weight"].float().numpy()), path)
    worst = parity(path, model, heads)
    print(f"largest difference of logits: {worst:.1e}")
    assert worst < 1e-4, worst
    measure(args.model, path, args.samples)
    print(f"{path.stat().st_size:,} {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
