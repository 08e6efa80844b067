"""Reads an exported graph back as a checkpoint's weights, so that training can go on from the files that are shipped.

The inverse of `export.py` and `reader_export.py`. What int8 took from the weights is gone: about half a percent of each.
"""

import numpy as np
import onnx
import torch
from onnx import numpy_helper

HEADS = {"qs": True, "ks": False, "qe": True, "ke": False, "qo": True, "ko": False}  # of a reader, and whether they are scaled


def weights(path, config):
    """The weights of a decoder, or of a reader with its heads, by their names in a checkpoint."""
    stored = {w.name: numpy_helper.to_array(w) for w in onnx.load(path).graph.initializer}

    def matrix(name, axis=1):
        """[out, in]"""
        scale = stored[name + ".scale"]
        whole = stored[name].astype(np.float32) * (scale[:, None] if axis == 0 else scale)
        return whole if axis == 0 else whole.T

    state = {"embed.weight": matrix("embed", 0), "norm.weight": stored["norm"]}
    for i in range(config.layers):
        layer, block = f"layers.{i}.", f"blocks.{i}."
        q, k, v = np.split(matrix(layer + "qkv"), 3)
        gate, up = np.split(matrix(layer + "gate_up"), 2)
        parts = {"q": q * np.float32(config.head_dim**0.5), "k": k, "v": v, "gate": gate, "up": up}
        parts |= {"o": matrix(layer + "o"), "down": matrix(layer + "down")}
        parts |= {"norm1": stored[layer + "norm1"], "norm2": stored[layer + "norm2"]}
        state |= {f"{block}{name}.weight": part for name, part in parts.items()}
    for name, is_scaled in HEADS.items():
        if name in stored:
            state[name + ".weight"] = matrix(name) * np.float32(config.dim**0.5 if is_scaled else 1)
    return {name: torch.from_numpy(np.array(part)) for name, part in state.items()}
