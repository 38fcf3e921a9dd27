import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryHome } from "../../../test/support/home.ts";
import type { SimulatorOptions } from "../../simulator/options.ts";
import { startSimulator } from "../../simulator/start.ts";
import type { AccountEntry } from "../account/read-accounts.ts";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { accountCommand } from "./account.ts";

const server = "server.self-serve.windsurf.com";
const oldest = "0f0f0f0f-1111-4222-8333-444444444444";

describe.runIf(process.platform === "linux")("millrace account", () => {
  async function machine(options: SimulatorOptions) {
    const simulator = await startSimulator(options);
    onTestFinished(() => simulator.stop());
    const homeFolder = temporaryHome();
    const account = async (...argv: readonly string[]) => {
      const io = fakeIo({ homeFolder, env: { MILLRACE_IDE_ONLY_HOME: simulator.home } });
      const code = await main(["account", ...argv], io, [accountCommand]);
      const stdout = io.written.stdout();
      expect(stdout + io.written.stderr()).not.toContain(simulator.apiKey.reveal());
      return { code, stdout, stderr: io.written.stderr() };
    };
    const entries = async () => (JSON.parse((await account("--json")).stdout) as { data: AccountEntry[] }).data;
    return { simulator, account, entries };
  }

  it("shows the account of an editor and its agent, with a key of the oldest form and what to do", async () => {
    const { simulator, account, entries } = await machine({ profile: "devin-3", apiKey: oldest });
    const { code, stdout, stderr } = await account();
    expect(stdout).toMatch(
      /^Devin Desktop .*, editor of a stand-in: .+, plan Pro, server \S+, a key of the oldest form \(UUID\)$/m,
    );
    expect(stdout).toMatch(/, agent program of a stand-in: .+, plan Pro, .*, with the editor's key$/m);
    expect(stdout).toContain("to do: This key has the oldest form. Sign out and in again inside Devin Desktop");
    expect(stderr).toContain("itself has no sign-in");
    expect(code).toBe(0);
    expect((await entries()).map(({ what, key_form: form }) => `${what} ${form}`)).toEqual([
      "editor uuid",
      "agent program uuid",
    ]);
    expect(simulator.agentReport().calls).toEqual({});
  });

  it("shows two windows by their processes, and marks a stand-in", async () => {
    const { simulator, account } = await machine({ profile: "windsurf-2", unmarked: true });
    expect((await account()).stdout).toMatch(/^Windsurf .*, editor: /);
    const window = await startSimulator({
      profile: "windsurf-2",
      home: simulator.home,
      apiKey: simulator.apiKey.reveal(),
    });
    onTestFinished(() => window.stop());
    const { stdout } = await account();
    expect(stdout).toContain(`, editor (pid ${simulator.pid}): `);
    expect(stdout).toContain(`, editor of a stand-in (pid ${window.pid}): `);
  });

  it("shows the CLI's own credentials, without the unknown name", async () => {
    const { entries } = await machine({ profile: "devin-cli" });
    expect(await entries()).toMatchObject([
      { what: "agent program", signed_in: true, signed_in_by: "own", name: null, plan: null, server, todo: null },
    ]);
  });

  it("says where no account is signed in, and what to do", async () => {
    const { account, entries } = await machine({ profile: "devin-3", signedOut: true });
    expect((await account()).code).toBe(77);
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
