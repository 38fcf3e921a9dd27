import { mkdtempSync } from "node:fs";
import { chmod, mkdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import type { CascadeId } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import { listCascadeFiles } from "../../ide/cascades/cascade-files.ts";
import { openCascadeJournal } from "../../ide/cascades/cascade-journal.ts";
import { startGateway } from "../compose/start-gateway.ts";
import { ask } from "../gateway-process/gateway-client.ts";
import { readOrMakeKey } from "../gateway-process/key-file.ts";
import { main } from "../main.ts";
import { runMain } from "../run-main.fake.ts";
import { exitCodeOfFindings } from "../terminal/finding.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { doctorCommand } from "./doctor.ts";

describe.runIf(process.platform === "linux")("millrace doctor", () => {
  let simulator: Simulator;
  let homeFolder: string;
  let tokenFile: string;

  beforeAll(async () => {
    simulator = await startSimulator({ apiKey: "sk-ws-01-planted-api-key" });
    homeFolder = mkdtempSync(join(tmpdir(), "millrace-doctor-"));
    tokenFile = join(homeFolder, "token");
    await writeFile(tokenFile, `${simulator.csrfToken.reveal()}\n${simulator.apiKey.reveal()}\n`);
  }, 60_000);
  afterAll(async () => {
    await simulator.stop();
    await rm(homeFolder, { recursive: true, force: true });
  });

  function millrace(argv: readonly string[], env: Record<string, string> = {}) {
    const ours = { MILLRACE_IDE_ENDPOINT: `127.0.0.1:${simulator.port}`, MILLRACE_IDE_HOMES: simulator.home };
    return runMain(argv, [doctorCommand], { homeFolder, env: { ...ours, ...env } });
  }
  /** The IDE as the user set it by hand: no process is looked for, so no other test's IDE is met. */
  const byHand = () => ({ MILLRACE_IDE_TOKEN_FILE: tokenFile });

  it("shows the IDE, what it answers and who is signed in, on one screen", async () => {
    const { code, stdout } = await millrace(["doctor"], { MILLRACE_IDE_ONLY_HOME: simulator.home });
    expect(stdout).toContain(
      `Devin Desktop 2.2 (formerly Windsurf), a stand-in  build ${simulator.ideVersion}, pid ${simulator.pid}, up `,
    );
    expect(stdout).toContain(`Devin Desktop 2.2 (formerly Windsurf), running: ${simulator.home}`);
    expect(stdout).toContain(`127.0.0.1:${simulator.port}, grpc without TLS; signed in, plan Pro`);
    expect(stdout).toContain("answers: Cascade, typed steps, transcript, raw chat");
    expect(stdout).toContain("schema: ");
    expect(stdout.split("\n").length).toBeLessThan(50);
    expect(code).toBe(0);
    expect((await simulator.report()).messages).toEqual([]);
  });

  it("says that the Redis server of the log does not answer, without its password", async () => {
    const address = `redis://user:planted-password@127.0.0.1:${simulator.port}/2`; // something, but no Redis
    const env = { ...byHand(), MILLRACE_STORE: "redis", MILLRACE_REDIS_URL: address };
    const { stdout, stderr } = await millrace(["doctor"], env);
    expect(stdout).toContain(`cannot be reached. (redis://127.0.0.1:${simulator.port}/2)`);
    expect(stdout + stderr).not.toContain("planted-password");
  });

  it("prints JSON with every decision, and no secret", async () => {
    const { stdout } = await millrace(["doctor", "--json"], byHand());
    const report = JSON.parse(stdout) as { ides: unknown[]; trace: { stage: string }[]; data: unknown[] };
    expect(report.ides).toEqual([expect.objectContaining({ variant: "devin", signed_in: true, plan: "Pro" })]);
    expect(report.trace.map(({ stage }) => stage)).toContain("probe");
    for (const secret of [simulator.csrfToken, simulator.apiKey]) expect(stdout).not.toContain(secret.reveal());
  });

  it("ends with 69 and says what to do when there is no IDE, and lists what it rejected", async () => {
    const { code, stdout } = await millrace(["doctor"], { MILLRACE_IDE_ENDPOINT: "127.0.0.1:1", ...byHand() });
    expect(code).toBe(69);
    expect(stdout).toMatch(
      /Devin Desktop \(formerly Windsurf\) does not run here, and no `devin` program was found\n\s+Start Devin Desktop and open a folder/,
    );
    expect(stdout).toMatch(/rejected[\s\S]*port 1: .*nothing listens/);
  });

  it("ends with 77 where no account is signed in, and breaks its lines between words on a narrow terminal", async () => {
    const signedOut = await startSimulator({ signedOut: true });
    onTestFinished(() => signedOut.stop());
    const env = { MILLRACE_IDE_ONLY_HOME: signedOut.home };
    const io = fakeIo({ homeFolder, env });
    Object.assign(io.stdout, { isTTY: true, columns: 40 });
    expect(await main(["doctor"], io, [doctorCommand])).toBe(77);
    const lines = stripVTControlCharacters(io.written.stdout()).split("\n");
    expect(lines.map((line) => line.trim()).join(" ")).toContain(
      "✗ Devin Desktop 2.2 (formerly Windsurf) runs, but no account",
    );
    for (const line of lines.filter((each) => each.length > 40)) expect(line.trim()).not.toContain(" ");
  });

  it("says that the IDE runs when it does, why it cannot be used, and what to do", async () => {
    const other = { MILLRACE_IDE_ONLY_HOME: simulator.home, MILLRACE_IDE_VARIANT: "windsurf-next" };
    const { code, stdout } = await millrace(["doctor"], other);
    expect(code).toBe(69);
    expect(stdout).toContain(
      `✗ Devin Desktop 2.2 (formerly Windsurf) runs (pid ${simulator.pid}), but cannot be used: only devin-next was asked for\n      Leave out`,
    );
  });

  it("finds what is wrong with the key, the store and the folder", async () => {
    const folder = join(homeFolder, "broken");
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, "key"), "k".repeat(40), { mode: 0o644 });
    await chmod(join(folder, "key"), 0o644);
    await writeFile(join(folder, "turns.db"), "no database");
    const { code, stdout } = await millrace(["doctor", "--json"], { ...byHand(), MILLRACE_HOME: folder });
    const { data: findings } = JSON.parse(stdout) as { data: { area: string; level: string; todo?: string }[] };
    expect(findings.filter(({ level }) => level === "error").map(({ area }) => area)).toEqual(["key", "store"]);
    expect(findings.every(({ level, todo }) => level !== "error" || todo !== undefined)).toBe(true);
    expect(code).toBe(73);
    expect(await readFile(join(folder, "turns.db"), "utf8")).toBe("no database");
  });

  it("says what is wrong with the configuration file, and all else too", async () => {
    const folder = join(homeFolder, "misconfigured");
    await mkdir(folder, { mode: 0o700 });
    for (const [text, what] of [
      ["this is [broken", "line 1 is not TOML"],
      ["[serve]\nretentoin = '2h'", 'has no setting "retentoin"'],
    ] as const) {
      await writeFile(join(folder, "config.toml"), text);
      const { code, stdout } = await millrace(["doctor"], { ...byHand(), MILLRACE_HOME: folder });
      expect(stdout.replace(/\s+/g, " ")).toContain(what);
      expect(stdout.replace(/\s+/g, " ")).toContain("does not start again until the file is right");
      expect([code, stdout]).toEqual([1, expect.stringContaining("An IDE can be used")]);
    }
  });

  it("writes a report without a single planted secret, and never over a file", async () => {
    const settings = join(homeFolder, ".millrace");
    const key = readOrMakeKey(join(settings, "key"));
    const file = join(homeFolder, "doctor.json");
    const planted = {
      MILLRACE_NOTE: `token ${simulator.csrfToken.reveal()} mail ann@example.org key sk-live-abcdefgh1234`,
    };
    const { code } = await millrace(["doctor", "--report", file], { ...byHand(), ...planted });
    expect(code).toBe(0);
    expect((await stat(file)).mode & 0o077).toBe(0);
    const text = await readFile(file, "utf8");
    const secrets = [simulator.csrfToken.reveal(), simulator.apiKey.reveal(), key.reveal(), homeFolder, hostname()];
    for (const secret of [...secrets, "ann@example.org", "sk-live-abcdefgh1234"]) expect(text).not.toContain(secret);
    expect(text).toContain("MILLRACE_NOTE");
    expect(text).toContain(String(simulator.port));
    const again = await millrace(["doctor", "--report", file], byHand());
    expect(again).toMatchObject({ code: 64 });
    expect(again.stderr).toContain("it is there already");
  });

  it("lists and deletes old conversations of its own, and leaves the IDE's", async () => {
    const foreign = join(simulator.layout.cascades, "11111111-1111-4111-8111-111111111111.pb");
    await mkdir(simulator.layout.cascades, { recursive: true });
    await writeFile(foreign, "the user's own");
    const old = "22222222-2222-4222-8222-222222222222" as CascadeId; // in the form of one
    const oldFile = join(simulator.layout.cascades, `${old}.pb`);
    await writeFile(oldFile, "ours");
    const threeDaysAgo = Date.now() / 1000 - 3 * 86_400;
    for (const file of [foreign, oldFile]) await utimes(file, threeDaysAgo, threeDaysAgo);
    await openCascadeJournal(join(homeFolder, ".millrace", "cascades.jsonl")).note({
      cascadeId: old,
      atMs: threeDaysAgo * 1000,
    });

    const list = JSON.parse((await millrace(["doctor", "--conversations", "--json"], byHand())).stdout) as {
      data: { cascade_id: string }[];
    };
    expect(list.data.map(({ cascade_id: id }) => id)).toEqual([old]);
    expect((await listCascadeFiles(simulator.layout.codeiumFolder)).map(({ path }) => path)).toContain(oldFile);

    const clean = await millrace(["doctor", "--conversations", "--delete-older", "1d"], byHand());
    expect(clean).toMatchObject({ code: 0, stdout: "Deleted: 1 conversation, 4 bytes.\n" });
    const left = (await listCascadeFiles(simulator.layout.codeiumFolder)).map(({ path }) => path);
    expect(left).toContain(foreign);
    expect(left).not.toContain(oldFile);
    const again = await millrace(["doctor", "--conversations", "--delete-older", "1d"], byHand());
    expect(again.stderr).toContain("nothing to delete");
  });

  it("asks the IDE that has a conversation open to delete it", async () => {
    const env = { MILLRACE_IDE_ENDPOINT: `127.0.0.1:${simulator.port}`, ...byHand() };
    const served = await startGateway({ homeFolder, env, accept: true });
    onTestFinished(() => served.close());
    const gateway = { url: served.url, key: new Secret(served.key) };
    await ask(gateway, { text: "Hello", model: "swe-1.5" }, AbortSignal.timeout(60_000));
    const own = { MILLRACE_IDE_ONLY_HOME: simulator.home }; // the process is looked for, this test's IDE only
    const { stdout } = await millrace(["doctor", "--conversations", "--json"], own);
    const { data } = JSON.parse(stdout) as { data: { cascade_id: string; open_in: string | null }[] };
    expect(data).toEqual([expect.objectContaining({ open_in: expect.stringContaining(`:${simulator.pid}:`) })]);
    const clean = await millrace(["doctor", "--conversations", "--delete-older", "0", "--json"], own);
    expect(JSON.parse(clean.stdout)).toMatchObject({ data: [], deleted: { data: [data[0]] } });
    expect((await simulator.report()).deletedCascades).toContain(data[0]?.cascade_id);
  });
});

it.each([
  [["--delete-older", "1d"], "--delete-older works only with --conversations."],
  [["--contract", "--conversations"], "--contract and --conversations do not work together."],
])("doctor %j is refused", async (argv, message) => {
  const io = fakeIo({ homeFolder: tmpdir() });
  expect(await main(["doctor", ...argv], io, [doctorCommand])).toBe(64);
  expect(io.written.stderr()).toContain(message);
});

describe("the exit code", () => {
  const finding = (area: "ide" | "store", level: "ok" | "note" | "warning" | "error") => ({ area, level, what: "" });
  it.each([
    [[finding("ide", "ok"), finding("store", "note")], 0],
    [[finding("ide", "ok"), finding("store", "warning")], 1],
    [[finding("store", "warning"), finding("ide", "error")], 69],
    [[finding("store", "error")], 73],
    [[], 0],
  ])("of findings %j is %i", (findings, code) => {
    expect(exitCodeOfFindings(findings)).toBe(code);
  });
});
