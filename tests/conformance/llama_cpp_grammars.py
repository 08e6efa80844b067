#!/usr/bin/env python3
"""Compares verdicts of random grammars with llama.cpp's own code.

    STRUCTGEN_FULL=1 STRUCTGEN_VERDICTS=verdicts.jsonl cargo test --release -p structgen-tests --test differential grammars
    python3 tests/conformance/llama_cpp_grammars.py verdicts.jsonl LLAMA_CPP

LLAMA_CPP is the folder of llama.cpp's sources, for example `vendor/llama.cpp` of llama-cpp-python 0.3.36. Its grammars are one file of it, which is
compiled with llama_cpp_grammars.cpp beside it and called as it is. Each line of the verdicts is {"grammar": ..., "texts": [[text, accepted], ...]}.

It refuses left recursion, and follows each reading of an ambiguous text by itself; a grammar that takes it more than two seconds or 4 GB is not
compared.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

SECONDS = 2
BYTES = 4 << 30


def build(sources):
    here = Path(__file__).resolve().parent
    library = os.path.join(tempfile.mkdtemp(), "grammars.so")
    includes = [f"-I{Path(sources, folder)}" for folder in ("include", "ggml/include", "src")]
    files = [here / "llama_cpp_grammars.cpp", *(Path(sources, "src", name) for name in ("llama-grammar.cpp", "unicode.cpp", "unicode-data.cpp"))]
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", *includes, *files, "-o", library], check=True)
    # Functions for tokens, which are not called, need other files.
    library = ctypes.CDLL(library, mode=os.RTLD_LAZY)
    library.grammar_new.restype = ctypes.c_void_p
    library.grammar_accepts.restype = ctypes.c_bool
    return library


def judge(library, grammar, texts):
    """The verdict on each text, or None if the grammar is refused."""
    made = ctypes.c_void_p(library.grammar_new(grammar.encode()))
    if not made:
        return None
    verdicts = []
    for text, _ in texts:
        characters = (ctypes.c_uint32 * max(1, len(text)))(*map(ord, text))
        verdicts.append(library.grammar_accepts(made, characters, ctypes.c_size_t(len(text))))
    return verdicts


def judge_apart(library, grammar, texts):
    """The same in a process of its own: the result as JSON, or the signal that ended it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        with os.fdopen(write, "w") as out:
            json.dump(judge(library, grammar, texts), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        found = result.read()
    status = os.waitpid(child, 0)[1]
    return (json.loads(found), 0) if found and status == 0 else (None, status)


def main(verdicts, sources):
    library = build(sources)
    counts, wrong = Counter(), []
    for line in open(verdicts, encoding="utf-8"):
        case = json.loads(line)
        found, status = judge_apart(library, case["grammar"], case["texts"])
        if found is None:
            counts["grammars that it refuses" if status == 0 else "grammars that it does not finish"] += 1
            continue
        counts["grammars compared"] += 1
        for (text, accepted), other in zip(case["texts"], found):
            counts["verdicts compared"] += 1
            counts["texts accepted"] += accepted
            if accepted != other:
                wrong.append((case["grammar"], text, other))
    for what, count in counts.items():
        print(count, what)
    print(len(wrong), "verdicts differ")
    for grammar, text, other in wrong[:20]:
        print(f"\n{grammar}\non {text!r}: accepted by {'it' if other else 'structgen'} alone")


if __name__ == "__main__":
    main(*sys.argv[1:])
