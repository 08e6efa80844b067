"""Writes a model of random weights in onnxruntime-genai's layout, for measuring decoding at a size that matters.

    python random_gqa_model.py out/gqa --tokenizer ../crates/structgen-model/assets/main/tokenizer.json

A decoder with grouped-query attention, rotary positions and a gated feed-forward network, about 100 million parameters by
default. The cache is one buffer for past and present (`past_present_share_buffer`), written by `GroupQueryAttention`. Equal
arguments give equal files. The text it writes means nothing, and its speed is that of trained weights.
"""

import argparse
import json
import pathlib
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from genai_layout import genai_config

DOMAIN = "com.microsoft"
DATA = "model.onnx.data"


class Decoder:
    """Collects the nodes and weights of the graph."""

    def __init__(self, args):
        self.args, self.rng = args, np.random.default_rng(args.seed)
        self.nodes, self.weights, self.parameters = [], [], 0

    def op(self, kind, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, name, *shape):
        array = self.rng.standard_normal(shape, np.float32) * np.float32(shape[0] ** -0.5)
        self.parameters += array.size
        return self.constant(name, array)

    def norm(self, x, name):
        scale = self.constant(f"{name}.scale", np.ones(self.args.width, np.float32))
        return self.op("LayerNormalization", [x, scale], [name], axis=-1, epsilon=1e-5)

    def lengths(self):
        """As onnxruntime-genai's own exports have it: the length of each row less one, and the length of the longest."""
        axis = self.constant("axis.length", np.array([1], np.int64))
        one = self.constant("one", np.array([1], np.int64))
        place = self.constant("place.length", np.array(1, np.int64))
        self.op("ReduceSum", ["attention_mask", axis], ["row_lengths"], keepdims=0)
        self.op("Sub", ["row_lengths", one], ["row_ends.long"])
        self.op("Cast", ["row_ends.long"], ["row_ends"], to=TensorProto.INT32)
        self.op("Shape", ["attention_mask"], ["mask_shape"])
        self.op("Gather", ["mask_shape", place], ["longest.long"], axis=0)
        self.op("Cast", ["longest.long"], ["longest"], to=TensorProto.INT32)

    def rotary(self):
        dim = self.args.head_dim
        angles = np.arange(self.args.context)[:, None] * 10_000.0 ** (-np.arange(0, dim, 2) / dim)
        self.constant("rotary.cos", np.cos(angles).astype(np.float32))
        self.constant("rotary.sin", np.sin(angles).astype(np.float32))

    def layer(self, x, i):
        args, name = self.args, f"layers.{i}"
        queries, keys = args.heads * args.head_dim, args.kv_heads * args.head_dim
        normed = self.norm(x, f"{name}.attention_norm")
        qkv = self.op("MatMul", [normed, self.weight(f"{name}.qkv", args.width, queries + 2 * keys)], [f"{name}.qkv_out"])
        past = [f"past_key_values.{i}.{part}" for part in ("key", "value")]
        present = [f"present.{i}.{part}" for part in ("key", "value")]
        inputs = [qkv, "", "", *past, "row_ends", "longest", "rotary.cos", "rotary.sin"]
        attended = self.op("GroupQueryAttention", inputs, [f"{name}.attended", *present], domain=DOMAIN,
                           num_heads=args.heads, kv_num_heads=args.kv_heads, do_rotary=1)
        attended = self.op("MatMul", [attended, self.weight(f"{name}.o", queries, args.width)], [f"{name}.o_out"])
        x = self.op("Add", [x, attended], [f"{name}.attention"])
        normed = self.norm(x, f"{name}.feed_norm")
        gate = self.op("MatMul", [normed, self.weight(f"{name}.gate", args.width, args.feed)], [f"{name}.gate_out"])
        up = self.op("MatMul", [normed, self.weight(f"{name}.up", args.width, args.feed)], [f"{name}.up_out"])
        opened = self.op("Sigmoid", [gate], [f"{name}.sigmoid"])
        opened = self.op("Mul", [gate, opened], [f"{name}.silu"])
        fed = self.op("Mul", [opened, up], [f"{name}.fed"])
        fed = self.op("MatMul", [fed, self.weight(f"{name}.down", args.feed, args.width)], [f"{name}.down_out"])
        return self.op("Add", [x, fed], [f"{name}.out"])

    def model(self):
        args = self.args
        self.lengths()
        self.rotary()
        x = self.op("Gather", [self.weight("embedding", args.vocab, args.width), "input_ids"], ["embedded"])
        for i in range(args.layers):
            x = self.layer(x, i)
        self.op("MatMul", [self.norm(x, "last_norm"), self.weight("head", args.width, args.vocab)], ["logits"])
        caches = [(f"{{}}.{i}.{part}") for i in range(args.layers) for part in ("key", "value")]
        cache = lambda name, length: helper.make_tensor_value_info(
            name, TensorProto.FLOAT, ["batch", args.kv_heads, length, args.head_dim])
        inputs = [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"]),
            *(cache(name.format("past_key_values"), "past") for name in caches),
        ]
        outputs = [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", args.vocab]),
            *(cache(name.format("present"), "total") for name in caches),
        ]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.weights)
        domains = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=8, producer_name="structgen-random")


def config(args):
    """What genai_config.json says."""
    written = genai_config({
        "model_type": "llama",
        "vocab_size": args.vocab,
        "max_position_embeddings": args.context,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
        "hidden_size": args.width,
        "head_dim": args.head_dim,
        "num_attention_heads": args.heads,
        "num_key_value_heads": args.kv_heads,
        "num_hidden_layers": args.layers,
    }, share_buffer=True)
    decoder = written["model"]["decoder"]
    del decoder["inputs"]["position_ids"]
    decoder["session_options"]["intra_op_num_threads"] = args.threads
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path, help="a tokenizer.json to put beside the model, with the tokenizer_config.json beside it")
    for name, default in (("layers", 12), ("width", 768), ("feed", 2048), ("heads", 12), ("kv-heads", 4), ("head-dim", 64),
                          ("vocab", 16_384), ("context", 2048), ("seed", 0), ("threads", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    args.target.mkdir(parents=True, exist_ok=True)
    for file in ("model.onnx", DATA):
        # Data is appended to a file that exists.
        (args.target / file).unlink(missing_ok=True)
    decoder = Decoder(args)
    onnx.save(decoder.model(), args.target / "model.onnx", save_as_external_data=True, location=DATA)
    (args.target / "genai_config.json").write_text(json.dumps(config(args), indent=2) + "\n")
    if args.tokenizer:
        shutil.copy(args.tokenizer, args.target / "tokenizer.json")
        beside = args.tokenizer.with_name("tokenizer_config.json")
        if beside.exists():
            shutil.copy(beside, args.target)
    print(f"{decoder.parameters / 1e6:.1f} million parameters in {args.target}")


if __name__ == "__main__":
    main()
