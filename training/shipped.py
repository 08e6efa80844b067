"""Reads an exported reader back as a checkpoint's weights, so that training can go on from the file that is shipped.

The inverse of `reader_export.py`. What int8 took from the weights is gone, about half a percent of each, and what int4 took from the
rows of units and the feed-forward matrices, a tenth.
"""

import numpy as np
import onnx
import torch
from onnx import numpy_helper

WORDS = ("plain", "up", "down", "meaning")
TABLES = {"table": "words.table", "concepts": "words.concepts", "places": "roles"}  # and their names in a checkpoint
GROUP = 32  # inputs of an output of a feed-forward matrix, which have one scale
HEADS = ("qs", "ks", "qe", "ke", "qo", "ko", "qp", "kp")


def unpacked(rows, scale):
    """Rows of int4 as numbers: see `pack` in `reader_export.py`."""
    return (np.concatenate([rows % 16, rows // 16], axis=1).astype(np.float32) - 8) * scale[:, None]


def weights(path, config, pair):
    """The weights of a reader by their names in a checkpoint; `pair` is the width of the vectors of beginnings and ends."""
    stored = {w.name: numpy_helper.to_array(w) for w in onnx.load(path).graph.initializer}

    def matrix(name, scale=1.0):
        """[out, in]"""
        return (stored[name].astype(np.float32) * stored[name + ".scale"]).T * np.float32(scale)

    def of_groups(name):
        """[out, in]"""
        groups = unpacked(stored[name], stored[name + ".scale"][:, 0])
        return groups.reshape(-1, groups.shape[-1]).T

    state = {"norm.weight": stored["norm"], "distance": stored["distance"]}
    state |= {f"{kept}.weight": stored[name].astype(np.float32) * stored[name + ".scale"][:, None] for name, kept in TABLES.items() if name != "table"}
    state["words.table.weight"] = unpacked(stored["table"], stored["table.scale"])
    state |= {f"words.{name}.weight": matrix("words." + name) for name in WORDS}
    for name in HEADS:
        state[name + ".weight"] = matrix(name, 1 if name[0] == "k" else (pair if name == "qp" else config.dim) ** 0.5)
    for i in range(config.layers):
        layer, block = f"layers.{i}.", f"blocks.{i}."
        q, k, v = np.split(matrix(layer + "qkv"), 3)
        gate, up = np.split(of_groups(layer + "gate_up"), 2)
        parts = {"q": q * np.float32(config.head_dim**0.5), "k": k, "v": v, "gate": gate, "up": up}
        parts |= {"o": matrix(layer + "o"), "down": of_groups(layer + "down")}
        parts |= {"norm1": stored[layer + "norm1"], "norm2": stored[layer + "norm2"]}
        state |= {f"{block}{name}.weight": part for name, part in parts.items()}
    return {name: torch.from_numpy(np.array(part)) for name, part in state.items()}
