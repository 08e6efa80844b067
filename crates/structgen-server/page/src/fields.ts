// What was extracted: the fields with their confidence, and the text with their spans.

import { h, percent, svg } from "./dom.ts";
import { pointerSegments, sourceAt, type JsonDocument } from "./json.ts";
import type { Field } from "./protocol.ts";

export type Band = "high" | "middle" | "low" | "unknown";

export function band(confidence: number | undefined): Band {
  if (confidence === undefined) return "unknown";
  return confidence >= 0.8 ? "high" : confidence >= 0.5 ? "middle" : "low";
}

export function badge(confidence: number): HTMLElement {
  return h("span", { class: "confidence", "data-band": band(confidence) }, percent(confidence));
}

/** Shows the spans in the text, and the fields as a list that points to them. */
export function showExtraction(fields: Field[], json: JsonDocument, text: string, textView: HTMLElement, list: HTMLElement): void {
  const marks = markText(fields, text, textView);
  list.replaceChildren(...fields.map((field, index) => item(field, json, marks.get(index) ?? [], textView)));
}

function item(field: Field, json: JsonDocument, marks: HTMLElement[], textView: HTMLElement): HTMLElement {
  const point = (on: boolean): void => marks.forEach((mark) => mark.classList.toggle("pointed", on));
  const show = (): void => {
    textView.querySelectorAll(".pointed").forEach((mark) => mark.classList.remove("pointed"));
    point(true);
    marks[0]?.scrollIntoView({ block: "nearest" });
  };
  const name = pointerSegments(field.pointer).join(" › ") || "the value";
  const others = (field.alternatives ?? []).map(
    (other) => h("li", {}, h("code", {}, JSON.stringify(other.value)), ` ${percent(other.probability)}`),
  );
  return h(
    "li",
    { class: "field", onmouseenter: () => point(true), onmouseleave: () => point(false) },
    h("span", { class: "field-name" }, name),
    h("code", { class: "field-value" }, sourceAt(json, field.pointer) ?? JSON.stringify(field.value)),
    field.confidence !== undefined && meter(field.confidence),
    h(
      "span",
      { class: "field-where" },
      marks.length > 0 ? h("button", { type: "button", class: "quiet", "aria-label": `Show ${name} in the text`, onclick: show, onblur: () => point(false) }, "Show") : whereabouts(field),
    ),
    others.length > 0 && h("div", { class: "others" }, "or ", h("ul", {}, ...others)),
  );
}

function whereabouts(field: Field): string {
  if (field.characters === undefined) return "";
  return typeof field.value === "string" || typeof field.value === "number" ? "not in the text" : "";
}

function meter(confidence: number): HTMLElement {
  const filled = svg("rect", { width: `${confidence * 100}%`, height: "100%" });
  return h(
    "span",
    { class: "meter", "data-band": band(confidence) },
    svg("svg", { class: "bar", "aria-hidden": "true" }, filled),
    badge(confidence),
  );
}

/** A field's place in the text, in UTF-16 units. */
interface Place {
  start: number;
  end: number;
  field: number;
  isFirst: boolean;
}

/** Writes the text with its spans marked, and returns the marks of each field. */
function markText(fields: Field[], text: string, view: HTMLElement): Map<number, HTMLElement[]> {
  const places = placesOf(fields, text);
  // Where spans overlap, the text is cut at every border, and the shortest span gives the colour.
  const cuts = [...new Set([0, text.length, ...places.flatMap((place) => [place.start, place.end])])].sort((a, b) => a - b);
  const marks = new Map<number, HTMLElement[]>();
  view.replaceChildren();
  for (let at = 0; at + 1 < cuts.length; at++) {
    const [start, end] = [cuts[at]!, cuts[at + 1]!];
    const over = places.filter((place) => place.start <= start && place.end >= end);
    over.sort((a, b) => a.end - a.start - (b.end - b.start));
    const first = over[0];
    if (!first) {
      view.append(text.slice(start, end));
      continue;
    }
    const mark = h("mark", { "data-band": band(fields[first.field]?.confidence) }, text.slice(start, end));
    for (const { field, isFirst, end: last } of over) {
      marks.set(field, [...(marks.get(field) ?? []), mark]);
      if (isFirst && last === end) mark.append(tag(fields[field]!));
    }
    view.append(mark);
  }
  return marks;
}

function tag(field: Field): HTMLElement {
  const name = pointerSegments(field.pointer).at(-1) ?? "value";
  return h("span", { class: "tag" }, name, field.confidence !== undefined && ` ${percent(field.confidence)}`);
}

function placesOf(fields: Field[], text: string): Place[] {
  const units = unitsOfCharacters(text);
  return fields.flatMap((field, index) =>
    (field.characters ?? []).map(([start, end], at) => ({
      start: units[start] ?? text.length,
      end: units[end] ?? text.length,
      field: index,
      isFirst: at === 0,
    })),
  );
}

/** Where each character begins. The server counts characters, strings here count UTF-16 units. */
function unitsOfCharacters(text: string): number[] {
  const units: number[] = [];
  let at = 0;
  for (const character of text) {
    units.push(at);
    at += character.length;
  }
  units.push(at);
  return units;
}
