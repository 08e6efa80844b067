// A parser of JSON that keeps positions and accepts documents that are not complete yet.
//
// The schema editor needs the place of a JSON Pointer, the tree needs a document while it is written, and requests need
// numbers as they were typed. `JSON.parse` has none of these.

export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

/** A value and where it is, in UTF-16 units of the source. */
export interface JsonNode {
  kind: Kind;
  pointer: string;
  start: number;
  end: number;
  /** Whether its last character has been read. A number at the end of the source never has. */
  complete: boolean;
  /** The member's name, in an object. */
  key?: string;
  /** Where the member's name is, quotes included. */
  keyRange?: [number, number];
  children: JsonNode[];
}

export interface Problem {
  start: number;
  end: number;
  message: string;
}

export interface JsonDocument {
  source: string;
  root: JsonNode | undefined;
  /** The first mistake. A source that only ends early has one at its end. */
  problem: Problem | undefined;
}

const MAX_DEPTH = 400;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const ESCAPE_BEGUN = /^\\(?:u[0-9a-fA-F]{0,3})?$/;

class Stop extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

export function parseJson(source: string): JsonDocument {
  const parser = new Parser(source);
  let problem: Problem | undefined;
  try {
    parser.document();
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    problem = error.problem;
  }
  return { source, root: parser.root, problem };
}

class Parser {
  root: JsonNode | undefined;
  private at = 0;

  constructor(private readonly source: string) {}

  document(): void {
    this.space();
    this.value("", 0, (node) => (this.root = node));
    this.space();
    if (this.at < this.source.length) this.fail("there is text after the value", this.at, this.source.length);
  }

  /** Reads a value. It is attached before its children are read, so that a document that ends early has it. */
  private value(pointer: string, depth: number, attach: (node: JsonNode) => void): void {
    if (depth > MAX_DEPTH) this.fail(`the document is nested more than ${MAX_DEPTH} levels deep`);
    const node: JsonNode = { kind: "null", pointer, start: this.at, end: this.at, complete: false, children: [] };
    const first = this.source[this.at];
    if (first === undefined) this.fail("a value is missing at the end");
    if (first === "{") node.kind = "object";
    else if (first === "[") node.kind = "array";
    else if (first === '"') node.kind = "string";
    else if (first === "t" || first === "f") node.kind = "boolean";
    else if (first === "n") node.kind = "null";
    else if (first === "-" || (first >= "0" && first <= "9")) node.kind = "number";
    else this.fail(first === "'" ? "strings are written in double quotes" : "a value is expected here", this.at, this.wordEnd());
    attach(node);
    try {
      if (node.kind === "object") this.object(node, depth);
      else if (node.kind === "array") this.array(node, depth);
      else if (node.kind === "string") this.string();
      else if (node.kind === "number") this.number();
      else this.word();
      node.complete = node.kind !== "number" || this.at < this.source.length;
    } finally {
      node.end = this.at;
    }
  }

  private object(node: JsonNode, depth: number): void {
    this.at++;
    this.space();
    if (this.take("}")) return;
    for (;;) {
      const start = this.at;
      if (this.source[start] !== '"') {
        const bare = /^[A-Za-z_$'][\w$'-]*/.exec(this.source.slice(start, start + 80));
        if (bare) this.fail("the name of a member is written in double quotes", start, start + bare[0].length);
        if (this.source[start] === "}") this.fail("there is a comma before the end of the object");
        this.fail(start < this.source.length ? "the name of a member is expected here" : "an object is not closed");
      }
      this.string();
      const end = this.at;
      const key = decodeString(this.source.slice(start, end));
      this.space();
      if (!this.take(":")) this.fail("a colon is missing after the name", this.at, this.at + 1);
      this.space();
      this.value(`${node.pointer}/${escapePointer(key)}`, depth + 1, (child) => {
        child.key = key;
        child.keyRange = [start, end];
        node.children.push(child);
      });
      this.space();
      if (this.take("}")) return;
      if (!this.take(",")) this.fail(this.ended("object"));
      this.space();
    }
  }

  private array(node: JsonNode, depth: number): void {
    this.at++;
    this.space();
    if (this.take("]")) return;
    for (;;) {
      if (this.source[this.at] === "]") this.fail("there is a comma before the end of the array");
      this.value(`${node.pointer}/${node.children.length}`, depth + 1, (child) => node.children.push(child));
      this.space();
      if (this.take("]")) return;
      if (!this.take(",")) this.fail(this.ended("array"));
      this.space();
    }
  }

  private string(): void {
    const start = this.at++;
    for (;;) {
      this.match(PLAIN);
      if (this.take('"')) return;
      if (this.at >= this.source.length) this.fail("a string is not closed", start, this.at);
      if (this.source[this.at] !== "\\") {
        this.fail("a string has a line break or control character; write it as an escape such as \\n");
      }
      if (!this.match(ESCAPE)) {
        // What begins an escape at the end of the source is not part of the text yet.
        if (ESCAPE_BEGUN.test(this.source.slice(this.at))) this.fail("a string is not closed", start, this.source.length);
        this.fail("JSON has no such escape", this.at, this.at + 2);
      }
    }
  }

  private number(): void {
    const start = this.at;
    if (!this.match(NUMBER)) {
      this.at++;
      this.fail("digits are missing after the minus sign");
    }
    if (/[0-9.eE+]/.test(this.source[this.at] ?? "")) this.fail("JSON has no such number", start, this.at + 1);
  }

  private word(): void {
    const rest = this.source.slice(this.at);
    for (const word of ["true", "false", "null"]) {
      if (rest.startsWith(word)) {
        this.at += word.length;
        return;
      }
      if (word.startsWith(rest)) {
        const start = this.at;
        this.at = this.source.length;
        this.fail(`\`${word}\` is not complete`, start);
      }
    }
    this.fail("a value is expected here", this.at, this.wordEnd());
  }

  private wordEnd(): number {
    return this.at + (/^\w+/.exec(this.source.slice(this.at, this.at + 80))?.[0].length ?? 1);
  }

  private ended(what: string): string {
    return this.at >= this.source.length ? `an ${what} is not closed` : `a comma or the end of the ${what} is expected here`;
  }

  private space(): void {
    while (" \t\n\r".includes(this.source[this.at] ?? "x")) this.at++;
  }

  private take(character: string): boolean {
    if (this.source[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private match(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (!found) return false;
    this.at += found[0].length;
    return true;
  }

  private fail(message: string, start = this.at, end = start + 1): never {
    throw new Stop({ message, start, end: Math.max(start, Math.min(end, this.source.length)) });
  }
}

/** The text of a string, which may end early, without its quotes. */
export function decodeString(raw: string): string {
  const closed = raw.length > 1 && raw.endsWith('"') && /^"(?:[^"\\]|\\.)*"$/s.test(raw);
  const text = closed ? raw : `${raw.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "")}"`;
  try {
    return JSON.parse(text) as string;
  } catch {
    return raw.slice(1);
  }
}

export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function pointerSegments(pointer: string): string[] {
  return pointer.split("/").slice(1).map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The node at a pointer, or the last one on the way to it. A leading `#` and percent-encoding are accepted. */
export function locate(document: JsonDocument, pointer: string): JsonNode | undefined {
  let node = document.root;
  for (const segment of pointerSegments(pointer.replace(/^#/, ""))) {
    const next = node && childOf(node, segment);
    if (!next) break;
    node = next;
  }
  return node;
}

/** The text of the value at a pointer. */
export function sourceAt(document: JsonDocument, pointer: string): string | undefined {
  const node = locate(document, pointer);
  return node?.pointer === pointer ? document.source.slice(node.start, node.end) : undefined;
}

function childOf(node: JsonNode, segment: string): JsonNode | undefined {
  if (node.kind === "array") return node.children[Number(segment)];
  return node.children.find((child) => child.key === segment) ?? node.children.find((child) => child.key === percentDecoded(segment));
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Line and column of an offset, both from one. A column is a character, not a UTF-16 unit. */
export function lineAndColumn(source: string, offset: number): { line: number; column: number } {
  const before = source.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: [...before.slice(before.lastIndexOf("\n") + 1)].length + 1 };
}

/** A part of a request that is sent as it was typed: its numbers keep their digits, its members their order. */
export class Raw {
  constructor(readonly text: string) {}
}

export type Json = null | boolean | number | string | Raw | Json[] | { [name: string]: Json | undefined };

/** The longest line that holds a whole array or object. */
const WIDTH = 72;

/** Prints a value, with `Raw` parts inserted. Arrays and objects that are short are on one line. */
export function printJson(value: Json, indent = ""): string {
  if (value instanceof Raw) return value.text.trim().replaceAll("\n", `\n${indent}`);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((item) => printJson(item, inner))
    : Object.entries(value)
        .filter((member): member is [string, Json] => member[1] !== undefined)
        .map(([name, member]) => `${JSON.stringify(name)}: ${printJson(member, inner)}`);
  const line = `${open}${items.join(", ")}${close}`;
  if (indent.length + line.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}\n${items.map((item) => inner + item).join(",\n")}\n${indent}${close}`;
}
