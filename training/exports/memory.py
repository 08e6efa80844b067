"""Compares what `structgen model memory` computes with what processes take, for folders of six kinds.

    python memory.py OUT --structgen ../../target/release/structgen > memory.md

The folders are Llama's architecture with random weights, large enough that weights and cache stand out from everything else. They
are made in OUT where they are not there yet, and take about two gigabytes.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import models

# A Python with onnxruntime-genai, whose versions of transformers are not those of optimum.
BUILDER = os.environ.get("BUILDER_PYTHON", sys.executable)
SIZE = {"hidden_size": 1536, "intermediate_size": 6144, "num_attention_heads": 12, "num_key_value_heads": 12,
        "max_position_embeddings": 4096}
SOURCES = {"plain": SIZE, "grouped": SIZE | {"num_key_value_heads": 3}}
# Each kind is exported with as many layers and with half of them: what a session takes besides weights is the same.
LAYERS, HALF = 4, 2


def optimum(source, folder):
    from optimum.exporters.onnx import main_export

    main_export(str(source), str(folder), task="text-generation-with-past", do_validation=False)


def float16(source, folder):
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    optimum(source, folder)
    path = folder / "model.onnx"
    onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=False), path)


def int8(source, folder):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    optimum(source, folder)
    quantize_dynamic(folder / "model.onnx", folder / "model.onnx", weight_type=QuantType.QInt8)


def builder(precision):
    def export(source, folder):
        command = [BUILDER, "-m", "onnxruntime_genai.models.builder", "-i", source, "-o", folder, "-p", precision, "-e", "cpu", "-c", folder / "cache"]
        subprocess.run(command, check=True, capture_output=True)

    return export


FOLDERS = {
    "float32": ("plain", optimum),
    "float16": ("plain", float16),
    "int8": ("plain", int8),
    "int4": ("plain", builder("int4")),
    "grouped heads": ("grouped", optimum),
    "shared buffers": ("plain", builder("fp32")),
}


def made(out, name, layers):
    """The folder of a kind, made where need be."""
    source, export = FOLDERS[name]
    folder = out / f"{name.replace(' ', '-')}-{layers}"
    if not (folder / "model.onnx").exists():
        weights = out / "sources" / f"{source}-{layers}"
        if not (weights / "config.json").exists():
            weights.mkdir(parents=True, exist_ok=True)
            models.DECODERS["llama"] = SOURCES[source] | {"num_hidden_layers": layers}
            models.make("llama", weights)
        folder.mkdir(parents=True, exist_ok=True)
        export(weights, folder)
    return folder


ENVIRONMENT = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
# Tokens at whose number memory is compared. A buffer that is shared grows by doubling, and has just done so at neither.
SHORT, LONG = 250, 1018


def weights(program, folder):
    """The bytes of weights as computed, those that loading adds to a process, and those that a token takes in cache and workspace."""
    done = subprocess.run([program, "model", "memory", str(folder), "--json"], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    found = json.loads(done.stdout)
    cache = found["cache_bytes_per_token"] * found["cache_copies"]
    return found["weight_bytes_on_processor"], found["process_bytes"], cache, found["workspace_bytes_per_token"]


def resident(program, folder, tokens):
    """The most anonymous memory of a process that writes so many tokens, in its last tenth: no buffer is copied to a larger one there."""
    options = ["--max-tokens", tokens, "--set", f"min_new_tokens={tokens}", "--temperature", 1, "--seed", 1, "--set", "threads=2"]
    command = [program, "generate", "a b c", "--model", folder, *options]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    found = []
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except FileNotFoundError:
            break
        found += [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon")]
        time.sleep(0.002)
    return max(found[-len(found) // 10:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--structgen", default="structgen")
    arguments = parser.parse_args()
    megabytes = lambda number: f"{number / 1e6:.1f}"
    print("| folder | weights, computed | process | apart | cache, computed | process | apart | workspace, at most | process |")
    print("|---|---|---|---|---|---|---|---|---|")
    growth = lambda folder: resident(arguments.structgen, folder, LONG) - resident(arguments.structgen, folder, SHORT)
    for name in FOLDERS:
        folders = [made(arguments.out, name, layers) for layers in (LAYERS, HALF)]
        (computed, process, per_token, workspace), half = (weights(arguments.structgen, folder) for folder in folders)
        computed, process, per_token = computed - half[0], process - half[1], per_token - half[2]
        # What a step takes beside the cache is the same for any number of layers.
        whole, of_half = (growth(folder) for folder in folders)
        cells = [name]
        for expected, found in ((computed, process), ((LONG - SHORT) * per_token, whole - of_half)):
            cells += [f"{megabytes(expected)} MB", f"{megabytes(found)} MB", f"{(found / expected - 1) * 100:+.1f}%"]
        rest = (of_half * LAYERS - whole * HALF) / (LAYERS - HALF)
        cells += [f"{megabytes((LONG - SHORT) * workspace)} MB", f"{megabytes(rest)} MB"]
        print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
