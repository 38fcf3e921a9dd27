import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";
import { patience } from "../rpc-client.fake.ts";
import { startSimulator } from "../start.ts";
import { RawClient } from "./acp-client.fake.ts";
import { pathOf, start } from "./signed-in-cli.fake.ts";

describe("an agent whose simulator is gone", () => {
  it("goes on by itself", async () => {
    const home = temporaryFolder();
    const simulator = await startSimulator({ profile: "devin-cli", home, turn: { rate: "instant" } });
    const path = pathOf(simulator);
    await simulator.stop();
    await using client = new RawClient(path, ["acp"], { HOME: home });
    await client.prompt(await client.open(), "echo: alone");
    expect(client.text()).toBe("alone");
  });
});

describe("signing in", () => {
  it("is refused if the host must authenticate, for any stored key", async () => {
    await using simulator = await startSimulator({ profile: "devin-cli" });
    await using client = start(simulator, ["acp"], { ACP_BACKEND: "windsurf" });
    await client.initialize();
    const { error } = await client.call("session/new", { cwd: "/tmp", mcpServers: [] });
    expect(error).toMatchObject({ code: -32000, message: "ACP host has not authenticated" });
  });

  it("is missing at the first session", async () => {
    await using simulator = await startSimulator({ profile: "devin-cli", signedOut: true });
    expect(existsSync(join(simulator.layout.cliData, "credentials.toml"))).toBe(false);
    await using client = start(simulator);
    await client.initialize();
    const opened = await client.call("session/new", { cwd: "/tmp", mcpServers: [] });
    expect(opened.error?.code).toBe(-32000);
    client.begin("authenticate", { methodId: "devin-browser" });
    await simulator.untilAgent(({ browserOpened }) => browserOpened === 1, patience());
    expect(simulator.prompts()).toEqual([]);
  });

  it("works with the key in the environment, and the report does not show it", async () => {
    await using simulator = await startSimulator({ profile: "devin-cli", signedOut: true, turn: { rate: "instant" } });
    await using client = start(simulator, ["acp"], { WINDSURF_API_KEY: simulator.apiKey.reveal() });
    const sessionId = await client.open();
    await client.prompt(sessionId, "echo: paid");
    expect(client.text()).toBe("paid");
    expect(simulator.agentReport().processes[0]?.environment["WINDSURF_API_KEY"]).toBe("[the account's]");
    await using other = start(simulator, ["acp"], { WINDSURF_API_KEY: "sk-ws-01-of-somebody" });
    await other.initialize();
    expect((await other.call("session/new", { cwd: "/tmp", mcpServers: [] })).error).toMatchObject({ code: -32000 });
  });
});
