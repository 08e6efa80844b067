// The parts of the page that need no browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { EventReader, RequestError } from "../src/api.ts";
import { describe, pointerIn, sentence } from "../src/failures.ts";
import { Raw, decodeString, lineAndColumn, locate, parseJson, printJson, type JsonNode } from "../src/json.ts";
import { curl, python, pythonChat, pythonExtract } from "../src/snippets.ts";

const VALID = [
  "{}", "[]", '""', "0", "-0", "1.5e+10", "true", "null", " [1 , 2 ]\n", '{"a":{"b":[{"c":null}]},"d":"\\u00e9\\n"}', '"\u2028"',
];
const INVALID = [
  "", " ", "{", '{"a"', '{"a":', '{"a":1', '{"a":1,}', "[1,]", "[1 2]", "01", "1.", ".5", "+1", "-", "1e", "tru", "nul1", "'a'", '"\\x"', '"\n"',
  "{a:1}", "1 2", "[1}", '{"a" 1}', '"\\u12"', "NaN", "\ufeff1",
];

test("the parser accepts what JSON.parse accepts, and nothing else", () => {
  for (const text of VALID) assert.equal(parseJson(text).problem, undefined, text);
  for (const text of INVALID) {
    assert.throws(() => JSON.parse(text) as unknown);
    assert.ok(parseJson(text).problem, text);
  }
});

test("every beginning of a document gives the same values so far", () => {
  const text = '{"a":[1,{"b":"x\\u00e9\\n\\ud83d\\ude00"}],"c":true,"d":{}}';
  const whole = pointers(parseJson(text).root);
  for (let end = 1; end < text.length; end++) {
    const part = parseJson(text.slice(0, end));
    assert.ok(part.problem);
    assert.deepEqual(pointers(part.root), whole.slice(0, pointers(part.root).length));
  }
});

function pointers(node: JsonNode | undefined): string[] {
  return node ? [node.pointer, ...node.children.flatMap(pointers)] : [];
}

test("a string that is cut within an escape has its text before the escape", () => {
  assert.equal(decodeString('"ab\\'), "ab");
  assert.equal(decodeString('"ab\\u00'), "ab");
  assert.equal(decodeString('"a\\"b'), 'a"b');
  assert.equal(decodeString('"a\\\\"'), "a\\");
});

test("deep nesting is a mistake, not a crash", () => {
  assert.match(parseJson("[".repeat(100_000)).problem?.message ?? "", /nested/);
});

test("a pointer is found, or the last value on its way", () => {
  const document = parseJson('{"a/b":{"~":[10,{"x y":2}]}}');
  assert.equal(locate(document, "#/a~1b/~0/1/x%20y")?.pointer, "/a~1b/~0/1/x y");
  assert.equal(locate(document, "/a~1b/none/2")?.pointer, "/a~1b");
  assert.equal(locate(document, "")?.pointer, "");
});

test("columns are characters", () => {
  assert.deepEqual(lineAndColumn('a\n"😀x', 5), { line: 2, column: 3 });
});

test("parts of a request are sent as they were typed", () => {
  const body = { schema: new Raw('{"maximum": 12345678901234567890.10}'), absent: undefined, list: [] };
  assert.equal(printJson(body), '{"schema": {"maximum": 12345678901234567890.10}, "list": []}');
  const long = "x".repeat(60);
  assert.equal(printJson({ long, list: [1] }), `{\n  "long": "${long}",\n  "list": [1]\n}`);
});

test("the command survives a shell, and the programs are Python", () => {
  const body = { model: "m", text: "it's \"so\"\n$HOME `x` \\ 😀", schema: new Raw('{"const": [true, null, 1e2, "\\/", "\'"]}'), structgen: { report: true } };
  const command = curl("http://h/v1/extract", body, true);
  const echoed = execFileSync("bash", ["-c", `curl() { for a; do last=$a; done; printf '%s' "$last"; }\n${command}`], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(echoed), { model: "m", text: body.text, schema: { const: [true, null, 100, "/", "'"] }, structgen: { report: true } });
  const literal = python(body as never, "");
  const read = execFileSync("python3", ["-c", "import ast,json,sys; print(json.dumps(ast.literal_eval(sys.stdin.read())))"], { input: literal, encoding: "utf8" });
  assert.deepEqual(JSON.parse(read), JSON.parse(echoed));
  for (const program of [pythonExtract("http://h/v1", body, true), pythonChat("http://h/v1", { ...body, messages: [], stream: true }, false)]) {
    execFileSync("python3", ["-c", "import ast,sys; ast.parse(sys.stdin.read())"], { input: program });
  }
});

test("events are read however the stream is cut", () => {
  const stream = ": a comment\r\n\r\ndata: {\"a\":1}\r\n\r\nevent: x\ndata: two\ndata: lines\n\ndata: [DONE]\n\n";
  for (let cut = 0; cut <= stream.length; cut++) {
    const reader = new EventReader();
    const events = [...reader.read(stream.slice(0, cut)), ...reader.read(stream.slice(cut))];
    assert.deepEqual(events, ['{"a":1}', "two\nlines", "[DONE]"], `cut at ${cut}`);
  }
});

test("an error is about the control that set its field", () => {
  const controls = new Set(["schema", "input", "model", "api-key", "p-top_p", "p-max_tokens", "p-alternatives"]);
  const failure = (status: number, param: string | null, message = "no") => describe(new RequestError({ message, param }, status), (id) => controls.has(id));
  assert.deepEqual([failure(400, "schema#/properties/a b").control, failure(400, "schema#/properties/a b").pointer], ["schema", "/properties/a b"]);
  assert.equal(failure(400, "response_format.json_schema.schema#/if").pointer, "/if");
  assert.equal(failure(400, "schema", "invalid `type` at #/items: not a type").pointer, "/items");
  assert.equal(failure(400, "messages[0].content").control, "input");
  assert.equal(failure(400, "max_completion_tokens").control, "p-max_tokens");
  assert.equal(failure(400, "structgen.params.top_p").control, "p-top_p");
  assert.equal(failure(401, null).control, "api-key");
  assert.match(failure(400, "colour").detail, /colour/);
  assert.equal(failure(400, "colour").control, undefined);
});

test("messages become sentences", () => {
  assert.equal(sentence("the queue is full"), "The queue is full.");
  assert.equal(sentence("max_tokens is 3"), "max_tokens is 3.");
  assert.equal(pointerIn("nothing here"), undefined);
});
