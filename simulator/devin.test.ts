import { existsSync, readFileSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { UserStatusSchema } from "../src/proto/windsurf/exa/codeium_common_pb.ts";
import { expiredKey } from "./account/old-data-folder.ts";
import { RawClient } from "./acp/acp-client.fake.ts";
import { startControlServer } from "./control-server.ts";
import { answerOf, clientOf, finalSteps, metadataOf, patience, send } from "./rpc-client.fake.ts";
import { type Simulator, startSimulator } from "./start.ts";

function rowsOf(path: string): Map<string, string> {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 60_000 });
  try {
    const rows = database.prepare("SELECT key, value FROM ItemTable").all();
    return new Map(rows.map((row) => [String(row["key"]), String(row["value"])]));
  } finally {
    database.close();
  }
}

function savedPlans(simulator: Simulator): Record<string, unknown>[] {
  const prefix = /^windsurf\.reactSettings\.cachedPlanInfoData:user-[0-9a-f]{32}$/;
  return [...rowsOf(simulator.layout.stateDatabase)]
    .filter(([key]) => prefix.test(key))
    .map(([, value]) => JSON.parse(value) as Record<string, unknown>);
}

describe("Devin Desktop", () => {
  it("lies and runs where the real one does", async () => {
    await using simulator = await startSimulator({ profile: "devin-3", platform: "linux", arch: "x64" });
    const { layout, home } = simulator;
    const extension = join(home, "apps/devin-desktop/resources/app/extensions/windsurf");
    expect(layout.binary).toBe(join(extension, "bin/language_server_linux_x64"));
    expect(simulator.agentPath).toBe(join(extension, "devin/bin/devin"));
    expect(simulator.cliPath).toBeUndefined();
    expect(layout.stateDatabase).toBe(join(home, ".config/Devin/User/globalStorage/state.vscdb"));
    expect(existsSync(join(home, ".config/Windsurf"))).toBe(false);
    const product = JSON.parse(await readFile(join(layout.appRoot, "product.json"), "utf8"));
    expect(product).toEqual({
      nameShort: "Devin",
      applicationName: "devin-desktop",
      windsurfVersion: "3.10.48",
      millraceStandIn: true,
    });
    expect(await readdir(layout.logs)).toEqual([expect.stringMatching(/^\d{8}T\d{6}$/)]);
    if (platform() !== "linux") return;
    const argv = readFileSync(`/proc/${simulator.pid}/cmdline`, "utf8").split("\0");
    expect(argv[argv.indexOf("--ide_name") + 1]).toBe("windsurf");
    expect(argv).not.toContain("--csrf_token");
    const environment = readFileSync(`/proc/${simulator.pid}/environ`, "utf8").split("\0");
    expect(environment).toContain(`WINDSURF_CSRF_TOKEN=${simulator.csrfToken.reveal()}`);
  });

  it.each([
    ["darwin", "devin-3", "Applications/Devin.app/Contents/Resources/app", "Library/Application Support/Devin"],
    [
      "darwin",
      "devin-next",
      "Applications/Devin - Next.app/Contents/Resources/app",
      "Library/Application Support/Devin - Next",
    ],
    ["win32", "devin-3", "AppData/Local/Programs/Devin/resources/app", "AppData/Roaming/Devin"],
    ["linux", "devin-next", "apps/devin-desktop-next/resources/app", ".config/Devin - Next"],
  ] as const)("on %s, %s", async (system, profile, app, data) => {
    await using simulator = await startSimulator({ profile, platform: system, arch: "x64" });
    expect(simulator.layout.appRoot).toBe(join(simulator.home, app));
    expect(simulator.layout.userData).toBe(join(simulator.home, data));
    expect(existsSync(simulator.agentPath ?? "")).toBe(true);
    expect(existsSync(simulator.layout.stateDatabase)).toBe(true);
  });

  it("keeps a session token, the status with its plan, and the plan of its start", async () => {
    await using simulator = await startSimulator({
      profile: "devin-3",
      plan: { used: 40, usedWeekly: 10, overageMicros: 2_500_000 },
    });
    expect(simulator.apiKey.reveal()).toMatch(/^devin-session-token\$[\w-]+\.[\w-]+\.[\w-]+$/);
    const rows = rowsOf(simulator.layout.stateDatabase);
    const auth = JSON.parse(rows.get("windsurfAuthStatus") ?? "{}");
    expect(auth.apiKey).toBe(simulator.apiKey.reveal());
    const status = fromBinary(UserStatusSchema, Buffer.from(auth.userStatusProtoBinaryBase64, "base64"));
    expect(status.planStatus).toMatchObject({ dailyQuotaRemainingPercent: 60, weeklyQuotaRemainingPercent: 90 });
    expect(rows.has("windsurf.settings.cachedPlanInfo")).toBe(false);
    const before = savedPlans(simulator);
    expect(before).toEqual([
      {
        planName: "Pro",
        billingStrategy: "quota",
        dailyRemainingPercent: 60,
        weeklyRemainingPercent: 90,
        dailyResetAtUnix: expect.any(Number),
        weeklyResetAtUnix: expect.any(Number),
        hideDailyQuota: false,
        hideWeeklyQuota: false,
        overageBalanceMicros: 2_500_000,
        remainingMessages: -1,
      },
    ]);
    await simulator.spend({ credits: 10 });
    const { userStatus } = await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) });
    expect(userStatus?.planStatus?.dailyQuotaRemainingPercent).toBe(50);
    expect(savedPlans(simulator)).toEqual(before);
  });

  it("saves no plan, an old one, one of each account, or that of a free account", async () => {
    {
      await using none = await startSimulator({ profile: "devin-3", savedPlan: "none" });
      expect(savedPlans(none)).toEqual([]);
    }
    {
      await using old = await startSimulator({ profile: "devin-3", savedPlan: "old" });
      const reset = Number(savedPlans(old)[0]?.["dailyResetAtUnix"]);
      expect(reset * 1000).toBeLessThan(Date.now() - 86_400_000);
      await using today = await startSimulator({ profile: "devin-3" });
      const [started = ""] = await readdir(old.layout.logs);
      const [now = ""] = await readdir(today.layout.logs);
      expect(started < now).toBe(true);
    }
    {
      await using several = await startSimulator({ profile: "devin-3", savedPlan: "several" });
      expect(savedPlans(several).map((plan) => plan["dailyRemainingPercent"])).toEqual(
        expect.arrayContaining([100, 23]),
      );
    }
    await using free = await startSimulator({
      profile: "devin-3",
      plan: { freeMessages: { remaining: 7, total: 20 } },
      agent: { free: true },
    });
    expect(savedPlans(free)).toEqual([
      { planName: "Free", isDevinFree: true, remainingMessages: 7, totalMessages: 20 },
    ]);
  });

  it("leaves the folder of its old name behind where it was upgraded", async () => {
    await using simulator = await startSimulator({ profile: "devin-3", upgraded: true, platform: "linux" });
    const { oldStateDatabase, stateDatabase } = simulator.layout;
    expect(oldStateDatabase).toBe(join(simulator.home, ".config/Windsurf/User/globalStorage/state.vscdb"));
    expect(JSON.parse(rowsOf(oldStateDatabase).get("windsurfAuthStatus") ?? "{}").apiKey).toBe(expiredKey);
    expect(statSync(oldStateDatabase).mtimeMs).toBeLessThan(statSync(stateDatabase).mtimeMs - 86_400_000);
  });

  it("has no account signed in if it is set so", async () => {
    await using simulator = await startSimulator({ profile: "devin-3", signedOut: true });
    expect(savedPlans(simulator)).toEqual([]);
    expect(rowsOf(simulator.layout.stateDatabase).has("windsurfAuthStatus")).toBe(false);
  });
});

describe("Cascade's retirement", () => {
  const refusalOf = async (simulator: Simulator) => {
    const client = clientOf(simulator);
    const metadata = metadataOf(simulator);
    const error = await client
      .initializeCascadePanelState({ metadata })
      .then(() => client.startCascade({ metadata }))
      .catch((cause: unknown) => ConnectError.from(cause));
    return error instanceof ConnectError ? { code: error.code, text: error.rawMessage } : undefined;
  };

  it.each([
    ["retired", { code: Code.PermissionDenied, text: expect.stringContaining("only available in Devin Local") }],
    ["removed", { code: Code.Unimplemented, text: "Cascade has been removed from this version" }],
    ["on", undefined],
  ] as const)("is played as %s, and the account still answers", async (cascade, refusal) => {
    await using simulator = await startSimulator({ profile: "devin-3", cascade });
    expect(await refusalOf(simulator)).toEqual(refusal);
    const { userStatus } = await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) });
    expect(userStatus?.email).toBe("simulator@example.com");
  });

  it("is the default of Devin's profiles", async () => {
    await using simulator = await startSimulator({ profile: "devin-3" });
    expect(await refusalOf(simulator)).toMatchObject({ code: Code.PermissionDenied });
  });

  it("can leave older models", async () => {
    await using simulator = await startSimulator({
      profile: "devin-3",
      cascade: "old-models",
      turn: { rate: "instant" },
    });
    const fresh = await finalSteps(simulator, await send(simulator, "echo: x", { model: "claude-opus-4-7-medium" }));
    expect(JSON.stringify(fresh, (_, value) => (typeof value === "bigint" ? String(value) : value))).toContain(
      "Devin Local",
    );
    const old = await finalSteps(simulator, await send(simulator, "echo: x", { model: "claude-sonnet-4-6" }));
    expect(answerOf(old)).toBe("x");
  });
});

describe("the agent beside the editor", () => {
  it("needs the editor's key in its environment, and drains the editor's plan", async () => {
    await using simulator = await startSimulator({ profile: "devin-3", turn: { rate: "instant" } });
    const path = simulator.agentPath ?? "";
    await using refused = new RawClient(path, ["acp"], { HOME: simulator.home });
    await refused.initialize();
    expect((await refused.call("session/new", { cwd: "/tmp", mcpServers: [] })).error?.code).toBe(-32000);
    const env = { HOME: simulator.home, WINDSURF_API_KEY: simulator.apiKey.reveal() };
    await using client = new RawClient(path, ["acp", "--model", "claude-opus-5-high"], env);
    const sessionId = await client.open();
    await client.prompt(sessionId, "echo: paid");
    expect(simulator.prompts()).toMatchObject([{ sessionId, model: "claude-opus-5-high" }]);
    const { userStatus } = await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) });
    expect(userStatus?.planStatus?.dailyQuotaRemainingPercent).toBe(92);
  });

  it("is also installed as a CLI if it is set so, and signed in there", async () => {
    await using simulator = await startSimulator({ profile: "devin-3", agent: { cli: true }, platform: "linux" });
    expect(simulator.cliPath).toBe(join(simulator.home, ".local/bin/devin"));
    const toml = await readFile(join(simulator.home, ".local/share/devin/credentials.toml"), "utf8");
    expect(toml).toContain(`windsurf_api_key = "${simulator.apiKey.reveal()}"`);
  });

  it("is steered and counted over the control API, without an editor too", async () => {
    await using simulator = await startSimulator({ profile: "devin-cli", turn: { rate: "instant" } });
    const control = await startControlServer(simulator, 0);
    const call = async (method: string, path: string, body?: unknown) => {
      const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
      const response = await fetch(`http://127.0.0.1:${control.port}${path}`, init);
      return { status: response.status, body: await response.json() };
    };
    try {
      expect((await call("GET", "/")).body).toMatchObject({ profile: "devin-cli", cli: simulator.cliPath, starts: 0 });
      expect(await call("PUT", "/agent", { authMethod: "carrier-pigeon" })).toMatchObject({ status: 400 });
      expect(await call("PUT", "/agent", { authMethod: "windsurf-api-key" })).toMatchObject({ status: 200 });
      await using client = new RawClient(simulator.cliPath ?? "", ["acp"], { HOME: simulator.home });
      const { result } = await client.initialize();
      expect(result.authMethods).toMatchObject([{ id: "windsurf-api-key" }]);
      const session = await client.call("session/new", { cwd: "/tmp", mcpServers: [] });
      await client.prompt(session.result.sessionId, "echo: x");
      await simulator.untilAgent(({ ended }) => ended.length === 1, patience());
      expect((await call("GET", "/report")).body).toMatchObject({
        messages: [],
        agent: { prompts: [{ text: "echo: x" }], calls: { "session/prompt": 1 } },
      });
    } finally {
      await control.close();
    }
  });
});
