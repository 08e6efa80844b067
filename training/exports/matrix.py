"""Exports every model of `models.py` in every way, and compares what structgen writes with what the exporter's own runtime does.

    python models.py OUT/models
    python matrix.py OUT --structgen ../../target/release/structgen --exporter optimum > matrix.md

A cell is `equal`, `refused: ...` with structgen's sentence, `exporter: ...` where the exporter or its runtime fails, or WRONG. The
reference runs one token at a time, so that what a graph makes of several tokens after a past does not matter. That of
encoder-decoders is transformers.
"""

import argparse
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from models import ENCODER_DECODERS

PROMPTS = ["The ship leaves at nine and returns on Friday.", "a", "1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377 and so on"]
TOKENS = 48
# The ids of pad, bos, text and json, as the tokenizer has them.
SPECIAL = [0, 2, 3, 4]
NUMBERS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


def optimum(model, folder, variant):
    """optimum's export, plain or quantised while it runs."""
    from optimum.exporters.onnx import main_export

    task = "text2text-generation-with-past" if model.name in ENCODER_DECODERS else "text-generation-with-past"
    main_export(str(model), str(folder), task=task, do_validation=False)
    if variant == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(folder / "model.onnx", folder / "model.onnx", weight_type=QuantType.QInt8)


def builder(model, folder, variant):
    """onnxruntime-genai's model builder; variants are its precisions and extra options."""
    precision, *extra = variant.split("+")
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", model, "-o", folder, "-p", precision, "-e", "cpu", "-c", "none"]
    if extra:
        command += ["--extra_options", *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])


EXPORTERS = {"optimum": (optimum, ["plain", "int8"]), "builder": (builder, ["fp32", "int4", "fp32+prune_lm_head=true", "fp16"])}


def by_onnxruntime(folder, ids, single):
    """A greedy loop over a graph that returns its cache, a token a run after the prompt, or from the beginning."""
    path = next(p for p in (folder / "model.onnx", folder / "decoder_model_merged.onnx") if p.exists())
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = {i.name: i for i in session.get_inputs()}
    past = [i for name, i in inputs.items() if name.startswith("past")]
    present = [o.name for o in session.get_outputs() if o.name.startswith("present")]
    empty = lambda shape: [d if isinstance(d, int) else (1 if "batch" in str(d) else 0) for d in shape]
    cache = {i.name: np.zeros(empty(i.shape), NUMBERS[i.type]) for i in past}
    parts = [[id] for id in ids] if single else [list(ids)]
    ids, out = [], []
    while len(out) < TOKENS:
        new = parts.pop(0)
        start = len(ids)
        ids += new
        known = {"input_ids": [new], "attention_mask": [[1] * len(ids)], "position_ids": [list(range(start, len(ids)))], "use_cache_branch": [start > 0]}
        feeds = {name: np.array(known[name], NUMBERS[inputs[name].type]) for name in inputs if name in known}
        logits, *values = session.run(["logits", *present], feeds | cache)
        cache = dict(zip((i.name for i in past), values))
        if not parts:
            logits[0, -1, SPECIAL] = -np.inf
            parts.append([int(logits[0, -1].argmax())])
            out += parts[-1]
    return out


def by_transformers(model, ids):
    """The greedy output of an encoder-decoder, whose input ends with the end of sequence."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    model = AutoModelForSeq2SeqLM.from_pretrained(model).eval()
    forced = model.generation_config.forced_bos_token_id
    start = [model.config.decoder_start_token_id] + ([] if forced is None else [forced])
    source, out = torch.tensor([[*ids, 1]]), []
    with torch.no_grad():
        while len(out) < TOKENS:
            logits = model(input_ids=source, decoder_input_ids=torch.tensor([start + out])).logits[0, -1]
            logits[SPECIAL] = -np.inf
            out.append(int(logits.argmax()))
    return out


def by_genai(folder, ids, single):
    """onnxruntime-genai's own loop, which does not know `single`."""
    import onnxruntime_genai as og

    model = og.Model(str(folder))
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(ids) + TOKENS, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(np.array([ids], np.int32))
    out = []
    while not generator.is_done() and len(out) < TOKENS:
        generator.generate_next_token()
        out.append(int(generator.get_next_tokens()[0]))
    return out


def structgen(program, folder, prompt, *options):
    """The tokens of a greedy generation, or structgen's error."""
    command = [program, "generate", prompt, "--model", folder, "--max-tokens", TOKENS, "--threads", 1, "--details", *options]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    try:
        return [token["id"] for token in json.loads(done.stdout.splitlines()[0])["tokens"]]
    except (ValueError, KeyError, IndexError):
        lines = done.stderr.strip().splitlines()
        return lines[-1] if lines else f"exit code {done.returncode}"


def until_end(tokens):
    """structgen writes no special tokens but the end of sequence; runtimes do."""
    return list(itertools.takewhile(lambda token: token not in (1, *SPECIAL), tokens))


def cell(program, folder, exporter, single, model):
    """What comes of a folder, where need be with every token run by itself."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt).ids
        try:
            if model.name in ENCODER_DECODERS:
                whole = by_transformers(model, ids)
            else:
                whole = (by_genai if exporter == "builder" else by_onnxruntime)(folder, ids, single)
        except Exception as error:
            return f"exporter: {str(error).splitlines()[0][:120]}"
        expected = until_end(whole)
        for name, options in MODES.items():
            alone = ["--single-tokens"] if single else []
            got = structgen(program, folder, prompt, *options, *alone)
            if isinstance(got, str):
                return f"refused ({name}): {got[:160]}"
            # Where the runtime writes a special token, structgen writes another and goes on.
            got = until_end(got)[: len(expected) if 1 not in whole else None]
            if got != expected:
                return f"WRONG ({name}): {got[:8]} for {expected[:8]}"
        # Under a schema many tokens are forced, and are run together; one by one they must be the same.
        if single:
            continue
        schema = ["--json-schema", SCHEMA]
        together, single = (structgen(program, folder, prompt, *schema, *more) for more in ([], ["--single-tokens"]))
        if together != single:
            return f"WRONG (schema): {together[:8]} for {single[:8]}"
    return "equal"


SCHEMA = Path(__file__).parent / "schema.json"
# All of them greedy: drafts, and rows of a beam of one, must not change a token.
MODES = {"greedy": [], "drafts from the prompt": ["--strategy", "speculate", "--set", "speculate.lookup=on"]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--structgen", required=True)
    arguments.add_argument("--exporter", choices=EXPORTERS, required=True)
    arguments.add_argument("--only", nargs="*")
    arguments = arguments.parse_args()
    export, variants = EXPORTERS[arguments.exporter]
    print("| model |", " | ".join(variants), "|\n|" + "---|" * (len(variants) + 1))
    for model in sorted((arguments.out / "models").iterdir()):
        if arguments.only and model.name not in arguments.only:
            continue
        cells = []
        for variant in variants:
            if model.name in ENCODER_DECODERS and variant != "plain":
                cells.append("not made")
                continue
            folder = arguments.out / arguments.exporter / f"{model.name}-{variant}"
            try:
                if not folder.exists():
                    export(model, folder, variant)
                found = cell(arguments.structgen, folder, arguments.exporter, variant == "int8", model)
            except Exception as error:
                lines = str(error).splitlines() or [type(error).__name__]
                found = f"exporter: {lines[0][:120]}"
            cells.append(found)
        print("|", model.name, "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
