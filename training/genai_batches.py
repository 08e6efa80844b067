"""Tokens per second of onnxruntime-genai's greedy decoding by batch size, as the example `batched_decoding` measures them.

    python genai_batches.py out/gqa [PROMPT_TOKENS] [WINDOWS]
"""

import sys
import time

import numpy as np
import onnxruntime_genai as og


STEPS = 8


def measure(model, batch, prompt, windows, vocab):
    """Prompts of equal length, as the library wants them, then the fastest of windows of steps of one token of each row."""
    new = windows * STEPS
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=prompt + new + 2, min_length=prompt + new + 2, batch_size=batch, do_sample=False)
    generator = og.Generator(model, params)
    ids = (np.arange(prompt)[None] * 31 + np.arange(batch)[:, None] * 7 + 5) % vocab
    generator.append_tokens(ids.astype(np.int32))
    generator.generate_next_token()
    fastest = float("inf")
    for _ in range(windows):
        started = time.perf_counter()
        for _ in range(STEPS):
            generator.generate_next_token()
        fastest = min(fastest, time.perf_counter() - started)
    return batch * STEPS / fastest


def main():
    folder, *rest = sys.argv[1:]
    prompt, windows = (int(rest[i]) if len(rest) > i else default for i, default in enumerate((64, 12)))
    model = og.Model(folder)
    for batch in (1, 4, 8, 16):
        print(f"batch {batch:2}: {measure(model, batch, prompt, windows, 16_384):7.1f} tokens/s")


if __name__ == "__main__":
    main()
