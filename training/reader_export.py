"""Exports the reader as an ONNX graph with int8 weights (as `export.py`), `reader.onnx` of a model's folder.

    input_ids  [1, sequence]           int64   a question of `reader_questions.py`
    fields     [1, fields]             int64   where its fields stand
    starts     [1, fields, sequence]   float   logits of where each value begins, or of each option
    ends       [1, fields, sequence]   float   and of where it ends
"""

import argparse
import hashlib
import pathlib

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

import shipped
from export import Graph, dequantised, packed, quantise, session
from model import SIZES
from reader import OFF, Reader
from tokenizer import JSON as OPTION
from tokenizer import TEXT

HEADS = ("qs", "ks", "qe", "ke", "qo", "ko")


def matrices(state, config):
    """Those that states are multiplied by at the end, [in, out]; queries are scaled."""
    scale = {"qs": config.dim**-0.5, "qe": config.dim**-0.5, "qo": config.dim**-0.5}
    return {h: state[h + ".weight"].float().numpy().T * np.float32(scale.get(h, 1)) for h in HEADS}


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
    length = g.op("Gather", g.op("Shape", "input_ids"), g.scalar(1), axis=0)
    position = g.op("Cast", g.op("Range", g.scalar(0), length, g.scalar(1)), to=TensorProto.FLOAT)
    angle = g.op("Mul", g.op("Unsqueeze", position, g.ints(1)), g.constant("inv_freq", inv.astype(np.float32)))
    cos, sin = g.op("Cos", angle), g.op("Sin", angle)
    cos = g.op("Concat", cos, cos, axis=-1)
    sin = g.op("Concat", g.op("Neg", sin), sin, axis=-1)

    x = g.op("Gather", g.quantised("embed", state["embed.weight"].float().numpy(), 0), "input_ids", axis=0)
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
        gate, up = g.op("Split", g.op("MatMul", h, g.quantised(name + "gate_up", w["gate_up"], 1)), g.ints(config.ffn, config.ffn), axis=2, outputs=2)
        h = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up)
        x = g.op("Add", x, g.op("MatMul", h, g.quantised(name + "down", w["down"], 1)))
    x = norm(x, "norm", state["norm.weight"].float().numpy())
    fields = g.op("Gather", x, g.op("Reshape", "fields", g.ints(-1)), axis=1)
    last = matrices(state, config)

    def compared(queries, query, key, **out):
        keys = g.op("MatMul", x, g.quantised(key, last[key], 1))
        return g.op("MatMul", g.op("MatMul", queries, g.quantised(query, last[query], 1)), g.op("Transpose", keys, perm=[0, 2, 1]), **out)

    # What the text says of options: the mean of its states, weighed by how much each says.
    starts, ends = compared(fields, "qs", "ks"), compared(fields, "qe", "ke", out="ends")
    begun = g.op("CumSum", g.op("Cast", g.op("Equal", "input_ids", g.scalar(TEXT)), to=TensorProto.INT32), g.constant("sequence_axis", np.int64(1)))
    is_text = g.op("Unsqueeze", g.op("Cast", begun, to=TensorProto.BOOL), g.ints(1))
    saying = g.op("Softmax", g.op("Where", is_text, ends, g.constant("off", np.float32(OFF))), axis=-1)
    chosen = compared(g.op("MatMul", saying, x), "qo", "ko")
    is_option = g.op("Unsqueeze", g.op("Equal", "input_ids", g.scalar(OPTION)), g.ints(1))
    is_option = g.op("And", is_option, g.op("Not", is_text))
    g.op("Add", starts, g.op("Where", is_option, chosen, g.constant("zero", np.float32(0))), out="starts")

    info = helper.make_tensor_value_info
    inputs = [info("input_ids", TensorProto.INT64, [1, "sequence"]), info("fields", TensorProto.INT64, [1, "fields"])]
    outputs = [info(name, TensorProto.FLOAT, [1, "fields", "sequence"]) for name in ("starts", "ends")]
    graph = helper.make_graph(g.nodes, "structgen-reader", inputs, outputs, g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="structgen")
    helper.set_model_props(model, {"session.disable_quant_qdq": "1", "weights": "int8, symmetric, per output channel"})
    onnx.checker.check_model(model, full_check=True)
    return model


def parity(path, state, config):
    """Largest difference of logits from PyTorch with the weights that the file stands for."""
    reference = Reader(config)
    out = dequantised(state, config)
    scale = config.dim**0.5
    for name, matrix in matrices(state, config).items():
        out[name + ".weight"] = torch.from_numpy(quantise(matrix, 1)[2].T.copy()) * (scale if name[0] == "q" else 1)
    reference.load_state_dict(out)
    run, rng, worst = session(path), np.random.default_rng(0), 0.0
    for length, fields in ((1, [0]), (60, [0, 7, 20]), (700, list(range(0, 200, 9)))):
        ids, at = rng.integers(5, config.vocab, (1, length)), np.array([fields], np.int64)
        ids[0, length // 4 : length // 2 : 7], ids[0, length // 2] = OPTION, TEXT
        with torch.no_grad():
            want = reference(torch.from_numpy(ids), torch.from_numpy(at))
        got = run.run(["starts", "ends"], {"input_ids": ids, "fields": at})
        worst = max(worst, *(np.abs(g - w.numpy()).max() for g, w in zip(got, want)))
    return float(worst)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("checkpoint")
    args.add_argument("--model", required=True, type=pathlib.Path, help="the exported model's folder, where reader.onnx goes")
    args.add_argument("--mean", metavar="READER", help="an exported reader, two fifths of whose weights go into the mean that is exported")
    args = args.parse_args()
    saved = torch.load(args.checkpoint, map_location="cpu")
    config = SIZES[saved.get("size", "main")]
    if args.mean:
        other = shipped.weights(args.mean, config)
        saved["model"] = {name: 0.6 * weights + 0.4 * other.get(name, weights) for name, weights in saved["model"].items()}
    path = args.model / "reader.onnx"
    onnx.save(build(saved["model"], config), path)
    worst = parity(path, saved["model"], config)
    print(f"largest difference of logits: {worst:.1e}")
    assert worst < 1e-3, worst
    print(f"{path.stat().st_size:,} {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
