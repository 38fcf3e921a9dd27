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
import { clientOf, metadataOf } from "./rpc-client.fake.ts";
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
});
