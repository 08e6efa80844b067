"""Exports the reader as an ONNX graph, `reader.onnx` of a model's folder.

Its weights are int8, as those of `export.py`; the rows of units and the feed-forward matrices are int4. Of 1,647 and 1,600 fields of
held-out families and domains, 76.1% and 73.5% were right with int4 rows, 76.4% and 73.4% with int8. Of some 9,700 fields of both, 74.5%
were right with int4 matrices and 74.6% without.

    rows           [1, sequence, 24]      int64   a question of `reader_questions.py`: the rows of each unit, 0 for none
    senses         [1, sequence, 8]       int64   those of what it means, of `lexicon.py`
    roles          [1, sequence, 18]      int64   and those of `sites.py`
    fields         [1, fields]            int64   where its fields stand
    starts         [1, fields, sequence]  float   logits of where each value begins, or of each option
    ends           [1, fields, sequence]  float   and of where it ends
    first_vectors  [1, sequence, 64]      float   a vector of each position, whose product with
    last_vectors   [1, sequence, 64]      float   one of these is added to the logit of the end there,
    distances      [24]                   float   with this for the distance of both
"""

import argparse
import hashlib
import pathlib

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

import lexicon
from export import Graph, dequantised, packed, quantise, session
from reader import LONGEST_SPAN, OFF, PAIR, READER, Reader
from shipped import GROUP, HEADS, TABLES, WORDS, unpacked
from sites import CHOICE, READ
from sites import ROWS as ROLES
from sites import WIDTH as SITE
from units import FEATURES, ROWS, TOKENS


def matrices(state, config):
    """Those besides the blocks', [in, out]; queries are scaled."""
    scale = {"qs": config.dim**-0.5, "qe": config.dim**-0.5, "qo": config.dim**-0.5, "qp": PAIR**-0.5}
    weights = lambda name: state[name + ".weight"].float().numpy().T
    found = {name: weights(name) * np.float32(scale.get(name, 1)) for name in HEADS}
    return found | {"words." + name: weights("words." + name) for name in WORDS}


def pack(rows):
    """Rows along axis 1 as int4: bytes that have a number of the first half of the row and one of the second, each with 8 added, and the
    scale of each row, which is the one of five with the least error."""
    largest = np.maximum(np.abs(rows).max(1, keepdims=True), 1e-8) / np.float32(7)
    scales = np.stack([largest * np.float32(share) for share in (1, 0.9, 0.8, 0.7, 0.6)])
    whole = lambda scale: np.clip(np.rint(rows / scale), -8, 7)
    errors = np.stack([((whole(scale) * scale - rows) ** 2).sum(1, keepdims=True) for scale in scales])
    scale = np.take_along_axis(scales, errors.argmin(0)[None], 0)[0]
    low, high = np.split((whole(scale) + 8).astype(np.uint8), 2, axis=1)
    return low + 16 * high, scale[:, 0]


def grouped(matrix):
    """A matrix, [in, out], as rows of `GROUP` inputs of one output, [in / GROUP, GROUP, out]."""
    return matrix.reshape(-1, GROUP, matrix.shape[1])


def table(state, name):
    rows = state[f"{TABLES[name]}.weight"].float().numpy().copy()
    if name != "places":
        rows[0] = 0  # no row
    return rows


def build(state, config):
    g = Graph()
    heads, hd = config.heads, config.head_dim
    eps, two = g.constant("eps", np.float32(config.eps)), g.constant("two", np.float32(2))

    def norm(x, name, weight):
        variance = g.op("ReduceMean", g.op("Pow", x, two), axes=[-1], keepdims=1)
        y = g.op("Div", x, g.op("Sqrt", g.op("Add", variance, eps)))
        return g.op("Mul", y, g.constant(name, weight))

    # Angles, [sequence, head_dim]; the sine carries the sign of the half rotation.
    inv = config.theta ** (-np.arange(0, hd, 2, dtype=np.float32) / hd)
    length = g.op("Gather", g.op("Shape", "roles"), g.scalar(1), axis=0)
    position = g.op("Cast", g.op("Range", g.scalar(0), length, g.scalar(1)), to=TensorProto.FLOAT)
    angle = g.op("Mul", g.op("Unsqueeze", position, g.ints(1)), g.constant("inv_freq", inv.astype(np.float32)))
    cos, sin = g.op("Cos", angle), g.op("Sin", angle)
    cos = g.op("Concat", cos, cos, axis=-1)
    sin = g.op("Concat", g.op("Neg", sin), sin, axis=-1)

    # Units: the sums of their tokens' rows, of those of their form and of what they mean, each by the square root of how many there are.
    last = matrices(state, config)
    times = lambda x, name: g.op("MatMul", x, g.quantised(name, last[name], 1))

    def of_halves(rows, axis):
        high = g.op("Floor", g.op("Mul", rows, g.constant("sixteenth", np.float32(1 / 16))))
        low = g.op("Sub", rows, g.op("Mul", high, g.constant("sixteen", np.float32(16))))
        return g.op("Sub", g.op("Concat", low, high, axis=axis), g.constant("eight", np.float32(8)))

    def of_groups(name, matrix):
        q, scale = pack(grouped(matrix))
        rows = of_halves(g.op("Cast", g.constant(name, q), to=TensorProto.FLOAT), axis=1)
        return g.op("Reshape", g.op("Mul", rows, g.constant(name + ".scale", scale[:, None])), g.ints(*matrix.shape))

    def looked_up(name, at, is_packed=False):
        q, scale = pack(table(state, name)) if is_packed else quantise(table(state, name), 0)[:2]
        rows = g.op("Cast", g.op("Gather", g.constant(name, q), at, axis=0), to=TensorProto.FLOAT)
        rows = of_halves(rows, axis=-1) if is_packed else rows
        return g.op("Mul", rows, g.op("Unsqueeze", g.op("Gather", g.constant(name + ".scale", scale), at, axis=0), g.ints(-1)))

    def is_row(at):
        return g.op("Cast", g.op("Greater", at, g.scalar(0)), to=TensorProto.FLOAT)

    def bag(rows, is_row):
        count = g.op("Max", g.op("ReduceSum", is_row, g.ints(2), keepdims=1), g.constant("one", np.float32(1)))
        return g.op("Div", g.op("ReduceSum", rows, g.ints(2), keepdims=0), g.op("Sqrt", count))

    split = lambda x: g.op("Split", x, g.ints(TOKENS, FEATURES), axis=2, outputs=2)
    tokens, features = zip(split(looked_up("table", "rows", is_packed=True)), split(is_row("rows")))
    meaning = times(bag(looked_up("concepts", "senses"), is_row("senses")), "words.meaning")
    unit = g.op("Add", g.op("Add", bag(*tokens), bag(*features)), meaning)
    up = times(unit, "words.up")
    x = g.op("Add", times(unit, "words.plain"), times(g.op("Mul", up, g.op("Sigmoid", up)), "words.down"))
    x = g.op("Add", x, g.op("ReduceSum", looked_up("places", "roles"), g.ints(2), keepdims=0))
    for i, w in enumerate(packed(state, config)):
        name = f"layers.{i}."
        h = norm(x, name + "norm1", w["norm1"])
        qkv = g.op("MatMul", h, g.quantised(name + "qkv", w["qkv"], 1))
        qkv = g.op("Transpose", g.op("Reshape", qkv, g.ints(0, 0, 3 * heads, hd)), perm=[0, 2, 1, 3])
        qk, v = g.op("Split", qkv, g.ints(2 * heads, heads), axis=1, outputs=2)
        left, right = g.op("Split", qk, g.ints(hd // 2, hd // 2), axis=3, outputs=2)
        qk = g.op("Add", g.op("Mul", qk, cos), g.op("Mul", g.op("Concat", right, left, axis=3), sin))
        q, k = g.op("Split", qk, g.ints(heads, heads), axis=1, outputs=2)
        a = g.op("MatMul", g.op("Softmax", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), axis=-1), v)
        a = g.op("Reshape", g.op("Transpose", a, perm=[0, 2, 1, 3]), g.ints(0, 0, heads * hd))
        x = g.op("Add", x, g.op("MatMul", a, g.quantised(name + "o", w["o"], 1)))
        h = norm(x, name + "norm2", w["norm2"])
        gate, up = g.op("Split", g.op("MatMul", h, of_groups(name + "gate_up", w["gate_up"])), g.ints(config.ffn, config.ffn), axis=2, outputs=2)
        h = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up)
        x = g.op("Add", x, g.op("MatMul", h, of_groups(name + "down", w["down"])))
    x = norm(x, "norm", state["norm.weight"].float().numpy())
    fields = g.op("Gather", x, g.op("Reshape", "fields", g.ints(-1)), axis=1)

    def compared(queries, query, key, **out):
        return g.op("MatMul", times(queries, query), g.op("Transpose", times(x, key), perm=[0, 2, 1]), **out)

    # What the text says of options: the mean of its states, weighed by how much each says.
    starts, ends = compared(fields, "qs", "ks"), compared(fields, "qe", "ke", out="ends")
    role = g.op("Squeeze", g.op("Gather", "roles", g.ints(0), axis=2), g.ints(2))
    is_text = g.op("Unsqueeze", g.op("GreaterOrEqual", role, g.scalar(2 * READ)), g.ints(1))
    saying = g.op("Softmax", g.op("Where", is_text, ends, g.constant("off", np.float32(OFF))), axis=-1)
    chosen = compared(g.op("MatMul", saying, x), "qo", "ko")
    is_option = g.op("Unsqueeze", g.op("Equal", g.op("Div", role, g.scalar(2)), g.scalar(CHOICE)), g.ints(1))
    g.op("Add", starts, g.op("Where", is_option, chosen, g.constant("zero", np.float32(0))), out="starts")
    g.op("MatMul", x, g.quantised("qp", last["qp"], 1), out="first_vectors")
    g.op("MatMul", x, g.quantised("kp", last["kp"], 1), out="last_vectors")
    g.op("Identity", g.constant("distance", state["distance"].float().numpy()), out="distances")

    info = helper.make_tensor_value_info
    inputs = [info("rows", TensorProto.INT64, [1, "sequence", TOKENS + FEATURES]), info("senses", TensorProto.INT64, [1, "sequence", lexicon.WIDTH]), info("roles", TensorProto.INT64, [1, "sequence", SITE]), info("fields", TensorProto.INT64, [1, "fields"])]
    outputs = [info(name, TensorProto.FLOAT, [1, "fields", "sequence"]) for name in ("starts", "ends")]
    outputs += [info(name, TensorProto.FLOAT, [1, "sequence", PAIR]) for name in ("first_vectors", "last_vectors")]
    outputs += [info("distances", TensorProto.FLOAT, [LONGEST_SPAN])]
    graph = helper.make_graph(g.nodes, "structgen-reader", inputs, outputs, g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="structgen")
    helper.set_model_props(model, {"session.disable_quant_qdq": "1", "weights": "int8, symmetric, per output channel; int4: rows of units, feed-forward by groups of 32"})
    onnx.checker.check_model(model, full_check=True)
    return model


def parity(path, state, config):
    """Largest difference of logits from PyTorch with the weights that the file stands for."""
    reference = Reader(config)
    out = dequantised(state, config)
    scale = {name: config.dim**0.5 for name in HEADS if name[0] == "q"} | {"qp": PAIR**0.5}
    for name, matrix in matrices(state, config).items():
        out[name + ".weight"] = torch.from_numpy(quantise(matrix, 1)[2].T.copy()) * scale.get(name, 1)
    out |= {f"{kept}.weight": torch.from_numpy(quantise(table(state, name), 0)[2]) for name, kept in TABLES.items()}

    def packed_and_back(rows):
        back = unpacked(*pack(rows))
        lost, all_of_it = np.linalg.norm(back - rows), np.linalg.norm(rows)
        assert lost <= 0.15 * all_of_it, f"int4 takes {lost / all_of_it:.0%}"
        return back

    out["words.table.weight"] = torch.from_numpy(packed_and_back(table(state, "table")))
    for i, w in enumerate(packed(state, config)):
        parts = {name: packed_and_back(grouped(w[name])).reshape(w[name].shape).T for name in ("gate_up", "down")}
        parts["gate"], parts["up"] = np.split(parts.pop("gate_up"), 2)
        out |= {f"blocks.{i}.{name}.weight": torch.from_numpy(part.copy()) for name, part in parts.items()}
    reference.load_state_dict(out)
    run, rng, worst = session(path), np.random.default_rng(0), 0.0
    for length, fields in ((1, [0]), (60, [0, 7, 20]), (500, list(range(0, 200, 9)))):
        rows, at = rng.integers(0, ROWS, (length, TOKENS + FEATURES)), np.array([fields], np.int64)
        rows[:, 0] += rows[:, 0] == 0
        rows[:, 1:] *= rng.random((length, TOKENS + FEATURES - 1)) < 0.5
        senses = rng.integers(0, lexicon.ROWS, (length, lexicon.WIDTH)) * (rng.random((length, lexicon.WIDTH)) < 0.5)
        roles = rng.integers(0, ROLES, (length, SITE))
        roles[:, 0] = np.where(np.arange(length) < length // 2, rng.integers(0, 4, length), rng.integers(4, 6, length))
        with torch.no_grad():
            # Row 0 of the words is no unit.
            units = np.concatenate([rows[:, :TOKENS], senses, rows[:, TOKENS:]], axis=1)
            words = torch.from_numpy(np.concatenate([np.zeros_like(units[:1]), units]))
            want = reference(words, torch.arange(1, length + 1)[None], torch.from_numpy(roles[None]), torch.from_numpy(at))
        names = ["starts", "ends", "first_vectors", "last_vectors"]
        got = run.run(names, {"rows": rows[None], "senses": senses[None], "roles": roles[None], "fields": at})
        got[2] *= PAIR**0.5
        worst = max(worst, *(np.abs(g - w.numpy()).max() for g, w in zip(got, want)))
    return float(worst)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("checkpoint")
    args.add_argument("--model", required=True, type=pathlib.Path, help="the exported model's folder, where reader.onnx goes")
    args = args.parse_args()
    state = torch.load(args.checkpoint, map_location="cpu")["model"]
    path = args.model / "reader.onnx"
    onnx.save(build(state, READER), path)
    worst = parity(path, state, READER)
    print(f"largest difference of logits: {worst:.1e}")
    assert worst < 1e-3, worst
    print(f"{path.stat().st_size:,} {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
