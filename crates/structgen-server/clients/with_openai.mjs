// The official `openai` package for JavaScript, unchanged, against a running server.

import assert from "node:assert/strict";
import OpenAI from "openai";

const baseURL = `${(process.env.STRUCTGEN_URL ?? "http://127.0.0.1:8080").replace(/\/$/, "")}/v1`;
const client = new OpenAI({ baseURL, apiKey: process.env.STRUCTGEN_API_KEY ?? "none", maxRetries: 0 });
const model = process.env.STRUCTGEN_MODEL ?? (await client.models.list()).data[0].id;

const text = "My name is Ruben Keller and I live in Utrecht. Call me on 0606300391 or write to ruben@keller.com.";
const messages = [{ role: "user", content: text }];
const schema = {
  type: "object",
  properties: { name: { type: "string" }, city: { type: "string" } },
  required: ["name", "city"],
  additionalProperties: false,
};
const response_format = { type: "json_schema", json_schema: { name: "person", strict: true, schema } };
const tools = [{ type: "function", function: { name: "save_person", parameters: schema, strict: true } }];
const tool_choice = { type: "function", function: { name: "save_person" } };
const format = { format: { type: "json_schema", name: "person", strict: true, schema } };

function person(json) {
  const value = JSON.parse(json);
  assert.deepEqual(Object.keys(value), ["name", "city"]);
}

const checks = {
  async "models are listed and found"() {
    assert.equal((await client.models.retrieve(model)).id, model);
  },
  async "a chat answers in text"() {
    const answer = await client.chat.completions.create({ model, messages, max_completion_tokens: 8 });
    assert.ok(answer.usage.completion_tokens <= 8);
  },
  async "a response format holds"() {
    const answer = await client.chat.completions.create({ model, messages, response_format });
    person(answer.choices[0].message.content);
  },
  async "a stream equals the whole answer"() {
    const asked = { model, messages, response_format, temperature: 0 };
    const whole = await client.chat.completions.create(asked);
    let streamed = "";
    for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) {
      streamed += chunk.choices[0]?.delta.content ?? "";
    }
    assert.equal(streamed, whole.choices[0].message.content);
  },
  async "the stream helper puts the answer together"() {
    const stream = client.chat.completions.stream({ model, messages, response_format, stream_options: { include_usage: true } });
    let content = "";
    stream.on("content", (delta) => (content += delta));
    const final = await stream.finalChatCompletion();
    assert.equal(content, final.choices[0].message.content);
    assert.ok(final.usage.completion_tokens > 0);
    person(content);
  },
  async "a tool is called, whole and streamed"() {
    const answer = await client.chat.completions.create({ model, messages, tools, tool_choice });
    person(answer.choices[0].message.tool_calls[0].function.arguments);
    const final = await client.chat.completions.stream({ model, messages, tools, tool_choice }).finalChatCompletion();
    person(final.choices[0].message.tool_calls[0].function.arguments);
  },
  async "several answers, log probabilities and a seed"() {
    const asked = { model, messages, response_format, n: 2, seed: 4, temperature: 1.2, logprobs: true, top_logprobs: 2 };
    const [first, second] = [await client.chat.completions.create(asked), await client.chat.completions.create(asked)];
    assert.deepEqual(first.choices.map((it) => it.message.content), second.choices.map((it) => it.message.content));
    assert.equal(first.choices.length, 2);
    assert.ok(first.choices[0].logprobs.content.length > 0);
  },
  async "a response holds its format"() {
    const response = await client.responses.create({ model, input: text, text: format });
    person(response.output_text);
  },
  async "a response streams typed events"() {
    const kinds = [];
    let streamed = "";
    for await (const event of await client.responses.create({ model, input: text, text: format, stream: true })) {
      kinds.push(event.type);
      if (event.type === "response.output_text.delta") streamed += event.delta;
    }
    assert.equal(kinds[0], "response.created");
    assert.equal(kinds.at(-1), "response.completed");
    person(streamed);
  },
  async "the stream helper puts a response together"() {
    const final = await client.responses.stream({ model, input: text, text: format }).finalResponse();
    person(final.output_text);
  },
  async "responses are kept and deleted"() {
    const { id, output_text } = await client.responses.create({ model, input: text, text: format });
    assert.equal((await client.responses.retrieve(id)).output_text, output_text);
    await client.responses.delete(id);
    await assert.rejects(client.responses.retrieve(id), OpenAI.NotFoundError);
  },
  async "unknown fields are refused by name"() {
    await assert.rejects(client.chat.completions.create({ model, messages, colour: "red" }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, "colour");
      return true;
    });
  },
  async "a request that is cancelled disturbs nobody"() {
    const stream = await client.chat.completions.create({ model, messages, max_tokens: 64, stream: true });
    for await (const _ of stream) break;
    const answer = await client.chat.completions.create({ model, messages, response_format });
    person(answer.choices[0].message.content);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n        ${String(error?.stack ?? error).replaceAll("\n", "\n        ")}`);
  }
}
console.log(`${Object.keys(checks).length - failed} of ${Object.keys(checks).length} hold`);
process.exit(failed > 0 ? 1 : 0);
