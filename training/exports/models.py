"""Tiny models of random weights in the architectures that people export, as transformers saves them.

    python models.py OUT [NAME ...]

A folder of OUT for each: configuration, weights, and the embedded model's tokenizer. Weights are larger than those of a fresh
model, so that logits are apart and attention matters.
"""

import itertools
import shutil
import sys
from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

ASSETS = Path(__file__).resolve().parents[2] / "crates" / "structgen-model" / "assets" / "main"
VOCAB, CONTEXT = 4096, 256
COMMON = {"vocab_size": VOCAB, "bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0}
# The names that most configurations share, and those of GPT-2's descendants.
PLAIN = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": CONTEXT}
GROUPED = PLAIN | {"num_key_value_heads": 2}
# Heads of 32: half of one is rotated, and the operators take multiples of 8.
WIDE = {"hidden_size": 128, "head_dim": 32}
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT}
SEQ2SEQ = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
           "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": CONTEXT, "decoder_start_token_id": 2,
           "forced_eos_token_id": None}

DECODERS = {
    "arcee": GROUPED,
    "bloom": {"hidden_size": 64, "n_layer": 2, "n_head": 4, "seq_length": CONTEXT},
    "codegen": GPT | {"rotary_dim": 8, "n_ctx": CONTEXT},
    "cohere": GROUPED | {"logit_scale": 1.0},
    "falcon": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "new_decoder_architecture": False, "multi_query": True},
    "gemma": GROUPED | {"head_dim": 16},
    "gemma2": GROUPED | {"head_dim": 16, "sliding_window": 16},
    "gemma3_text": GROUPED | {"head_dim": 16, "sliding_window": 16},
    "glm": GROUPED | {"head_dim": 16},
    "gpt2": GPT,
    "gpt_bigcode": GPT,
    "gpt_neo": {"hidden_size": 64, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]],
                "window_size": 16, "max_position_embeddings": CONTEXT},
    "gpt_neox": PLAIN,
    "gptj": GPT | {"rotary_dim": 8},
    "granite": GROUPED,
    "helium": GROUPED | {"head_dim": 16},
    "llama": GROUPED,
    "lfm2": GROUPED | {"num_hidden_layers": 4, "block_auto_adjust_ff_dim": False,
                       "layer_types": ["conv", "conv", "full_attention", "conv"]},
    "mistral": GROUPED | WIDE | {"sliding_window": 16},
    "mpt": {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": CONTEXT},
    "nemotron": GROUPED | WIDE,
    "olmo": GROUPED,
    "olmo2": GROUPED,
    "opt": {"hidden_size": 64, "ffn_dim": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "word_embed_proj_dim": 64,
            "max_position_embeddings": CONTEXT},
    "phi": PLAIN | {"hidden_size": 128},
    "phi3": GROUPED,
    "phi3_long": GROUPED | {"max_position_embeddings": 8192, "original_max_position_embeddings": 4096, "rope_scaling": {
        "type": "longrope", "short_factor": [1.0 + 0.1 * i for i in range(8)], "long_factor": [4.0 + i for i in range(8)]}},
    "qwen2": GROUPED,
    "qwen3": GROUPED | {"head_dim": 16},
    "qwen3_moe": GROUPED | {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    "smollm3": GROUPED,
    "stablelm": GROUPED,
}
ENCODER_DECODERS = {
    "bart": SEQ2SEQ,
    "t5": {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    "mt5": {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
    "marian": SEQ2SEQ,
}
# Models of images and texts, of which onnxruntime-genai's builder exports the decoder.
WITH_IMAGES = {
    "qwen3_5": {
        "text_config": COMMON | GROUPED | {
            "num_hidden_layers": 4, "head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
            "linear_value_head_dim": 16, "rope_parameters": {
                "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25, "mrope_section": [1, 1, 2],
                "mrope_interleaved": True}},
        "vision_config": {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 64},
    },
}
KINDS = {AutoModelForCausalLM: DECODERS, AutoModelForSeq2SeqLM: ENCODER_DECODERS}
# Versions that optimum 1.16 goes with have no such models.
if hasattr(transformers, "AutoModelForImageTextToText"):
    KINDS[transformers.AutoModelForImageTextToText] = WITH_IMAGES


def make(name, folder):
    """Saves one model."""
    kind, settings = next((kind, models[name]) for kind, models in KINDS.items() if name in models)
    common = {} if name in WITH_IMAGES else COMMON
    config = AutoConfig.for_model(name.removesuffix("_long"), **common, **settings)
    torch.manual_seed(0)
    model = kind.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, parameter.shape[-1] ** -0.5 * 1.5)
    model.save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(ASSETS / file, folder / file)


def main():
    out, *names = sys.argv[1:]
    for name in names or itertools.chain(*KINDS.values()):
        folder = Path(out) / name
        if not (folder / "config.json").exists():
            make(name, folder)
            print(folder)


if __name__ == "__main__":
    main()
