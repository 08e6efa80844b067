"""Turns a folder in Optimum's layout into one that onnxruntime-genai loads.

Copies model.onnx and the tokenizer files and writes genai_config.json from config.json. The names of
inputs and outputs are given as genai documents them, `%d` standing for the layer.
"""

import argparse
import json
import pathlib
import shutil

FILES = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json", "generation_config.json"]


def genai_config(config, share_buffer=False):
    return {
        "model": {
            "type": config["model_type"],
            "vocab_size": config["vocab_size"],
            "context_length": config["max_position_embeddings"],
            "bos_token_id": config["bos_token_id"],
            "eos_token_id": config["eos_token_id"],
            "pad_token_id": config["pad_token_id"],
            "decoder": {
                "filename": "model.onnx",
                "session_options": {"intra_op_num_threads": 1, "session.disable_quant_qdq": "1", "provider_options": []},
                "hidden_size": config["hidden_size"],
                "head_size": config["head_dim"],
                "num_attention_heads": config["num_attention_heads"],
                "num_key_value_heads": config["num_key_value_heads"],
                "num_hidden_layers": config["num_hidden_layers"],
                "inputs": {
                    "input_ids": "input_ids",
                    "attention_mask": "attention_mask",
                    "position_ids": "position_ids",
                    "past_key_names": "past_key_values.%d.key",
                    "past_value_names": "past_key_values.%d.value",
                },
                "outputs": {
                    "logits": "logits",
                    "present_key_names": "present.%d.key",
                    "present_value_names": "present.%d.value",
                },
            },
        },
        "search": {
            "do_sample": False,
            "max_length": config["max_position_embeddings"],
            "num_beams": 1,
            # The graph grows its cache by Concat, so past and present cannot be one buffer.
            "past_present_share_buffer": share_buffer,
        },
    }


def convert(source, target):
    target.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    for file in source.iterdir():
        if file.suffix == ".onnx" or file.name.startswith("model.onnx") or file.name in FILES:
            shutil.copy(file, target / file.name)
    (target / "genai_config.json").write_text(json.dumps(genai_config(config), indent=2) + "\n")


def main(convert):
    """Runs a conversion of one model folder to another, as the command line names them."""
    args = argparse.ArgumentParser()
    args.add_argument("source", type=pathlib.Path)
    args.add_argument("target", type=pathlib.Path)
    args = args.parse_args()
    convert(args.source, args.target)


if __name__ == "__main__":
    main(convert)
