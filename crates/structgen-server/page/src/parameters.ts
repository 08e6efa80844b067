// The controls of the parameters. One that is left empty is not sent, so the server's default holds.

import { h } from "./dom.ts";
import { Raw } from "./json.ts";
import type { Body } from "./snippets.ts";

interface Parameter {
  name: string;
  label: string;
  hint: string;
  min?: number;
  max?: number;
  step?: number | "any";
}

const PARAMETERS: Parameter[] = [
  { name: "max_tokens", label: "Most tokens", hint: "The output is complete within them", min: 1, step: 1 },
  { name: "temperature", label: "Temperature", hint: "0 takes the best token", min: 0, max: 5, step: "any" },
  { name: "top_p", label: "Top p", hint: "0 to 1", min: 0, max: 1, step: "any" },
  { name: "top_k", label: "Top k", hint: "0 is off", min: 0, step: 1 },
  { name: "min_p", label: "Min p", hint: "0 to 1", min: 0, max: 1, step: "any" },
  { name: "repetition_penalty", label: "Repetition penalty", hint: "1 is off", min: 0, step: "any" },
  { name: "seed", label: "Seed", hint: "Same seed, same output", min: 0, step: 1 },
];

export class Parameters {
  private inputs = new Map<string, HTMLInputElement>();

  constructor(container: HTMLElement, changed: () => void) {
    for (const parameter of PARAMETERS) {
      const id = `p-${parameter.name}`;
      const { min, max, step } = parameter;
      const input = h("input", { id, type: "number", min, max, step, placeholder: "default", "aria-describedby": `${id}-hint`, oninput: changed });
      this.inputs.set(parameter.name, input);
      container.append(
        h("div", { class: "control" }, h("label", { for: id }, parameter.label), input, h("span", { class: "hint", id: `${id}-hint` }, parameter.hint)),
      );
    }
  }

  /** The first control with a value that is out of its range. */
  get invalid(): HTMLInputElement | undefined {
    return [...this.inputs.values()].find((input) => !input.checkValidity());
  }

  /** The values that are set, with their digits as typed. */
  values(): Body {
    const body: Body = {};
    for (const [name, input] of this.inputs) {
      if (input.value === "" || !input.checkValidity()) continue;
      const isJson = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(input.value);
      body[name] = new Raw(isJson ? input.value : String(Number(input.value)));
    }
    return body;
  }
}
