"""A small Llama: RMSNorm, rotary positions (half rotation), SwiGLU, tied embeddings."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


LONG = 400  # from here on, the fused attention is faster, and scores written out take too much memory


@dataclass
class Config:
    vocab: int = 4096
    dim: int = 192
    layers: int = 4
    heads: int = 6
    ffn: int = 512
    theta: float = 10000.0
    eps: float = 1e-5
    positions: int = 4096

    @property
    def head_dim(self):
        return self.dim // self.heads


SIZES = {
    "main": Config(),
    "draft": Config(dim=96, layers=2, heads=3, ffn=256),
    "deep": Config(layers=6),
    "small": Config(dim=96, layers=3, heads=3, ffn=256),
}


def rotary(positions, config):
    """Cosine and sine, [positions, head_dim]."""
    inv = config.theta ** (-torch.arange(0, config.head_dim, 2).float() / config.head_dim)
    angle = positions.float()[:, None] * inv[None]
    angle = torch.cat([angle, angle], -1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Norm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight).to(x.dtype)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.norm1, self.norm2 = Norm(c.dim, c.eps), Norm(c.dim, c.eps)
        self.q, self.k, self.v, self.o = (linear(c.dim, c.dim) for _ in range(4))
        self.gate, self.up, self.down = linear(c.dim, c.ffn), linear(c.dim, c.ffn), linear(c.ffn, c.dim)
        nn.init.zeros_(self.o.weight)
        nn.init.zeros_(self.down.weight)

    def forward(self, x, cos, sin, at=None):
        """The output at all positions, or at those of `at`, [batch, n]: the others are only attended to."""
        b, t, _ = x.shape
        heads = lambda h: h.view(b, -1, self.c.heads, self.c.head_dim).transpose(1, 2)
        h = self.norm1(x)
        k, v = rotate(heads(self.k(h)), cos, sin), heads(self.v(h))
        if at is None:
            q = rotate(heads(self.q(h)), cos, sin)
        else:
            here = at[..., None].expand(-1, -1, self.c.dim)
            x, h = x.gather(1, here), h.gather(1, here)
            q = rotate(heads(self.q(h)), cos[at][:, None], sin[at][:, None])
        if at is None and t > LONG:
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            # Written out: on a CPU and for short texts the fused attention's backward pass takes a third of the whole step.
            places = torch.arange(t, device=x.device)
            future = places > (places if at is None else at[:, None])[..., None]
            scores = (q * self.c.head_dim**-0.5) @ k.mT
            a = torch.softmax(scores.float().masked_fill(future, float("-inf")), -1).to(v.dtype) @ v
        x = x + self.o(a.transpose(1, 2).reshape(b, q.shape[2], -1))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.dim)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = Norm(config.dim, config.eps)
        cos, sin = rotary(torch.arange(config.positions), config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def hidden(self, ids, dtype=None, at=None):
        """Normalised last hidden states, [batch, sequence, dim], or those at the positions `at`; padding belongs on the right."""
        x = self.embed(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        if dtype:
            x, cos, sin = x.to(dtype), cos.to(dtype), sin.to(dtype)
        for block in self.blocks[:-1]:
            x = block(x, cos, sin)
        return self.norm(self.blocks[-1](x, cos, sin, at))

    def logits(self, hidden):
        return hidden @ self.embed.weight.to(hidden.dtype).T

    def forward(self, ids):
        return self.logits(self.hidden(ids))


def parameters(model):
    return sum(p.numel() for p in model.parameters())
