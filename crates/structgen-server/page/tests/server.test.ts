// The page that a real server has, with its first model: STRUCTGEN_URL=http://127.0.0.1:8080/ npm test
// A server with a key is tested with it in STRUCTGEN_API_KEY.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { violations } from "./axe.ts";
import { open, startBrowser } from "./browser.ts";

const url = process.env["STRUCTGEN_URL"];
const skip = url === undefined && "STRUCTGEN_URL names no server";

let browser: Browser;
before(async () => {
  if (!skip) browser = await startBrowser();
});
after(() => browser?.close());

async function onPage(run: (page: Page) => Promise<void>, expects: number[] = [], options: BrowserContextOptions = {}): Promise<void> {
  const { page, faults } = await open(browser, url ?? "", options, expects, process.env["STRUCTGEN_API_KEY"]);
  page.setDefaultTimeout(60_000);
  await run(page);
  assert.deepEqual(faults, []);
  await page.context().close();
}

const text = async (page: Page, id: string): Promise<string> => (await page.locator(`#${id}`).textContent()) ?? "";

async function run(page: Page): Promise<void> {
  await page.click("#run");
  await page.waitForFunction(() => !document.getElementById("failure")!.hidden || / in [\d.]+ m?s/.test(document.getElementById("status")!.textContent ?? ""));
  assert.equal(await text(page, "failure"), "");
}

async function refused(page: Page): Promise<string> {
  await page.click("#run");
  await page.locator("#failure").waitFor();
  return text(page, "failure");
}

const chat = (page: Page): Promise<void> => page.getByText("Chat", { exact: true }).click();

test("the page comes with a policy that allows nothing from elsewhere", { skip }, async () => {
  const policy = (await fetch(url ?? "")).headers.get("Content-Security-Policy") ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
});

test("each example is extracted, with places in the text", { skip }, () =>
  onPage(async (page) => {
    for (let example = 0; example < (await page.locator("#sample option").count()); example++) {
      await page.selectOption("#sample", { index: example });
      await run(page);
      assert.ok((await page.locator(".field").count()) > 2);
      assert.ok((await page.locator("#spans mark").count()) > 0);
      assert.ok((await page.locator("#tree .confidence").count()) > 0);
    }
  }),
);

test("marked spans are the values", { skip }, () =>
  onPage(async (page) => {
    await page.fill("#input", "😀 Ada Lövelace 😀 lives in Bath.");
    await page.fill("#schema", '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}');
    await run(page);
    const value = JSON.parse(await text(page, "fields").then((all) => /"[^"]*"/.exec(all)?.[0] ?? "")) as string;
    const marked = await page.locator("#spans mark").first().evaluate((element) => element.firstChild?.textContent);
    assert.equal(marked, value);
  }),
);

test("a chat's tokens are its output, and the report gives fields", { skip }, () =>
  onPage(async (page) => {
    await chat(page);
    await run(page);
    const output = await text(page, "plain");
    assert.deepEqual(Object.keys(JSON.parse(output) as object), ["name", "contact", "city"]);
    const count = await page.locator("#tokens [role=option]").count();
    assert.match(await text(page, "status"), new RegExp(`^${count} tokens`));
    assert.ok((await page.locator("#tokens .forced").count()) > 0);
    assert.ok((await page.locator("#tokens .token:not(.forced)").count()) > 0);
    await page.locator("#tokens .token:not(.forced)").first().click();
    assert.match(await text(page, "inspector"), /Allowed\d+ token/);
    assert.match(await text(page, "inspector"), /chosen/);
    assert.ok((await page.locator(".field").count()) > 2);
    assert.deepEqual(await violations(page), []);
  }),
);

for (const [kind, constraint, pattern] of [
  ["regex", "[0-9]{2,4} (kg|g)", /^[0-9]{2,4} (kg|g)$/],
  ["grammar", 'root ::= "a" [b-d]{2} "\\n" [x-z]', /^a[b-d]{2}\n[x-z]$/],
] as const) {
  test(`the output matches the constraint: ${kind}`, { skip }, () =>
    onPage(async (page) => {
      await chat(page);
      await page.selectOption("#constraint", kind);
      await page.fill("#schema", constraint);
      await run(page);
      assert.match(await text(page, "plain"), pattern);
    }),
  );
}

test("a long output is stopped, and the next one is whole", { skip }, () =>
  onPage(async (page) => {
    await chat(page);
    await page.selectOption("#constraint", "regex");
    await page.fill("#schema", "([a-z] ){900}");
    await page.click("#run");
    await page.locator("#tokens [role=option]").nth(5).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText(/^Stopped after [\d,]+ tokens/).waitFor();
    await page.fill("#schema", "[a-z]{5}");
    await run(page);
    assert.match(await text(page, "plain"), /^[a-z]{5}$/);
  }),
);

test("free text ends at the limit of tokens", { skip }, () =>
  onPage(async (page) => {
    await chat(page);
    await page.selectOption("#constraint", "none");
    await page.getByText("Parameters").click();
    await page.fill("#p-max_tokens", "5");
    await page.fill("#p-temperature", "2");
    await run(page);
    assert.match(await text(page, "status"), /^[1-5] tokens?/);
  }),
);

test("a seed gives the same output again", { skip }, () =>
  onPage(async (page) => {
    await chat(page);
    await page.selectOption("#constraint", "regex");
    await page.fill("#schema", "[a-z]{12}");
    await page.getByText("Parameters").click();
    await page.fill("#p-temperature", "2");
    await page.fill("#p-seed", "4294967295");
    await run(page);
    const first = await text(page, "plain");
    await run(page);
    assert.equal(await text(page, "plain"), first);
  }),
);

const MISTAKES: [string, string, RegExp][] = [
  ["schema", '{\n  "type": "object",\n  "properties": {\n    "age": {"type": "intger"}\n  }\n}', /Line 4, column \d+/],
  ["schema", '{\n  "properties": {\n    "a": {"$ref": "#/$defs/none"}\n  }\n}', /Line 3, column \d+/],
  ["schema", '{\n  "type": "object",\n  "minProperties": 3,\n  "maxProperties": 1\n}', /./],
];

for (const [id, schema, place] of MISTAKES) {
  for (const mode of ["Extract", "Chat"]) {
    test(`${mode}: ${schema.replace(/\s+/g, " ")} is refused at its place`, { skip }, () =>
      onPage(
        async (page) => {
          await page.getByText(mode, { exact: true }).first().click();
          await page.fill("#schema", schema);
          assert.match(await refused(page), place);
          assert.equal(await page.getAttribute(`#${id}`, "aria-invalid"), "true");
        },
        [400],
      ),
    );
  }
}

test("a budget that is too small is refused at its control", { skip }, () =>
  onPage(
    async (page) => {
      await chat(page);
      await page.getByText("Parameters").click();
      await page.fill("#p-max_tokens", "2");
      assert.match(await refused(page), /\d/);
      assert.equal(await page.getAttribute("#p-max_tokens", "aria-invalid"), "true");
    },
    [400],
  ),
);

test("the command that is shown works", { skip }, () =>
  onPage(async (page) => {
    const extracted = execFileSync("bash", ["-c", `${await text(page, "code")} -sf`], { encoding: "utf8" });
    assert.ok("value" in (JSON.parse(extracted) as object));
    await chat(page);
    await page.locator("#code", { hasText: "chat/completions" }).waitFor();
    const streamed = execFileSync("bash", ["-c", `${await text(page, "code")} -sf`], { encoding: "utf8" });
    assert.match(streamed, /data: \[DONE\]\s*$/);
  }),
);

const key = process.env["STRUCTGEN_API_KEY"];

test("a server with a key asks for it", { skip: skip || (key === undefined && "STRUCTGEN_API_KEY names no key") }, async () => {
  const page = await browser.newPage();
  await page.goto(url ?? "");
  await page.getByText("The server asks for an API key").waitFor();
  await page.getByRole("button", { name: "Enter a key" }).click();
  await page.keyboard.type(key ?? "");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => document.querySelectorAll("#model option").length > 0);
  assert.ok(await page.locator("#failure").isHidden());
  await run(page);
  assert.doesNotMatch(await text(page, "code"), new RegExp(key ?? ""));
  await page.close();
});

test("accessible on a phone", { skip }, () =>
  onPage(
    async (page) => {
      await run(page);
      assert.deepEqual(await violations(page), []);
      const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
      assert.equal(content, screen);
    },
    [],
    { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "dark" },
  ),
);
