"""Loading, prompts, tokens and memory of a large random model, beside onnxruntime-genai: processes of both in turns.

    cargo build --release -p structgen-ort --example folder_figures
    python speed.py OUT --program ../../target/release/examples/folder_figures [--threads 2] [--rounds 5]

Needs onnxruntime-genai, torch and transformers. The model has Llama's shape and about 300M parameters; its weights are random, so its
texts are of no interest, and both runtimes write the same greedy ones. Times are the fastest of all rounds, since other work on a machine
only adds to them; memory is the median. Ratios are structgen's to the other's.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

PROMPT, TOKENS = 512, 64
CASES = [(1, PROMPT, TOKENS), (8, PROMPT // 4, TOKENS // 2)]


def make(folder):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from models import ASSETS

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=32_000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=20, num_attention_heads=16,
                         num_key_value_heads=4, max_position_embeddings=2048, tie_word_embeddings=False, bos_token_id=2, eos_token_id=1,
                         pad_token_id=0)
    model = LlamaForCausalLM(config)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f}M parameters")
    model.save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).write_bytes((ASSETS / file).read_bytes())


def export(model, folder, precision):
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", model, "-o", folder, "-p", precision, "-e", "cpu", "-c", "none"]
    subprocess.run(command, check=True, capture_output=True)


def resident():
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


def genai(folder, batch, prompt, tokens, threads):
    """The figures of one process of onnxruntime-genai, as the program prints them of structgen."""
    import numpy as np
    import onnxruntime_genai as og

    before = resident()
    started = time.perf_counter()
    config = og.Config(str(folder))
    config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": threads}}}}))
    model = og.Model(config)
    load, loaded = time.perf_counter() - started, resident()
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=prompt + tokens + 2, min_length=prompt + tokens + 2, batch_size=batch, do_sample=False)
    generator = og.Generator(model, params)
    ids = (np.arange(prompt)[None] * 31 + np.arange(batch)[:, None] * 7 + 5) % 32_000
    started = time.perf_counter()
    generator.append_tokens(ids.astype(np.int32))
    generator.generate_next_token()
    prefill, prompted = time.perf_counter() - started, resident()
    started = time.perf_counter()
    for _ in range(tokens):
        generator.generate_next_token()
    decode = time.perf_counter() - started
    # Python and its packages are not the runtime's.
    loaded, prompted, decoded = (after - before for after in (loaded, prompted, resident()))
    return {"load": load, "prefill": prefill, "decode": decode, "loaded": loaded, "prompted": prompted, "decoded": decoded,
            "first": int(generator.get_next_tokens()[0])}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--program")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--genai", type=int, nargs=4, help=argparse.SUPPRESS)
    arguments = arguments.parse_args()
    if arguments.genai:
        print(json.dumps(genai(arguments.out, *arguments.genai)))
        return
    model = arguments.out / "large"
    if not (model / "config.json").exists():
        make(model)
    print("| precision | batch | what | structgen | onnxruntime-genai | ratio |\n|---|---|---|---|---|---|")
    for precision in ("fp32", "int4"):
        folder = arguments.out / f"large-{precision}"
        if not (folder / "genai_config.json").exists():
            export(model, folder, precision)
        for batch, prompt, tokens in CASES:
            sides = {"structgen": [arguments.program, folder, batch, prompt, tokens, arguments.threads],
                     "genai": [sys.executable, __file__, folder, "--genai", batch, prompt, tokens, arguments.threads]}
            found = {name: [] for name in sides}
            for _ in range(arguments.rounds):
                for name, command in sides.items():
                    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
                    found[name].append(json.loads(done.stdout.splitlines()[-1]))
            assert {figures["first"] for figures in found["structgen"]} == {figures["first"] for figures in found["genai"]}, found
            def figure(side, key):
                figures = [figures[key] for figures in found[side]]
                return min(figures) if key in ("load", "prefill", "decode") else statistics.median(figures)

            for what, key, scale, unit in (
                ("load", "load", 1, "s"), ("prompt", "prefill", 1, "s"), ("tokens", "decode", 1, "s"), ("memory, loaded", "loaded", 1e-3, "MB"),
                ("memory after the prompt", "prompted", 1e-3, "MB"), ("memory at the end", "decoded", 1e-3, "MB")):
                ours, theirs = figure("structgen", key) * scale, figure("genai", key) * scale
                print(f"| {precision} | {batch} | {what} | {ours:.2f} {unit} | {theirs:.2f} {unit} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
