import { expect, it } from "vitest";
import { describeDashboard } from "./dashboard-page.ts";

describeDashboard("the dashboard in many tabs", (open) => {
  it("shows what runs in each of eight tabs over one stream, also after the tab that reads it was closed", async () => {
    const { page, world } = await open();
    const context = page.context();
    await page.goto("about:blank"); // its own stream is counted from its first moment on
    let feeds = 0;
    context.on("request", (request) => {
      if (request.url().endsWith("/turns/feed")) feeds += 1;
    });
    await page.goto(world.url);
    await expect.poll(() => feeds).toBe(1);
    const tabs = await Promise.all(
      Array.from({ length: 7 }, async () => {
        const tab = await context.newPage();
        await tab.goto(world.url);
        return tab;
      }),
    );
    world.ask("Hi");
    const all = [page, ...tabs];
    const running = (tab: typeof page) => tab.locator("[data-turn]").getByText("waiting");
    for (const tab of all) await running(tab).waitFor();
    for (const tab of all) await tab.getByRole("meter", { name: "Weekly quota" }).waitFor();
    expect(feeds).toBe(1);
    await page.close();
    world.turns.backend.last.text("Hello");
    for (const tab of tabs) await tab.locator("[data-turn]").getByText("writing").waitFor();
    expect(feeds).toBe(2);
    const late = await context.newPage();
    await late.goto(world.url);
    await late.locator("[data-turn]").getByText("writing").waitFor();
    expect(feeds).toBe(2);
    await late.getByRole("button", { name: "Show texts…" }).click();
    await late.getByRole("button", { name: "Show texts", exact: true }).click();
    for (const tab of tabs) await tab.locator("[data-turn] .tail").getByText("Hello").waitFor();
  });

  it("says that the gateway is gone in each tab, and goes on in each", async () => {
    const { page, world } = await open({}, { mayComplain: /ERR_|network/i });
    const tab = await page.context().newPage();
    await tab.goto(world.url);
    for (const one of [page, tab]) await one.getByRole("meter", { name: "Weekly quota" }).waitFor();
    await world.stop();
    for (const one of [page, tab]) await one.getByText("The gateway does not answer.").waitFor();
    await world.start();
    for (const one of [page, tab]) await expect.poll(() => one.getByText("does not answer").count()).toBe(0);
  });

  it("opens by a link that was made before the gateway was restarted", async () => {
    const { page, world } = await open();
    const link = await world.link();
    await page.getByRole("button", { name: "Sign out" }).click();
    await world.restart();
    await page.goto(link);
    await page.getByRole("meter", { name: "Weekly quota" }).waitFor();
    expect(page.url()).toBe(`${world.url}/`);
  });
});
