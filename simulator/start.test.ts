import { existsSync, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClientModelConfigSchema, UserStatusSchema } from "../src/proto/windsurf/exa/codeium_common_pb.ts";
import { temporaryFolder } from "../test/support/temporary.ts";
import { answerOf, clientOf, finalSteps, metadataOf, patience, send } from "./rpc-client.fake.ts";
import { placesOf } from "./simulate.ts";
import { type Simulator, startSimulator } from "./start.ts";

const onLinux = platform() === "linux";

function readState(path: string, key: string): string | undefined {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 60_000 });
  try {
    const row = database.prepare("SELECT value FROM ItemTable WHERE key = ?").get(key);
    return row === undefined ? undefined : String(row["value"]);
  } finally {
    database.close();
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a running stand-in", () => {
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({ turn: { rate: "instant" }, platform: "linux", arch: "x64" });
  });
  afterAll(async () => {
    await simulator.stop();
  });

  it("says where everything is, without a secret", () => {
    expect(placesOf(simulator)).toMatchObject({ pid: simulator.pid, port: simulator.port, profile: "windsurf-2" });
    expect(JSON.stringify(placesOf(simulator))).not.toMatch(
      new RegExp(`${simulator.csrfToken.reveal()}|${simulator.apiKey.reveal()}`),
    );
  });

  it.runIf(onLinux)("looks like the real process: program, flags, environment", () => {
    const argv = readFileSync(`/proc/${simulator.pid}/cmdline`, "utf8").split("\0");
    expect(argv[0]).toBe(simulator.layout.binary);
    expect(argv[0]).toMatch(/\/extensions\/windsurf\/bin\/language_server_linux_x64$/);
    const after = (flag: string) => argv[argv.indexOf(flag) + 1];
    expect(after("--ide_name")).toBe("windsurf");
    expect(after("--windsurf_version")).toBe("2.2.17");
    expect(after("--workspace_id")).toBe("file_home_user_project");
    expect(after("--extension_server_port")).toBe(String(simulator.extensionServerPort));
    expect(argv).not.toContain("--csrf_token");
    const environment = readFileSync(`/proc/${simulator.pid}/environ`, "utf8").split("\0");
    expect(environment).toContain(`WINDSURF_CSRF_TOKEN=${simulator.csrfToken.reveal()}`);
    expect(environment).toContain(`CODEIUM_EDITOR_APP_ROOT=${simulator.layout.appRoot}`);
    expect(environment).toContain(`HOME=${simulator.home}`);
  });

  it("holds a live state database whose models are those of GetUserStatus", async () => {
    const database = new DatabaseSync(simulator.layout.stateDatabase, { readOnly: true, timeout: 60_000 });
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
    database.close();
    const auth = JSON.parse(readState(simulator.layout.stateDatabase, "windsurfAuthStatus") ?? "{}");
    expect(auth.apiKey).toBe(simulator.apiKey.reveal());
    const stored = fromBinary(UserStatusSchema, Buffer.from(auth.userStatusProtoBinaryBase64, "base64"));
    const { userStatus } = await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) });
    expect(stored.cascadeModelConfigData).toEqual(userStatus?.cascadeModelConfigData);
    expect(stored.email).toBe(userStatus?.email);
    const [first] = auth.allowedCommandModelConfigsProtoBinaryBase64;
    expect(fromBinary(ClientModelConfigSchema, Buffer.from(first, "base64")).label).toBe("Claude Opus 4.7 Low");
    expect(
      JSON.parse(readState(simulator.layout.stateDatabase, "windsurf.settings.cachedPlanInfo") ?? ""),
    ).toMatchObject({
      planName: "Pro",
      usage: { messages: 50_000 },
    });
  });

  it("lists a realistic account: numbers and UIDs, families, disabled models, context limits", async () => {
    const { userStatus } = await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) });
    const models = userStatus?.cascadeModelConfigData?.clientModelConfigs ?? [];
    const byUid = new Map(models.map((model) => [model.modelUid, model]));
    expect(byUid.size).toBe(models.length);
    expect(byUid.get("MODEL_CLAUDE_4_5_OPUS")?.modelOrAlias?.choice).toEqual({ case: "model", value: 391 });
    expect(byUid.get("claude-opus-4-7-medium")?.modelOrAlias?.choice.case).toBeUndefined();
    expect(byUid.get("claude-opus-4-7-medium")?.modelFamilyMetadata?.entries[0]?.value?.name).toBe("Medium");
    expect(byUid.get("claude-opus-5-high")).toMatchObject({
      disabled: true,
      disabledReason: { shortReason: "Upgrade to Max" },
    });
    expect(models.every((model) => model.maxTokens > 0 && model.label !== "")).toBe(true);
  });

  it("drains its credits in the server and in the state database", async () => {
    const used = async () =>
      (await clientOf(simulator).getUserStatus({ metadata: metadataOf(simulator) })).userStatus?.planStatus
        ?.usedPromptCredits;
    const before = (await used()) ?? 0;
    await finalSteps(simulator, await send(simulator, "count to 3", { model: "claude-opus-4-7-medium" }));
    expect(await used()).toBe(before + 600);
    const auth = JSON.parse(readState(simulator.layout.stateDatabase, "windsurfAuthStatus") ?? "{}");
    const stored = fromBinary(UserStatusSchema, Buffer.from(auth.userStatusProtoBinaryBase64, "base64"));
    expect(stored.planStatus?.usedPromptCredits).toBe(before + 600);
  });

  it("keeps a file per conversation that grows with steps, shrinks on archive and goes on delete", async () => {
    const client = clientOf(simulator);
    const metadata = metadataOf(simulator);
    await client.initializeCascadePanelState({ metadata });
    const { cascadeId } = await client.startCascade({ metadata });
    const path = join(simulator.layout.cascades, `${cascadeId}.pb`);
    const fresh = statSync(path).size;
    await send(simulator, "echo: abc", { cascadeId });
    await finalSteps(simulator, cascadeId);
    await client.archiveCascadeTrajectory({ cascadeId, isArchived: false });
    const grown = statSync(path).size;
    await client.archiveCascadeTrajectory({ cascadeId, isArchived: true });
    const archived = statSync(path).size;
    expect(grown).toBeGreaterThan(fresh + 5 * 2000);
    expect(archived).toBeLessThan(fresh);
    await client.deleteCascadeTrajectory({ cascadeId });
    expect(existsSync(path)).toBe(false);
    const error = await client
      .getCascadeTrajectorySteps({ cascadeId })
      .catch((cause: unknown) => ConnectError.from(cause));
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: `trajectory not found: ${cascadeId}` });
  });

  it("continues a conversation over several turns, and old indices stay", async () => {
    const cascadeId = await send(simulator, "echo: one");
    const first = await finalSteps(simulator, cascadeId);
    await send(simulator, "echo-prompt", { cascadeId });
    await simulator.until(
      (report) => report.cascades.some((one) => one.cascadeId === cascadeId && one.turnsEnded === 2),
      patience(),
    );
    const { steps } = await clientOf(simulator).getCascadeTrajectorySteps({ cascadeId, stepOffset: first.length });
    expect(steps.map((step) => step.step.case)).toEqual([
      "retrieveMemory",
      "userInput",
      "plannerResponse",
      "checkpoint",
    ]);
    expect(answerOf(steps)).toContain(
      "--- history user ---\necho: one\n--- history assistant ---\none\n--- prompt ---",
    );
    const { transcript, numTotalSteps } = await clientOf(simulator).getCascadeTranscriptForTrajectoryId({
      cascadeId,
      stepOffset: first.length,
    });
    expect(transcript).toMatch(/^=== MESSAGE 5 - Tool ===\n/);
    expect(numTotalSteps).toBe(first.length + 4);
    const { generatorMetadata } = await clientOf(simulator).getCascadeTrajectoryGeneratorMetadata({
      cascadeId,
      generatorMetadataOffset: 1,
    });
    expect(generatorMetadata[0]?.metadata.value?.usage?.outputTokens).toBeGreaterThan(0n);
  });
});

describe("a restart", () => {
  it("gives a new process, port and token, forgets the panel, and keeps conversations", async () => {
    await using simulator = await startSimulator({ turn: { rate: "instant" } });
    const cascadeId = await send(simulator, "echo: kept");
    await finalSteps(simulator, cascadeId);
    await clientOf(simulator).archiveCascadeTrajectory({ cascadeId, isArchived: true });
    const before = { pid: simulator.pid, port: simulator.port, token: simulator.csrfToken.reveal() };
    await simulator.restart();
    expect(alive(before.pid)).toBe(false);
    expect(simulator.port).not.toBe(before.port);
    expect(simulator.csrfToken.reveal()).not.toBe(before.token);
    expect(readState(`${simulator.layout.stateDatabase}.backup`, "windsurfAuthStatus")).toBeDefined();

    const client = clientOf(simulator);
    expect((await simulator.report()).cascades).toMatchObject([{ cascadeId, archived: true, steps: 5 }]);
    expect(answerOf((await client.getCascadeTrajectorySteps({ cascadeId })).steps)).toBe("kept");
    const error = await client
      .startCascade({ metadata: metadataOf(simulator) })
      .catch((cause: unknown) => ConnectError.from(cause));
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "panel state not found" });
  });

  it("can come in the middle of a turn, from a directive; the turn is lost", async () => {
    await using simulator = await startSimulator({ turn: { rate: "instant" } });
    const { port } = simulator;
    const cascadeId = await send(simulator, "echo: abcdef [[sim: restart-after=3 input-ms=50]]");
    const report = await simulator.until(() => simulator.starts === 2, patience());
    expect(simulator.port).not.toBe(port);
    expect(report.cascades).toMatchObject([{ cascadeId, status: "idle", turnsEnded: 0 }]);
  });

  it("leaves nothing behind in its temporary home once it is stopped", async () => {
    const simulator = await startSimulator();
    const { home, pid } = simulator;
    await simulator.stop();
    expect(alive(pid)).toBe(false);
    expect(existsSync(home)).toBe(false);
  });

  it("keeps a home that the caller gave, with its conversations", async () => {
    const home = temporaryFolder();
    const first = await startSimulator({ home, turn: { rate: "instant" }, apiKey: "sk-ws-01-planted" });
    const cascadeId = await send(first, "echo: kept");
    await finalSteps(first, cascadeId);
    await first.stop();
    expect(await readdir(first.layout.cascades)).toEqual([`${cascadeId}.pb`]);
    await using second = await startSimulator({ home, apiKey: "sk-ws-01-planted" });
    expect((await second.report()).cascades).toMatchObject([{ cascadeId, turnsEnded: 1 }]);
  });
});

describe("wrong options", () => {
  it("are refused with the key that is wrong", async () => {
    await expect(startSimulator({ profil: "windsurf-2" } as never)).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("profil"),
    });
  });
});
