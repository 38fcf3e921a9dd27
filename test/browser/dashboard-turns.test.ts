import { expect, it } from "vitest";
import { MillraceError } from "../../src/base/errors.ts";
import { accessibilityViolations } from "./chromium.ts";
import { describeDashboard, docPicture, hasNoSideScroll, picture } from "./dashboard-page.ts";

describeDashboard("the dashboard's turns", (open) => {
  it("shows a running turn grow and end, live, and counts it", async () => {
    const { page, world } = await open({ pastTurns: 0 });
    await page.getByText("No turns yet").waitFor();
    await docPicture(page, "dashboard-first-day");
    world.ask("Write a poem.", "/home/ada/work/poems");
    const row = page.locator("[data-turn]");
    await row.getByText("poems").waitFor();
    await row.getByText("opencode").waitFor();
    await row.getByText("waiting").waitFor();
    world.turns.backend.last.text("A millrace runs ", "beneath the wheel.");
    await row.getByText("~9 tokens").waitFor();
    await picture(page, "live");
    world.turns.backend.last.emit({
      type: "usage",
      promptTokens: 1719,
      completionTokens: 25,
      thinkingTokens: 0,
      estimated: false,
    });
    world.turns.backend.last.finish("A millrace runs beneath the wheel.");
    await page.getByRole("heading", { name: "Latest turns" }).waitFor();
    await page.locator("table.turns td").getByText("1,719").waitFor();
    await row.waitFor({ state: "detached" });
    const spent = page.locator("section[aria-labelledby=spend] tbody tr");
    await spent.waitFor();
    expect(await spent.innerText()).toMatch(/model\s+1\s+1,744/);
  });

  it("cancels a running turn", async () => {
    const { page, world } = await open();
    world.ask("Count to a million.");
    await page.getByRole("button", { name: "Cancel test-model" }).click();
    await page.getByText("cancelled: by the client").waitFor();
    expect((await world.turns.turns.list({ limit: 1 }))[0]).toMatchObject({ outcome: "cancelled" });
  });

  it("shows a turn's page with its events and sizes, and none of its text", async () => {
    const { page, world } = await open();
    world.ask("secret question");
    const link = page.getByRole("link", { name: "test-model" });
    await link.waitFor();
    world.turns.backend.last.text("secret ", "answer");
    world.turns.backend.last.finish("secret answer");
    const ended = page.locator("table.turns tbody tr", { hasText: "test-model" });
    await ended.getByText("finished").waitFor();
    await ended.getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "test-model" }).waitFor();
    const events = page.locator(".timeline li");
    await events.filter({ hasText: "finished" }).waitFor();
    expect(await events.filter({ hasText: "text" }).innerText()).toContain("13 characters");
    await page.getByText("This browser does not show prompts and answers.").waitFor();
    expect(await page.content()).not.toContain("secret");
    await picture(page, "turn");
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("link", { name: "← Overview" }).click();
    await page.getByRole("heading", { name: "Plan", exact: true }).waitFor();
  });

  it("shows of a turn that its client sealed what happened, how much and when, and says who alone can read it", async () => {
    const { page, world } = await open({ pastTurns: 0 }, { texts: true });
    await world.askSealed("secret question");
    const row = page.locator("[data-turn]");
    await row.getByText("encrypted by its client").waitFor();
    await row.getByText("millrace-chat").waitFor();
    world.turns.backend.last.text("secret answer");
    await row.getByText("~4 tokens").waitFor();
    await row.getByRole("link", { name: "some-model" }).click();
    const rows = page.locator(".timeline li");
    await rows.filter({ hasText: "13 characters" }).waitFor();
    world.turns.backend.last.emit({
      type: "usage",
      promptTokens: 17,
      completionTokens: 4,
      thinkingTokens: 0,
      estimated: false,
    });
    world.turns.backend.last.finish("secret answer");
    await rows.filter({ hasText: "finished" }).waitFor();
    const facts = page.locator("dl.facts");
    await facts.getByText("17 in, 4 out").waitFor();
    await facts.getByText("13 characters").waitFor();
    await page.getByText("Only that client can read the prompt and the answer.").waitFor();
    const unknown = facts.locator("div").filter({ hasText: "unknown" });
    expect(await unknown.locator("dt").allInnerTexts()).toEqual(["Project", "Key", "IDE"]);
    await picture(page, "turn-sealed");
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("link", { name: "← Overview" }).click();
    const ended = page.locator("table.turns tbody tr");
    await ended.getByText("millrace-chat").waitFor();
    await ended.locator(".of-tokens_in").getByText("17").waitFor();
    await picture(page, "sealed-list");
    expect(await page.content()).not.toContain("secret");
  });

  it("shows the texts of a turn where the user turned that on", async () => {
    const { page, world } = await open({ pastTurns: 0 }, { texts: true, colorScheme: "dark" });
    world.ask("What is a millrace?");
    await page.getByRole("link", { name: "test-model" }).click();
    world.turns.backend.last.text("The channel that feeds ");
    const answer = page.locator("details", { hasText: "answer" }).locator("pre");
    await expect.poll(() => answer.innerText()).toBe("The channel that feeds ");
    world.turns.backend.last.text("a mill wheel.");
    world.turns.backend.last.finish("The channel that feeds a mill wheel.");
    await expect.poll(() => answer.innerText()).toBe("The channel that feeds a mill wheel.");
    await page.getByText("What is a millrace?").waitFor();
    await picture(page, "turn-text");
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("shows texts at once after the owner agreed, tells turns apart by their questions, and hides them again", async () => {
    const { page, world } = await open();
    world.ask("What is a millrace?\nBe short.");
    await page.getByRole("link", { name: "test-model" }).click();
    world.turns.backend.last.text("A channel.");
    world.turns.backend.last.finish("A channel.");
    await page.locator(".timeline li").filter({ hasText: "finished" }).waitFor();
    await page.getByRole("button", { name: "Show texts…" }).click();
    const dialog = page.getByRole("dialog", { name: "Show prompts and answers?" });
    await picture(page, "texts-consent");
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Leave hidden" }).click();
    expect(await page.content()).not.toContain("A channel.");
    await page.getByRole("button", { name: "Show texts…" }).click();
    await dialog.getByRole("button", { name: "Show texts" }).click();
    await page.locator("details", { hasText: "answer" }).getByText("A channel.").waitFor();
    await page.getByRole("link", { name: "← Overview" }).click();
    const rows = page.locator("table.turns tbody tr");
    const questions = rows.locator(".of-question");
    await expect.poll(() => questions.first().innerText()).toBe("What is a millrace?");
    expect(await questions.nth(1).innerText()).toBe("–"); // the log has forgotten it
    await picture(page, "questions");
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.reload();
    await questions.first().getByText("What is a millrace?").waitFor();
    await page.getByRole("button", { name: "Hide texts" }).click();
    await expect.poll(() => questions.count()).toBe(0);
    await rows.first().getByRole("link").click();
    await page.getByText("This browser does not show prompts and answers.").waitFor();
    expect(await page.content()).not.toContain("A channel.");
  });

  it("keeps a turn within 56 px and its names whole on a phone", async () => {
    const { page, world } = await open({}, { texts: true, viewport: { width: 375, height: 800 } });
    const rows = page.locator("table.turns tbody tr");
    await rows.first().waitFor();
    world.ask("Hi", "/home/ada/work/a-project-with-quite-a-long-name-that-goes-on");
    const running = page.locator("[data-turn]");
    await running.waitFor();
    expect((await running.boundingBox())?.height).toBeLessThanOrEqual(56);
    world.turns.backend.last.text("The water enters at the upper gate, follows the channel and falls on the wheel.");
    await running.locator(".tail").waitFor();
    expect((await running.boundingBox())?.height).toBeLessThanOrEqual(56);
    for (const row of (await rows.all()).slice(0, 5)) {
      expect((await row.boundingBox())?.height).toBeLessThanOrEqual(56);
      expect((await row.locator(".of-model").boundingBox())?.height).toBeLessThan(30);
    }
    expect(await hasNoSideScroll(page)).toBe(true);
    await picture(page, "phone-375");
    await docPicture(page, "dashboard-phone");
  });

  it("shows of a turn that the log has forgotten what the usage history knows, and says so of an unknown one", async () => {
    const { page, world } = await open({}, { mayComplain: /404/ });
    await page.locator("table.turns tbody tr.finished").first().getByRole("link").click();
    await page.getByText("The texts and events of this turn are deleted.").waitFor();
    await page.locator("dl.facts").getByText("turn_past_1", { exact: true }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.goto(`${world.url}/#/turns/turn_nobody`);
    await page.getByRole("heading", { level: 1, name: "This turn is unknown" }).waitFor();
    expect(await page.locator(".failure").count()).toBe(0);
  });

  it("says on a failed turn's page what went wrong and what to do", async () => {
    const { page, world } = await open({}, { colorScheme: "dark" });
    world.ask("Hi");
    await page.getByRole("link", { name: "test-model" }).click();
    await page.locator(".timeline li").filter({ hasText: "opened" }).waitFor();
    world.turns.backend.last.emit({ type: "thinking", delta: "Let me see. " });
    world.turns.backend.last.emit({
      type: "failed",
      error: new MillraceError("quota_exhausted", "The weekly quota is used up.", {
        hint: "It resets on Monday.",
      }).toRecord(),
      ideTools: ["VIEW_FILE"],
    });
    world.turns.backend.last.end();
    const why = page.locator(".failure.why");
    await why.waitFor();
    expect(await why.innerText()).toMatch(/The weekly quota is used up\. It resets on Monday\..*quota_exhausted/);
    await page.locator("dl.facts").getByText("view file").waitFor();
    expect(await page.locator(".phase-bar .of-prompt").count()).toBe(1);
    await picture(page, "turn-failed");
    await docPicture(page, "dashboard-turn");
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("copies a curl command that reads a turn's answer", async () => {
    const { page, world } = await open({ pastTurns: 0 }, { texts: true });
    world.ask("What is a millrace?");
    await page.getByRole("link", { name: "test-model" }).click();
    world.turns.backend.last.finish("A channel.");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: /^Copy a curl command/ }).click();
    const curl = () => page.evaluate("navigator.clipboard.readText()");
    await expect
      .poll(curl)
      .toMatch(/^curl -N -H "Authorization: Bearer \$\(millrace keys --value\)" "http:.*\/events"$/);
  });

  it("shows the end of each running turn's text where texts are shown, and of none where they are not", async () => {
    const { page, world } = await open({}, { texts: true });
    for (const question of ["one", "two"]) {
      world.ask(question);
      await expect.poll(() => world.turns.backend.answers.at(-1)?.prompt.text).toBe(question);
      world.turns.backend.last.emit({ type: "thinking", delta: "Hm. " });
      world.turns.backend.last.text(`The answer to question ${question}.`);
    }
    const rows = page.locator("[data-turn]");
    await rows.getByText("Hm. The answer to question two.").waitFor();
    await rows.getByText("Hm. The answer to question one.").waitFor();
    expect(await rows.first().locator(".state").innerText()).toBe("writing");
    await picture(page, "live-text");
    const closed = await open();
    closed.world.ask("three");
    await closed.page.locator("[data-turn]").getByText("waiting").waitFor();
    closed.world.turns.backend.last.text("secret answer");
    await closed.page.getByText("~4 tokens").waitFor();
    expect(await closed.page.content()).not.toContain("secret");
  });
});
