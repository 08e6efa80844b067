"""A shipped folder as transformers' LlamaForCausalLM, for reference values of what transformers computes.

    python torch_reference.py ../crates/structgen-model/assets/main

The weights are read from the ONNX file and multiplied out, so that both compute the same function; `llama` compares the
logits and fails where they differ by more than 1e-4. Run as a script, it prints how much they differ.
"""

import argparse
import json
import pathlib

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import LlamaConfig, LlamaForCausalLM

from greedy_reference import Greedy

LARGEST = 1e-4


def weights(folder, config):
    """The graph's weights by the names that transformers has for them."""
    graph = onnx.load(folder / "model.onnx").graph
    stored = {w.name: torch.from_numpy(numpy_helper.to_array(w).copy()) for w in graph.initializer}
    matrix = lambda name: stored[name].float() * stored[name + ".scale"]
    hidden, heads, kv_heads, head_dim = (config[k] for k in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"))
    # One scale for each row of the embeddings, for each column of the others, which are [in, out].
    out = {"model.embed_tokens.weight": stored["embed"].float() * stored["embed.scale"][:, None], "model.norm.weight": stored["norm"]}
    for i in range(config["num_hidden_layers"]):
        name, layer = f"model.layers.{i}.", f"layers.{i}."
        q, k, v = matrix(layer + "qkv").T.split([heads * head_dim, kv_heads * head_dim, kv_heads * head_dim])
        gate, up = matrix(layer + "gate_up").T.chunk(2)
        out |= {
            # The graph has the scale of the scores in q.
            name + "self_attn.q_proj.weight": q * head_dim**0.5,
            name + "self_attn.k_proj.weight": k,
            name + "self_attn.v_proj.weight": v,
            name + "self_attn.o_proj.weight": matrix(layer + "o").T,
            name + "mlp.gate_proj.weight": gate,
            name + "mlp.up_proj.weight": up,
            name + "mlp.down_proj.weight": matrix(layer + "down").T,
            name + "input_layernorm.weight": stored[layer + "norm1"],
            name + "post_attention_layernorm.weight": stored[layer + "norm2"],
        }
    assert out["model.embed_tokens.weight"].shape == (config["vocab_size"], hidden)
    return {name: w.contiguous() for name, w in out.items()}


def difference(folder, model):
    """The largest difference of logits from ONNX Runtime's: one prompt at once, and one token after the other."""
    run = Greedy(folder)
    ids = np.random.default_rng(0).integers(5, run.tokenizer.get_vocab_size(), 80)
    want = model(torch.from_numpy(ids)[None]).logits[0].numpy()
    whole, _ = run.step(ids.tolist(), run.start())
    past, single = run.start(), []
    for token in ids.tolist():
        logits, past = run.step([token], past)
        single.append(logits)
    return float(max(np.abs(whole - want).max(), np.abs(np.concatenate(single) - want).max()))


@torch.no_grad()
def llama(folder):
    """The model, and by how much its logits differ from ONNX Runtime's."""
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text())
    model = LlamaForCausalLM(LlamaConfig(**config, attn_implementation="eager")).eval()
    missing, unexpected = model.load_state_dict(weights(folder, config), strict=False)
    assert missing == ["lm_head.weight"] and not unexpected, (missing, unexpected)
    model.tie_weights()
    worst = difference(folder, model)
    assert worst < LARGEST, worst
    return model, worst


if __name__ == "__main__":
    args = argparse.ArgumentParser()
    args.add_argument("folder")
    print(f"largest difference of logits: {llama(args.parse_args().folder)[1]:.1e}")
