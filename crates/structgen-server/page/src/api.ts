// Calls of the server. Addresses are relative to the page, so that it works below any prefix.

import type { ChatChunk, Extraction, ModelEntry, ServerError } from "./protocol.ts";

/** Kept here only: neither in storage nor in the address. */
let apiKey = "";

export function setApiKey(key: string): void {
  apiKey = key.trim();
}

/** Why a request has no answer. */
export class RequestError extends Error {
  constructor(
    readonly error: ServerError,
    /** None where the server was not reached, or the answer broke off. */
    readonly status?: number,
    readonly retryAfter?: string,
  ) {
    super(error.message);
  }
}

export function baseUrl(): string {
  return new URL("v1", document.baseURI).href;
}

async function call(path: string, signal: AbortSignal | undefined, body?: string): Promise<Response> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (apiKey) headers["Authorization"] = `Bearer ${apiKey}`;
  let response: Response;
  try {
    response = await fetch(`${baseUrl()}/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new RequestError({ message: `The server does not answer at ${baseUrl()}.` });
  }
  if (response.ok) return response;
  throw new RequestError(await serverError(response), response.status, response.headers.get("Retry-After") ?? undefined);
}

/** The error object of a reply, or, where something else than the server replied, its first line. */
async function serverError(response: Response): Promise<ServerError> {
  const text = await response.text().catch(() => "");
  try {
    const { error } = JSON.parse(text) as { error?: ServerError };
    if (typeof error?.message === "string") return error;
  } catch {
    // Not JSON.
  }
  return { message: text.split("\n")[0]?.slice(0, 300) || `The server replied ${response.status} without saying why.` };
}

export async function listModels(): Promise<ModelEntry[]> {
  const list = (await (await call("models", undefined)).json()) as { data?: ModelEntry[] };
  return list.data ?? [];
}

export async function extract(body: string, signal: AbortSignal): Promise<Extraction> {
  const response = await call("extract", signal, body);
  return (await response.json()) as Extraction;
}

/** Fails if the constraint is refused. The body has the constraint and a text, and whether that matches is no matter. */
export async function checkConstraint(body: string, signal: AbortSignal): Promise<void> {
  await call("constraints/check", signal, body);
}

/** Calls `on` for each chunk. An error event, and a stream that ends without `[DONE]`, are errors. */
export async function streamChat(body: string, signal: AbortSignal, on: (chunk: ChatChunk) => void): Promise<void> {
  const response = await call("chat/completions", signal, body);
  if (!response.body) throw new RequestError({ message: "The server's answer has no body." });
  const events = new EventReader();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (;;) {
    let read: ReadableStreamReadResult<Uint8Array>;
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
      let chunk: ChatChunk;
      try {
        chunk = JSON.parse(data) as ChatChunk;
      } catch {
        throw new RequestError({ message: "The server sent an event that is not JSON." });
      }
      if (chunk.error) throw new RequestError(chunk.error);
      on(chunk);
    }
  }
}

/** Reads server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
export class EventReader {
  private rest = "";
  private data: string[] = [];

  /** The data of the events that end within a part of the stream. */
  read(part: string): string[] {
    this.rest += part;
    // A carriage return at the end may be half of a line break.
    const usable = this.rest.endsWith("\r") ? this.rest.length - 1 : this.rest.length;
    const lines = this.rest.slice(0, usable).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + this.rest.slice(usable);
    const events: string[] = [];
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
}
