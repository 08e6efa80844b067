"""The compact schema notation of the prompt, and the prompt itself.

This is the reference for the rendering that the Rust side implements; README.md states the rules.
"""

import json

TYPES = ("string", "integer", "number", "boolean")


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
    elif "anyOf" in schema or "oneOf" in schema:
        out = [m for branch in schema.get("anyOf") or schema["oneOf"] for m in members(branch, root, seen)]
    elif len(schema.get("allOf", ())) == 1:
        return members(schema["allOf"][0], root, seen)
    else:
        kinds = schema.get("type")
        if kinds is None:
            kinds = "object" if "properties" in schema else "array" if "items" in schema else "any"
        out = [one(kind, schema, root, seen) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    out = list(dict.fromkeys(out))
    if "any" in out:
        return ["any"]
    return [m for m in out if m != "null"] + [m for m in out if m == "null"]


def one(kind, schema, root, seen):
    if kind == "object":
        required = set(schema.get("required", ()))
        parts = (f'{compact(key)}{"" if key in required else "?"}:{render(sub, root, seen)}' for key, sub in schema.get("properties", {}).items())
        return "{" + ",".join(parts) + "}"
    if kind == "array":
        return f'[{render(schema.get("items", True), root, seen)}]'
    return kind if kind in TYPES or kind == "null" else "any"


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
