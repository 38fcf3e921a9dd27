import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

/** Chromium on PATH, its build without windows first, which takes half the time; or the path in CHROMIUM; undefined where there is none. */
export function chromiumPath(): string | undefined {
  const given = process.env["CHROMIUM"];
  if (given !== undefined && given !== "") return given;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return ["chromium-headless-shell", "chromium", "chromium-browser"]
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
}

/** A headless Chromium that calls no other host. */
export function startChromium(executablePath: string): Promise<Browser> {
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", ...quiet];
  return chromium.launch({ executablePath, args });
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Serious and critical violations of WCAG 2 A and AA on the page, as sentences. */
export async function accessibilityViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource); // over the debugging protocol: the page's own policy would not let a script in
  const found = await page.evaluate(
    `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] }).then(({ violations }) => violations
       .filter(({ impact }) => impact === "serious" || impact === "critical")
       .map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html + " " + node.failureSummary).join("; ")))`,
  );
  return found as string[]; // what the expression above answers
}

/** Shows prompts and answers on a page that is signed in, as its button does after the owner agreed. */
export async function showTexts(page: Page): Promise<void> {
  const status = await page.evaluate(`fetch("/dashboard/api/texts", {
    method: "POST",
    headers: { "x-millrace-session": localStorage.getItem("millrace-session"), "content-type": "application/json" },
    body: JSON.stringify({ show: true, consent: true }),
  }).then(({ status }) => status)`);
  if (status !== 200) throw new Error(`The gateway shows no texts: ${String(status)}.`);
  await page.reload();
}
