"""Exports a checkpoint as an ONNX graph with int8 weights, in the folder layout of Optimum.

The graph is written out node by node (opset 17), so that its names and shapes are exactly:

    input_ids       [batch, sequence]            int64
    attention_mask  [batch, past + sequence]     int64
    position_ids    [batch, sequence]            int64
    num_logits_to_keep  []                       int64, optional
    past_key_values.{i}.key/value  [batch, heads, past, head_dim]             float
    logits          [batch, kept, vocab]         float
    present.{i}.key/value          [batch, heads, past + sequence, head_dim]  float
    hidden_states   [batch, sequence, width]     float

The logits are those of the last `num_logits_to_keep` positions, of all where that is zero, its default: the output matrix
is a third of the weights, and of a prompt only the last position's logits are of use.

The hidden states are the last layer's, normalised, as the output matrix multiplies them. They come last, so
that logits and cache keep their places for readers that count.

Weights are int8 with one scale per output channel behind `DequantizeLinear`; all arithmetic is float.
Run it with the session entry `session.disable_quant_qdq=1`, else ONNX Runtime may quantise the
activations too, and the logits then depend on how the input is cut into runs.
"""

import argparse
import hashlib
import json
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnx import TensorProto, helper, numpy_helper

from model import SIZES, Model
from notation import VERSION
from tokenizer import EOS, PAD, SCHEMA

KEPT = "num_logits_to_keep"
MASKED = -1e9  # finite, so that a row of padding alone yields no NaN


def quantise(weight, axis):
    """Symmetric int8 along `axis`: the integers, the scales, and the weight they stand for."""
    other = tuple(a for a in range(weight.ndim) if a != axis)
    scale = np.maximum(np.abs(weight).max(axis=other, keepdims=True), 1e-8).astype(np.float32) / np.float32(127)
    q = np.clip(np.rint(weight / scale), -127, 127).astype(np.int8)
    return q, scale.reshape(-1), q.astype(np.float32) * scale


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.count = [], [], 0

    def op(self, kind, *inputs, out=None, outputs=1, **attributes):
        self.count += 1
        names = [out] if out else [f"{kind}_{self.count}" + (f"_{k}" if outputs > 1 else "") for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name, array):
        if all(w.name != name for w in self.weights):
            self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def ints(self, *values):
        return self.constant("ints_" + "_".join(map(str, values)).replace("-", "m"), np.array(values, np.int64))

    def scalar(self, value):
        return self.constant(f"scalar_{value}", np.array(value, np.int64))

    def quantised(self, name, weight, axis):
        q, scale, _ = quantise(weight, axis)
        return self.op("DequantizeLinear", self.constant(name, q), self.constant(name + ".scale", scale), axis=axis, out=name + ".float")


def packed(state, config):
    """The matrices as the graph multiplies by them ([in, out], q k v and gate up side by side)."""
    get = lambda name: state[name].float().numpy()
    layers = []
    for i in range(config.layers):
        b = f"blocks.{i}."
        q = get(b + "q.weight") * np.float32(config.head_dim**-0.5)
        layers.append(dict(
            qkv=np.concatenate([q, get(b + "k.weight"), get(b + "v.weight")]).T,
            o=get(b + "o.weight").T,
            gate_up=np.concatenate([get(b + "gate.weight"), get(b + "up.weight")]).T,
            down=get(b + "down.weight").T,
            norm1=get(b + "norm1.weight"),
            norm2=get(b + "norm2.weight"),
        ))
    return layers


def dequantised(state, config):
    """The checkpoint with the weights that the int8 file stands for, to compare with."""
    out = dict(state)
    if "embed.weight" in state:
        out["embed.weight"] = torch.from_numpy(quantise(state["embed.weight"].float().numpy(), 0)[2])
    for i, layer in enumerate(packed(state, config)):
        b, d = f"blocks.{i}.", config.dim
        w = {k: torch.from_numpy(quantise(layer[k], 1)[2].T.copy()) for k in ("qkv", "o", "gate_up", "down")}
        out[b + "q.weight"] = w["qkv"][:d] * config.head_dim**0.5
        out[b + "k.weight"], out[b + "v.weight"] = w["qkv"][d : 2 * d], w["qkv"][2 * d :]
        out[b + "o.weight"], out[b + "down.weight"] = w["o"], w["down"]
        out[b + "gate.weight"], out[b + "up.weight"] = w["gate_up"][: config.ffn], w["gate_up"][config.ffn :]
    return out


def build(state, config):
    g = Graph()
    heads, hd = config.heads, config.head_dim
    f32 = lambda *v: np.array(v, np.float32)
    eps, two = g.constant("eps", np.float32(config.eps)), g.constant("two", np.float32(2))

    def norm(x, name, weight):
        variance = g.op("ReduceMean", g.op("Pow", x, two), axes=[-1], keepdims=1)
        y = g.op("Div", x, g.op("Sqrt", g.op("Add", variance, eps)))
        return g.op("Mul", y, g.constant(name, weight))

    # Angles, [batch, 1, sequence, head_dim]; the sine carries the sign of the half rotation.
    inv = config.theta ** (-np.arange(0, hd, 2, dtype=np.float32) / hd)
    position = g.op("Unsqueeze", g.op("Cast", "position_ids", to=TensorProto.FLOAT), g.ints(1, -1))
    angle = g.op("Mul", position, g.constant("inv_freq", inv.astype(np.float32)))
    cos, sin = g.op("Cos", angle), g.op("Sin", angle)
    cos = g.op("Concat", cos, cos, axis=-1)
    sin = g.op("Concat", g.op("Neg", sin), sin, axis=-1)

    # A query at past + s sees keys up to its own place that the attention mask allows.
    total = g.op("Gather", g.op("Shape", "attention_mask"), g.scalar(1), axis=0)
    length = g.op("Gather", g.op("Shape", "input_ids"), g.scalar(1), axis=0)
    keys = g.op("Range", g.scalar(0), total, g.scalar(1))
    queries = g.op("Range", g.op("Sub", total, length), total, g.scalar(1))
    causal = g.op("LessOrEqual", g.op("Unsqueeze", keys, g.ints(0)), g.op("Unsqueeze", queries, g.ints(1)))
    allowed = g.op("And", causal, g.op("Unsqueeze", g.op("Cast", "attention_mask", to=TensorProto.BOOL), g.ints(1, 2)))
    bias = g.op("Where", allowed, g.constant("seen", f32(0)), g.constant("masked", f32(MASKED)))

    embed = g.quantised("embed", state["embed.weight"].float().numpy(), 0)
    x = g.op("Gather", embed, "input_ids", axis=0)
    for i, w in enumerate(packed(state, config)):
        name = f"layers.{i}."
        h = norm(x, name + "norm1", w["norm1"])
        qkv = g.op("MatMul", h, g.quantised(name + "qkv", w["qkv"], 1))
        qkv = g.op("Transpose", g.op("Reshape", qkv, g.ints(0, 0, 3 * heads, hd)), perm=[0, 2, 1, 3])
        qk, v = g.op("Split", qkv, g.ints(2 * heads, heads), axis=1, outputs=2)
        left, right = g.op("Split", qk, g.ints(hd // 2, hd // 2), axis=3, outputs=2)
        swapped = g.op("Concat", right, left, axis=3)
        qk = g.op("Add", g.op("Mul", qk, cos), g.op("Mul", swapped, sin))
        q, k = g.op("Split", qk, g.ints(heads, heads), axis=1, outputs=2)
        k = g.op("Concat", f"past_key_values.{i}.key", k, axis=2, out=f"present.{i}.key")
        v = g.op("Concat", f"past_key_values.{i}.value", v, axis=2, out=f"present.{i}.value")
        scores = g.op("Add", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), bias)
        a = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
        a = g.op("Reshape", g.op("Transpose", a, perm=[0, 2, 1, 3]), g.ints(0, 0, heads * hd))
        x = g.op("Add", x, g.op("MatMul", a, g.quantised(name + "o", w["o"], 1)))
        h = norm(x, name + "norm2", w["norm2"])
        gate, up = g.op("Split", g.op("MatMul", h, g.quantised(name + "gate_up", w["gate_up"], 1)), g.ints(config.ffn, config.ffn), axis=2, outputs=2)
        h = g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up)
        x = g.op("Add", x, g.op("MatMul", h, g.quantised(name + "down", w["down"], 1)))
    x = norm(x, "norm", state["norm.weight"].float().numpy())
    g.nodes[-1].output[0] = x = "hidden_states"
    g.weights.append(numpy_helper.from_array(np.array(0, np.int64), KEPT))
    kept = g.op("Slice", x, g.op("Reshape", g.op("Neg", KEPT), g.ints(1)), g.ints(2**62), g.ints(1))
    g.op("MatMul", kept, g.op("Transpose", embed, perm=[1, 0]), out="logits")

    info = helper.make_tensor_value_info
    inputs = [
        info("input_ids", TensorProto.INT64, ["batch", "sequence"]),
        info("attention_mask", TensorProto.INT64, ["batch", "total"]),
        info("position_ids", TensorProto.INT64, ["batch", "sequence"]),
    ]
    outputs = [info("logits", TensorProto.FLOAT, ["batch", "kept", config.vocab])]
    for i in range(config.layers):
        for part in ("key", "value"):
            inputs.append(info(f"past_key_values.{i}.{part}", TensorProto.FLOAT, ["batch", heads, "past", hd]))
            outputs.append(info(f"present.{i}.{part}", TensorProto.FLOAT, ["batch", heads, "total", hd]))
    inputs.append(info(KEPT, TensorProto.INT64, []))
    outputs.append(info("hidden_states", TensorProto.FLOAT, ["batch", "sequence", config.dim]))
    graph = helper.make_graph(g.nodes, "structgen-extractor", inputs, outputs, g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="structgen")
    helper.set_model_props(model, {"session.disable_quant_qdq": "1", "weights": "int8, symmetric, per output channel"})
    onnx.checker.check_model(model, full_check=True)
    return model


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def parity(path, state, config):
    """Largest difference from PyTorch: logits of prefill, its last position alone, incremental, left-padded batch, and cut anew; hidden states."""
    reference = Model(config)
    reference.load_state_dict(dequantised(state, config))
    run = session(path)
    rng = np.random.default_rng(0)
    empty = lambda b: {f"past_key_values.{i}.{p}": np.zeros((b, config.heads, 0, config.head_dim), np.float32) for i in range(config.layers) for p in ("key", "value")}
    cache = lambda outs: {f"past_key_values.{i}.{p}": outs[1 + 2 * i + k] for i in range(config.layers) for k, p in enumerate(("key", "value"))}

    def step(ids, mask, positions, past):
        outs = run.run(None, {"input_ids": ids, "attention_mask": mask, "position_ids": positions, **past})
        return outs[0], cache(outs)

    def hidden(ids, mask, positions, past):
        return run.run(["hidden_states"], {"input_ids": ids, "attention_mask": mask, "position_ids": positions, **past})[0]

    with torch.no_grad():
        ids = rng.integers(5, config.vocab, (1, 60))
        want = reference(torch.from_numpy(ids)).numpy()
        ones = np.ones((1, 60), np.int64)
        at = np.arange(60)[None]
        worst = {"prefill": np.abs(step(ids, ones, at, empty(1))[0] - want).max()}
        last, _ = step(ids, ones, at, empty(1) | {KEPT: np.array(1)})
        assert last.shape == (1, 1, config.vocab), last.shape
        worst["last"] = np.abs(last[0, 0] - want[0, -1]).max()
        worst["hidden"] = np.abs(hidden(ids, ones, at, empty(1)) - reference.hidden(torch.from_numpy(ids)).numpy()).max()
        past, got = empty(1), []
        for start, end in ((0, 20), (20, 21), (21, 22), (22, 40), *((k, k + 1) for k in range(40, 60))):
            out, past = step(ids[:, start:end], ones[:, :end], at[:, start:end], past)
            got.append(out)
        worst["incremental"] = np.abs(np.concatenate(got, 1) - want).max()
        short = rng.integers(5, config.vocab, (1, 37))
        batch = np.concatenate([ids, np.concatenate([np.full((1, 23), PAD), short], 1)])
        mask = np.concatenate([ones, np.concatenate([np.zeros((1, 23), np.int64), np.ones((1, 37), np.int64)], 1)])
        positions = np.maximum(mask.cumsum(1) - 1, 0)
        out, past = step(batch[:, :50], mask[:, :50], positions[:, :50], empty(2))
        more, _ = step(batch[:, 50:], mask, positions[:, 50:], past)
        out = np.concatenate([out, more], 1)
        assert np.isfinite(out).all()
        worst["left-padded"] = max(np.abs(out[0] - want[0]).max(), np.abs(out[1, 23:] - reference(torch.from_numpy(short)).numpy()[0]).max())
    return {k: float(v) for k, v in worst.items()}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def configs(out, config):
    """What loaders of the layout read beside the graph."""
    ids = {"bos_token_id": SCHEMA, "eos_token_id": EOS, "pad_token_id": PAD}
    write_json(out / "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": config.vocab, "hidden_size": config.dim,
        "intermediate_size": config.ffn, "num_hidden_layers": config.layers, "num_attention_heads": config.heads,
        "num_key_value_heads": config.heads, "head_dim": config.head_dim, "max_position_embeddings": config.positions,
        "hidden_act": "silu", "rms_norm_eps": config.eps, "rope_theta": config.theta, "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": True, "use_cache": True, "torch_dtype": "float32", **ids,
    })
    write_json(out / "generation_config.json", {"do_sample": False, "max_length": config.positions, **ids})
    write_json(out / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": config.positions, "bos_token": "<schema>", "eos_token": "<eos>",
        "structgen_prompt": VERSION, "pad_token": "<pad>", "add_bos_token": False, "add_eos_token": False, "clean_up_tokenization_spaces": False,
        "chat_template": "{% for message in messages %}{{ message['content'] }}{% if not loop.last %}\n{% endif %}{% endfor %}",
    })


def main():
    args = argparse.ArgumentParser()
    args.add_argument("checkpoint")
    args.add_argument("--tokenizer", required=True)
    args.add_argument("--out", required=True, type=pathlib.Path)
    args = args.parse_args()
    saved = torch.load(args.checkpoint, map_location="cpu")
    config = SIZES[saved["size"]]
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "model.onnx"
    onnx.save(build(saved["model"], config), path)
    worst = parity(path, saved["model"], config)
    print("largest difference:", " ".join(f"{k} {v:.1e}" for k, v in worst.items()))
    assert max(worst.values()) < 1e-4, worst
    configs(args.out, config)
    shutil.copy(args.tokenizer, args.out / "tokenizer.json")
    for file in sorted(args.out.iterdir()):
        print(f"{file.stat().st_size:>9,} {hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}")


if __name__ == "__main__":
    main()
