import { describe, expect, it, onTestFinished } from "vitest";
import { type SimulatorOptions, startSimulator } from "../../../simulator/index.ts";
import { temporaryHome } from "../../../test/support/home.ts";
import type { AccountEntry } from "../limits/read-accounts.ts";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { statusCommand } from "./status.ts";

const server = "server.self-serve.windsurf.com";
const oldest = "0f0f0f0f-1111-4222-8333-444444444444";

describe.runIf(process.platform === "linux")("the accounts of millrace status", () => {
  async function machine(options: SimulatorOptions) {
    const simulator = await startSimulator(options);
    onTestFinished(() => simulator.stop());
    const homeFolder = temporaryHome();
    const account = async (...argv: readonly string[]) => {
      const io = fakeIo({ homeFolder, env: { MILLRACE_IDE_ONLY_HOME: simulator.home } });
      const code = await main(["status", ...argv], io, [statusCommand]);
      const stdout = io.written.stdout();
      expect(stdout + io.written.stderr()).not.toContain(simulator.apiKey.reveal());
      return { code, stdout, stderr: io.written.stderr() };
    };
    const entries = async () => (JSON.parse((await account("--json")).stdout) as { accounts: AccountEntry[] }).accounts;
    return { simulator, account, entries };
  }

  it("shows the account of an editor and its agent, with a key of the oldest form and what to do", async () => {
    const { simulator, account, entries } = await machine({ profile: "devin-3", apiKey: oldest });
    const { code, stdout } = await account();
    expect(stdout).toMatch(/^account +\S.*, Pro in Devin Desktop .*, a stand-in$/m);
    expect(stdout).toMatch(/^left +\S+/m);
    expect(stdout).toContain("to do        This key has the oldest form. Sign out and in again inside Devin Desktop");
    expect(code).toBe(69); // no gateway runs
    expect((await entries()).map(({ what, key_form: form }) => `${what} ${form}`)).toEqual([
      "editor uuid",
      "agent program uuid",
    ]);
    expect(simulator.agentReport().calls).toEqual({});
  });

  it("shows two windows by their processes, and marks a stand-in", async () => {
    const { simulator, entries } = await machine({ profile: "windsurf-2", unmarked: true });
    const window = await startSimulator({
      profile: "windsurf-2",
      home: simulator.home,
      apiKey: simulator.apiKey.reveal(),
    });
    onTestFinished(() => window.stop());
    const found = (await entries()).map((entry) => [entry.pid, entry.stand_in] as const);
    expect(new Map(found)).toEqual(
      new Map([
        [simulator.pid, false],
        [window.pid, true],
      ]),
    );
  });

  it("shows the CLI's own credentials, without the unknown name", async () => {
    const { entries } = await machine({ profile: "devin-cli" });
    expect(await entries()).toMatchObject([
      { what: "agent program", signed_in: true, signed_in_by: "own", name: null, plan: null, server, todo: null },
    ]);
  });

  it("says where no account is signed in, and what to do", async () => {
    const { account, entries } = await machine({ profile: "devin-3", signedOut: true });
    expect((await account()).stdout).toMatch(/^account +no account is signed in to Devin Desktop/m);
    const all = await entries();
    expect(all.map((one) => one.signed_in)).toEqual([false, false]);
    for (const { todo } of all) expect(todo).toMatch(/Sign in inside/);
  });

  it("takes name and plan from the saved plan if the server does not report them", async () => {
    const { simulator, entries } = await machine({ profile: "devin-3" });
    const [before] = await entries();
    await simulator.setFaults([{ rpc: "GetUserStatus", missing: true }]);
    expect((await entries())[0]).toEqual(before);
    expect(before).toMatchObject({ what: "editor", name: expect.stringMatching(/./), key_refused: null });
  });

  it("says that the server refused the key", async () => {
    const { simulator, entries } = await machine({ profile: "windsurf-2", apiKey: "sk-ws-01-planted-api-key" });
    await simulator.setFaults([
      { rpc: "GetUserStatus", error: { code: "unauthenticated", message: "invalid API key" } },
    ]);
    expect(await entries()).toMatchObject([
      { what: "editor", key_form: "sk-ws", key_refused: expect.stringContaining("refused the API key"), name: null },
    ]);
  });
});
