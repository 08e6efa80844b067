// The page in headless Chromium, against the scripted server.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { violations } from "./axe.ts";
import { open, startBrowser } from "./browser.ts";
import { startMock, type Mock } from "./mock.ts";

let browser: Browser;
let mock: Mock;

before(async () => {
  mock = await startMock(join(process.cwd(), "dist"));
  browser = await startBrowser();
});
after(async () => {
  await browser.close();
  await mock.close();
});

async function onPage(
  run: (page: Page) => Promise<void>,
  { model = "demo", expects = [], ...options }: BrowserContextOptions & { model?: string; expects?: number[] } = {},
): Promise<void> {
  const { page, faults } = await open(browser, mock.url, options, expects);
  await page.selectOption("#model", model);
  await run(page);
  assert.deepEqual(faults, []);
  await page.context().close();
}

const chat = (page: Page): Promise<void> => page.getByText("Chat", { exact: true }).click();
const text = async (page: Page, id: string): Promise<string> => (await page.locator(`#${id}`).textContent()) ?? "";
const finished = (page: Page): Promise<unknown> => page.waitForFunction(() => / in [\d.]+ m?s/.test(document.getElementById("status")?.textContent ?? ""));
const failed = (page: Page): Promise<void> => page.locator("#failure").waitFor();

test("extraction shows fields, confidence, places and the tree", () =>
  onPage(async (page) => {
    // Characters outside of the basic plane count as one for the server.
    await page.fill("#input", `😀 ${await page.inputValue("#input")}`);
    await page.click("#run");
    await finished(page);
    assert.equal(await page.locator(".field").count(), 4);
    const mark = page.locator("#spans mark").first();
    assert.equal(await mark.evaluate((element) => element.firstChild?.textContent), "Ruben Keller");
    assert.equal(await mark.getAttribute("data-band"), "high");
    assert.match(await text(page, "spans"), /Utrecht\s*city 31%/);
    assert.match(await text(page, "tree"), /phone.*0606300391.*62%/);
    assert.match(await text(page, "ungrounded"), /nickname/);
    await page.getByRole("button", { name: "Show contact › phone in the text" }).click();
    assert.equal(await page.locator("mark.pointed").evaluate((element) => element.firstChild?.textContent), "0606300391");
  }));

test("a chat shows each token with its mask", () =>
  onPage(async (page) => {
    await chat(page);
    await page.click("#run");
    await finished(page);
    assert.equal(await text(page, "plain"), '{"name":"Ada Lovelace","age":36,"tags":["math"]}');
    const tokens = page.locator("#tokens [role=option]");
    assert.equal(await tokens.count(), 12);
    assert.equal(await page.locator("#tokens .forced").count(), 4);
    assert.equal(await tokens.nth(2).locator(".token-count").textContent(), "208");
    await tokens.nth(1).click();
    const row = page.locator("#inspector tr", { hasText: "Sure" });
    assert.match((await row.textContent()) ?? "", /refused.*14%.*0%/);
    assert.match(await text(page, "figures"), /12tokens.*4forced, 33%/);
    assert.match(await text(page, "tree"), /Ada Lovelace.*66%/);
    assert.match(await text(page, "status"), /12 tokens/);
    const body = JSON.parse(mock.bodies.at(-1) ?? "") as Record<string, unknown>;
    assert.deepEqual(body["structgen"], { report: true, steps: true, params: { alternatives: 16 } });
  }));

test("a selected token stays selected while others come, and arrow keys move", () =>
  onPage(
    async (page) => {
      await chat(page);
      await page.click("#run");
      const tokens = page.locator("#tokens [role=option]");
      await tokens.nth(8).waitFor();
      await tokens.nth(2).click();
      await tokens.nth(30).waitFor();
      assert.match(await text(page, "inspector"), /Step 3 /);
      await page.keyboard.press("ArrowRight");
      assert.match(await text(page, "inspector"), /Step 4 /);
      await page.keyboard.press("Home");
      assert.match(await text(page, "inspector"), /Step 1 /);
      assert.equal(await page.locator("#tokens [tabindex='0']").count(), 1);
      await page.click("#stop");
    },
    { model: "endless" },
  ));

test("stop cancels the request, in both modes", () =>
  onPage(
    async (page) => {
      const left = mock.left();
      await page.click("#run");
      await page.locator("#stop:not([disabled])").click();
      await page.getByText("Stopped.").waitFor();
      await chat(page);
      await page.click("#run");
      await page.locator("#tokens [role=option]").nth(3).waitFor();
      await page.keyboard.press("Escape");
      await page.getByText(/Stopped after \d+ tokens/).waitFor();
      for (let tries = 0; tries < 50 && mock.left() < left + 2; tries++) await page.waitForTimeout(20);
      assert.equal(mock.left(), left + 2);
      assert.ok((await text(page, "plain")).length > 0);
    },
    { model: "endless" },
  ));

test("reasoning is apart from the output", () =>
  onPage(
    async (page) => {
      await chat(page);
      await page.click("#run");
      await finished(page);
      assert.equal(await text(page, "reasoning"), "A person is asked for.");
    },
    { model: "reasoning" },
  ));

test("mistakes in JSON are found without the server, at their place", () =>
  onPage(async (page) => {
    await page.fill("#schema", '{\n  "type": "object",\n  "properties": {"a": {"type": string}}\n}');
    assert.match(await text(page, "schema-message"), /^Line 3, column 32: a value is expected here\./);
    assert.match(await text(page, "schema-message"), /\^{6}/);
    const sent = mock.bodies.length;
    await page.click("#run");
    await failed(page);
    assert.equal(mock.bodies.length, sent);
    const selected = await page.locator("#schema").evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd));
    assert.equal(selected, "string");
    assert.equal(await page.getAttribute("#schema", "aria-invalid"), "true");
    await page.fill("#schema", '{"type": "object"}');
    assert.ok(await page.locator("#schema-message").isHidden());
  }));

test("the server's objections to a schema are shown while it is written", () =>
  onPage(
    async (page) => {
      await page.fill("#schema", '{"properties": {\n  "a": {"type": "strin"}}}');
      await page.getByText("Line 2, column 9:").waitFor();
      assert.equal(await page.getAttribute("#schema", "aria-invalid"), "true");
      await page.fill("#schema", '{"properties": {\n  "a": {"type": "string"}}}');
      assert.equal(await page.getAttribute("#schema", "aria-invalid"), "false");
    },
    { expects: [400] },
  ));

const REFUSED: [string, number, RegExp, string | undefined][] = [
  ["keyword", 400, /cannot use this request.*Line 5, column 5: .*`if`.*back-references/, "schema"],
  ["temperature", 400, /temperature: must be at most 2/, "p-temperature"],
  ["budget", 400, /needs at least 41 tokens/, "p-max_tokens"],
  ["unknown", 400, /the field colour is not supported/i, undefined],
  ["key", 401, /asks for an API key/, "api-key"],
  ["missing", 404, /no model of this name/, "model"],
  ["slow", 408, /took longer.*time limit/, undefined],
  ["large", 413, /larger than the server allows/, "input"],
  ["unfinished", 422, /could not finish/, undefined],
  ["busy", 429, /too much to do.*queue is full.*7 seconds/, undefined],
  ["broken", 500, /The server failed.*model failed/, undefined],
  ["html-error", 502, /The server failed.*Bad gateway/, undefined],
  ["away", 503, /cannot answer now.*stopping.*a second/, undefined],
];

for (const [model, status, message, control] of REFUSED) {
  test(`a refusal with ${status} (${model}) is a sentence at its place`, () =>
    onPage(
      async (page) => {
        await page.click("#run");
        await failed(page);
        assert.match(await text(page, "failure"), message);
        assert.equal(await page.locator("#failure button").count(), control ? 1 : 0);
        if (!control) return;
        await page.click("#failure button");
        assert.equal(await page.evaluate(() => document.activeElement?.id), control);
        assert.equal(await page.getAttribute(`#${control}`, "aria-invalid"), "true");
      },
      { model, expects: [status] },
    ));
}

test("a pointer of a chat's schema is found, too", () =>
  onPage(
    async (page) => {
      await chat(page);
      await page.click("#run");
      await failed(page);
      assert.match(await text(page, "schema-message"), /Line 9, column 37/);
    },
    { model: "keyword-chat", expects: [400] },
  ));

for (const [model, message] of [["mid-error", /model failed at token 5/], ["cut", /ended before it was complete/]] as const) {
  test(`a stream that fails keeps what came (${model})`, () =>
    onPage(
      async (page) => {
        await chat(page);
        await page.click("#run");
        await failed(page);
        assert.match(await text(page, "failure"), message);
        assert.equal(await text(page, "plain"), '{"name":"Ada Lovelace","age":');
      },
      { model },
    ));
}

test("a key is sent, and kept in memory only", () =>
  onPage(
    async (page) => {
      await page.getByText("API key").first().click();
      await page.fill("#api-key", "sesame");
      await page.keyboard.press("Tab");
      await page.click("#run");
      await finished(page);
      assert.match(await text(page, "code"), /\$STRUCTGEN_API_KEY/);
      const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.getElementById("code")?.textContent]));
      assert.doesNotMatch(kept, /sesame/);
    },
    { model: "key" },
  ));

test("numbers of the schema and of parameters are sent as typed", () =>
  onPage(async (page) => {
    await page.fill("#schema", '{"maximum": 12345678901234567890.50}');
    await page.getByText("Parameters").click();
    await page.fill("#p-seed", "18446744073709551615");
    await page.fill("#p-temperature", "0.70");
    await page.click("#run");
    await finished(page);
    assert.match(mock.bodies.at(-1) ?? "", /"maximum": 12345678901234567890\.50[^]*"temperature": 0\.70[^]*"seed": 18446744073709551615/);
    await page.fill("#p-top_p", "3");
    await page.click("#run");
    await failed(page);
    assert.match(await text(page, "failure"), /Top p has a value that it cannot have/);
  }));

test("each constraint keeps its own text", () =>
  onPage(async (page) => {
    await chat(page);
    await page.selectOption("#constraint", "regex");
    await page.fill("#schema", "[a-z]+");
    await page.selectOption("#constraint", "grammar");
    assert.match(await page.inputValue("#schema"), /^root ::=/);
    await page.selectOption("#constraint", "regex");
    assert.equal(await page.inputValue("#schema"), "[a-z]+");
    assert.match(await text(page, "code"), /"regex": "\[a-z\]\+"/);
    await page.selectOption("#constraint", "none");
    assert.ok(await page.locator("#schema").isHidden());
    await page.getByText("Extract", { exact: true }).first().click();
    assert.match(await page.inputValue("#schema"), /"type": "object"/);
  }));

test("the keyboard alone is enough", () =>
  onPage(async (page) => {
    const order: string[] = [];
    for (let presses = 0; presses < 14; presses++) {
      await page.keyboard.press("Tab");
      order.push(await page.evaluate(() => (document.activeElement as HTMLElement).id || (document.activeElement as HTMLInputElement).name || document.activeElement!.tagName));
    }
    assert.deepEqual(order.slice(0, 12), ["A", "model", "SUMMARY", "theme", "mode", "sample", "input", "schema", "SUMMARY", "run", "code", "copy-code"]);
    await page.focus("#input");
    await page.keyboard.press("Control+Enter");
    await finished(page);
    await page.focus("input[name=mode]:checked");
    await page.keyboard.press("ArrowRight");
    assert.equal(await text(page, "run"), "Generate");
    await page.focus("#run");
    await page.keyboard.press("Enter");
    await finished(page);
    await page.focus("#tokens [tabindex='0']");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    assert.match(await text(page, "inspector"), /Step 2 /);
    await page.locator("#tree summary").first().focus();
    await page.keyboard.press("Enter");
    assert.ok(await page.locator("#tree ul").first().isHidden());
  }));

test("a chosen theme outlasts the page", () =>
  onPage(async (page) => {
    const background = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.getByText("Dark", { exact: true }).click();
    const dark = await background();
    assert.notEqual(light, dark);
    await page.reload();
    assert.equal(await background(), dark);
  }, { colorScheme: "light" }));

const LOOKS: [string, BrowserContextOptions][] = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["390 px", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ["forced colours", { forcedColors: "active" }],
];

for (const [look, options] of LOOKS) {
  test(`accessible, and no wider than the screen: ${look}`, () =>
    onPage(async (page) => {
      const check = async (): Promise<void> => {
        assert.deepEqual(await violations(page), []);
        const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
        assert.equal(content, screen);
      };
      await page.getByText("Parameters").click();
      await check();
      await page.click("#run");
      await finished(page);
      await page.getByText("Report", { exact: true }).click();
      await check();
      await chat(page);
      await page.click("#run");
      await finished(page);
      await page.locator("#tokens [role=option]").nth(1).click();
      await check();
      await page.fill("#schema", '{"a": }');
      await page.click("#run");
      await failed(page);
      await page.getByText("API key").first().click();
      await check();
    }, options));
}

test("nothing moves where less motion is wanted", () =>
  onPage(async (page) => {
    await chat(page);
    await page.click("#run");
    await finished(page);
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  }, { reducedMotion: "reduce" }));
