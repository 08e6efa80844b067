// The generated tokens with the mask of each step: a row of tokens, a chart of how many were allowed, and the
// probabilities of the chosen step before and after the mask.

import { eachFrame, h, percent, plural, svg, visible } from "./dom.ts";
import type { TokenStep } from "./protocol.ts";

/** How many of the allowed tokens of a step are listed, and the chosen one in any case. */
const LISTED = 6;

/** Tokens less probable than this, before and after the mask, are only counted. */
const NOTABLE = 0.001;

export class TokenView {
  private steps: TokenStep[] = [];
  private options: HTMLElement[] = [];
  private selected = -1;
  /** Whether the newest token is selected as it comes; until someone selects another. */
  private follows = true;
  private line: HTMLElement;
  private readonly redraw = eachFrame(() => this.drawSummaries());

  constructor(
    private readonly list: HTMLElement,
    private readonly chart: HTMLElement,
    private readonly figures: HTMLElement,
    private readonly inspector: HTMLElement,
  ) {
    this.line = h("span");
    list.addEventListener("keydown", (event) => this.onKey(event));
    list.addEventListener("click", (event) => {
      const option = (event.target as Element).closest<HTMLElement>("[role=option]");
      if (option) this.select(this.options.indexOf(option), true);
    });
    this.clear();
  }

  get count(): number {
    return this.steps.length;
  }

  clear(): void {
    this.steps = [];
    this.options = [];
    this.selected = -1;
    this.follows = true;
    this.list.replaceChildren();
    this.chart.replaceChildren();
    this.figures.replaceChildren();
    this.inspector.replaceChildren(h("p", { class: "hint" }, "Select a token to see the probabilities of its step."));
    this.startLine();
  }

  add(steps: TokenStep[]): void {
    for (const step of steps) {
      const option = this.option(step, this.steps.length);
      this.steps.push(step);
      this.options.push(option);
      this.line.append(option);
      if (step.text.includes("\n")) this.startLine();
    }
    if (this.follows && steps.length > 0) this.select(this.steps.length - 1, false);
    this.redraw();
  }

  private startLine(): void {
    this.line = h("span", { class: "token-line", role: "presentation" });
    this.list.append(this.line);
  }

  private option(step: TokenStep, index: number): HTMLElement {
    const forced = isForced(step);
    const isWanting = favouriteWasRefused(step);
    const count = step.forced ? "" : step.allowed == null ? "?" : compact(step.allowed);
    const spoken = [!step.forced && "allowed", forced && "forced", isWanting && "the model wanted another"];
    return h(
      "span",
      {
        role: "option",
        class: ["token", forced && "forced", isWanting && "wanting"].filter(Boolean).join(" "),
        "aria-selected": "false",
        tabindex: index === 0 ? 0 : -1,
      },
      h("span", { class: "token-text" }, tokenText(step)),
      h("span", { class: "token-count" }, count),
      h("span", { class: "unseen" }, spoken.filter(Boolean).join(", ")),
    );
  }

  private onKey(event: KeyboardEvent): void {
    const last = this.steps.length - 1;
    const moves: Record<string, number> = {
      ArrowRight: this.selected + 1,
      ArrowLeft: this.selected - 1,
      ArrowDown: this.nextMarked(1),
      ArrowUp: this.nextMarked(-1),
      Home: 0,
      End: last,
    };
    const to = moves[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (to >= 0 && to <= last) this.select(to, true);
  }

  /** The next token that was a choice: forced ones are passed over. */
  private nextMarked(direction: number): number {
    for (let at = this.selected + direction; at >= 0 && at < this.steps.length; at += direction) {
      const step = this.steps[at];
      if (step && !isForced(step)) return at;
    }
    return this.selected;
  }

  private select(index: number, byHand: boolean): void {
    const previous = this.options[this.selected];
    const option = this.options[index];
    const step = this.steps[index];
    if (!option || !step) return;
    if (this.selected < 0) this.options[0]?.setAttribute("tabindex", "-1");
    previous?.setAttribute("aria-selected", "false");
    previous?.setAttribute("tabindex", "-1");
    option.setAttribute("aria-selected", "true");
    option.setAttribute("tabindex", "0");
    this.selected = index;
    if (byHand) {
      this.follows = false;
      option.focus();
    }
    this.inspector.replaceChildren(...inspection(step, index));
  }

  private drawSummaries(): void {
    if (this.steps.length === 0) return;
    const forced = this.steps.filter(isForced).length;
    const chosen = this.steps.filter((step) => !step.forced && step.removed_mass != null);
    const mass = chosen.reduce((sum, step) => sum + (step.removed_mass ?? 0), 0) / Math.max(1, chosen.length);
    const figure = (value: string, name: string): HTMLElement => h("div", {}, h("dd", {}, value), h("dt", {}, name));
    this.figures.replaceChildren(
      figure(String(this.steps.length), "tokens"),
      figure(`${forced}`, `forced, ${percent(forced / this.steps.length)}`),
      figure(chosen.length > 0 ? percent(mass) : "–", "removed by the mask, on average"),
    );
    this.chart.replaceChildren(chartOf(this.steps));
  }
}

/** Whether no other text could come: the token was forced, or all that the mask allowed begin alike and differ in length. */
function isForced(step: TokenStep): boolean {
  if (step.forced) return true;
  const others = step.alternatives ?? [];
  if (step.text === "" || others.length === 0 || others.length !== step.allowed) return false;
  return others.every(({ text }) => text !== "" && (text.startsWith(step.text) || step.text.startsWith(text)));
}

/** Whether the token that the model found most probable is one that the mask refused. */
function favouriteWasRefused(step: TokenStep): boolean {
  const refused = step.wanted?.[0]?.probability ?? 0;
  const kept = 1 - (step.removed_mass ?? 0);
  return refused > Math.max(0, ...(step.alternatives ?? []).map(({ probability }) => probability * kept));
}

/** A token may be a part of a character: then its bytes are shown. */
function tokenText(step: TokenStep): string {
  const bytes = step.bytes ?? [];
  if (step.text === "" && bytes.length === 0) return "∅";
  if (step.text === "" || (step.text.includes("\ufffd") && bytes.length > 0)) {
    return bytes.map((byte) => `⟨${byte.toString(16).padStart(2, "0")}⟩`).join("");
  }
  return visible(step.text);
}

function compact(count: number): string {
  return count < 10_000 ? String(count) : `${Math.round(count / 1000)}k`;
}

/** Bars of log(allowed), with the part of the probability that was removed. */
function chartOf(steps: TokenStep[]): SVGElement {
  const height = 44;
  const shown = steps.slice(-400);
  const most = Math.log2(1 + Math.max(2, ...shown.map((step) => step.allowed ?? 1)));
  const bars = shown.flatMap((step, at) => {
    if (isForced(step)) return [svg("rect", { class: "bar-forced", x: at * 6, y: height - 2, width: 6, height: 2 })];
    const full = Math.max(3, (Math.log2(1 + (step.allowed ?? 1)) / most) * height);
    const removed = full * Math.min(1, step.removed_mass ?? 0);
    return [
      svg("rect", { class: "bar-kept", x: at * 6, y: height - full, width: 5, height: full }),
      svg("rect", { class: "bar-removed", x: at * 6, y: height - full, width: 5, height: removed }),
    ];
  });
  const width = Math.max(shown.length * 6, 60);
  const most_allowed = Math.max(...shown.map((step) => step.allowed ?? 1));
  const label = `Tokens allowed at each step, on a logarithmic scale: at most ${most_allowed.toLocaleString("en")}.`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...bars);
}

interface Row {
  text: string;
  before: number | undefined;
  after: number;
  outcome: "chosen" | "refused" | "allowed";
}

function inspection(step: TokenStep, index: number): Node[] {
  const removed = step.removed_mass ?? undefined;
  const facts: Node[] = [];
  const fact = (name: string, value: string): void => void facts.push(h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  const sameText = !step.forced && isForced(step) ? ", all of the same text" : "";
  fact("Allowed", step.forced ? "only this token" : step.allowed == null ? "not reported" : plural(step.allowed, "token") + sameText);
  if (removed !== undefined) fact("Removed by the mask", percent(removed));
  fact("Token id", String(step.id));
  const heading = h("h3", {}, `Step ${index + 1} `, h("code", {}, tokenText(step)), isForced(step) && h("span", { class: "badge" }, "forced"));
  const all = rows(step);
  if (all.length === 0) return [heading, h("dl", { class: "facts" }, ...facts)];
  const table = all.filter((row) => row.outcome === "chosen" || Math.max(row.before ?? 0, row.after) >= NOTABLE);
  const rest = all.length - table.length;
  const head = h("tr", {}, ...["Token", "Before the mask", "After the mask"].map((name) => h("th", { scope: "col" }, name)));
  return [
    heading,
    h("dl", { class: "facts" }, ...facts),
    h("table", { class: "steps" }, h("thead", {}, head), h("tbody", {}, ...table.map(tableRow))),
    ...(rest > 0 ? [h("p", { class: "hint" }, `And ${plural(rest, "other")} below ${percent(NOTABLE)} each.`)] : []),
  ];
}

/** The step's tokens, by probability before the mask. */
function rows(step: TokenStep): Row[] {
  const kept = step.removed_mass == null ? undefined : 1 - step.removed_mass;
  const before = (after: number): number | undefined => (kept === undefined ? undefined : after * kept);
  const list: Row[] = [];
  for (const [rank, { id, text, probability }] of (step.alternatives ?? []).entries()) {
    if (rank < LISTED || id === step.id) list.push({ text, before: before(probability), after: probability, outcome: id === step.id ? "chosen" : "allowed" });
  }
  if (!list.some((row) => row.outcome === "chosen") && step.logprob != null) {
    const after = step.forced ? 1 : Math.exp(step.logprob);
    list.push({ text: step.text, before: before(after), after, outcome: "chosen" });
  }
  for (const { text, probability } of step.wanted ?? []) {
    list.push({ text, before: probability, after: 0, outcome: "refused" });
  }
  return list.sort((a, b) => (b.before ?? b.after) - (a.before ?? a.after));
}

function tableRow(row: Row): HTMLElement {
  const outcome = row.outcome === "allowed" ? "" : row.outcome;
  return h(
    "tr",
    { class: row.outcome },
    h("th", { scope: "row" }, h("code", {}, visible(row.text) || "∅"), outcome && h("span", { class: "badge" }, outcome)),
    h("td", {}, ...bar(row.before)),
    h("td", {}, ...bar(row.after)),
  );
}

function bar(probability: number | undefined): Node[] {
  if (probability === undefined) return [document.createTextNode("–")];
  const filled = svg("rect", { width: `${Math.max(0, Math.min(1, probability)) * 100}%`, height: "100%" });
  return [h("span", { class: "figure" }, percent(probability)), svg("svg", { class: "bar", "aria-hidden": "true" }, filled)];
}
