// Inputs to begin with, for both modes: in a chat, the embedded model takes its values from the prompt. Names and
// companies are made up.

import { printJson } from "./json.ts";

export interface Sample {
  name: string;
  text: string;
  schema: string;
}

const text = { type: "string" };

export const SAMPLES: Sample[] = [
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
          additionalProperties: false,
        },
        city: text,
      },
      required: ["name", "contact", "city"],
      additionalProperties: false,
    }),
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
        speakers: { type: "array", items: text, maxItems: 4 },
      },
      required: ["topic", "date", "time", "room", "minutes", "speakers"],
      additionalProperties: false,
    }),
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
            additionalProperties: false,
          },
          maxItems: 5,
        },
        total: { type: "number" },
        currency: { enum: ["EUR", "GBP", "USD"] },
        due: { type: "string", format: "date" },
      },
      required: ["number", "seller", "lines", "total", "currency", "due"],
      additionalProperties: false,
    }),
  },
];

export const REGEX_SAMPLE = "[0-9]{1,4} (kg|g) of [a-z]{3,12}";

export const GRAMMAR_SAMPLE = `root ::= item ("\\n" item){1,4}
item ::= "- " word (" " word){0,3}
word ::= [a-z]{2,10}
`;
