"""Exports every model of `models.py` in every way, and compares what structgen writes with what the exporter's own runtime does.

    python models.py OUT/models
    cargo build --release && cargo build --release -p structgen-ort --example texts_together
    python matrix.py OUT --target ../../target/release --exporter optimum > matrix.md

A cell is `equal` (texts that part where logits are within rounding of each other are counted), `refused: ...` with structgen's sentence, `exporter: ...` where the exporter or its runtime fails, or WRONG. What is
compared, 48 tokens after each of three prompts: greedy texts, with drafts, of a chat, of all prompts in one batch; the best of three beams
in one batch; and a text under a JSON Schema, whose forced tokens run together, with its tokens one by one.

The reference of greedy texts runs one token at a time, so that what a graph makes of several tokens after a past does not matter; that
of beams runs each text whole, so that no cache matters. For encoder-decoders both are transformers.
"""

import argparse
import functools
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from models import ENCODER_DECODERS

PROMPTS = ["The ship leaves at nine and returns on Friday.", "a", "1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377 and so on"]
TOKENS = 48
BEAMS, BEAM_TOKENS = 3, 16
# The ids of pad, bos, text and json, as the tokenizer has them, and the end of sequence.
SPECIAL, END = [0, 2, 3, 4], 1
NUMBERS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
           "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}


def optimum(model, folder, variant):
    """optimum's export, plain, in two files, or as transformers.js has it: quantised while it runs, in half precision, in four bits."""
    from optimum.exporters.onnx import main_export

    task = "text2text-generation-with-past" if model.name in ENCODER_DECODERS else "text-generation-with-past"
    kept_apart = {"legacy": {"legacy": True}, "pair": {"legacy": True, "no_post_process": True}}.get(variant, {})
    main_export(str(model), str(folder), task=task, do_validation=False, **kept_apart)
    # Older versions cannot read the tokenizer, and leave it out.
    shutil.copy(model / "tokenizer.json", folder)
    file = folder / "model.onnx"
    if variant == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(file, file, weight_type=QuantType.QInt8)
    elif variant == "fp16":
        import onnx
        from onnxruntime.transformers.float16 import convert_float_to_float16

        onnx.save(convert_float_to_float16(onnx.load(file), keep_io_types=True), file)
    elif variant == "q4":
        import onnx
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        quantizer = MatMulNBitsQuantizer(onnx.load(file), block_size=32, is_symmetric=True)
        quantizer.process()
        quantizer.model.save_model_to_file(str(file))


def builder(model, folder, variant):
    """onnxruntime-genai's model builder; variants are its precisions and extra options."""
    precision, *extra = variant.split("+")
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", model, "-o", folder, "-p", precision, "-e", "cpu", "-c", "none"]
    if any("kv_cache" in option for option in extra):
        config = json.loads((model / "config.json").read_text())
        layers = config["num_hidden_layers"]
        if "layer_types" in config and "conv" in config["layer_types"]:
            raise RuntimeError("scales of layers without attention")
        scales = folder.parent / f"scales-{layers}.json"
        scales.parent.mkdir(parents=True, exist_ok=True)
        # Numbers of random models are below four; the file says what they are divided by.
        scales.write_text(json.dumps({"qmax": 128, "scales": {"k_scales": [4 / 128] * layers, "v_scales": [4 / 128] * layers}}))
        extra = [*extra, f"kv_cache_scale_file={scales}"]
    if extra:
        command += ["--extra_options", *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])


EXPORTERS = {
    "optimum": (optimum, ["plain", "int8", "fp16", "q4"]),
    # With optimum 1.16, whose environment cannot read the tokenizer: `--export-alone`.
    "legacy": (optimum, ["plain", "legacy", "pair"]),
    "builder": (builder, ["fp32", "int4", "fp32+prune_lm_head=true", "fp16", "fp32+kv_cache_quant_scheme=int8_per_tensor",
                          "fp32+kv_cache_quant_scheme=int4_per_tensor"]),
}


def allowed(logits):
    """Special tokens are never written but for the end of sequence."""
    logits = logits.astype(np.float32)
    logits[SPECIAL] = -np.inf
    return logits


class Onnx:
    """A decoder in Python's ONNX Runtime that returns its cache."""

    def __init__(self, folder):
        files = [folder / name for name in ("model.onnx", "decoder_model_merged.onnx", "decoder_with_past_model.onnx")]
        path = next(file for file in files if file.exists())
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        session = lambda path: ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.session = session(path)
        self.beginning = session(folder / "decoder_model.onnx") if path.stem == "decoder_with_past_model" else self.session
        genai = folder / "genai_config.json"
        genai = json.loads(genai.read_text()) if genai.exists() else {"model": {"decoder": {}}, "search": {}}
        # onnxruntime-genai's builder leaves the size of a head open.
        self.head_size = genai["model"]["decoder"].get("head_size", 0)
        # Past and present may be one buffer, with room for all positions: caches of the last positions alone must be.
        self.room = genai["model"]["context_length"] if genai["search"].get("past_present_share_buffer") else 0
        self.past = [i for i in self.session.get_inputs() if i.name.startswith("past")]
        self.present = [o.name for o in self.session.get_outputs() if o.name.startswith("present")]

    def start(self):
        known = {"batch_size": 1, "kv_cache_dim": self.head_size, "past_sequence_length": self.room, "past_sliding_length": self.room}
        empty = lambda shape: [d if isinstance(d, int) else known.get(d, 1 if "batch" in str(d) else 0) for d in shape]
        return 0, {i.name: np.zeros(empty(i.shape), NUMBERS[i.type]) for i in self.past}

    def run(self, state, new):
        """The logits after some tokens, and the state after them."""
        start, cache = state
        end = start + len(new)
        session = self.session if start else self.beginning
        inputs = {i.name: i for i in session.get_inputs()}
        positions = [list(range(start, end))]
        if "position_ids" in inputs and len(inputs["position_ids"].shape) == 3:
            positions = [positions] * 3
        known = {"input_ids": [new], "attention_mask": [[1] * end], "position_ids": positions, "use_cache_branch": [start > 0]}
        feeds = {name: np.array(known[name], NUMBERS[inputs[name].type]) for name in inputs if name in known}
        if self.room:
            return allowed(self.run_in_place(feeds, cache)[0, -1]), (end, cache)
        feeds |= {name: value for name, value in cache.items() if name in inputs}
        logits, *values = session.run(["logits", *self.present], feeds)
        return allowed(logits[0, -1]), (end, dict(zip((i.name for i in self.past), values)))

    def run_in_place(self, feeds, cache):
        """The logits of a run that writes new keys and values to its cache."""
        binding = self.session.io_binding()
        for name, value in feeds.items():
            binding.bind_cpu_input(name, value)
        for (name, value), present in zip(cache.items(), self.present):
            buffer = ort.OrtValue.ortvalue_from_numpy(value) if isinstance(value, np.ndarray) else value
            cache[name] = buffer
            binding.bind_ortvalue_input(name, buffer)
            # States of fixed size are not written in place: no graph reads them after it has.
            binding.bind_ortvalue_output(present, buffer)
        binding.bind_output("logits")
        self.session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()[-1]

    def whole(self, ids):
        return self.run(self.start(), ids)[0]

    def one_by_one(self, ids):
        state = self.start()
        for id in ids:
            logits, state = self.run(state, [id])
        return logits

    def greedy(self, ids, single):
        state = self.start()
        for part in [[id] for id in ids] if single else [ids]:
            logits, state = self.run(state, part)
        out = []
        while len(out) < TOKENS:
            out.append(int(logits.argmax()))
            logits, state = self.run(state, out[-1:])
        return out


class Seq2Seq:
    """An encoder-decoder in transformers, whose input ends with the end of sequence."""

    def __init__(self, model):
        from transformers import AutoModelForSeq2SeqLM

        self.model = AutoModelForSeq2SeqLM.from_pretrained(model).eval()
        forced = self.model.generation_config.forced_bos_token_id
        self.begin = [self.model.config.decoder_start_token_id] + ([] if forced is None else [forced])

    def after(self, source, out):
        import torch

        with torch.no_grad():
            source, text = torch.tensor([[*source, END]]), torch.tensor([self.begin + out])
            return allowed(self.model(input_ids=source, decoder_input_ids=text).logits[0, -1].numpy())

    def greedy(self, ids, single):
        out = []
        while len(out) < TOKENS:
            out.append(int(self.after(ids, out).argmax()))
        return out


def by_genai(folder, ids):
    """onnxruntime-genai's own loop."""
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


def best_beam(after):
    """The most probable text of a beam search without an end, and by how much it leads; `after` has the logits after a text."""
    beams, gap = [(0.0, [])], np.inf
    for _ in range(BEAM_TOKENS):
        found = []
        for score, text in beams:
            logits = after(text).astype(np.float64)
            scores = score + logits - np.logaddexp.reduce(logits)
            scores[END] = -np.inf
            found += [(float(scores[id]), [*text, int(id)]) for id in np.argsort(-scores)[: BEAMS + 1]]
        found.sort(key=lambda beam: -beam[0])
        gap = min(gap, found[BEAMS - 1][0] - found[BEAMS][0])
        beams = found[:BEAMS]
    return beams[0][1], min(gap, beams[0][0] - beams[1][0])


def structgen(target, folder, prompt, *options):
    """The tokens of a greedy generation, or structgen's error."""
    command = [target / "structgen", "generate", prompt, "--model", folder, "--max-tokens", TOKENS, "--set", "threads=1", "--details", *options]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    try:
        return [token["id"] for token in json.loads(done.stdout.splitlines()[0])["tokens"]]
    except (ValueError, KeyError, IndexError):
        return failure(done)


def together(target, folder, prompts, tokens, beams):
    """The texts of all prompts in one batch, or structgen's error."""
    request = {"prompts": prompts, "tokens": tokens, "banned": SPECIAL + [END], "beams": beams}
    command = [str(target / "examples" / "texts_together"), str(folder)]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else failure(done)


def failure(done):
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


def until_end(tokens):
    """structgen writes no special tokens but the end of sequence; runtimes do."""
    return list(itertools.takewhile(lambda token: token not in (END, *SPECIAL), tokens))


def cell(target, folder, exporter, variant, model):
    """What comes of a folder, where need be with every token run by itself."""
    # Logits are up to some tens: a step of half precision is a hundredth, and so is one of whole numbers that are keys.
    tolerance = 0.05 if variant == "fp16" or "kv_cache" in variant else 1e-3
    single, close = variant == "int8", 0
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    prompts = [tokenizer.encode(prompt).ids for prompt in PROMPTS]
    is_seq2seq = model.name in ENCODER_DECODERS
    try:
        reference = Seq2Seq(model) if is_seq2seq else Onnx(folder)
        own = None
        if exporter == "builder":
            own = attempt(lambda: [by_genai(folder, ids) for ids in prompts])
        # Where onnxruntime-genai fails, ONNX Runtime may run its graph all the same.
        wholes = own or [reference.greedy(ids, single) for ids in prompts]
    except Exception as error:
        return f"exporter: {first_line(error)}"
    equal = "equal" if own or exporter != "builder" else "equal to ONNX Runtime; onnxruntime-genai fails"
    alone = ["--set", "single_tokens=true"] if single else []
    for prompt, ids, whole in zip(PROMPTS, prompts, wholes):
        expected = until_end(whole)
        for name, options in MODES.items():
            got = structgen(target, folder, prompt, *options, *alone)
            if isinstance(got, str):
                return f"refused ({name}): {got[:160]}"
            # Where the runtime writes a special token, structgen writes another and goes on.
            got = until_end(got)[: len(expected) if END not in whole else None]
            if got != expected:
                if not are_close(reference, ids, expected, got, tolerance):
                    return f"WRONG ({name}): {got[:8]} for {expected[:8]}"
                close += 1
        # Under a schema many tokens are forced, and are run together; one by one they must be the same.
        if not single:
            schema = ["--json-schema", SCHEMA]
            joined, apart = (structgen(target, folder, prompt, *schema, *more) for more in ([], ["--set", "single_tokens=true"]))
            if joined != apart:
                if isinstance(joined, str) or isinstance(apart, str) or not are_close(reference, ids, apart, joined, tolerance):
                    return f"WRONG (schema): {joined[:8]} for {apart[:8]}"
                close += 1
    if single:
        return equal
    got = together(target, folder, prompts, TOKENS, 1)
    if isinstance(got, str):
        return f"refused (batch): {got[:160]}"
    for got, ids, whole in zip(got, prompts, wholes):
        # The end of sequence is banned here, and so is what a runtime may write.
        expected = until_end(whole)
        if got[: len(expected)] != expected:
            if not are_close(reference, ids, expected, got, tolerance):
                return f"WRONG (batch): {got[:8]} for {expected[:8]}"
            close += 1
    got = together(target, folder, prompts, BEAM_TOKENS, BEAMS)
    if isinstance(got, str):
        return f"refused (beams): {got[:160]}"
    for got, ids in zip(got, prompts):
        after = functools.partial(reference.after, ids) if is_seq2seq else lambda text: reference.whole(ids + text)
        expected, lead = best_beam(after)
        # Sums of log probabilities that are within rounding of each other may come out in either order.
        if got != expected and lead > tolerance:
            return f"WRONG (beams): {got[:8]} for {expected[:8]}, {lead:.4f} ahead"
        close += got != expected
    return f"{equal} ({close} within rounding)" if close else equal


def attempt(what):
    try:
        return what()
    except Exception:
        return None


def are_close(reference, ids, expected, got, tolerance):
    """Whether two greedy texts part where their tokens' logits are within rounding of each other."""
    at = next((i for i, (a, b) in enumerate(zip(expected, got)) if a != b), None)
    if at is None or isinstance(reference, Seq2Seq):
        return False
    logits = reference.one_by_one(ids + expected[:at])
    return abs(logits[expected[at]] - logits[got[at]]) < tolerance


def first_line(error):
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:120]


SCHEMA = Path(__file__).parent / "schema.json"
# All of them greedy: none may change a token. The tokenizer's chat template is the message itself.
MODES = {"greedy": [], "drafts from the prompt": ["--strategy", "speculate", "--set", "speculate.lookup=on"], "chat": ["--chat"]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--target", type=Path, required=True, help="the folder with structgen and its examples")
    arguments.add_argument("--exporter", choices=EXPORTERS, required=True)
    arguments.add_argument("--variants", nargs="*")
    arguments.add_argument("--only", nargs="*")
    arguments.add_argument("--export-alone", action="store_true", help="for another environment to compare")
    arguments = arguments.parse_args()
    export, variants = EXPORTERS[arguments.exporter]
    variants = arguments.variants or variants
    print("| model |", " | ".join(variants), "|\n|" + "---|" * (len(variants) + 1))
    for model in sorted((arguments.out / "models").iterdir()):
        if arguments.only and model.name not in arguments.only:
            continue
        cells = []
        for variant in variants:
            if model.name in ENCODER_DECODERS and (variant not in ("plain", "legacy", "pair") or arguments.exporter == "builder"):
                cells.append("not made")
                continue
            folder = arguments.out / arguments.exporter / f"{model.name}-{variant}"
            try:
                if not folder.exists():
                    try:
                        export(model, folder, variant)
                    except BaseException:
                        shutil.rmtree(folder, ignore_errors=True)
                        raise
                found = "exported" if arguments.export_alone else cell(arguments.target, folder, arguments.exporter, variant, model)
            except Exception as error:
                found = f"exporter: {first_line(error)}"
            cells.append(found)
        print("|", model.name, "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
