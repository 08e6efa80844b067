"""The loop of `structgen-bench decode` beside onnxruntime-genai with guidance, and beside a bare Python loop over the same file.

    python -m venv VENV
    VENV/bin/pip install onnxruntime onnxruntime-genai numpy
    cargo build --release -p structgen-bench
    VENV/bin/python crates/structgen-bench/peers/genai_loop.py [--model DIR] [--tasks F] [--rounds N]

Same file, same prompts in tokens, same schemas, one thread each. In every round each contender generates all outputs once, structgen in a process of its own,
whose first outputs are not counted; ratios are taken within a round, and their medians are printed. A document's time is from its prompt to its last token; schemas are
compiled before, as far as the peer lets one: genai compiles a guidance for each output, which `with guidance, compiled before` leaves out of its time. Its tokens
are read back after each step, as streaming needs them.

Where its tokenizer does not write a forced text as the model was trained to read it (`training/README.md`), genai's guided outputs can go astray and run to the limit. So the documents of which
both write the same JSON are measured once more on their own; these are the figures to compare.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort
import onnxruntime_genai as og

FREE, GUIDED, JUMPING = "genai: free text", "genai: with guidance", "genai: with guidance, forced tokens at once"
ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "target/release/structgen-bench"
sys.path.insert(0, str(ROOT / "training"))

from genai_layout import convert  # noqa: E402


class Structgen:
    """One round of the command, which runs its own rounds in turn."""

    def __init__(self, binary, options):
        self.command = [binary, "decode", "--loops", "--rounds", "1", *options]

    def figures(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            subprocess.run([*self.command, "--json", out.name], check=True, stdout=subprocess.DEVNULL)
            return json.load(open(out.name, encoding="utf-8"))

    def round(self):
        loops = {loop["contender"]: loop for loop in self.figures()["loops"]}
        return {f"structgen: {name}": loop["rounds"][0] for name, loop in loops.items()}, loops["JSON Schema, plain"]["texts"]


class Genai:
    def __init__(self, folder, most):
        self.model = og.Model(str(folder))
        self.tokenizer = og.Tokenizer(self.model)
        self.most = most

    def document(self, task, guided, jumps):
        """Tokens, seconds from the prompt on, seconds behind the first token, and seconds that the guidance took to be compiled."""
        ids = task["prompt_ids"]
        began = time.perf_counter()
        parameters = og.GeneratorParams(self.model)
        parameters.set_search_options(do_sample=False, max_length=len(ids) + self.most)
        if guided:
            schema = {**task["schema"], "x-guidance": {"whitespace_flexible": False}}
            parameters.set_guidance("json_schema", json.dumps(schema), jumps)
        generator = og.Generator(self.model, parameters)
        made = time.perf_counter()
        generator.append_tokens(ids)
        out, first = [], None
        while not generator.is_done() and len(out) < self.most:
            generator.generate_next_token()
            out.append(int(generator.get_next_tokens()[0]))
            first = first or time.perf_counter()
        ended = time.perf_counter()
        # Of tokens that were forced together, a step tells the last.
        out = [int(token) for token in generator.get_sequence(0)[len(ids) :]]
        return out, ended - began, ended - first, made - began


class Bare:
    """Plain onnxruntime with numpy caches, as training/greedy_reference.py has it, without a tokenizer."""

    def __init__(self, folder):
        config = json.loads((folder / "config.json").read_text())
        self.shape = (1, config["num_key_value_heads"], 0, config["head_dim"])
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        self.session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.inputs = {i.name for i in self.session.get_inputs()}
        self.names = [i.name for i in self.session.get_inputs() if i.name.startswith("past_key_values.")]
        self.eos = config["eos_token_id"]

    def document(self, task, most):
        ids, out, first = task["prompt_ids"], [], None
        past = [np.zeros(self.shape, np.float32)] * len(self.names)
        began = time.perf_counter()
        while len(out) < most:
            before = past[0].shape[2]
            feeds = dict(zip(self.names, past))
            feeds["input_ids"] = np.array([ids], np.int64)
            feeds["attention_mask"] = np.ones((1, before + len(ids)), np.int64)
            feeds["position_ids"] = np.arange(before, before + len(ids), dtype=np.int64)[None]
            feeds = {name: value for name, value in feeds.items() if name in self.inputs}
            logits, *past = self.session.run(None, feeds)
            token = int(logits[0, -1].argmax())
            first = first or time.perf_counter()
            if token == self.eos:
                break
            out.append(token)
            ids = [token]
        ended = time.perf_counter()
        return out, ended - began, ended - first, 0.0


def tally(documents):
    """One round of a peer, in the words of structgen's own."""
    return {
        "seconds": sum(seconds for _, seconds, _, _ in documents),
        "compile": sum(compiled for _, _, _, compiled in documents),
        "later_tokens": sum(max(len(out) - 1, 0) for out, _, _, _ in documents),
        "after_first": sum(after for _, _, after, _ in documents),
    }


def value(text):
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return None


def measure(arguments, genai, bare, tasks):
    """Prints the figures over some tasks; returns those of which genai writes what structgen writes."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for task in tasks:
            print(json.dumps({"schema": task["schema"], "text": task["text"]}), file=file, flush=True)
        options = ["--model", str(arguments.model), "--max-tokens", str(arguments.max_tokens), "--tasks", file.name]
        structgen = Structgen(arguments.structgen, options)
        rounds, texts = [], {}
        for number in range(arguments.rounds + 1):
            figures, own = structgen.round()
            for name, guided, jumps in [(FREE, False, False), (GUIDED, True, False), (JUMPING, True, True)]:
                documents = [genai.document(task, guided, jumps) for task in tasks]
                figures[name] = tally(documents)
                texts[name] = [genai.tokenizer.decode(np.array(out, np.int32)) for out, *_ in documents]
            figures["python: bare loop, free text"] = tally([bare.document(task, arguments.max_tokens) for task in tasks])
            # The first round finds nothing in the processor's caches.
            if number > 0:
                rounds.append(figures)
    report(rounds, len(tasks))
    same = [value(a) is not None and value(a) == value(b) for a, b in zip(texts[GUIDED], own)]
    for name, written in texts.items():
        count = sum(value(text) is not None for text in written)
        print(f"{name}: {count} of {len(tasks)} outputs are JSON")
    print(f"{GUIDED}: {sum(same)} outputs are structgen's\n")
    return [task for task, is_same in zip(tasks, same) if is_same]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--structgen", default=str(PROGRAM), help="the program that runs structgen's loop")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "crates/structgen-model/assets/main", help="a folder in Optimum's or onnxruntime-genai's layout")
    parser.add_argument("--tasks", help="as of structgen-bench decode")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--max-tokens", type=int, default=256)
    arguments = parser.parse_args()
    options = ["--model", str(arguments.model)]
    if arguments.tasks:
        options += ["--tasks", arguments.tasks]
    tasks = Structgen(arguments.structgen, options).figures()["tasks"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # A folder whose cache is one buffer is onnxruntime-genai's as it is.
        if (arguments.model / "genai_config.json").exists():
            folder = arguments.model
        else:
            convert(arguments.model, folder)
        genai, bare = Genai(folder, arguments.max_tokens), Bare(arguments.model)
        same = measure(arguments, genai, bare, tasks)
        if same and len(same) < len(tasks):
            measure(arguments, genai, bare, same)


def report(rounds, documents):
    median = lambda values: statistics.median(list(values))
    print(f"{documents} documents, one thread, medians of {len(rounds)} rounds\n")
    print(f"{'':<46} {'tokens/s':>9} {'documents/s':>12} {'structgen is':>13} {'compiled before':>16}")
    for name in rounds[0]:
        rate = median(figures[name]["later_tokens"] / figures[name]["after_first"] for figures in rounds)
        speed = median(documents / figures[name]["seconds"] for figures in rounds)
        shown = ""
        if not name.startswith("structgen"):
            # The same kind of output: free text beside free text.
            own = f"structgen: {'free text' if 'free' in name else 'JSON Schema'}, plain"
            times = median(figures[name]["seconds"] / figures[own]["seconds"] for figures in rounds)
            before = median((figures[name]["seconds"] - figures[name]["compile"]) / figures[own]["seconds"] for figures in rounds)
            shown = f"{times:>12.2f}x {before:>15.2f}x"
        print(f"{name:<46} {rate:>9.0f} {speed:>12.1f} {shown}".rstrip())
    loss = median(1 - rate_of(figures[GUIDED]) / rate_of(figures[FREE]) for figures in rounds)
    print(f"\n{GUIDED}: {100 * loss:.0f}% fewer tokens per second than free text")


def rate_of(tally):
    return tally["later_tokens"] / tally["after_first"]


if __name__ == "__main__":
    main()
