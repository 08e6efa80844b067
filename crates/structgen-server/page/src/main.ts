// The page of `structgen serve`: the form, the request that it makes, and the answer.

import { RequestError, baseUrl, checkConstraint, extract, listModels, setApiKey, streamChat } from "./api.ts";
import { afterPause, byId, copy, eachFrame, h, plural } from "./dom.ts";
import { SchemaEditor } from "./editor.ts";
import { describe, sentence, type Failure } from "./failures.ts";
import { badge, showExtraction } from "./fields.ts";
import { parseJson, printJson } from "./json.ts";
import { Parameters } from "./parameters.ts";
import type { ChatChunk, Field, Report } from "./protocol.ts";
import { chatBody, checkBody, extractBody, type ConstraintKind, type Form } from "./requests.ts";
import { GRAMMAR_SAMPLE, REGEX_SAMPLE, SAMPLES } from "./samples.ts";
import { curl, pythonChat, pythonExtract, type Body } from "./snippets.ts";
import { startTheme } from "./theme.ts";
import { TokenView } from "./tokens.ts";
import { JsonTree } from "./tree.ts";

type Mode = "extract" | "chat";

const model = byId<HTMLSelectElement>("model");
const input = byId<HTMLTextAreaElement>("input");
const system = byId<HTMLTextAreaElement>("system");
const constraint = byId<HTMLSelectElement>("constraint");
const sample = byId<HTMLSelectElement>("sample");
const apiKey = byId<HTMLInputElement>("api-key");
const alternatives = byId<HTMLInputElement>("p-alternatives");
const grounded = byId<HTMLSelectElement>("p-grounded");
const run = byId<HTMLButtonElement>("run");
const stop = byId<HTMLButtonElement>("stop");
const status = byId("status");
const failureBox = byId("failure");

let mode: Mode = "extract";
let running: AbortController | undefined;
let checking: AbortController | undefined;
/** What each mode has in the input, and each constraint in the editor, while another is shown. */
const inputs: Record<Mode, string> = { extract: "", chat: "" };
const constraints: Record<"schema" | "regex" | "grammar", string> = { schema: "", regex: REGEX_SAMPLE, grammar: GRAMMAR_SAMPLE };
let shownConstraint: keyof typeof constraints = "schema";
/** The fields of the answer, and its JSON. */
let fields: Field[] = [];
let json = "";

const drawCode = eachFrame(showCode);
const checkSoon = afterPause(700, () => void check());
const editor = new SchemaEditor(byId<HTMLTextAreaElement>("schema"), byId("schema-message"), () => {
  drawCode();
  checkSoon();
});
const parameters = new Parameters(byId("parameters"), drawCode);
const tokens = new TokenView(byId("tokens"), byId("chart"), byId("figures"), byId("inspector"));
const tree = new JsonTree(byId("tree"), (pointer) => {
  const confidence = fields.find((field) => field.pointer === pointer)?.confidence;
  return confidence === undefined ? undefined : badge(confidence);
});
const report = new JsonTree(byId("report"));

function kind(): ConstraintKind {
  return mode === "extract" ? "schema" : (constraint.value as ConstraintKind);
}

function form(): Form {
  return {
    model: model.value,
    input: input.value,
    system: system.value,
    kind: kind(),
    constraint: editor.text,
    parameters: parameters.values(),
    alternatives: Number(alternatives.value),
    grounded: grounded.value === "" ? undefined : grounded.value === "true",
  };
}

function body(): Body {
  return mode === "extract" ? extractBody(form()) : chatBody(form());
}

// The form.

function showMode(next: Mode): void {
  inputs[mode] = input.value;
  mode = next;
  input.value = inputs[mode];
  for (const element of document.querySelectorAll<HTMLElement>("[data-mode]")) element.hidden = element.dataset["mode"] !== mode;
  byId("input-label").textContent = mode === "extract" ? "Text" : "Prompt";
  run.textContent = mode === "extract" ? "Extract" : "Generate";
  clearResult();
  showConstraint();
}

function showConstraint(): void {
  const next = kind();
  const isEdited = next === "schema" || next === "regex" || next === "grammar";
  byId("schema-part").hidden = !isEdited;
  if (isEdited && next !== shownConstraint) {
    constraints[shownConstraint] = editor.text;
    shownConstraint = next;
    editor.isJson = next === "schema";
    editor.text = constraints[next];
  }
  const labels = { schema: "JSON Schema", regex: "Regular expression", grammar: "Grammar (GBNF)" };
  byId("schema-label").textContent = labels[shownConstraint];
  drawCode();
}

function showSample(index: number): void {
  const chosen = SAMPLES[index];
  if (!chosen) return;
  inputs.extract = chosen.text;
  inputs.chat = chosen.text;
  input.value = inputs[mode];
  constraints.schema = chosen.schema;
  if (shownConstraint === "schema") editor.text = chosen.schema;
  drawCode();
}

function showCode(): void {
  const notation = document.querySelector<HTMLInputElement>("input[name=code]:checked")?.value;
  const needsKey = apiKey.value !== "";
  const path = mode === "extract" ? "extract" : "chat/completions";
  const python = mode === "extract" ? pythonExtract : pythonChat;
  byId("code").textContent =
    notation === "python" ? python(baseUrl(), body(), needsKey) : curl(`${baseUrl()}/${path}`, body(), needsKey);
  const count = Object.keys(parameters.values()).length;
  byId("parameters-set").textContent = count > 0 ? `${count} set` : "";
}

async function loadModels(): Promise<void> {
  try {
    const chosen = model.value;
    const models = await listModels();
    model.replaceChildren(...models.map(({ id }) => h("option", { value: id }, id)));
    if (models.some(({ id }) => id === chosen)) model.value = chosen;
    showFailure(undefined);
    drawCode();
  } catch (error) {
    showFailure(describe(error, hasControl));
  }
}

// Errors, each at the control that it is about.

function hasControl(id: string): boolean {
  return document.getElementById(id) !== null;
}

function showFailure(failure: Failure | undefined): void {
  for (const element of document.querySelectorAll(".wrong-value")) {
    element.classList.remove("wrong-value");
    element.removeAttribute("aria-invalid");
  }
  editor.clearRefusal();
  failureBox.hidden = failure === undefined;
  failureBox.replaceChildren();
  if (!failure) return;
  const control = failure.control;
  if (control === "schema") editor.refuse(failure.detail, failure.pointer);
  const where = control === "schema" ? editor.where : "";
  failureBox.append(h("p", {}, h("strong", {}, failure.title)), h("p", {}, where + failure.detail));
  if (control === undefined) return;
  const element = byId(control);
  if (control !== "schema") {
    element.classList.add("wrong-value");
    element.setAttribute("aria-invalid", "true");
  }
  failureBox.append(h("button", { type: "button", onclick: () => goTo(control) }, control === "api-key" ? "Enter a key" : "Go to the place"));
}

function goTo(control: string): void {
  if (control === "schema") return editor.focusMistake();
  const element = byId(control);
  for (let part = element.closest("details"); part; part = part.parentElement?.closest("details") ?? null) part.open = true;
  element.focus();
}

/** The first mistake that can be seen without the server. */
function mistake(): Failure | undefined {
  const wrong = (title: string, detail: string, control: string): Failure => ({ title, detail, control });
  if (model.value === "") return wrong("There is no model.", "The server lists none, or could not be asked.", "model");
  if (!byId("schema-part").hidden && editor.mistake) {
    return wrong(`The ${byId("schema-label").textContent} has a mistake.`, sentence(editor.mistake.message), "schema");
  }
  const invalid = parameters.invalid ?? (mode === "extract" && !alternatives.checkValidity() ? alternatives : undefined);
  if (!invalid) return undefined;
  const label = invalid.labels?.[0]?.textContent ?? "A parameter";
  return wrong(`${label} has a value that it cannot have.`, invalid.validationMessage, invalid.id);
}

/** Asks the server what is wrong with the constraint, while it is written. Other errors are for when it is used. */
async function check(): Promise<void> {
  checking?.abort();
  if (running || byId("schema-part").hidden || editor.mistake) return;
  const controller = new AbortController();
  checking = controller;
  const text = editor.text;
  try {
    await checkConstraint(printJson(checkBody(form())), controller.signal);
  } catch (error) {
    if (controller.signal.aborted || editor.text !== text) return;
    const failure = describe(error, hasControl);
    if (failure.control === "schema") editor.refuse(failure.detail, failure.pointer);
  }
}

// The result.

function clearResult(): void {
  fields = [];
  json = "";
  for (const id of ["extracted", "ungrounded", "generated", "tree-part", "report-part", "reasoning-part"]) byId(id).hidden = true;
  byId("empty").hidden = false;
  status.textContent = "";
  tokens.clear();
  tree.clear();
  report.clear();
  byId("plain").textContent = "";
  byId("reasoning").textContent = "";
  showFailure(undefined);
}

function showReport(value: Report | undefined): void {
  if (!value) return;
  const { fields: _, ...rest } = value;
  byId("report-part").hidden = false;
  report.show(parseJson(JSON.stringify(rest)));
}

/** The fields and their places in the text that they are about, and in the tree how sure the model is of each. */
function showFields(found: Field[], text: string): void {
  fields = found;
  byId("extracted").hidden = found.length === 0;
  byId("spans-part").hidden = !found.some((field) => field.characters);
  showExtraction(found, parseJson(json), text, byId("spans"), byId("fields"));
  showTree();
}

function showTree(): void {
  byId("tree-part").hidden = json === "";
  if (json !== "") tree.show(parseJson(json));
}

async function runExtract(signal: AbortSignal): Promise<void> {
  const text = input.value;
  const began = performance.now();
  status.textContent = "Extracting …";
  const found = await extract(printJson(body()), signal);
  json = found.json;
  showFields(found.fields ?? [], text);
  const ungrounded = found.ungrounded ?? [];
  byId("ungrounded").hidden = ungrounded.length === 0;
  byId("ungrounded").textContent = `The text has no value for ${ungrounded.join(", ")}: written freely.`;
  showReport(found.report);
  status.textContent = `${plural(fields.length, "field")} in ${duration(performance.now() - began)}`;
}

async function runChat(signal: AbortSignal): Promise<void> {
  let text = "";
  let reasoning = "";
  let finish: string | undefined;
  let first: number | undefined;
  let used: number | undefined;
  const prompt = input.value;
  const began = performance.now();
  status.textContent = "Generating …";
  byId("generated").hidden = false;
  byId("tokens-part").hidden = true;
  const draw = eachFrame(() => {
    byId("plain").textContent = text;
    byId("reasoning").textContent = reasoning;
    byId("reasoning-part").hidden = reasoning === "";
    showTree();
  });
  const read = (chunk: ChatChunk): void => {
    const choice = chunk.choices?.[0];
    const delta = choice?.delta;
    if (delta?.content) text += delta.content;
    if (/^\s*[[{]/.test(text)) json = text;
    if (delta?.reasoning) reasoning += delta.reasoning;
    const steps = choice?.structgen?.tokens ?? [];
    if (first === undefined && (delta?.content || steps.length > 0)) first = performance.now() - began;
    if (steps.length > 0) {
      byId("tokens-part").hidden = false;
      tokens.add(steps);
    }
    if (choice?.finish_reason) finish = choice.finish_reason;
    if (chunk.usage) used = chunk.usage.completion_tokens;
    const found = choice?.structgen?.report;
    showReport(found);
    if (found?.fields) showFields(found.fields, prompt);
    draw();
  };
  await streamChat(printJson(body()), signal, read);
  draw();
  const took = performance.now() - began;
  const count = used ?? tokens.count;
  const speed = count > 0 ? `, ${Math.round((count / took) * 1000)} per second` : "";
  status.textContent =
    `${plural(count, "token")} in ${duration(took)}${speed}, first after ${duration(first ?? took)}` +
    (finish === "length" ? "; the limit of tokens was reached" : "");
}

function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

async function start(): Promise<void> {
  if (running) return;
  clearResult();
  const wrong = mistake();
  if (wrong) {
    showFailure(wrong);
    goTo(wrong.control ?? "model");
    return;
  }
  byId("empty").hidden = true;
  const controller = new AbortController();
  running = controller;
  run.setAttribute("aria-disabled", "true");
  stop.disabled = false;
  byId("result").setAttribute("aria-busy", "true");
  revealResult();
  try {
    await (mode === "extract" ? runExtract(controller.signal) : runChat(controller.signal));
  } catch (error) {
    if (controller.signal.aborted) {
      status.textContent = tokens.count > 0 ? `Stopped after ${plural(tokens.count, "token")}.` : "Stopped.";
    } else {
      status.textContent = "";
      if (!(error instanceof RequestError)) console.error(error);
      showFailure(describe(error, hasControl));
    }
  } finally {
    running = undefined;
    run.removeAttribute("aria-disabled");
    byId("result").removeAttribute("aria-busy");
    // A button that is switched off loses the focus to nothing.
    if (document.activeElement === stop) run.focus();
    stop.disabled = true;
  }
}

/** Where form and result are one column, the result is out of sight. */
function revealResult(): void {
  if (byId("result").getBoundingClientRect().top < window.innerHeight * 0.7) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  byId("result").scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
}

function listen(): void {
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    void start();
  });
  stop.addEventListener("click", () => running?.abort());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void start();
    } else if (event.key === "Escape") {
      const key = byId<HTMLDetailsElement>("key");
      if (key.open) {
        key.open = false;
        key.querySelector("summary")?.focus();
      } else running?.abort();
    }
  });
  for (const radio of document.querySelectorAll<HTMLInputElement>("input[name=mode]")) {
    radio.addEventListener("change", () => {
      running?.abort();
      showMode(radio.value as Mode);
    });
  }
  for (const radio of document.querySelectorAll("input[name=code]")) radio.addEventListener("change", showCode);
  for (const element of [model, input, system, alternatives, grounded]) element.addEventListener("input", drawCode);
  constraint.addEventListener("change", showConstraint);
  sample.addEventListener("change", () => showSample(Number(sample.value)));
  apiKey.addEventListener("change", () => {
    setApiKey(apiKey.value);
    void loadModels();
  });
  const copies: [string, string][] = [["copy-plain", "plain"], ["copy-code", "code"]];
  for (const [button, source] of copies) {
    byId(button).addEventListener("click", () => void copy(byId(source).textContent ?? "", byId<HTMLButtonElement>(button)));
  }
  byId("copy-json").addEventListener("click", () => void copy(json, byId<HTMLButtonElement>("copy-json")));
}

startTheme();
sample.replaceChildren(...SAMPLES.map(({ name }, index) => h("option", { value: index }, name)));
listen();
showSample(0);
showMode("extract");
void loadModels();
