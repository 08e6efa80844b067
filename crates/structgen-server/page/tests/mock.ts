// A server that speaks the protocol with scripted answers: what a real one cannot be made to do at will, such as
// failing in mid-stream. The name of the model chooses what happens.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Mock {
  url: string;
  /** Requests that clients left before they were answered. */
  left: () => number;
  /** The bodies of the requests, in order. */
  bodies: string[];
  close: () => Promise<void>;
}

const TYPES: Record<string, string> = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css" };
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Replies by the name of the model: status, error, headers. */
const REFUSALS: Record<string, [number, Record<string, unknown>, Record<string, string>?]> = {
  keyword: [400, { message: "unsupported keyword `if` at #/properties/contact: back-references", param: "schema#/properties/contact", code: "invalid_schema" }],
  "keyword-chat": [400, { message: "the keyword is refused", param: "response_format.json_schema.schema#/properties/contact/properties/email/format", code: "invalid_schema" }],
  temperature: [400, { message: "temperature: must be at most 2", param: "temperature" }],
  budget: [400, { message: "the output needs at least 41 tokens", param: "max_tokens", code: "budget_too_small" }],
  missing: [404, { message: "there is no model of this name", param: "model", code: "model_not_found" }],
  slow: [408, { message: "the time limit passed" }],
  large: [413, { message: "the body has more than 2097152 bytes" }],
  unfinished: [422, { message: "the constraint reached a limit" }],
  busy: [429, { message: "the queue is full", code: "queue_full" }, { "Retry-After": "7" }],
  broken: [500, { message: "the model failed" }],
  away: [503, { message: "the server is stopping" }, { "Retry-After": "1" }],
  unknown: [400, { message: "the field colour is not supported", param: "colour", code: "unknown_parameter" }],
};
const MODELS = ["demo", "endless", "mid-error", "cut", "html-error", "key", "reasoning", ...Object.keys(REFUSALS)];

export async function startMock(dist: string): Promise<Mock> {
  let left = 0;
  const bodies: string[] = [];
  const server: Server = createServer((request, response) => {
    response.on("close", () => {
      if (!response.writableEnded) left++;
    });
    answer(request, response, dist, bodies).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    left: () => left,
    bodies,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, dist: string, bodies: string[]): Promise<void> {
  const path = new URL(request.url ?? "/", "http://mock").pathname;
  if (request.method === "GET" && path === "/v1/models") {
    return json(response, 200, { object: "list", data: MODELS.map((id) => ({ id, object: "model" })) });
  }
  if (request.method === "GET") {
    const name = path === "/" ? "index.html" : path.slice(1);
    if (!["index.html", "app.js", "app.css"].includes(name)) return void response.writeHead(404).end();
    const type = TYPES[name.split(".").at(-1) ?? ""] ?? "";
    response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": POLICY });
    return void response.end(await readFile(join(dist, name)));
  }
  let body = "";
  for await (const part of request) body += String(part);
  if (path !== "/v1/constraints/check") bodies.push(body);
  const parsed = JSON.parse(body) as { model: string; text?: string };
  if (path === "/v1/constraints/check") {
    if (!body.includes("strin\"")) return json(response, 200, { accepted: false });
    const error = { message: "`type` has a value that is no type", param: "json_schema#/properties/a/type" };
    return json(response, 400, { error });
  }
  const refusal = REFUSALS[parsed.model];
  if (refusal) return json(response, refusal[0], { error: refusal[1] }, refusal[2]);
  if (parsed.model === "key" && request.headers.authorization !== "Bearer sesame") {
    return json(response, 401, { error: { message: "the key is not known" } });
  }
  if (parsed.model === "html-error") return void response.writeHead(502, { "Content-Type": "text/html" }).end("<h1>Bad gateway</h1>");
  if (path === "/v1/extract") return extraction(response, parsed);
  await chat(response, parsed.model);
}

function json(response: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
}

function extraction(response: ServerResponse, { model, text = "" }: { model: string; text?: string }): void {
  if (model === "endless") return;
  const characters = [...text];
  const find = (value: string): [number, number][] => {
    const at = text.indexOf(value);
    if (at < 0) return [];
    const start = [...text.slice(0, at)].length;
    return [[start, Math.min(characters.length, start + [...value].length)]];
  };
  const field = (pointer: string, value: string, confidence: number, other?: string): unknown => ({
    pointer,
    value,
    grounded: true,
    characters: find(value),
    confidence,
    probability: confidence,
    ...(other && { alternatives: [{ value: other, probability: 0.1 }] }),
  });
  const value = { name: "Ruben Keller", contact: { phone: "0606300391", email: "ruben@keller.com" }, city: "Utrecht" };
  json(response, 200, {
    value,
    json: JSON.stringify(value),
    fields: [
      field("/name", value.name, 0.93, "Ruben"),
      field("/contact/phone", value.contact.phone, 0.62),
      field("/contact/email", value.contact.email, 0.87),
      field("/city", value.city, 0.31, "Keller"),
    ],
    ungrounded: ["#/properties/nickname"],
    report: { tokens: 41, forced_tokens: 22, seed: 7 },
  });
}

const OUTPUT: [string, boolean, number, number][] = [
  ['{"name":"', true, 1, 0.1], ["Ada", false, 311, 0.72], [" Love", false, 208, 0.05], ["lace", false, 96, 0.002],
  ['","age":', true, 1, 0.01], ["3", false, 9, 0.61], ["6", false, 11, 0.2], [',"tags":[', true, 1, 0.4],
  ['"', false, 2, 0.03], ["math", false, 290, 0.11], ['"]', false, 14, 0.55], ["}", true, 1, 0],
];

async function chat(response: ServerResponse, model: string): Promise<void> {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const send = (value: unknown): void => void response.write(`data: ${JSON.stringify(value)}\n\n`);
  const choice = (delta: unknown, more: object = {}): void => send({ choices: [{ index: 0, delta, finish_reason: null, ...more }] });
  choice({ role: "assistant", content: "" });
  if (model === "reasoning") choice({ reasoning: "A person is asked for." });
  const endless = model === "endless";
  for (let at = 0; at < (endless ? 2000 : OUTPUT.length); at++) {
    const [text, forced, allowed, removed] = OUTPUT[endless ? 1 + (at % 3) : at]!;
    if (at === 5 && model === "cut") return void response.end();
    if (at === 5 && model === "mid-error") {
      send({ error: { message: "the model failed at token 5", type: "server_error", param: null, code: null } });
      return void response.end();
    }
    const probability = 0.8 - (at % 4) * 0.15;
    const token = {
      id: 100 + at,
      text,
      bytes: [...Buffer.from(text)],
      forced,
      logprob: forced ? 0 : Math.log(probability),
      removed_mass: forced ? null : removed,
      allowed,
      wanted: forced || removed < 0.05 ? [] : [{ id: 7, text: "\n", probability: removed * 0.7 }, { id: 8, text: "Sure", probability: removed * 0.2 }],
      alternatives: forced ? [] : [{ id: 100 + at, text, probability }, { id: 9, text: "Be", probability: (1 - probability) * 0.6 }],
    };
    choice({ content: text }, { structgen: { tokens: [token] } });
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  choice({}, { finish_reason: "stop", structgen: { tokens: [], report: { tokens: 12, forced_tokens: 4, fields: [{ pointer: "/name", value: "Ada Lovelace", confidence: 0.66 }] } } });
  send({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 12 } });
  response.end("data: [DONE]\n\n");
}
