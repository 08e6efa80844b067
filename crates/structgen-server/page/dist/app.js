// src/api.ts
var apiKey = "";
function setApiKey(key) {
  apiKey = key.trim();
}
var RequestError = class extends Error {
  constructor(error, status2, retryAfter) {
    super(error.message);
    this.error = error;
    this.status = status2;
    this.retryAfter = retryAfter;
  }
  error;
  status;
  retryAfter;
};
function baseUrl() {
  return new URL("v1", document.baseURI).href;
}
async function call(path, signal, body2) {
  const headers = {};
  if (body2 !== void 0) headers["Content-Type"] = "application/json";
  if (apiKey) headers["Authorization"] = `Bearer ${apiKey}`;
  let response;
  try {
    response = await fetch(`${baseUrl()}/${path}`, {
      method: body2 === void 0 ? "GET" : "POST",
      headers,
      ...body2 !== void 0 && { body: body2 },
      ...signal && { signal }
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new RequestError({ message: `The server does not answer at ${baseUrl()}.` });
  }
  if (response.ok) return response;
  throw new RequestError(await serverError(response), response.status, response.headers.get("Retry-After") ?? void 0);
}
async function serverError(response) {
  const text2 = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text2);
    if (typeof error?.message === "string") return error;
  } catch {
  }
  return { message: text2.split("\n")[0]?.slice(0, 300) || `The server replied ${response.status} without saying why.` };
}
async function listModels() {
  const list = await (await call("models", void 0)).json();
  return list.data ?? [];
}
async function extract(body2, signal) {
  const response = await call("extract", signal, body2);
  return await response.json();
}
async function checkConstraint(body2, signal) {
  await call("constraints/check", signal, body2);
}
async function streamChat(body2, signal, on) {
  const response = await call("chat/completions", signal, body2);
  if (!response.body) throw new RequestError({ message: "The server's answer has no body." });
  const events = new EventReader();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (; ; ) {
    let read;
    try {
      read = await reader.read();
    } catch (cause) {
      if (signal.aborted) throw cause;
      throw new RequestError({ message: "The connection broke before the answer was complete." });
    }
    if (read.done) throw new RequestError({ message: "The answer ended before it was complete." });
    for (const data of events.read(decoder.decode(read.value, { stream: true }))) {
      if (data === "[DONE]") {
        void reader.cancel();
        return;
      }
      let chunk;
      try {
        chunk = JSON.parse(data);
      } catch {
        throw new RequestError({ message: "The server sent an event that is not JSON." });
      }
      if (chunk.error) throw new RequestError(chunk.error);
      on(chunk);
    }
  }
}
var EventReader = class {
  rest = "";
  data = [];
  /** The data of the events that end within a part of the stream. */
  read(part) {
    this.rest += part;
    const usable = this.rest.endsWith("\r") ? this.rest.length - 1 : this.rest.length;
    const lines = this.rest.slice(0, usable).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + this.rest.slice(usable);
    const events = [];
    for (const line of lines) {
      if (line === "" && this.data.length > 0) {
        events.push(this.data.join("\n"));
        this.data = [];
      } else if (line.startsWith("data:")) {
        this.data.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
    return events;
  }
};

// src/dom.ts
function h(tag2, properties = {}, ...children) {
  const element = document.createElement(tag2);
  apply(element, properties, children);
  return element;
}
function svg(tag2, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag2);
  apply(element, properties, children);
  return element;
}
function apply(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== void 0 && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== void 0 && child !== false));
}
function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element;
}
function eachFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
function afterPause(milliseconds, run2) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run2, milliseconds);
  };
}
function percent(probability) {
  if (probability === 0) return "0%";
  if (probability > 0 && probability < 1e-3) return "<0.1%";
  if (probability > 0.999 && probability < 1) return ">99.9%";
  return `${(probability * 100).toFixed(probability < 0.1 || probability > 0.99 && probability < 1 ? 1 : 0)}%`;
}
function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
function visible(text2) {
  return text2.replaceAll("\n", "↵").replaceAll("\r", "␍").replaceAll("	", "⇥").replaceAll(" ", "·");
}
async function copy(text2, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text2);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser refused";
  }
  setTimeout(() => button.textContent = label, 1500);
}

// src/json.ts
var MAX_DEPTH = 400;
var NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
var PLAIN = /[^"\\\u0000-\u001f]*/y;
var ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
var ESCAPE_BEGUN = /^\\(?:u[0-9a-fA-F]{0,3})?$/;
var Stop = class extends Error {
  constructor(problem) {
    super(problem.message);
    this.problem = problem;
  }
  problem;
};
function parseJson(source) {
  const parser = new Parser(source);
  let problem;
  try {
    parser.document();
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    problem = error.problem;
  }
  return { source, root: parser.root, problem };
}
var Parser = class {
  constructor(source) {
    this.source = source;
  }
  source;
  root;
  at = 0;
  document() {
    this.space();
    this.value("", 0, (node) => this.root = node);
    this.space();
    if (this.at < this.source.length) this.fail("there is text after the value", this.at, this.source.length);
  }
  /** Reads a value. It is attached before its children are read, so that a document that ends early has it. */
  value(pointer, depth, attach) {
    if (depth > MAX_DEPTH) this.fail(`the document is nested more than ${MAX_DEPTH} levels deep`);
    const node = { kind: "null", pointer, start: this.at, end: this.at, complete: false, children: [] };
    const first = this.source[this.at];
    if (first === void 0) this.fail("a value is missing at the end");
    if (first === "{") node.kind = "object";
    else if (first === "[") node.kind = "array";
    else if (first === '"') node.kind = "string";
    else if (first === "t" || first === "f") node.kind = "boolean";
    else if (first === "n") node.kind = "null";
    else if (first === "-" || first >= "0" && first <= "9") node.kind = "number";
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
  object(node, depth) {
    this.at++;
    this.space();
    if (this.take("}")) return;
    for (; ; ) {
      const start2 = this.at;
      if (this.source[start2] !== '"') {
        const bare = /^[A-Za-z_$'][\w$'-]*/.exec(this.source.slice(start2, start2 + 80));
        if (bare) this.fail("the name of a member is written in double quotes", start2, start2 + bare[0].length);
        if (this.source[start2] === "}") this.fail("there is a comma before the end of the object");
        this.fail(start2 < this.source.length ? "the name of a member is expected here" : "an object is not closed");
      }
      this.string();
      const end = this.at;
      const key = decodeString(this.source.slice(start2, end));
      this.space();
      if (!this.take(":")) this.fail("a colon is missing after the name", this.at, this.at + 1);
      this.space();
      this.value(`${node.pointer}/${escapePointer(key)}`, depth + 1, (child) => {
        child.key = key;
        child.keyRange = [start2, end];
        node.children.push(child);
      });
      this.space();
      if (this.take("}")) return;
      if (!this.take(",")) this.fail(this.ended("object"));
      this.space();
    }
  }
  array(node, depth) {
    this.at++;
    this.space();
    if (this.take("]")) return;
    for (; ; ) {
      if (this.source[this.at] === "]") this.fail("there is a comma before the end of the array");
      this.value(`${node.pointer}/${node.children.length}`, depth + 1, (child) => node.children.push(child));
      this.space();
      if (this.take("]")) return;
      if (!this.take(",")) this.fail(this.ended("array"));
      this.space();
    }
  }
  string() {
    const start2 = this.at++;
    for (; ; ) {
      this.match(PLAIN);
      if (this.take('"')) return;
      if (this.at >= this.source.length) this.fail("a string is not closed", start2, this.at);
      if (this.source[this.at] !== "\\") {
        this.fail("a string has a line break or control character; write it as an escape such as \\n");
      }
      if (!this.match(ESCAPE)) {
        if (ESCAPE_BEGUN.test(this.source.slice(this.at))) this.fail("a string is not closed", start2, this.source.length);
        this.fail("JSON has no such escape", this.at, this.at + 2);
      }
    }
  }
  number() {
    const start2 = this.at;
    if (!this.match(NUMBER)) {
      this.at++;
      this.fail("digits are missing after the minus sign");
    }
    if (/[0-9.eE+]/.test(this.source[this.at] ?? "")) this.fail("JSON has no such number", start2, this.at + 1);
  }
  word() {
    const rest = this.source.slice(this.at);
    for (const word2 of ["true", "false", "null"]) {
      if (rest.startsWith(word2)) {
        this.at += word2.length;
        return;
      }
      if (word2.startsWith(rest)) {
        const start2 = this.at;
        this.at = this.source.length;
        this.fail(`\`${word2}\` is not complete`, start2);
      }
    }
    this.fail("a value is expected here", this.at, this.wordEnd());
  }
  wordEnd() {
    return this.at + (/^\w+/.exec(this.source.slice(this.at, this.at + 80))?.[0].length ?? 1);
  }
  ended(what) {
    return this.at >= this.source.length ? `an ${what} is not closed` : `a comma or the end of the ${what} is expected here`;
  }
  space() {
    while (" 	\n\r".includes(this.source[this.at] ?? "x")) this.at++;
  }
  take(character) {
    if (this.source[this.at] !== character) return false;
    this.at++;
    return true;
  }
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (!found) return false;
    this.at += found[0].length;
    return true;
  }
  fail(message, start2 = this.at, end = start2 + 1) {
    throw new Stop({ message, start: start2, end: Math.max(start2, Math.min(end, this.source.length)) });
  }
};
function decodeString(raw) {
  const closed = raw.length > 1 && raw.endsWith('"') && /^"(?:[^"\\]|\\.)*"$/s.test(raw);
  const text2 = closed ? raw : `${raw.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "")}"`;
  try {
    return JSON.parse(text2);
  } catch {
    return raw.slice(1);
  }
}
function escapePointer(key) {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
function pointerSegments(pointer) {
  return pointer.split("/").slice(1).map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}
function locate(document2, pointer) {
  let node = document2.root;
  for (const segment of pointerSegments(pointer.replace(/^#/, ""))) {
    const next = node && childOf(node, segment);
    if (!next) break;
    node = next;
  }
  return node;
}
function sourceAt(document2, pointer) {
  const node = locate(document2, pointer);
  return node?.pointer === pointer ? document2.source.slice(node.start, node.end) : void 0;
}
function childOf(node, segment) {
  if (node.kind === "array") return node.children[Number(segment)];
  return node.children.find((child) => child.key === segment) ?? node.children.find((child) => child.key === percentDecoded(segment));
}
function percentDecoded(text2) {
  try {
    return decodeURIComponent(text2);
  } catch {
    return text2;
  }
}
function lineAndColumn(source, offset) {
  const before = source.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: [...before.slice(before.lastIndexOf("\n") + 1)].length + 1 };
}
var Raw = class {
  constructor(text2) {
    this.text = text2;
  }
  text;
};
var WIDTH = 72;
function printJson(value, indent = "") {
  if (value instanceof Raw) return value.text.trim().replaceAll("\n", `
${indent}`);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value) ? value.map((item2) => printJson(item2, inner)) : Object.entries(value).filter((member) => member[1] !== void 0).map(([name, member]) => `${JSON.stringify(name)}: ${printJson(member, inner)}`);
  const line = `${open}${items.join(", ")}${close}`;
  if (indent.length + line.length <= WIDTH && !line.includes("\n")) return line;
  return `${open}
${items.map((item2) => inner + item2).join(",\n")}
${indent}${close}`;
}

// src/editor.ts
var SchemaEditor = class {
  constructor(area, message, changed) {
    this.area = area;
    this.message = message;
    this.changed = changed;
    this.marks = h("pre", { class: "editor-marks", "aria-hidden": "true" });
    this.gutter = h("pre", { class: "editor-gutter", "aria-hidden": "true" });
    area.before(this.gutter, this.marks);
    area.addEventListener("input", () => {
      this.refused = void 0;
      this.draw();
      this.changed();
    });
    area.addEventListener("scroll", () => {
      this.marks.scrollTo(area.scrollLeft, area.scrollTop);
      this.gutter.scrollTop = area.scrollTop;
    });
    this.draw();
  }
  area;
  message;
  changed;
  marks;
  gutter;
  /** What the server found; it holds until the text changes. */
  refused;
  readsJson = true;
  get text() {
    return this.area.value;
  }
  set text(text2) {
    this.area.value = text2;
    this.refused = void 0;
    this.draw();
    this.changed();
  }
  /** Whether the text is JSON; grammars and patterns are not. */
  set isJson(isJson) {
    this.readsJson = isJson;
    this.refused = void 0;
    this.draw();
  }
  get document() {
    return parseJson(this.text);
  }
  /** The mistake that can be found here, without the server. */
  get mistake() {
    if (!this.readsJson) return this.text.trim() === "" ? { message: "It is empty." } : void 0;
    if (this.text.trim() === "") return { message: "It is empty." };
    const { problem } = this.document;
    return problem && { message: problem.message, range: [problem.start, problem.end] };
  }
  /** Shows what the server found, at the pointer's place, or at the one that the message names. */
  refuse(message, pointer) {
    const node = pointer === void 0 || !this.readsJson ? void 0 : locate(this.document, pointer);
    const range = node ? place(node) : this.readsJson ? void 0 : placeIn(message, this.text);
    this.refused = { message, ...range && { range } };
    this.draw();
  }
  clearRefusal() {
    if (!this.refused) return;
    this.refused = void 0;
    this.draw();
  }
  /** The line and column of the mistake, if it has a place. */
  get where() {
    const range = (this.mistake ?? this.refused)?.range;
    if (!range) return "";
    const { line, column } = lineAndColumn(this.text, range[0]);
    return `Line ${line}, column ${column}: `;
  }
  /** Puts the caret at the mistake. */
  focusMistake() {
    const range = (this.mistake ?? this.refused)?.range;
    this.area.focus();
    if (!range) return;
    this.area.setSelectionRange(range[0], Math.max(range[0], range[1]));
    const { line } = lineAndColumn(this.text, range[0]);
    const height = this.area.scrollHeight / Math.max(1, this.text.split("\n").length);
    this.area.scrollTop = Math.max(0, (line - 4) * height);
  }
  draw() {
    const text2 = this.text;
    const mistake2 = this.mistake ?? this.refused;
    const wrong = mistake2?.range && lineAndColumn(text2, mistake2.range[0]);
    this.marks.replaceChildren(...coloured(text2, this.readsJson, mistake2?.range), "\n");
    this.gutter.replaceChildren(
      ...text2.split("\n").map((_, at) => h("span", { class: at + 1 === wrong?.line ? "wrong" : void 0 }, `${at + 1}
`))
    );
    this.area.setAttribute("aria-invalid", String(mistake2 !== void 0));
    this.message.replaceChildren();
    this.message.hidden = mistake2 === void 0;
    if (!mistake2) return;
    this.message.append(h("p", {}, h("strong", {}, this.where), `${mistake2.message.replace(/\.$/, "")}.`));
    if (!wrong || !mistake2.range) return;
    this.message.append(
      excerpt(text2, mistake2.range, wrong.column),
      h("button", { type: "button", class: "quiet", onclick: () => this.focusMistake() }, "Go to the place")
    );
  }
};
function place(node) {
  if (node.keyRange) return node.keyRange;
  return [node.start, node.children.length > 0 ? node.start + 1 : node.end];
}
function placeIn(message, text2) {
  const [, line, column] = /line (\d+), column (\d+)/.exec(message) ?? [];
  const [, byte] = /byte (\d+)/.exec(message) ?? [];
  let start2;
  if (line && column) {
    const lines = text2.split("\n");
    const before = lines.slice(0, Number(line) - 1).reduce((sum, { length }) => sum + length + 1, 0);
    start2 = before + [...lines[Number(line) - 1] ?? ""].slice(0, Number(column) - 1).join("").length;
  } else if (byte) {
    start2 = new TextDecoder().decode(new TextEncoder().encode(text2).slice(0, Number(byte))).length;
  } else return void 0;
  return [start2, Math.min(start2 + 1, text2.length)];
}
function excerpt(text2, range, column) {
  const start2 = text2.lastIndexOf("\n", range[0] - 1) + 1;
  const line = text2.slice(start2).split("\n")[0] ?? "";
  const width = Math.max(1, Math.min(range[1] - range[0], line.length - (range[0] - start2)));
  const from = Math.max(0, column - 30);
  const shown = line.slice(from, from + 60);
  return h("pre", { class: "excerpt", "aria-hidden": "true" }, `${shown}
${" ".repeat(column - 1 - from)}`, h("b", {}, "^".repeat(Math.min(width, 60))));
}
var TOKENS = /"(?:[^"\\\n]|\\.)*"?(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;
function coloured(text2, isJson, wrong) {
  const classes = [];
  if (isJson) {
    for (const match of text2.matchAll(TOKENS)) {
      const name = match[1] !== void 0 ? "key" : match[0].startsWith('"') ? "string" : "number";
      classes.push([match.index, match.index + match[0].length - (match[1]?.length ?? 0), name]);
    }
  }
  const nodes = [];
  let at = 0;
  const put = (start2, end, name) => {
    const cuts = wrong ? [start2, ...wrong.filter((cut) => cut > start2 && cut < end), end] : [start2, end];
    for (let index = 0; index + 1 < cuts.length; index++) {
      const [from, to] = [cuts[index], cuts[index + 1]];
      if (from >= to) continue;
      const isWrong = wrong !== void 0 && from >= wrong[0] && to <= Math.max(wrong[1], wrong[0] + 1);
      const names = [name, isWrong && "wrong"].filter(Boolean).join(" ");
      nodes.push(names ? h("span", { class: names }, text2.slice(from, to)) : text2.slice(from, to));
    }
  };
  for (const [start2, end, name] of classes) {
    put(at, start2, void 0);
    put(start2, end, name);
    at = end;
  }
  put(at, text2.length, void 0);
  return nodes;
}

// src/failures.ts
var TITLES = {
  400: "The server cannot use this request.",
  401: "The server asks for an API key, and this is not one of its own.",
  403: "The server refuses this request.",
  404: "The server does not have what was asked for.",
  408: "The request took longer than the server allows.",
  413: "The request is larger than the server allows.",
  422: "The model could not finish under this constraint.",
  429: "The server has too much to do.",
  499: "The request was cancelled.",
  500: "The server failed.",
  503: "The server cannot answer now."
};
var CONTROLS = [
  [/^(schema|grammar|regex|response_format|structured_outputs|json_schema)\b/, "schema"],
  [/^(texts?|messages|input|prompt)\b/, "input"],
  [/^model\b/, "model"],
  [/^max_(completion_)?tokens\b/, "p-max_tokens"]
];
function describe(error, hasControl2) {
  if (!(error instanceof RequestError)) {
    return { title: "The page failed.", detail: error instanceof Error ? error.message : String(error) };
  }
  const { status: status2, retryAfter } = error;
  const { message, param } = error.error;
  let title = status2 === void 0 ? "There is no complete answer." : TITLES[status2];
  title ??= status2 !== void 0 && status2 >= 500 ? "The server failed." : "The server refuses this request.";
  let detail = sentence(message);
  if (retryAfter && status2 !== void 0 && status2 >= 429) detail += ` Try again in ${seconds(retryAfter)}.`;
  const failure = { title, detail };
  if (status2 === 401) {
    failure.control = "api-key";
    return failure;
  }
  const control = controlOf(param ?? "", hasControl2) ?? (status2 === 413 ? "input" : void 0);
  const pointer = pointerIn(param ?? "") ?? (control === void 0 || control === "schema" ? pointerIn(message) : void 0);
  if (pointer !== void 0) return { ...failure, detail: sentence(message.replace(`#${pointer}: `, "")), control: "schema", pointer };
  if (control !== void 0) failure.control = control;
  else if (param) failure.detail += ` (${param})`;
  return failure;
}
function controlOf(param, hasControl2) {
  const name = param.replace(/^\//, "").replaceAll("/", ".");
  const found = CONTROLS.find(([pattern]) => pattern.test(name));
  if (found) return found[1];
  const own = `p-${name.split(".").at(-1)?.replace(/\[.*/, "") ?? ""}`;
  return hasControl2(own) ? own : void 0;
}
function pointerIn(text2) {
  const found = /#(\/.*?|)(?=: |$)/.exec(text2) ?? /^(?:schema|response_format\.json_schema\.schema)(\/.*)$/.exec(text2);
  return found?.[1];
}
function sentence(message) {
  const text2 = message.trim();
  const first = /^[a-z]+(?=[ ,])/.test(text2) ? text2[0].toUpperCase() + text2.slice(1) : text2;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
function seconds(retryAfter) {
  if (!/^\d+$/.test(retryAfter)) return retryAfter;
  return retryAfter === "1" ? "a second" : `${retryAfter} seconds`;
}

// src/fields.ts
function band(confidence) {
  if (confidence === void 0) return "unknown";
  return confidence >= 0.8 ? "high" : confidence >= 0.5 ? "middle" : "low";
}
function badge(confidence) {
  return h("span", { class: "confidence", "data-band": band(confidence) }, percent(confidence));
}
function showExtraction(fields2, json2, text2, textView, list) {
  const marks = markText(fields2, text2, textView);
  list.replaceChildren(...fields2.map((field, index) => item(field, json2, marks.get(index) ?? [], textView)));
}
function item(field, json2, marks, textView) {
  const point = (on) => marks.forEach((mark) => mark.classList.toggle("pointed", on));
  const show = () => {
    textView.querySelectorAll(".pointed").forEach((mark) => mark.classList.remove("pointed"));
    point(true);
    marks[0]?.scrollIntoView({ block: "nearest" });
  };
  const name = pointerSegments(field.pointer).join(" › ") || "the value";
  const others = (field.alternatives ?? []).map(
    (other) => h("li", {}, h("code", {}, JSON.stringify(other.value)), ` ${percent(other.probability)}`)
  );
  return h(
    "li",
    { class: "field", onmouseenter: () => point(true), onmouseleave: () => point(false) },
    h("span", { class: "field-name" }, name),
    h("code", { class: "field-value" }, sourceAt(json2, field.pointer) ?? JSON.stringify(field.value)),
    field.confidence !== void 0 && meter(field.confidence),
    h(
      "span",
      { class: "field-where" },
      marks.length > 0 ? h("button", { type: "button", class: "quiet", "aria-label": `Show ${name} in the text`, onclick: show, onblur: () => point(false) }, "Show") : whereabouts(field)
    ),
    others.length > 0 && h("div", { class: "others" }, "or ", h("ul", {}, ...others))
  );
}
function whereabouts(field) {
  if (field.characters === void 0) return "";
  return typeof field.value === "string" || typeof field.value === "number" ? "not in the text" : "";
}
function meter(confidence) {
  const filled = svg("rect", { width: `${confidence * 100}%`, height: "100%" });
  return h(
    "span",
    { class: "meter", "data-band": band(confidence) },
    svg("svg", { class: "bar", "aria-hidden": "true" }, filled),
    badge(confidence)
  );
}
function markText(fields2, text2, view) {
  const places = placesOf(fields2, text2);
  const cuts = [.../* @__PURE__ */ new Set([0, text2.length, ...places.flatMap((place2) => [place2.start, place2.end])])].sort((a, b) => a - b);
  const marks = /* @__PURE__ */ new Map();
  view.replaceChildren();
  for (let at = 0; at + 1 < cuts.length; at++) {
    const [start2, end] = [cuts[at], cuts[at + 1]];
    const over = places.filter((place2) => place2.start <= start2 && place2.end >= end);
    over.sort((a, b) => a.end - a.start - (b.end - b.start));
    const first = over[0];
    if (!first) {
      view.append(text2.slice(start2, end));
      continue;
    }
    const mark = h("mark", { "data-band": band(fields2[first.field]?.confidence) }, text2.slice(start2, end));
    for (const { field, isFirst, end: last } of over) {
      marks.set(field, [...marks.get(field) ?? [], mark]);
      if (isFirst && last === end) mark.append(tag(fields2[field]));
    }
    view.append(mark);
  }
  return marks;
}
function tag(field) {
  const name = pointerSegments(field.pointer).at(-1) ?? "value";
  return h("span", { class: "tag" }, name, field.confidence !== void 0 && ` ${percent(field.confidence)}`);
}
function placesOf(fields2, text2) {
  const units = unitsOfCharacters(text2);
  return fields2.flatMap(
    (field, index) => (field.characters ?? []).map(([start2, end], at) => ({
      start: units[start2] ?? text2.length,
      end: units[end] ?? text2.length,
      field: index,
      isFirst: at === 0
    }))
  );
}
function unitsOfCharacters(text2) {
  const units = [];
  let at = 0;
  for (const character of text2) {
    units.push(at);
    at += character.length;
  }
  units.push(at);
  return units;
}

// src/parameters.ts
var PARAMETERS = [
  { name: "max_tokens", label: "Most tokens", hint: "The output is complete within them", min: 1, step: 1 },
  { name: "temperature", label: "Temperature", hint: "0 takes the best token", min: 0, max: 5, step: "any" },
  { name: "top_p", label: "Top p", hint: "0 to 1", min: 0, max: 1, step: "any" },
  { name: "top_k", label: "Top k", hint: "0 is off", min: 0, step: 1 },
  { name: "min_p", label: "Min p", hint: "0 to 1", min: 0, max: 1, step: "any" },
  { name: "repetition_penalty", label: "Repetition penalty", hint: "1 is off", min: 0, step: "any" },
  { name: "seed", label: "Seed", hint: "Same seed, same output", min: 0, step: 1 }
];
var Parameters = class {
  inputs = /* @__PURE__ */ new Map();
  constructor(container, changed) {
    for (const parameter of PARAMETERS) {
      const id = `p-${parameter.name}`;
      const { min, max, step } = parameter;
      const input2 = h("input", { id, type: "number", min, max, step, placeholder: "default", "aria-describedby": `${id}-hint`, oninput: changed });
      this.inputs.set(parameter.name, input2);
      container.append(
        h("div", { class: "control" }, h("label", { for: id }, parameter.label), input2, h("span", { class: "hint", id: `${id}-hint` }, parameter.hint))
      );
    }
  }
  /** The first control with a value that is out of its range. */
  get invalid() {
    return [...this.inputs.values()].find((input2) => !input2.checkValidity());
  }
  /** The values that are set, with their digits as typed. */
  values() {
    const body2 = {};
    for (const [name, input2] of this.inputs) {
      if (input2.value === "" || !input2.checkValidity()) continue;
      const isJson = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(input2.value);
      body2[name] = new Raw(isJson ? input2.value : String(Number(input2.value)));
    }
    return body2;
  }
};

// src/requests.ts
var ALTERNATIVES = 16;
function extractBody(form2) {
  return {
    model: form2.model,
    schema: new Raw(form2.constraint),
    text: form2.input,
    alternatives: form2.alternatives > 0 ? form2.alternatives : void 0,
    grounded: form2.grounded,
    ...form2.parameters,
    structgen: { report: true }
  };
}
function chatBody(form2) {
  const system2 = form2.system.trim() === "" ? [] : [{ role: "system", content: form2.system }];
  return {
    model: form2.model,
    messages: [...system2, { role: "user", content: form2.input }],
    ...constraintFields(form2),
    ...form2.parameters,
    stream: true,
    stream_options: { include_usage: true },
    structgen: { report: true, steps: true, params: { alternatives: ALTERNATIVES } }
  };
}
function constraintFields({ kind: kind2, constraint: constraint2 }) {
  switch (kind2) {
    case "schema":
      return { response_format: { type: "json_schema", json_schema: { name: "output", strict: true, schema: new Raw(constraint2) } } };
    case "json":
      return { response_format: { type: "json_object" } };
    case "regex":
      return { structured_outputs: { regex: constraint2 } };
    case "grammar":
      return { structured_outputs: { grammar: constraint2 } };
    case "none":
      return {};
  }
}
function checkBody({ kind: kind2, constraint: constraint2 }) {
  const name = kind2 === "schema" ? "json_schema" : kind2;
  return { [name]: kind2 === "schema" ? new Raw(constraint2) : constraint2, text: "" };
}

// src/samples.ts
var text = { type: "string" };
var SAMPLES = [
  {
    name: "Contact",
    text: "My name is Ruben Keller and I live in Utrecht. Call me on 0606300391 or write to ruben@keller.com.",
    schema: printJson({
      type: "object",
      properties: {
        name: text,
        contact: {
          type: "object",
          properties: { phone: text, email: { type: "string", format: "email" } },
          required: ["phone", "email"],
          additionalProperties: false
        },
        city: text
      },
      required: ["name", "contact", "city"],
      additionalProperties: false
    })
  },
  {
    name: "Meeting",
    text: "Hi all, the budget review is moved to 14 May 2026, half past nine, in room Atlas. Ines Roth and Jo Lund will present; please allow 45 minutes.",
    schema: printJson({
      type: "object",
      properties: {
        topic: text,
        date: { type: "string", format: "date" },
        time: { type: "string", pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$" },
        room: text,
        minutes: { type: "integer", minimum: 5, maximum: 480 },
        speakers: { type: "array", items: text, maxItems: 4 }
      },
      required: ["topic", "date", "time", "room", "minutes", "speakers"],
      additionalProperties: false
    })
  },
  {
    name: "Invoice",
    text: "Invoice 2024-0117\nHeron Kettles Ltd, Leeds\n\n2 gooseneck kettles at 59.90\n1 descaling kit at 8.50\n\nTotal: EUR 128.30, due 30 June 2024.",
    schema: printJson({
      type: "object",
      properties: {
        number: text,
        seller: text,
        lines: {
          type: "array",
          items: {
            type: "object",
            properties: { item: text, quantity: { type: "integer" }, price: { type: "number" } },
            required: ["item", "quantity", "price"],
            additionalProperties: false
          },
          maxItems: 5
        },
        total: { type: "number" },
        currency: { enum: ["EUR", "GBP", "USD"] },
        due: { type: "string", format: "date" }
      },
      required: ["number", "seller", "lines", "total", "currency", "due"],
      additionalProperties: false
    })
  }
];
var REGEX_SAMPLE = "[0-9]{1,4} (kg|g) of [a-z]{3,12}";
var GRAMMAR_SAMPLE = `root ::= item ("\\n" item){1,4}
item ::= "- " word (" " word){0,3}
word ::= [a-z]{2,10}
`;

// src/snippets.ts
function curl(url, body2, needsKey) {
  const lines = [`curl ${quoted(url)}`, `-H 'Content-Type: application/json'`];
  if (needsKey) lines.push(`-H "Authorization: Bearer $STRUCTGEN_API_KEY"`);
  if (body2["stream"] === true) lines[0] = `curl -N ${quoted(url)}`;
  lines.push(`-d ${quoted(printJson(body2))}`);
  return lines.join(" \\\n  ");
}
function quoted(text2) {
  return `'${text2.replaceAll("'", `'\\''`)}'`;
}
var OPENAI_PARAMETERS = /* @__PURE__ */ new Set([
  "model",
  "messages",
  "response_format",
  "stream",
  "stream_options",
  "max_tokens",
  "temperature",
  "top_p",
  "seed",
  "frequency_penalty",
  "presence_penalty",
  "stop",
  "n",
  "logprobs",
  "top_logprobs"
]);
function pythonChat(base, body2, needsKey) {
  const known = Object.entries(body2).filter(([name]) => OPENAI_PARAMETERS.has(name));
  const extra = Object.fromEntries(Object.entries(body2).filter(([name]) => !OPENAI_PARAMETERS.has(name)));
  const lines = known.map(([name, value]) => `    ${name}=${python(value ?? null, "    ")},`);
  if (Object.keys(extra).length > 0) lines.push(`    extra_body=${python(extra, "    ")},`);
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
function pythonExtract(base, body2, needsKey) {
  return `${client(base, needsKey)}
found = client.post("/extract", cast_to=object, body=${python(body2, "")})
print(found)
`;
}
function client(base, needsKey) {
  const key = needsKey ? `os.environ["STRUCTGEN_API_KEY"]` : `"none"`;
  return `${needsKey ? "import os\n\n" : ""}from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(base)}, api_key=${key})
`;
}
function python(value, indent) {
  if (value instanceof Raw) {
    const document2 = parseJson(value.text);
    return document2.root && !document2.problem ? pythonNode(document2, document2.root, indent) : "...";
  }
  const inner = `${indent}    `;
  if (Array.isArray(value)) return bracketed("[", value.map((item2) => python(item2, inner)), "]", indent);
  if (value !== null && typeof value === "object") {
    const members = Object.entries(value).filter((member) => member[1] !== void 0);
    return bracketed("{", members.map(([name, member]) => `${JSON.stringify(name)}: ${python(member, inner)}`), "}", indent);
  }
  return word(JSON.stringify(value));
}
function pythonNode(document2, node, indent) {
  const inner = `${indent}    `;
  const items = node.children.map((child) => {
    const text3 = pythonNode(document2, child, inner);
    return child.key === void 0 ? text3 : `${JSON.stringify(child.key)}: ${text3}`;
  });
  if (node.kind === "object") return bracketed("{", items, "}", indent);
  if (node.kind === "array") return bracketed("[", items, "]", indent);
  const text2 = document2.source.slice(node.start, node.end);
  return node.kind === "string" ? JSON.stringify(decodeString(text2)) : word(text2);
}
function word(text2) {
  return { true: "True", false: "False", null: "None" }[text2] ?? text2;
}
function bracketed(open, items, close, indent) {
  if (items.length === 0) return open + close;
  const line = `${open}${items.join(", ")}${close}`;
  if (line.length + indent.length < 88 && !line.includes("\n")) return line;
  return `${open}
${items.map((item2) => `${indent}    ${item2},`).join("\n")}
${indent}${close}`;
}

// src/theme.ts
var KEY = "structgen-theme";
function startTheme() {
  const radios = document.querySelectorAll("input[name=theme]");
  apply2(stored());
  for (const radio of radios) {
    radio.checked = radio.value === stored();
    radio.addEventListener("change", () => {
      apply2(radio.value);
      try {
        localStorage.setItem(KEY, radio.value);
      } catch {
      }
    });
  }
}
function apply2(theme) {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
function stored() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto";
  }
}

// src/tokens.ts
var LISTED = 6;
var NOTABLE = 1e-3;
var TokenView = class {
  constructor(list, chart, figures, inspector) {
    this.list = list;
    this.chart = chart;
    this.figures = figures;
    this.inspector = inspector;
    this.line = h("span");
    list.addEventListener("keydown", (event) => this.onKey(event));
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.select(this.options.indexOf(option), true);
    });
    this.clear();
  }
  list;
  chart;
  figures;
  inspector;
  steps = [];
  options = [];
  selected = -1;
  /** Whether the newest token is selected as it comes; until someone selects another. */
  follows = true;
  line;
  redraw = eachFrame(() => this.drawSummaries());
  get count() {
    return this.steps.length;
  }
  clear() {
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
  add(steps) {
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
  startLine() {
    this.line = h("span", { class: "token-line", role: "presentation" });
    this.list.append(this.line);
  }
  option(step, index) {
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
        tabindex: index === 0 ? 0 : -1
      },
      h("span", { class: "token-text" }, tokenText(step)),
      h("span", { class: "token-count" }, count),
      h("span", { class: "unseen" }, spoken.filter(Boolean).join(", "))
    );
  }
  onKey(event) {
    const last = this.steps.length - 1;
    const moves = {
      ArrowRight: this.selected + 1,
      ArrowLeft: this.selected - 1,
      ArrowDown: this.nextMarked(1),
      ArrowUp: this.nextMarked(-1),
      Home: 0,
      End: last
    };
    const to = moves[event.key];
    if (to === void 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (to >= 0 && to <= last) this.select(to, true);
  }
  /** The next token that was a choice: forced ones are passed over. */
  nextMarked(direction) {
    for (let at = this.selected + direction; at >= 0 && at < this.steps.length; at += direction) {
      const step = this.steps[at];
      if (step && !isForced(step)) return at;
    }
    return this.selected;
  }
  select(index, byHand) {
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
  drawSummaries() {
    if (this.steps.length === 0) return;
    const forced = this.steps.filter(isForced).length;
    const chosen = this.steps.filter((step) => !step.forced && step.removed_mass != null);
    const mass = chosen.reduce((sum, step) => sum + (step.removed_mass ?? 0), 0) / Math.max(1, chosen.length);
    const figure = (value, name) => h("div", {}, h("dd", {}, value), h("dt", {}, name));
    this.figures.replaceChildren(
      figure(String(this.steps.length), "tokens"),
      figure(`${forced}`, `forced, ${percent(forced / this.steps.length)}`),
      figure(chosen.length > 0 ? percent(mass) : "–", "removed by the mask, on average")
    );
    this.chart.replaceChildren(chartOf(this.steps));
  }
};
function isForced(step) {
  if (step.forced) return true;
  const others = step.alternatives ?? [];
  if (step.text === "" || others.length === 0 || others.length !== step.allowed) return false;
  return others.every(({ text: text2 }) => text2 !== "" && (text2.startsWith(step.text) || step.text.startsWith(text2)));
}
function favouriteWasRefused(step) {
  const refused = step.wanted?.[0]?.probability ?? 0;
  const kept = 1 - (step.removed_mass ?? 0);
  return refused > Math.max(0, ...(step.alternatives ?? []).map(({ probability }) => probability * kept));
}
function tokenText(step) {
  const bytes = step.bytes ?? [];
  if (step.text === "" && bytes.length === 0) return "∅";
  if (step.text === "" || step.text.includes("�") && bytes.length > 0) {
    return bytes.map((byte) => `⟨${byte.toString(16).padStart(2, "0")}⟩`).join("");
  }
  return visible(step.text);
}
function compact(count) {
  return count < 1e4 ? String(count) : `${Math.round(count / 1e3)}k`;
}
function chartOf(steps) {
  const height = 44;
  const shown = steps.slice(-400);
  const most = Math.log2(1 + Math.max(2, ...shown.map((step) => step.allowed ?? 1)));
  const bars = shown.flatMap((step, at) => {
    if (isForced(step)) return [svg("rect", { class: "bar-forced", x: at * 6, y: height - 2, width: 6, height: 2 })];
    const full = Math.max(3, Math.log2(1 + (step.allowed ?? 1)) / most * height);
    const removed = full * Math.min(1, step.removed_mass ?? 0);
    return [
      svg("rect", { class: "bar-kept", x: at * 6, y: height - full, width: 5, height: full }),
      svg("rect", { class: "bar-removed", x: at * 6, y: height - full, width: 5, height: removed })
    ];
  });
  const width = Math.max(shown.length * 6, 60);
  const most_allowed = Math.max(...shown.map((step) => step.allowed ?? 1));
  const label = `Tokens allowed at each step, on a logarithmic scale: at most ${most_allowed.toLocaleString("en")}.`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...bars);
}
function inspection(step, index) {
  const removed = step.removed_mass ?? void 0;
  const facts = [];
  const fact = (name, value) => void facts.push(h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  const sameText = !step.forced && isForced(step) ? ", all of the same text" : "";
  fact("Allowed", step.forced ? "only this token" : step.allowed == null ? "not reported" : plural(step.allowed, "token") + sameText);
  if (removed !== void 0) fact("Removed by the mask", percent(removed));
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
    ...rest > 0 ? [h("p", { class: "hint" }, `And ${plural(rest, "other")} below ${percent(NOTABLE)} each.`)] : []
  ];
}
function rows(step) {
  const kept = step.removed_mass == null ? void 0 : 1 - step.removed_mass;
  const before = (after) => kept === void 0 ? void 0 : after * kept;
  const list = [];
  for (const [rank, { id, text: text2, probability }] of (step.alternatives ?? []).entries()) {
    if (rank < LISTED || id === step.id) list.push({ text: text2, before: before(probability), after: probability, outcome: id === step.id ? "chosen" : "allowed" });
  }
  if (!list.some((row) => row.outcome === "chosen") && step.logprob != null) {
    const after = step.forced ? 1 : Math.exp(step.logprob);
    list.push({ text: step.text, before: before(after), after, outcome: "chosen" });
  }
  for (const { text: text2, probability } of step.wanted ?? []) {
    list.push({ text: text2, before: probability, after: 0, outcome: "refused" });
  }
  return list.sort((a, b) => (b.before ?? b.after) - (a.before ?? a.after));
}
function tableRow(row) {
  const outcome = row.outcome === "allowed" ? "" : row.outcome;
  return h(
    "tr",
    { class: row.outcome },
    h("th", { scope: "row" }, h("code", {}, visible(row.text) || "∅"), outcome && h("span", { class: "badge" }, outcome)),
    h("td", {}, ...bar(row.before)),
    h("td", {}, ...bar(row.after))
  );
}
function bar(probability) {
  if (probability === void 0) return [document.createTextNode("–")];
  const filled = svg("rect", { width: `${Math.max(0, Math.min(1, probability)) * 100}%`, height: "100%" });
  return [h("span", { class: "figure" }, percent(probability)), svg("svg", { class: "bar", "aria-hidden": "true" }, filled)];
}

// src/tree.ts
var JsonTree = class {
  constructor(container, note = () => void 0) {
    this.container = container;
    this.note = note;
  }
  container;
  note;
  rows = /* @__PURE__ */ new Map();
  clear() {
    this.rows.clear();
    this.container.replaceChildren();
  }
  show(document2) {
    const seen = /* @__PURE__ */ new Set();
    if (document2.root) this.update(document2, document2.root, this.container, seen);
    for (const [pointer, row] of this.rows) {
      if (seen.has(pointer)) continue;
      row.element.remove();
      this.rows.delete(pointer);
    }
  }
  update(document2, node, parent, seen) {
    seen.add(node.pointer);
    let row = this.rows.get(node.pointer);
    if (row?.kind !== node.kind) {
      row?.element.remove();
      row = this.row(node);
      this.rows.set(node.pointer, row);
      parent.append(row.element);
    }
    const name = node.key ?? (node.pointer === "" ? void 0 : node.pointer.slice(node.pointer.lastIndexOf("/") + 1));
    const parts = [];
    if (name !== void 0) parts.push(h("span", { class: "tree-key" }, name), " ");
    if (row.list) {
      const count = node.children.length;
      const unit = node.kind === "object" ? "member" : "item";
      parts.push(h("span", { class: "tree-count" }, `${count} ${unit}${count === 1 ? "" : "s"}${node.complete ? "" : " …"}`));
    } else {
      const raw = document2.source.slice(node.start, node.end);
      const text2 = node.kind === "string" ? decodeString(raw) : raw;
      parts.push(h("span", { class: `tree-value ${node.kind}` }, node.kind === "string" ? `“${text2}${node.complete ? "”" : ""}` : text2));
    }
    const note = this.note(node.pointer);
    if (note) parts.push(" ", note);
    row.label.replaceChildren(...parts);
    row.element.classList.toggle("growing", !node.complete);
    for (const child of node.children) this.update(document2, child, row.list ?? parent, seen);
  }
  row(node) {
    if (node.kind !== "object" && node.kind !== "array") {
      const label2 = h("span");
      return { element: h("li", { class: "tree-leaf" }, label2), label: label2, list: void 0, kind: node.kind };
    }
    const label = h("summary");
    const list = h("ul");
    return { element: h("li", {}, h("details", { open: true }, label, list)), label, list, kind: node.kind };
  }
};

// src/main.ts
var model = byId("model");
var input = byId("input");
var system = byId("system");
var constraint = byId("constraint");
var sample = byId("sample");
var apiKey2 = byId("api-key");
var alternatives = byId("p-alternatives");
var grounded = byId("p-grounded");
var run = byId("run");
var stop = byId("stop");
var status = byId("status");
var failureBox = byId("failure");
var mode = "extract";
var running;
var checking;
var inputs = { extract: "", chat: "" };
var constraints = { schema: "", regex: REGEX_SAMPLE, grammar: GRAMMAR_SAMPLE };
var shownConstraint = "schema";
var fields = [];
var json = "";
var drawCode = eachFrame(showCode);
var checkSoon = afterPause(700, () => void check());
var editor = new SchemaEditor(byId("schema"), byId("schema-message"), () => {
  drawCode();
  checkSoon();
});
var parameters = new Parameters(byId("parameters"), drawCode);
var tokens = new TokenView(byId("tokens"), byId("chart"), byId("figures"), byId("inspector"));
var tree = new JsonTree(byId("tree"), (pointer) => {
  const confidence = fields.find((field) => field.pointer === pointer)?.confidence;
  return confidence === void 0 ? void 0 : badge(confidence);
});
var report = new JsonTree(byId("report"));
function kind() {
  return mode === "extract" ? "schema" : constraint.value;
}
function form() {
  return {
    model: model.value,
    input: input.value,
    system: system.value,
    kind: kind(),
    constraint: editor.text,
    parameters: parameters.values(),
    alternatives: Number(alternatives.value),
    grounded: grounded.value === "" ? void 0 : grounded.value === "true"
  };
}
function body() {
  return mode === "extract" ? extractBody(form()) : chatBody(form());
}
function showMode(next) {
  inputs[mode] = input.value;
  mode = next;
  input.value = inputs[mode];
  for (const element of document.querySelectorAll("[data-mode]")) element.hidden = element.dataset["mode"] !== mode;
  byId("input-label").textContent = mode === "extract" ? "Text" : "Prompt";
  run.textContent = mode === "extract" ? "Extract" : "Generate";
  clearResult();
  showConstraint();
}
function showConstraint() {
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
function showSample(index) {
  const chosen = SAMPLES[index];
  if (!chosen) return;
  inputs.extract = chosen.text;
  inputs.chat = chosen.text;
  input.value = inputs[mode];
  constraints.schema = chosen.schema;
  if (shownConstraint === "schema") editor.text = chosen.schema;
  drawCode();
}
function showCode() {
  const notation = document.querySelector("input[name=code]:checked")?.value;
  const needsKey = apiKey2.value !== "";
  const path = mode === "extract" ? "extract" : "chat/completions";
  const python2 = mode === "extract" ? pythonExtract : pythonChat;
  byId("code").textContent = notation === "python" ? python2(baseUrl(), body(), needsKey) : curl(`${baseUrl()}/${path}`, body(), needsKey);
  const count = Object.keys(parameters.values()).length;
  byId("parameters-set").textContent = count > 0 ? `${count} set` : "";
}
async function loadModels() {
  try {
    const chosen = model.value;
    const models = await listModels();
    model.replaceChildren(...models.map(({ id }) => h("option", { value: id }, id)));
    if (models.some(({ id }) => id === chosen)) model.value = chosen;
    showFailure(void 0);
    drawCode();
  } catch (error) {
    showFailure(describe(error, hasControl));
  }
}
function hasControl(id) {
  return document.getElementById(id) !== null;
}
function showFailure(failure) {
  for (const element2 of document.querySelectorAll(".wrong-value")) {
    element2.classList.remove("wrong-value");
    element2.removeAttribute("aria-invalid");
  }
  editor.clearRefusal();
  failureBox.hidden = failure === void 0;
  failureBox.replaceChildren();
  if (!failure) return;
  const control = failure.control;
  if (control === "schema") editor.refuse(failure.detail, failure.pointer);
  const where = control === "schema" ? editor.where : "";
  failureBox.append(h("p", {}, h("strong", {}, failure.title)), h("p", {}, where + failure.detail));
  if (control === void 0) return;
  const element = byId(control);
  if (control !== "schema") {
    element.classList.add("wrong-value");
    element.setAttribute("aria-invalid", "true");
  }
  failureBox.append(h("button", { type: "button", onclick: () => goTo(control) }, control === "api-key" ? "Enter a key" : "Go to the place"));
}
function goTo(control) {
  if (control === "schema") return editor.focusMistake();
  const element = byId(control);
  for (let part = element.closest("details"); part; part = part.parentElement?.closest("details") ?? null) part.open = true;
  element.focus();
}
function mistake() {
  const wrong = (title, detail, control) => ({ title, detail, control });
  if (model.value === "") return wrong("There is no model.", "The server lists none, or could not be asked.", "model");
  if (!byId("schema-part").hidden && editor.mistake) {
    return wrong(`The ${byId("schema-label").textContent} has a mistake.`, sentence(editor.mistake.message), "schema");
  }
  const invalid = parameters.invalid ?? (mode === "extract" && !alternatives.checkValidity() ? alternatives : void 0);
  if (!invalid) return void 0;
  const label = invalid.labels?.[0]?.textContent ?? "A parameter";
  return wrong(`${label} has a value that it cannot have.`, invalid.validationMessage, invalid.id);
}
async function check() {
  checking?.abort();
  if (running || byId("schema-part").hidden || editor.mistake) return;
  const controller = new AbortController();
  checking = controller;
  const text2 = editor.text;
  try {
    await checkConstraint(printJson(checkBody(form())), controller.signal);
  } catch (error) {
    if (controller.signal.aborted || editor.text !== text2) return;
    const failure = describe(error, hasControl);
    if (failure.control === "schema") editor.refuse(failure.detail, failure.pointer);
  }
}
function clearResult() {
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
  showFailure(void 0);
}
function showReport(value) {
  if (!value) return;
  const { fields: _, ...rest } = value;
  byId("report-part").hidden = false;
  report.show(parseJson(JSON.stringify(rest)));
}
function showFields(found, text2) {
  fields = found;
  byId("extracted").hidden = found.length === 0;
  byId("spans-part").hidden = !found.some((field) => field.characters);
  showExtraction(found, parseJson(json), text2, byId("spans"), byId("fields"));
  showTree();
}
function showTree() {
  byId("tree-part").hidden = json === "";
  if (json !== "") tree.show(parseJson(json));
}
async function runExtract(signal) {
  const text2 = input.value;
  const began = performance.now();
  status.textContent = "Extracting …";
  const found = await extract(printJson(body()), signal);
  json = found.json;
  showFields(found.fields ?? [], text2);
  const ungrounded = found.ungrounded ?? [];
  byId("ungrounded").hidden = ungrounded.length === 0;
  byId("ungrounded").textContent = `The text has no value for ${ungrounded.join(", ")}: written freely.`;
  showReport(found.report);
  status.textContent = `${plural(fields.length, "field")} in ${duration(performance.now() - began)}`;
}
async function runChat(signal) {
  let text2 = "";
  let reasoning = "";
  let finish;
  let first;
  let used;
  const prompt = input.value;
  const began = performance.now();
  status.textContent = "Generating …";
  byId("generated").hidden = false;
  byId("tokens-part").hidden = true;
  const draw = eachFrame(() => {
    byId("plain").textContent = text2;
    byId("reasoning").textContent = reasoning;
    byId("reasoning-part").hidden = reasoning === "";
    showTree();
  });
  const read = (chunk) => {
    const choice = chunk.choices?.[0];
    const delta = choice?.delta;
    if (delta?.content) text2 += delta.content;
    if (/^\s*[[{]/.test(text2)) json = text2;
    if (delta?.reasoning) reasoning += delta.reasoning;
    const steps = choice?.structgen?.tokens ?? [];
    if (first === void 0 && (delta?.content || steps.length > 0)) first = performance.now() - began;
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
  const speed = count > 0 ? `, ${Math.round(count / took * 1e3)} per second` : "";
  status.textContent = `${plural(count, "token")} in ${duration(took)}${speed}, first after ${duration(first ?? took)}` + (finish === "length" ? "; the limit of tokens was reached" : "");
}
function duration(milliseconds) {
  return milliseconds < 1e3 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1e3).toFixed(1)} s`;
}
async function start() {
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
    running = void 0;
    run.removeAttribute("aria-disabled");
    byId("result").removeAttribute("aria-busy");
    if (document.activeElement === stop) run.focus();
    stop.disabled = true;
  }
}
function revealResult() {
  if (byId("result").getBoundingClientRect().top < window.innerHeight * 0.7) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  byId("result").scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
}
function listen() {
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
      const key = byId("key");
      if (key.open) {
        key.open = false;
        key.querySelector("summary")?.focus();
      } else running?.abort();
    }
  });
  for (const radio of document.querySelectorAll("input[name=mode]")) {
    radio.addEventListener("change", () => {
      running?.abort();
      showMode(radio.value);
    });
  }
  for (const radio of document.querySelectorAll("input[name=code]")) radio.addEventListener("change", showCode);
  for (const element of [model, input, system, alternatives, grounded]) element.addEventListener("input", drawCode);
  constraint.addEventListener("change", showConstraint);
  sample.addEventListener("change", () => showSample(Number(sample.value)));
  apiKey2.addEventListener("change", () => {
    setApiKey(apiKey2.value);
    void loadModels();
  });
  const copies = [["copy-plain", "plain"], ["copy-code", "code"]];
  for (const [button, source] of copies) {
    byId(button).addEventListener("click", () => void copy(byId(source).textContent ?? "", byId(button)));
  }
  byId("copy-json").addEventListener("click", () => void copy(json, byId("copy-json")));
}
startTheme();
sample.replaceChildren(...SAMPLES.map(({ name }, index) => h("option", { value: index }, name)));
listen();
showSample(0);
showMode("extract");
void loadModels();
