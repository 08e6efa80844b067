"""Turns a shipped folder into one of onnxruntime-genai's whose cache is one buffer (`past_present_share_buffer`).

    python shared_layout.py ../crates/structgen-model/assets/main out/shared

The attention of each layer, from the product with q, k and v to the one with o, becomes one node `GroupQueryAttention` of
ONNX Runtime's; weights and names stay. The script compares logits with the shipped graph and fails above 1e-4.
"""

import json
import shutil

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from genai_layout import FILES, genai_config, main

DOMAIN = "com.microsoft"


def share(model, config):
    """Rewrites the graph in place."""
    graph = model.graph
    heads, kv_heads, head_dim, positions = (config[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings"))
    angles = np.arange(positions)[:, None] * config["rope_theta"] ** (-np.arange(0, head_dim, 2) / head_dim)
    constants = {
        "rotary.cos": np.cos(angles).astype(np.float32),
        "rotary.sin": np.sin(angles).astype(np.float32),
        "axis.length": np.array([1], np.int64),
        "one": np.array([1], np.int64),
        "place.length": np.array(1, np.int64),
    }
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    # As onnxruntime-genai's own exports have it: how long each row is, less one, and how long the longest is.
    added = [
        helper.make_node("ReduceSum", ["attention_mask", "axis.length"], ["row_lengths"], keepdims=0),
        helper.make_node("Sub", ["row_lengths", "one"], ["row_ends.long"]),
        helper.make_node("Cast", ["row_ends.long"], ["row_ends"], to=TensorProto.INT32),
        helper.make_node("Shape", ["attention_mask"], ["mask_shape"]),
        helper.make_node("Gather", ["mask_shape", "place.length"], ["longest.long"], axis=0),
        helper.make_node("Cast", ["longest.long"], ["longest"], to=TensorProto.INT32),
    ]
    product = lambda weight: next(n for n in graph.node if n.op_type == "MatMul" and n.input[1] == weight + ".float")
    for i in range(config["num_hidden_layers"]):
        cache = [f"past_key_values.{i}.key", f"past_key_values.{i}.value"]
        present = [f"present.{i}.key", f"present.{i}.value"]
        inputs = [product(f"layers.{i}.qkv").output[0], "", "", *cache, "row_ends", "longest", "rotary.cos", "rotary.sin"]
        # The scale of the scores is in the weights of q.
        added.append(helper.make_node("GroupQueryAttention", inputs, [f"attention.{i}", *present], domain=DOMAIN,
                                      num_heads=heads, kv_num_heads=kv_heads, do_rotary=1, scale=1.0))
        product(f"layers.{i}.o").input[0] = f"attention.{i}"
    made = {name for node in added for name in node.output}
    keep = [node for node in graph.node if not made & set(node.output)] + added
    graph.ClearField("node")
    graph.node.extend(needed(keep, [output.name for output in graph.output]))
    used = {name for node in graph.node for name in node.input}
    for field in ("initializer", "input"):
        rest = [one for one in getattr(graph, field) if one.name in used]
        graph.ClearField(field)
        getattr(graph, field).extend(rest)
    model.opset_import.append(helper.make_opsetid(DOMAIN, 1))


def needed(nodes, outputs):
    """The nodes that outputs need, each behind those that it needs."""
    maker = {name: node for node in nodes for name in node.output}
    order, done, stack = [], set(), [(name, False) for name in reversed(outputs)]
    while stack:
        name, is_ready = stack.pop()
        node = maker.get(name)
        if node is None or node.output[0] in done:
            continue
        if is_ready:
            done.add(node.output[0])
            order.append(node)
        else:
            stack.append((name, True))
            stack.extend((given, False) for given in node.input)
    return order


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def logits(path, ids, cuts, config):
    """The logits of all positions, in runs of so many tokens."""
    run = session(path)
    names = {i.name for i in run.get_inputs()}
    past = {n: np.zeros((1, config["num_key_value_heads"], 0, config["head_dim"]), np.float32) for n in names if n.startswith("past")}
    present = [n.replace("past_key_values", "present") for n in past]
    found, start = [], 0
    for end in np.cumsum(cuts):
        feeds = {"input_ids": ids[:, start:end], "attention_mask": np.ones((1, end), np.int64), "position_ids": np.arange(start, end)[None]}
        out, *values = run.run(["logits", *present], {n: v for n, v in feeds.items() if n in names} | past)
        past, start = dict(zip(past, values)), end
        found.append(out)
    return np.concatenate(found, 1)


def convert(source, target):
    target.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    model = onnx.load(source / "model.onnx")
    share(model, config)
    onnx.save(model, target / "model.onnx")
    for name in FILES:
        if (source / name).exists():
            shutil.copy(source / name, target / name)
    genai = genai_config(config, share_buffer=True)
    del genai["model"]["decoder"]["inputs"]["position_ids"]
    (target / "genai_config.json").write_text(json.dumps(genai, indent=2) + "\n")
    ids = np.random.default_rng(0).integers(5, config["vocab_size"], (1, 60))
    want = logits(source / "model.onnx", ids, [60], config)
    worst = max(float(np.abs(logits(target / "model.onnx", ids, cuts, config) - want).max()) for cuts in ([60], [1] * 60, [20, 1, 7, 32]))
    print(f"largest difference of logits: {worst:.1e}")
    assert worst < 1e-4


if __name__ == "__main__":
    main(convert)
