import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { MillraceError } from "../../src/base/errors.ts";
import type { IssuedKey } from "../../src/gateway/dashboard/inventory.ts";
import { rowsOf } from "../support/tables.ts";
import { accessibilityViolations } from "./chromium.ts";
import { describeDashboard, docPicture, hasNoSideScroll, picture } from "./dashboard-page.ts";
import type { DashboardWorld, dashboardWorld } from "./dashboard-world.ts";

/**
 * Each state that the dashboard can be in, at each width, light and dark: it shows its sentence, axe finds nothing, nothing scrolls
 * sideways, no text is cut off. `MILLRACE_SCREENSHOTS=folder` keeps the pictures.
 */
interface State {
  readonly name: string;
  readonly part?: Partial<Parameters<typeof dashboardWorld>[0]>;
  readonly mayComplain?: RegExp;
  /** Whether the page shows prompts and answers. */
  readonly texts?: boolean;
  /** Brings the page into this state. */
  readonly enter: (page: Page, world: DashboardWorld) => Promise<void>;
  /** What then stands on the page. */
  readonly shows: RegExp;
  /** The picture of it in docs/. */
  readonly docs?: { readonly picture: string; readonly height: number };
}

const nowMs = Date.now();
const day = 86_400_000;
const someKey = { createdAtMs: nowMs - 10 * day, expiresAtMs: undefined, revokedAtMs: undefined, models: [] };
const turnsPerDay = { most: 200, used: 174, resetsAtMs: nowMs + 5 * 3_600_000 };
const keys: readonly IssuedKey[] = [
  { ...someKey, name: "ci", caller: "1", state: "works", models: ["swe-1.5"], turnsPerDay },
  { ...someKey, name: "ada", caller: "2", state: "works", turnsPerDay: undefined },
  {
    ...someKey,
    name: "a-colleague-with-a-long-name-and-several-models",
    caller: "3",
    state: "expired",
    expiresAtMs: nowMs - day,
    models: ["claude-opus-4.5:high", "claude-opus-4.5:low", "swe-1.5", "gpt-6-pro"],
    turnsPerDay: { ...turnsPerDay, most: 1_500_000, used: 1_500_000 },
  },
  {
    ...someKey,
    name: "old",
    caller: "4",
    state: "revoked",
    revokedAtMs: nowMs - day,
    turnsPerDay: undefined,
  },
];

/** A turn that has begun to answer, on its page. */
async function openTurn(page: Page, world: DashboardWorld): Promise<void> {
  world.ask("What is a millrace?", "/home/ada/work/engine");
  await page.getByRole("link", { name: "test-model" }).click();
  await page.locator(".timeline li").filter({ hasText: "opened" }).waitFor();
  world.turns.backend.last.emit({ type: "thinking", delta: "A question about mills. " });
  world.turns.backend.last.text("The channel that ", "feeds a mill wheel.");
  await page.locator(".timeline li").filter({ hasText: "36 characters" }).waitFor();
}

const states: readonly State[] = [
  { name: "turn-running", enter: openTurn, shows: /Cancel.*still running.*~15 tokens.*60 characters/s },
  {
    name: "turn-finished",
    texts: true,
    async enter(page, world) {
      await openTurn(page, world);
      const usage = { promptTokens: 1719, completionTokens: 25, thinkingTokens: 6, estimated: false } as const;
      world.turns.backend.last.emit({ type: "usage", ...usage });
      world.turns.backend.last.finish("The channel that feeds a mill wheel.");
      await page.getByText("1,719 in, 31 out").first().waitFor();
    },
    shows: /1,719 in, 31 out/,
  },
  {
    name: "turn-failed",
    async enter(page, world) {
      await openTurn(page, world);
      const error = new MillraceError("quota_exhausted", "The weekly quota is used up.", {
        hint: "It resets on Monday.",
      });
      world.turns.backend.last.emit({ type: "failed", error: error.toRecord(), ideTools: ["VIEW_FILE"] });
      world.turns.backend.last.end();
      await page.locator(".failure.why").waitFor();
    },
    shows: /The weekly quota is used up\. It resets on Monday\./,
  },
  {
    name: "turn-cancelled",
    async enter(page, world) {
      await openTurn(page, world);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("cancelled: by the client").first().waitFor();
    },
    shows: /cancelled: by the client/,
  },
  {
    name: "turn-forgotten",
    mayComplain: /404/,
    async enter(page) {
      await page.locator("table.turns tbody tr.failed").first().getByRole("link").click();
      await page.getByText("The texts and events of this turn are deleted.").waitFor();
    },
    shows: /The usage history has these figures/,
  },
  {
    name: "turn-unknown",
    mayComplain: /404/,
    async enter(page, world) {
      await page.goto(`${world.url}/#/turns/turn_nobody`);
      await page.getByRole("heading", { level: 1, name: "This turn is unknown" }).waitFor();
    },
    shows: /Check the address\./,
  },
  {
    name: "keys",
    part: { keys },
    async enter(page) {
      await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Keys" }).click();
      await page.getByText("174 of 200 turns").waitFor();
    },
    shows: /1 revoked\./,
  },
  {
    name: "alerts",
    async enter(page) {
      await page.getByRole("button", { name: "Alert at 80 %" }).click();
      await page.getByRole("button", { name: "Read again" }).click();
      await page.locator(".alerts p").getByText("88 % used").waitFor();
    },
    shows: /Other models, 5 hours: 88 % used/,
  },
  {
    name: "banner-gateway-down",
    mayComplain: /ERR_|network/i,
    async enter(page, world) {
      await page.getByText("live", { exact: true }).waitFor();
      await world.stop();
      await page.getByText("The gateway does not answer.").waitFor();
    },
    shows: /Start it again with millrace serve\./,
    docs: { picture: "dashboard-banner", height: 420 },
  },
  {
    name: "banner-store-failed",
    part: { degradedBy: new MillraceError("degraded", "The disk is full.", { hint: "Free some space." }) },
    enter: (page) => page.getByText("The log cannot be written.").waitFor(),
    shows: /The disk is full\..*Free some space\./s,
  },
  {
    name: "banner-store-damaged",
    part: { damaged: { copy: "/home/ada/.millrace/turns.db.damaged-20260102" } },
    enter: (page) => page.getByText("The log was damaged, so a new one was begun.").waitFor(),
    shows: /kept as \/home\/ada.*under an earlier idempotency key may be asked once more/s,
  },
  {
    name: "banner-ide-gone",
    part: { plan: "none" },
    enter: (page) => page.getByText("No IDE can be used.").waitFor(),
    shows: /Start Windsurf and open a folder\./,
  },
  {
    name: "banner-signed-out",
    part: { plan: new MillraceError("not_signed_in", "No account is signed in to Windsurf."), signedOut: true },
    enter: (page) => page.getByText("No IDE can be used.").waitFor(),
    shows: /no account is signed in there\..*Sign in inside the IDE\./s,
  },
  {
    name: "banner-paused",
    async enter(page, world) {
      world.pause(new Date(nowMs - 3 * 3_600_000).toISOString());
      await page.reload();
      await page.getByText("Millrace is paused.").waitFor();
    },
    shows: /millrace resume ends the pause\./,
  },
  {
    name: "banner-consent",
    part: { needsConsent: true },
    enter: (page) => page.getByRole("button", { name: "I agree" }).waitFor(),
    shows: /You have not agreed yet/,
  },
  {
    name: "many-turns-and-a-plan-nearly-used-up",
    part: { pastTurns: 300, everyMs: 60_000, usedPercent: 97, moreModels: 380 },
    enter: (page) => page.getByText("1–25 of 300").waitFor(),
    shows: /97 %/,
    docs: { picture: "dashboard-nearly-used", height: 900 },
  },
  {
    name: "hundreds-of-models",
    part: { moreModels: 380 },
    async enter(page) {
      await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Models" }).click();
      await page.getByText("family-0-preview-2026-11").first().waitFor();
    },
    shows: /family-94-preview-2026-11/,
  },
  {
    name: "first-run",
    part: { plan: new MillraceError("ide_not_running", "No IDE with a language server runs."), pastTurns: 0 },
    enter: (page) => page.getByText("No limits yet").waitFor(),
    shows: /millrace doctor/,
  },
  {
    name: "sign-in",
    mayComplain: /40[13]/,
    async enter(page, world) {
      await page.getByText("live", { exact: true }).waitFor();
      await page.goto(`${world.url}/#/sign-in/made-up`);
      await page.getByText("This link was already used, or has expired.").waitFor();
    },
    shows: /: Millrace\s(?![^]*Millrace)[^]*millrace dashboard/, // the name stands there once
  },
];

const looks = [
  { width: 375, colorScheme: "dark" },
  { width: 1280, colorScheme: "light" },
  { width: 375, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
  { width: 768, colorScheme: "light" },
  { width: 768, colorScheme: "dark" },
] as const;

describeDashboard("each state of the dashboard", (open) => {
  it.each(states)(
    "$name: on a phone and on a large screen, light and dark",
    async ({ name, part, mayComplain, texts = false, enter, shows, docs }) => {
      const { page, world } = await open(part, mayComplain === undefined ? { texts } : { mayComplain, texts });
      await enter(page, world);
      for (const { width, colorScheme } of rowsOf(looks, 2)) {
        await page.setViewportSize({ width, height: 900 });
        await page.mouse.move(0, 0); // on nothing that looks different under the pointer
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        const at = `${name}-${width}-${colorScheme}`;
        await picture(page, at);
        expect(`${at}: ${await page.locator("body").innerText()}`).toMatch(shows);
        const [violations, fits] = [await accessibilityViolations(page), await hasNoSideScroll(page)];
        expect({ at, violations, fits }).toEqual({ at, violations: [], fits: true });
      }
      if (docs === undefined) return;
      await page.setViewportSize({ width: 1200, height: docs.height });
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await docPicture(page, docs.picture);
    },
  );
});
