// The bodies of the requests, from what the form has.

import { Raw } from "./json.ts";
import type { Body } from "./snippets.ts";

/** What the output has to match. */
export type ConstraintKind = "schema" | "json" | "regex" | "grammar" | "none";

/** How many tokens are asked for at each step: enough to see whether all that are allowed have the same text. */
const ALTERNATIVES = 16;

export interface Form {
  model: string;
  input: string;
  system: string;
  kind: ConstraintKind;
  /** The schema, pattern or grammar. */
  constraint: string;
  parameters: Body;
  alternatives: number;
  grounded: boolean | undefined;
}

export function extractBody(form: Form): Body {
  return {
    model: form.model,
    schema: new Raw(form.constraint),
    text: form.input,
    alternatives: form.alternatives > 0 ? form.alternatives : undefined,
    grounded: form.grounded,
    ...form.parameters,
    structgen: { report: true },
  };
}

export function chatBody(form: Form): Body {
  const system = form.system.trim() === "" ? [] : [{ role: "system", content: form.system }];
  return {
    model: form.model,
    messages: [...system, { role: "user", content: form.input }],
    ...constraintFields(form),
    ...form.parameters,
    stream: true,
    stream_options: { include_usage: true },
    structgen: { report: true, steps: true, params: { alternatives: ALTERNATIVES } },
  };
}

function constraintFields({ kind, constraint }: Form): Body {
  switch (kind) {
    case "schema":
      return { response_format: { type: "json_schema", json_schema: { name: "output", strict: true, schema: new Raw(constraint) } } };
    case "json":
      return { response_format: { type: "json_object" } };
    case "regex":
      return { structured_outputs: { regex: constraint } };
    case "grammar":
      return { structured_outputs: { grammar: constraint } };
    case "none":
      return {};
  }
}

/** The constraint alone, with a text that need not match. */
export function checkBody({ kind, constraint }: Form): Body {
  const name = kind === "schema" ? "json_schema" : kind;
  return { [name]: kind === "schema" ? new Raw(constraint) : constraint, text: "" };
}
