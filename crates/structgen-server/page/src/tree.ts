// A JSON document as a tree, also while it is written. Nodes stay the same elements between updates, so that focus and
// folding last.

import { h } from "./dom.ts";
import { decodeString, type JsonDocument, type JsonNode } from "./json.ts";

interface Row {
  element: HTMLElement;
  label: HTMLElement;
  list: HTMLElement | undefined;
  kind: JsonNode["kind"];
}

export class JsonTree {
  private rows = new Map<string, Row>();

  constructor(
    private readonly container: HTMLElement,
    /** What is shown after a value, by JSON Pointer. */
    private readonly note: (pointer: string) => Node | undefined = () => undefined,
  ) {}

  clear(): void {
    this.rows.clear();
    this.container.replaceChildren();
  }

  show(document: JsonDocument): void {
    const seen = new Set<string>();
    if (document.root) this.update(document, document.root, this.container, seen);
    for (const [pointer, row] of this.rows) {
      if (seen.has(pointer)) continue;
      row.element.remove();
      this.rows.delete(pointer);
    }
  }

  private update(document: JsonDocument, node: JsonNode, parent: HTMLElement, seen: Set<string>): void {
    seen.add(node.pointer);
    let row = this.rows.get(node.pointer);
    if (row?.kind !== node.kind) {
      row?.element.remove();
      row = this.row(node);
      this.rows.set(node.pointer, row);
      parent.append(row.element);
    }
    const name = node.key ?? (node.pointer === "" ? undefined : node.pointer.slice(node.pointer.lastIndexOf("/") + 1));
    const parts: (Node | string)[] = [];
    if (name !== undefined) parts.push(h("span", { class: "tree-key" }, name), " ");
    if (row.list) {
      const count = node.children.length;
      const unit = node.kind === "object" ? "member" : "item";
      parts.push(h("span", { class: "tree-count" }, `${count} ${unit}${count === 1 ? "" : "s"}${node.complete ? "" : " …"}`));
    } else {
      const raw = document.source.slice(node.start, node.end);
      const text = node.kind === "string" ? decodeString(raw) : raw;
      parts.push(h("span", { class: `tree-value ${node.kind}` }, node.kind === "string" ? `“${text}${node.complete ? "”" : ""}` : text));
    }
    const note = this.note(node.pointer);
    if (note) parts.push(" ", note);
    row.label.replaceChildren(...parts);
    row.element.classList.toggle("growing", !node.complete);
    for (const child of node.children) this.update(document, child, row.list ?? parent, seen);
  }

  private row(node: JsonNode): Row {
    if (node.kind !== "object" && node.kind !== "array") {
      const label = h("span");
      return { element: h("li", { class: "tree-leaf" }, label), label, list: undefined, kind: node.kind };
    }
    const label = h("summary");
    const list = h("ul");
    return { element: h("li", {}, h("details", { open: true }, label, list)), label, list, kind: node.kind };
  }
}
