// Errors as sentences, with the control of the form that each is about.

import { RequestError } from "./api.ts";

export interface Failure {
  title: string;
  detail: string;
  /** The id of the control to change, where one is known. */
  control?: string;
  /** Where in the schema, as a JSON Pointer. */
  pointer?: string;
}

const TITLES: Record<number, string> = {
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
  503: "The server cannot answer now.",
};

/** Fields of requests and the controls that set them. Parameters have controls of their own name. */
const CONTROLS: [RegExp, string][] = [
  [/^(schema|grammar|regex|response_format|structured_outputs|json_schema)\b/, "schema"],
  [/^(texts?|messages|input|prompt)\b/, "input"],
  [/^model\b/, "model"],
  [/^max_(completion_)?tokens\b/, "p-max_tokens"],
];

export function describe(error: unknown, hasControl: (id: string) => boolean): Failure {
  if (!(error instanceof RequestError)) {
    return { title: "The page failed.", detail: error instanceof Error ? error.message : String(error) };
  }
  const { status, retryAfter } = error;
  const { message, param } = error.error;
  let title = status === undefined ? "There is no complete answer." : TITLES[status];
  title ??= status !== undefined && status >= 500 ? "The server failed." : "The server refuses this request.";
  let detail = sentence(message);
  if (retryAfter && status !== undefined && status >= 429) detail += ` Try again in ${seconds(retryAfter)}.`;
  const failure: Failure = { title, detail };
  if (status === 401) {
    failure.control = "api-key";
    return failure;
  }
  const control = controlOf(param ?? "", hasControl) ?? (status === 413 ? "input" : undefined);
  const pointer = pointerIn(param ?? "") ?? (control === undefined || control === "schema" ? pointerIn(message) : undefined);
  // Line and column take the pointer's place.
  if (pointer !== undefined) return { ...failure, detail: sentence(message.replace(`#${pointer}: `, "")), control: "schema", pointer };
  if (control !== undefined) failure.control = control;
  else if (param) failure.detail += ` (${param})`;
  return failure;
}

function controlOf(param: string, hasControl: (id: string) => boolean): string | undefined {
  const name = param.replace(/^\//, "").replaceAll("/", ".");
  const found = CONTROLS.find(([pattern]) => pattern.test(name));
  if (found) return found[1];
  const own = `p-${name.split(".").at(-1)?.replace(/\[.*/, "") ?? ""}`;
  return hasControl(own) ? own : undefined;
}

/** The pointer at the end of `schema#/a/b`, or at the beginning of `#/a/b: message`. */
export function pointerIn(text: string): string | undefined {
  const found = /#(\/.*?|)(?=: |$)/.exec(text) ?? /^(?:schema|response_format\.json_schema\.schema)(\/.*)$/.exec(text);
  return found?.[1];
}

/** With a capital and a full stop; a word in quotes, or with capitals of its own, stays as it is. */
export function sentence(message: string): string {
  const text = message.trim();
  const first = /^[a-z]+(?=[ ,])/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

function seconds(retryAfter: string): string {
  if (!/^\d+$/.test(retryAfter)) return retryAfter;
  return retryAfter === "1" ? "a second" : `${retryAfter} seconds`;
}
