import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LimitsEnvelope } from "../../src/usage/envelope.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { simulator, world } from "../support/world.ts";

/** `usage` starts a gateway in a home without one; it ends with the test. */
function homeAlone(): string {
  const home = temporaryHome();
  onTestFinished(async () => void (await millrace(["stop"], { home })));
  return home;
}

describe("the meter, with real processes and a gateway that the command starts", () => {
  it("reads the plan of the IDE that runs, answers guard, and leaves a status line", async () => {
    const home = homeAlone();
    await simulator({ home });
    const env = { MILLRACE_IDE_ONLY_HOME: home };
    let stdout = "";
    // One reading has a limit of time, which a busy machine can exceed while the IDE starts.
    await expect
      .poll(async () => {
        const usage = await millrace(["usage", "--json"], { home, env });
        stdout = usage.stdout;
        return usage.code;
      })
      .toBe(0);
    const [windsurf] = (JSON.parse(stdout) as LimitsEnvelope).data;
    expect(windsurf).toMatchObject({ ide: "devin", stale: false });
    expect(windsurf?.windows.length).toBeGreaterThan(0);
    expect((await millrace(["usage", "--min-remaining", "1"], { home, env })).code).toBe(0);
    expect((await millrace(["usage", "--min-remaining", "1", "--window", "nonsense"], { home, env })).code).toBe(64);
    expect((await millrace(["statusline"], { home })).stdout).toMatch(/^Devin /);
  });

  it("shows what Devin used without Millrace beside the turns that went through it", async () => {
    const { ide, client, served } = await world({ simulator: { profile: "devin-3" } });
    await client.chat.completions.create({ model: "swe-2:high", messages: [{ role: "user", content: "count to 3" }] });
    const database = new DatabaseSync(join(ide.home, ".local/share/devin/cli/sessions.db"));
    const ours = database.prepare("SELECT chat_message FROM message_nodes").all();
    expect(ours).toHaveLength(1); // kept for the conversation's next turn
    database.exec("INSERT INTO sessions (id, working_directory, title, last_activity_at) VALUES ('s', '/loom', '', 1)");
    database
      .prepare("INSERT INTO message_nodes (session_id, node_id, chat_message, created_at) VALUES ('s', 0, ?, 1)")
      .run(String(ours[0]?.["chat_message"]).replace(/"message_id":"/, '"message_id":"other-'));
    database.close();
    const env = { MILLRACE_IDE_ONLY_HOME: ide.home };
    const usage = (home: string, ...more: string[]) =>
      millrace(["usage", "--since", "1d", "--by", "project", ...more], { home, env });
    const answered = async () =>
      (await fetch(`${served.url}/v1/usage?by=project`, { headers: { authorization: `Bearer ${served.key}` } })).json();
    const theirs = { data: [{ key: "/loom", calls: 1 }], problem: null };
    // a turn is counted a moment after its end
    await expect.poll(answered).toMatchObject({ data: [{ turns: 1 }], elsewhere: theirs });
    const apart = homeAlone();
    expect(JSON.parse((await usage(apart, "--json")).stdout)).toMatchObject({ data: [], elsewhere: theirs });
    expect((await usage(apart)).stdout).toMatch(/Without Millrace.*\nproject +calls .*\n\/loom +1 /);
  });

  it("takes credits from the price list where the IDE reports none, the same in a command and in its JSON", async () => {
    const { home, ide, client, served } = await world({
      simulator: { profile: "devin-3", plan: { shape: "percent" } },
    });
    await client.chat.completions.create({
      model: "claude-opus-5:high",
      messages: [{ role: "user", content: "count to 3" }],
    });
    const headers = { authorization: `Bearer ${served.key}` };
    const answered = async (by: string) => (await fetch(`${served.url}/v1/usage?by=${by}`, { headers })).json();
    const row = { turns: 1, credits: 0, credits_known_turns: 0, credits_estimated: 12, credits_estimated_turns: 1 };
    for (const by of ["client", "project", "model", "day"])
      await expect.poll(() => answered(by)).toMatchObject({ data: [row] });
    const page = await (await fetch(`${served.url}/dashboard/api/usage/turns`, { headers })).json();
    expect(page).toMatchObject({ data: [{ credits: null, credits_estimated: 12 }] });
    const env = { MILLRACE_IDE_ONLY_HOME: ide.home };
    expect((await millrace(["usage", "--by", "client"], { home, env })).stdout).toMatch(/ ~12\b/);
  });

  it("takes the plan that a stand-in saved for a stand-in's, and not once it is gone", async () => {
    const home = homeAlone();
    const plan = { used: 40, usedWeekly: 40 };
    const ide = await simulator({ home, profile: "devin-3", plan, missing: ["GetUserStatus", "GetPlanStatus"] });
    const usage = await millrace(["usage", "--json"], { home });
    expect((JSON.parse(usage.stdout) as LimitsEnvelope).data).toMatchObject([{ source: "saved_plan", stand_in: true }]);
    expect((await millrace(["usage", "--min-remaining", "1"], { home })).code).toBe(0);
    await ide.stop();
    await millrace(["stop"], { home }); // a gateway looks again after some seconds
    expect((await millrace(["usage", "--min-remaining", "1"], { home })).code).toBe(69);
  });
});
