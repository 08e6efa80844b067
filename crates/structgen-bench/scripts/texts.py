"""Writes the texts over which grammars are timed: the same every time, varied in names, depth and length.

    python crates/structgen-bench/scripts/texts.py
"""

import json
import random
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent / "texts"
NOUNS = "order customer price item address city total weight node buffer index length table user parent event score batch offset region ticket letter".split()
VERBS = "read write find count merge update parse insert remove scale print check reset load".split()
WORDS = "the a quick small river under seven lamps, where Größe and naïve 東京 letters drift; it was late – nobody knew why".split()


def noun(r):
    name = r.choice(NOUNS)
    return name if r.random() < 0.6 else f"{name}_{r.choice(NOUNS)}"


def sentence(r):
    return " ".join(r.choice(WORDS) for _ in range(r.randint(1, 18)))


def value(r, depth):
    kind = r.random()
    if depth and kind < 0.35:
        return {noun(r): value(r, depth - 1) for _ in range(r.randint(0, 7))}
    if depth and kind < 0.5:
        return [value(r, depth - 1) for _ in range(r.randint(0, 6))]
    if kind < 0.75:
        return sentence(r) + r.choice(["", "", '"quoted"', "\\", "\n\t"])
    return r.choice([None, True, False, r.randint(-9999, 10**9), round(r.uniform(-50, 50), 4), r.random() * 1e-9])


def json_text(r):
    document = {noun(r): value(r, 5) for _ in range(12)}
    return json.dumps(document, indent=r.choice([None, 2, 4]), ensure_ascii=r.random() < 0.3)


def term(r, depth):
    kind = r.random()
    if kind < 0.45:
        return noun(r) if r.random() < 0.5 else f"{r.choice('abcdt')}.{noun(r)}"
    if kind < 0.6:
        return str(r.randint(0, 5000)) if r.random() < 0.6 else f"-{r.randint(0, 99)}.{r.randint(0, 99)}"
    if kind < 0.75:
        return "'" + sentence(r).replace("'", "''") + "'"
    if kind < 0.9 or not depth:
        return f"{r.choice(['COUNT', 'SUM', 'AVG', 'MIN', 'MAX', 'LOWER', 'UPPER'])}({noun(r)})"
    return f"({term(r, depth - 1)} {r.choice(['+', '-', '*', '/', '||'])} {term(r, depth - 1)})"


def test(r, depth):
    kind = r.random()
    if depth and kind < 0.2:
        return f"({condition(r, depth - 1)})"
    if kind < 0.6:
        return f"{term(r, 2)} {r.choice(['=', '<>', '<', '<=', '>', '>='])} {term(r, 2)}"
    if kind < 0.7:
        return f"{term(r, 0)} IS {r.choice(['', 'NOT '])}NULL"
    if kind < 0.8:
        return f"{noun(r)} LIKE '%{r.choice(WORDS)}%'"
    if kind < 0.9 or not depth:
        return f"{noun(r)} BETWEEN {r.randint(0, 9)} AND {r.randint(10, 99)}"
    inside = select(r, depth - 1) if r.random() < 0.5 else ", ".join(term(r, 0) for _ in range(r.randint(1, 8)))
    return f"{noun(r)} {r.choice(['', 'NOT '])}IN ({inside})"


def condition(r, depth):
    tests = [test(r, depth) for _ in range(r.randint(1, 4))]
    return "".join(t if i == 0 else r.choice([" AND ", " OR ", "\n  AND "]) + t for i, t in enumerate(tests))


def select(r, depth):
    columns = ", ".join(term(r, 2) + (f" AS {noun(r)}" if r.random() < 0.4 else "") for _ in range(r.randint(1, 7)))
    source = f"({select(r, depth - 1)})" if depth and r.random() < 0.25 else r.choice([noun(r), f'"{r.choice(WORDS)} {noun(r)}"'])
    text = f"SELECT {r.choice(['', 'DISTINCT '])}{columns}\nFROM {source} AS t"
    for _ in range(r.randint(0, 3) if depth else 0):
        text += f"\n{r.choice(['', 'INNER ', 'LEFT '])}JOIN {noun(r)} AS {r.choice('abcd')} ON {condition(r, 0)}"
    if r.random() < 0.9:
        text += f"\nWHERE {condition(r, depth)}"
    if r.random() < 0.4:
        text += f"\nGROUP BY {noun(r)}, {noun(r)} HAVING {condition(r, 0)}"
    if r.random() < 0.5:
        text += f"\nORDER BY {noun(r)} DESC, {term(r, 1)}"
    return text + (f"\nLIMIT {r.randint(1, 1000)}" if r.random() < 0.5 else "")


def sql_text(r):
    return max((select(r, 3) for _ in range(6)), key=len) + ";"


def place(r):
    return noun(r) + r.choice(["", "", f"[{r.choice('ijk')}]", f"->{noun(r)}", f".{noun(r)}"])


def expression(r, depth):
    kind = r.random()
    if not depth or kind < 0.35:
        return r.choice([place(r), str(r.randint(0, 999)), hex(r.randint(0, 65535)), f"{r.uniform(0, 9):.3f}", f"'{r.choice('abcxyz')}'"])
    if kind < 0.7:
        return f"{expression(r, depth - 1)} {r.choice('+ - * / % << >> < <= > >= == != & | ^ && ||'.split())} {expression(r, depth - 1)}"
    if kind < 0.8:
        return f"({expression(r, depth - 1)})"
    if kind < 0.9:
        return f"{r.choice(VERBS)}_{noun(r)}({', '.join(expression(r, depth - 1) for _ in range(r.randint(0, 3)))})"
    return r.choice([f"-{place(r)}", f"!{place(r)}", f"*{noun(r)}", f"&{place(r)}", f"sizeof(struct {noun(r)})", f"(int) {place(r)}", f"{place(r)} ? 1 : {place(r)}"])


def statement(r, depth, pad):
    kind, inner = r.random(), pad + "    "
    if depth and kind < 0.18:
        other = f" else {{\n{body(r, depth - 1, inner)}{pad}}}" if r.random() < 0.4 else ""
        return f"{pad}if ({expression(r, 2)}) {{\n{body(r, depth - 1, inner)}{pad}}}{other}\n"
    if depth and kind < 0.3:
        return f"{pad}for (int i = 0; i < {expression(r, 1)}; i++) {{\n{body(r, depth - 1, inner)}{pad}}}\n"
    if depth and kind < 0.36:
        return f"{pad}while ({expression(r, 2)}) {{\n{body(r, depth - 1, inner)}{pad}}}\n"
    if depth and kind < 0.41:
        cases = "".join(f"{pad}case {n}:\n{body(r, 0, inner)}{inner}break;\n" for n in range(r.randint(1, 4)))
        return f"{pad}switch ({place(r)}) {{\n{cases}{pad}default:\n{inner}break;\n{pad}}}\n"
    if kind < 0.5:
        return f"{pad}{r.choice(['int', 'unsigned long', 'double', 'const char', 'struct node'])} {r.choice(['', '*'])}{noun(r)} = {expression(r, 2)};\n"
    if kind < 0.56:
        return f"{pad}// {sentence(r)}\n"
    if kind < 0.66:
        return f'{pad}printf("%s: %d {sentence(r)}\\n", {noun(r)}, {place(r)});\n'
    if kind < 0.9:
        return f"{pad}{place(r)} {r.choice(['=', '=', '+=', '-=', '*='])} {expression(r, 3)};\n"
    return f"{pad}{r.choice(VERBS)}_{noun(r)}({expression(r, 2)}, {expression(r, 1)});\n"


def body(r, depth, pad):
    return "".join(statement(r, depth, pad) for _ in range(r.randint(1, 5)))


def c_text(r):
    text = "#include <stdio.h>\n#include \"list.h\"\n#define LIMIT 64\n\n/* " + sentence(r) + " */\n"
    text += f"struct {noun(r)} {{\n    int {noun(r)};\n    char *{noun(r)}[8];\n    struct node *next;\n}};\n\n"
    for _ in range(r.randint(2, 4)):
        text += f"{r.choice(['static int', 'void', 'double', 'struct node'])} *{r.choice(VERBS)}_{noun(r)}(int {noun(r)}, const char *{noun(r)})\n"
        text += "{\n" + body(r, 3, "    ") + f"    return {expression(r, 2)};\n}}\n\n"
    return text


def main():
    for grammar, write in [("json", json_text), ("sql-select", sql_text), ("c-like", c_text)]:
        folder = HERE / grammar
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(12):
            r = random.Random(f"{grammar} {number}")
            # Some hundred to some thousand tokens.
            sized = (text for text in iter(lambda: write(r), None) if 700 <= len(text) <= 9000)
            (folder / f"{number:02}.txt").write_text(next(sized) + "\n", encoding="utf-8")


main()
