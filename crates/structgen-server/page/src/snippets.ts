// The request as a command and as a program. The API key is read from the environment and never shown.

import { Raw, decodeString, parseJson, printJson, type Json, type JsonDocument, type JsonNode } from "./json.ts";

export type Body = { [name: string]: Json | undefined };

export function curl(url: string, body: Body, needsKey: boolean): string {
  const lines = [`curl ${quoted(url)}`, `-H 'Content-Type: application/json'`];
  if (needsKey) lines.push(`-H "Authorization: Bearer $STRUCTGEN_API_KEY"`);
  if (body["stream"] === true) lines[0] = `curl -N ${quoted(url)}`;
  // From standard input, so that a file may take its place.
  lines.push(`-d ${quoted(printJson(body))}`);
  return lines.join(" \\\n  ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Parameters that the method of the `openai` package has; others go into `extra_body`. */
const OPENAI_PARAMETERS = new Set([
  "model", "messages", "response_format", "stream", "stream_options", "max_tokens", "temperature", "top_p", "seed",
  "frequency_penalty", "presence_penalty", "stop", "n", "logprobs", "top_logprobs",
]);

export function pythonChat(base: string, body: Body, needsKey: boolean): string {
  const known = Object.entries(body).filter(([name]) => OPENAI_PARAMETERS.has(name));
  const extra = Object.fromEntries(Object.entries(body).filter(([name]) => !OPENAI_PARAMETERS.has(name)));
  const lines = known.map(([name, value]) => `    ${name}=${python(value ?? null, "    ")},`);
  if (Object.keys(extra).length > 0) lines.push(`    extra_body=${python(extra as Json, "    ")},`);
  return `${client(base, needsKey)}
stream = client.chat.completions.create(
${lines.join("\n")}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
`;
}

export function pythonExtract(base: string, body: Body, needsKey: boolean): string {
  return `${client(base, needsKey)}
found = client.post("/extract", cast_to=object, body=${python(body as Json, "")})
print(found)
`;
}

function client(base: string, needsKey: boolean): string {
  const key = needsKey ? `os.environ["STRUCTGEN_API_KEY"]` : `"none"`;
  return `${needsKey ? "import os\n\n" : ""}from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(base)}, api_key=${key})
`;
}

/** A value in Python's notation. Raw parts keep their numbers as they were typed. */
export function python(value: Json, indent: string): string {
  if (value instanceof Raw) {
    const document = parseJson(value.text);
    return document.root && !document.problem ? pythonNode(document, document.root, indent) : "...";
  }
  const inner = `${indent}    `;
  if (Array.isArray(value)) return bracketed("[", value.map((item) => python(item, inner)), "]", indent);
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value).filter((member): member is [string, Json] => member[1] !== undefined);
    return bracketed("{", members.map(([name, member]) => `${JSON.stringify(name)}: ${python(member, inner)}`), "}", indent);
  }
  return word(JSON.stringify(value));
}

function pythonNode(document: JsonDocument, node: JsonNode, indent: string): string {
  const inner = `${indent}    `;
  const items = node.children.map((child) => {
    const text = pythonNode(document, child, inner);
    return child.key === undefined ? text : `${JSON.stringify(child.key)}: ${text}`;
  });
  if (node.kind === "object") return bracketed("{", items, "}", indent);
  if (node.kind === "array") return bracketed("[", items, "]", indent);
  const text = document.source.slice(node.start, node.end);
  // Python reads `\/` as two characters.
  return node.kind === "string" ? JSON.stringify(decodeString(text)) : word(text);
}

function word(text: string): string {
  return { true: "True", false: "False", null: "None" }[text] ?? text;
}

function bracketed(open: string, items: string[], close: string, indent: string): string {
  if (items.length === 0) return open + close;
  const line = `${open}${items.join(", ")}${close}`;
  if (line.length + indent.length < 88 && !line.includes("\n")) return line;
  return `${open}\n${items.map((item) => `${indent}    ${item},`).join("\n")}\n${indent}${close}`;
}
