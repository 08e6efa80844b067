// The schema editor: a text area over a copy of its text that has the colours, with line numbers and the place of a
// mistake. The text area alone is what assistive technology sees.

import { h } from "./dom.ts";
import { lineAndColumn, locate, parseJson, type JsonDocument, type JsonNode } from "./json.ts";

/** A mistake, and where it is if that is known. */
export interface Mistake {
  message: string;
  range?: [number, number];
}

export class SchemaEditor {
  private readonly marks: HTMLElement;
  private readonly gutter: HTMLElement;
  /** What the server found; it holds until the text changes. */
  private refused: Mistake | undefined;
  private readsJson = true;

  constructor(
    private readonly area: HTMLTextAreaElement,
    private readonly message: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.marks = h("pre", { class: "editor-marks", "aria-hidden": "true" });
    this.gutter = h("pre", { class: "editor-gutter", "aria-hidden": "true" });
    area.before(this.gutter, this.marks);
    area.addEventListener("input", () => {
      this.refused = undefined;
      this.draw();
      this.changed();
    });
    area.addEventListener("scroll", () => {
      this.marks.scrollTo(area.scrollLeft, area.scrollTop);
      this.gutter.scrollTop = area.scrollTop;
    });
    this.draw();
  }

  get text(): string {
    return this.area.value;
  }

  set text(text: string) {
    this.area.value = text;
    this.refused = undefined;
    this.draw();
    this.changed();
  }

  /** Whether the text is JSON; grammars and patterns are not. */
  set isJson(isJson: boolean) {
    this.readsJson = isJson;
    this.refused = undefined;
    this.draw();
  }

  get document(): JsonDocument {
    return parseJson(this.text);
  }

  /** The mistake that can be found here, without the server. */
  get mistake(): Mistake | undefined {
    if (!this.readsJson) return this.text.trim() === "" ? { message: "It is empty." } : undefined;
    if (this.text.trim() === "") return { message: "It is empty." };
    const { problem } = this.document;
    return problem && { message: problem.message, range: [problem.start, problem.end] };
  }

  /** Shows what the server found, at the pointer's place, or at the one that the message names. */
  refuse(message: string, pointer: string | undefined): void {
    const node = pointer === undefined || !this.readsJson ? undefined : locate(this.document, pointer);
    const range = node ? place(node) : this.readsJson ? undefined : placeIn(message, this.text);
    this.refused = { message, ...(range && { range }) };
    this.draw();
  }

  clearRefusal(): void {
    if (!this.refused) return;
    this.refused = undefined;
    this.draw();
  }

  /** The line and column of the mistake, if it has a place. */
  get where(): string {
    const range = (this.mistake ?? this.refused)?.range;
    if (!range) return "";
    const { line, column } = lineAndColumn(this.text, range[0]);
    return `Line ${line}, column ${column}: `;
  }

  /** Puts the caret at the mistake. */
  focusMistake(): void {
    const range = (this.mistake ?? this.refused)?.range;
    this.area.focus();
    if (!range) return;
    this.area.setSelectionRange(range[0], Math.max(range[0], range[1]));
    const { line } = lineAndColumn(this.text, range[0]);
    const height = this.area.scrollHeight / Math.max(1, this.text.split("\n").length);
    this.area.scrollTop = Math.max(0, (line - 4) * height);
  }

  private draw(): void {
    const text = this.text;
    const mistake = this.mistake ?? this.refused;
    const wrong = mistake?.range && lineAndColumn(text, mistake.range[0]);
    this.marks.replaceChildren(...coloured(text, this.readsJson, mistake?.range), "\n");
    this.gutter.replaceChildren(
      ...text.split("\n").map((_, at) => h("span", { class: at + 1 === wrong?.line ? "wrong" : undefined }, `${at + 1}\n`)),
    );
    this.area.setAttribute("aria-invalid", String(mistake !== undefined));
    this.message.replaceChildren();
    this.message.hidden = mistake === undefined;
    if (!mistake) return;
    this.message.append(h("p", {}, h("strong", {}, this.where), `${mistake.message.replace(/\.$/, "")}.`));
    if (!wrong || !mistake.range) return;
    this.message.append(
      excerpt(text, mistake.range, wrong.column),
      h("button", { type: "button", class: "quiet", onclick: () => this.focusMistake() }, "Go to the place"),
    );
  }
}

/** A member's name stands for the member: its value may be many lines long. */
function place(node: JsonNode): [number, number] {
  if (node.keyRange) return node.keyRange;
  return [node.start, node.children.length > 0 ? node.start + 1 : node.end];
}

/** The place that an error of a grammar names by line and column, and one of a pattern by its byte. */
function placeIn(message: string, text: string): [number, number] | undefined {
  const [, line, column] = /line (\d+), column (\d+)/.exec(message) ?? [];
  const [, byte] = /byte (\d+)/.exec(message) ?? [];
  let start: number;
  if (line && column) {
    const lines = text.split("\n");
    const before = lines.slice(0, Number(line) - 1).reduce((sum, { length }) => sum + length + 1, 0);
    start = before + [...(lines[Number(line) - 1] ?? "")].slice(0, Number(column) - 1).join("").length;
  } else if (byte) {
    start = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, Number(byte))).length;
  } else return undefined;
  return [start, Math.min(start + 1, text.length)];
}

/** The line of a mistake with a caret below it. */
function excerpt(text: string, range: [number, number], column: number): HTMLElement {
  const start = text.lastIndexOf("\n", range[0] - 1) + 1;
  const line = text.slice(start).split("\n")[0] ?? "";
  const width = Math.max(1, Math.min(range[1] - range[0], line.length - (range[0] - start)));
  // A long line is cut on both sides, with the mistake in sight.
  const from = Math.max(0, column - 30);
  const shown = line.slice(from, from + 60);
  return h("pre", { class: "excerpt", "aria-hidden": "true" }, `${shown}\n${" ".repeat(column - 1 - from)}`, h("b", {}, "^".repeat(Math.min(width, 60))));
}

const TOKENS = /"(?:[^"\\\n]|\\.)*"?(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

function coloured(text: string, isJson: boolean, wrong: [number, number] | undefined): (Node | string)[] {
  const classes: [number, number, string][] = [];
  if (isJson) {
    for (const match of text.matchAll(TOKENS)) {
      const name = match[1] !== undefined ? "key" : match[0].startsWith('"') ? "string" : "number";
      classes.push([match.index, match.index + match[0].length - (match[1]?.length ?? 0), name]);
    }
  }
  const nodes: (Node | string)[] = [];
  let at = 0;
  const put = (start: number, end: number, name: string | undefined): void => {
    const cuts = wrong ? [start, ...wrong.filter((cut) => cut > start && cut < end), end] : [start, end];
    for (let index = 0; index + 1 < cuts.length; index++) {
      const [from, to] = [cuts[index]!, cuts[index + 1]!];
      if (from >= to) continue;
      const isWrong = wrong !== undefined && from >= wrong[0] && to <= Math.max(wrong[1], wrong[0] + 1);
      const names = [name, isWrong && "wrong"].filter(Boolean).join(" ");
      nodes.push(names ? h("span", { class: names }, text.slice(from, to)) : text.slice(from, to));
    }
  };
  for (const [start, end, name] of classes) {
    put(at, start, undefined);
    put(start, end, name);
    at = end;
  }
  put(at, text.length, undefined);
  return nodes;
}
