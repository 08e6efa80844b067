// Chromium, and pages that record what goes wrong in them.

import { existsSync } from "node:fs";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

export async function startBrowser(): Promise<Browser> {
  const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/google-chrome"];
  const executablePath = places.find((place) => place && existsSync(place));
  if (!executablePath) throw new Error("no Chromium: name its executable in CHROMIUM");
  // A container's root has no sandbox, and needs none for a page of ours.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}

export interface Opened {
  page: Page;
  /** Errors on the console, exceptions, breaches of the content security policy, and requests to other hosts. */
  faults: string[];
}

/** `expects` are the statuses of replies that the test provokes: browsers report each on the console. */
export async function open(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  expects: number[] = [],
  key?: string,
): Promise<Opened> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    const provoked = expects.some((status) => message.text().includes(`status of ${status}`)) || (key !== undefined && message.text().includes("status of 401"));
    if ((message.type() === "error" || message.type() === "warning") && !provoked) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) faults.push(`outside request: ${request.url()}`);
  });
  await page.goto(url);
  if (key !== undefined) {
    await page.locator("#key summary").click();
    await page.fill("#api-key", key);
    await page.keyboard.press("Tab");
    await page.locator("#key summary").click();
  }
  await page.waitForFunction(() => document.querySelectorAll("#model option").length > 0);
  return { page, faults };
}
