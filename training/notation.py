"""The compact schema notation of the prompt, and the prompt itself.

This is the reference for the rendering that the Rust side implements; README.md states the rules.
"""

import json
import re

VERSION = 2  # of the prompt: written into a model's config, so that a library refuses what it cannot write

TYPES = ("string", "integer", "number", "boolean")
FORMAT = re.compile(r"[a-z][a-z0-9-]{0,23}")
LONGEST_PATTERN, LONGEST_DESCRIPTION = 60, 200  # in characters; a longer pattern is left out, a longer description cut


def compact(value):
    """JSON as the model writes it: no spaces, no escapes but those that JSON requires."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def prompt(schema, text):
    return f"<schema>{render(schema)}<text>{text}<json>"


def render(schema, root=None, seen=()):
    """A JSON Schema in compact form; what the notation cannot say becomes `any`."""
    root = schema if root is None else root
    return "|".join(members(schema, root, seen))


def members(schema, root, seen):
    """The union members of a schema, `null` last, without repetition."""
    if not isinstance(schema, dict):
        return ["any"]
    if "$ref" in schema:
        target = resolve(schema["$ref"], root)
        return ["any"] if target is None or schema["$ref"] in seen else members(target, root, (*seen, schema["$ref"]))
    if "const" in schema:
        out = [compact(schema["const"])]
    elif "enum" in schema:
        out = [compact(v) for v in schema["enum"]]
    elif schema.get("anyOf") or schema.get("oneOf"):
        out = [m for branch in schema.get("anyOf") or schema["oneOf"] for m in members(branch, root, seen)]
    elif len(schema.get("allOf", ())) == 1:
        return members(schema["allOf"][0], root, seen)
    else:
        kinds = schema.get("type")
        if kinds is None:
            kinds = "object" if "properties" in schema else "array" if "items" in schema or "prefixItems" in schema else "any"
        out = [one(kind, schema, root, seen) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    out = list(dict.fromkeys(out))
    if "any" in out:
        return ["any"]
    return [m for m in out if m != "null"] + [m for m in out if m == "null"]


def one(kind, schema, root, seen):
    """The member of one type, with its bounds."""
    if kind == "object":
        required = set(schema.get("required", ()))
        parts = [
            f'{compact(key)}{"" if key in required else "?"}:{render(sub, root, seen)}{described(sub, root)}'
            for key, sub in schema.get("properties", {}).items()
        ]
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and others:
            parts.append(f"...:{render(others, root, seen)}")
        return "{" + ",".join(parts) + "}"
    if kind == "array":
        first, items = schema.get("prefixItems"), schema.get("items", True)
        if isinstance(first, list) and first:
            parts = [render(sub, root, seen) + described(sub, root) for sub in first]
            if isinstance(items, dict):
                parts.append("..." + render(items, root, seen))
            return "[" + ",".join(parts) + "]"
        return f'[{render(items, root, seen)}{described(items, root)}]' + between(schema, "minItems", "maxItems")
    if kind == "string":
        if isinstance(schema.get("format"), str) and FORMAT.fullmatch(schema["format"]):
            return schema["format"]
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and len(pattern) <= LONGEST_PATTERN:
            return f"string/{pattern}/"
        return "string" + between(schema, "minLength", "maxLength")
    if kind in ("integer", "number"):
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        left = written(low) if is_number(low) else f"{written(above)}<" if is_number(above) else ""
        right = written(high) if is_number(high) else f"<{written(below)}" if is_number(below) else ""
        return kind + (f" {left}..{right}" if left or right else "")
    return kind if kind in TYPES or kind == "null" else "any"


def described(schema, root):
    """` (description)` of a property or item, on one line; of a reference's target if it has none itself."""
    for _ in range(8):
        if not isinstance(schema, dict):
            return ""
        said = schema.get("description")
        if isinstance(said, str) and said.strip():
            said = " ".join(said.split())
            return f" ({said[:LONGEST_DESCRIPTION].rstrip()})"
        if "$ref" not in schema:
            return ""
        schema = resolve(schema["$ref"], root)
    return ""


def between(schema, low, high):
    """` 2..5`, ` 2..`, ` ..5` or nothing."""
    low, high = schema.get(low), schema.get(high)
    left, right = (written(x) if is_number(x) else "" for x in (low, high))
    return f" {left}..{right}" if right or left not in ("", "0") else ""


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def written(x):
    """A number as JSON, whole ones without a fraction."""
    return str(int(x)) if isinstance(x, int) or x == int(x) and abs(x) < 1e15 else json.dumps(x)


def resolve(ref, root):
    """A reference inside the document (`#/...`), or None."""
    if not ref.startswith("#"):
        return None
    node = root
    for part in ref[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or part not in node:
            return None
        node = node[part]
    return node


# Schemas that the Rust rendering is compared on, beside those of the hand-written texts.
CASES = [
    True, {}, {"type": "file"}, {"type": "string"}, {"type": "string", "minLength": 0}, {"type": "string", "minLength": 1, "maxLength": 20}, {"type": "string", "maxLength": 5},
    {"type": "string", "format": "date"}, {"type": "string", "format": "Not a name", "maxLength": 3}, {"type": "string", "format": "date-time", "pattern": "^2"},
    {"type": "string", "pattern": "^[A-Z]{3}$"}, {"type": "string", "pattern": "x" * 61, "minLength": 2}, {"type": ["string", "null"], "format": "time"},
    {"type": "integer", "minimum": 1, "maximum": 5}, {"type": "integer", "minimum": 0}, {"type": "number", "maximum": -0.5}, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5},
    {"type": "number", "minimum": 1.0, "exclusiveMinimum": 0}, {"type": ["integer", "string"], "minimum": 3, "maxLength": 4}, {"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
    {"type": "array"}, {"type": "array", "items": {"type": "string", "description": "one word"}, "minItems": 1, "maxItems": 3}, {"type": "array", "minItems": 0}, {"items": {"type": "number"}, "maxItems": 2},
    {"prefixItems": [{"type": "string", "description": "a  name\n of two lines "}, {"type": "integer"}]}, {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "boolean"}}, {"type": "array", "prefixItems": [], "items": False},
    {"type": "object"}, {"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "null"}}},
    {"properties": {"ä\"": {"type": "boolean", "description": "w " * 150}, "b": {"type": "string", "description": "(in brackets)"}}, "required": ["b"], "additionalProperties": {"enum": ["x", 1, None]}},
    {"$defs": {"city": {"type": "string", "description": "where"}, "alias": {"$ref": "#/$defs/city"}}, "properties": {"from": {"$ref": "#/$defs/city"}, "to": {"$ref": "#/$defs/alias"}, "via": {"$ref": "#/$defs/city", "description": "between"}}},
    {"properties": {"self": {"$ref": "#"}, "lost": {"$ref": "#/nowhere", "description": "lost"}}}, {"const": {"a": [1, "ü"]}}, {"oneOf": [{"const": "a", "description": "first"}, {"const": "b"}, {"type": "null"}]},
    {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1}, {"type": "null"}, {"type": "string", "format": "email"}]}, {"anyOf": [], "type": "string"}, {"allOf": [{"type": "string", "maxLength": 9}]},
]


def main():
    """Writes the cases and their renderings, a line each."""
    import pathlib

    handwritten = json.loads((pathlib.Path(__file__).parent / "handwritten.json").read_text())
    for schema in [*CASES, *(x["schema"] for x in handwritten[::4])]:
        print(compact({"schema": schema, "notation": render(schema)}))


if __name__ == "__main__":
    main()
