import { expect, it } from "vitest";
import { MillraceError } from "../../src/base/errors.ts";
import { rowsOf } from "../support/tables.ts";
import { accessibilityViolations } from "./chromium.ts";
import { describeDashboard, hasNoSideScroll, picture } from "./dashboard-page.ts";

describeDashboard("what happens now", (open) => {
  it("an answer that goes on without its client says so, and how long", async () => {
    const { page, world } = await open();
    world.ask("Hi");
    await page.getByRole("button", { name: "Cancel test-model" }).waitFor();
    expect(await page.getByText("continues without its client").count()).toBe(0);
    await world.askAndLeave("And hello", "90s");
    await page.getByText(/^continues without its client, (1:[0-2]\d|0:\d\d) left$/).waitFor();
    await world.askAndLeave("Take your time", "detach");
    await page.getByText("continues without its client, to its end").waitFor();
    await page.getByText(/These turns cost/).waitFor();
    await picture(page, "now-running");
    await page
      .getByText("continues without its client, to its end")
      .locator("xpath=ancestor::tr")
      .getByRole("link")
      .click();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("continues without its client, to its end").waitFor();
  });

  const looks = [
    ["light", 1440],
    ["dark", 390],
    ["dark", 1024],
    ["light", 390],
  ] as const;
  it.each(rowsOf(looks, 2))(
    "a model that a limit blocks and requests that were refused are shown as what they are, in %s at %i px",
    async (colorScheme, width) => {
      const { page, world } = await open({}, { colorScheme, viewport: { width, height: 900 } });
      const error = new MillraceError("quota_exhausted", "The weekly quota is used up.", {
        resetsAtMs: Date.now() + 7_200_000,
      }).toRecord();
      const first = world.askStatus("Hi");
      await page.getByRole("button", { name: "Cancel test-model" }).waitFor();
      world.turns.backend.last.emit({ type: "failed", error });
      expect(await first).toBe(402);
      expect(await world.askStatus("Hi again")).toBe(402);
      expect(await world.askStatus("And again")).toBe(402);
      expect(await world.askStatus("Who am I", { authorization: "Bearer mr-not-the-key-0123456789" })).toBe(401);
      await page.getByText(/test-model is blocked until .*\d\d:\d\d/).click();
      await page
        .getByRole("list", { name: "Blocked models" })
        .getByText(/until .*\d\d:\d\d/)
        .waitFor();
      await page.getByText("3 requests were refused").click();
      const refused = page.getByRole("list", { name: "Refused requests" });
      await refused.getByText("2 refused").waitFor();
      await refused.getByText("1 refused").waitFor();
      await page.getByText(/^Last failure/).click();
      await page.getByText(/The limit ends .*\d\d:\d\d/).waitFor();
      await picture(page, `now-refused-${colorScheme}-${width}`);
      expect(await hasNoSideScroll(page)).toBe(true);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Close: Refused" }).click();
      await page.reload();
      await page.getByText(/test-model is blocked/).waitFor();
      expect(await page.getByText("requests were refused").count()).toBe(0);
    },
  );
});
