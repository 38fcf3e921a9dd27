import { describe, expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import type { AgentProgram, Ide, IdeFinder, SavedPlan } from "../../ide/ide.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import type { IdeVariant } from "../../language-server/transport/endpoint.ts";
import { windsurfFixture } from "../../usage/snapshot.fake.ts";
import { readPlans } from "./read-plan.ts";

const signal = new AbortController().signal;
const clock = new FakeClock();

function ide(variant: IdeVariant, id: string, signedIn = true): Ide {
  const secret = new Secret("unused");
  return {
    variant,
    product: "Windsurf",
    id,
    pid: 1,
    startedAtMs: 1,
    build: `build-${id}`,
    endpoint: { variant, host: "127.0.0.1", port: 1, tls: false, protocol: "connect", csrfToken: secret },
    identity: { variant, ideVersion: "", extensionVersion: "", extensionPath: "", apiKey: secret },
    capabilities: undefined,
    signedIn,
  };
}

/** A finder of fixed IDEs; `answers` says what each one's server does when it is asked. */
function finderOf(ides: readonly Ide[], answers: Readonly<Record<string, () => Promise<unknown>>> = {}) {
  const [connected, invalidated]: [string[], string[]] = [[], []];
  const finder: IdeFinder = {
    find: () => Promise.resolve({ ides, agents: [], trace: [], atMs: 0 }),
    invalidate: (ide) => void invalidated.push(ide?.id ?? "all"),
    connect({ id }) {
      connected.push(id);
      const getUserStatus = answers[id] ?? (() => Promise.resolve(windsurfFixture("quota")));
      return Promise.resolve({ getUserStatus } as unknown as LanguageServer); // only this is asked of it
    },
    close() {},
  };
  return { finder, connected, invalidated };
}

describe("reading the plans", () => {
  it("asks one IDE of each product: the newest that is signed in", async () => {
    const ides = [ide("windsurf", "new", false), ide("windsurf", "old"), ide("windsurf-next", "next")];
    const { finder, connected } = finderOf(ides);
    const answers = await readPlans(finder, clock, signal);
    expect(connected).toEqual(["old", "next"]);
    expect(answers).toMatchObject([
      { type: "windsurf", ide: "windsurf", build: "build-old" },
      { type: "windsurf", ide: "windsurf-next", build: "build-next" },
    ]);
  });

  it("keeps what others answered when one fails, and has the finder look again", async () => {
    const failing = { old: () => Promise.reject(new MillraceError("upstream_timeout", "no answer")) };
    const { finder, invalidated } = finderOf([ide("windsurf", "old"), ide("windsurf-next", "next")], failing);
    expect(await readPlans(finder, clock, signal)).toMatchObject([
      { type: "failed", ide: "windsurf", error: { code: "upstream_timeout" } },
      { type: "windsurf", ide: "windsurf-next" },
    ]);
    expect(invalidated).toEqual(["old"]);
  });

  it("never asks a stand-in beside a real IDE, as no prompt goes there either", async () => {
    const standIn = { ...ide("windsurf", "stand-in"), standIn: true } as const;
    const beside = finderOf([standIn, ide("windsurf-next", "next"), ide("windsurf", "old")]);
    await readPlans(beside.finder, clock, signal);
    expect(beside.connected.toSorted()).toEqual(["next", "old"]);
    expect(await readPlans(finderOf([standIn]).finder, clock, signal)).toMatchObject([{ standIn: true }]);
  });

  const saved = (variant: SavedPlan["variant"]): SavedPlan => ({
    variant,
    build: "3.10.48",
    file: "/f",
    lastStartMs: 1,
    accountRows: ["{}"],
    oldRow: undefined,
    userStatus: undefined,
  });
  const withSaved = (finder: IdeFinder, plans: readonly SavedPlan[]): IdeFinder => ({
    ...finder,
    find: async (asked) => ({ ...(await finder.find(asked)), readSavedPlans: async () => plans }),
  });

  it("takes what the app saved where it does not run, and not where its server tells the plan", async () => {
    const { finder } = finderOf([ide("windsurf", "new")]);
    const answers = await readPlans(withSaved(finder, [saved("windsurf"), saved("windsurf-next")]), clock, signal);
    expect(answers.map((answer) => [answer.type, answer.ide])).toEqual([
      ["saved", "windsurf-next"],
      ["windsurf", "windsurf"],
    ]);
    expect(await readPlans(withSaved(finderOf([]).finder, [saved("windsurf")]), clock, signal)).toMatchObject([
      { type: "saved", ide: "windsurf", build: "3.10.48" },
    ]);
  });

  it("takes what the app saved where the server lacks the call, which is no failure then", async () => {
    const gone = new MillraceError("upstream_failed", "x", { details: { reason: "not_implemented" } });
    const { finder, invalidated } = finderOf([ide("windsurf", "new")], { new: () => Promise.reject(gone) });
    expect(await readPlans(withSaved(finder, [saved("windsurf")]), clock, signal)).toMatchObject([{ type: "saved" }]);
    expect(await readPlans(finder, clock, signal)).toMatchObject([{ type: "failed" }]);
    expect(invalidated).toEqual([]);
  });

  it("takes what the app saved beside a failure, and where the server tells no limit", async () => {
    const failing = { new: () => Promise.reject(new MillraceError("upstream_timeout", "no answer")) };
    const { finder } = finderOf([ide("windsurf", "new")], failing);
    const types = async (from: IdeFinder) =>
      (await readPlans(withSaved(from, [saved("windsurf")]), clock, signal)).map(({ type }) => type);
    expect(await types(finder)).toEqual(["saved", "failed"]);
    const empty = finderOf([ide("windsurf", "new")], { new: async () => windsurfFixture("no-plan") });
    expect(await types(empty.finder)).toEqual(["saved", "windsurf"]);
  });

  it("says that none runs", async () => {
    await expect(readPlans(finderOf([]).finder, clock, signal)).rejects.toMatchObject({ code: "ide_not_running" });
  });

  it.each([
    ["own", "The plan is unknown, because Devin CLI does not report it."],
    ["no", "No IDE with a language server is running, and no app has saved its plan."],
  ] as const)(
    "without an editor, says what an agent program that is signed in (%s) can tell",
    async (signedIn, message) => {
      const { finder } = finderOf([]);
      const found = await finder.find(signal);
      const agent = { product: "Devin CLI", from: "cli", signedIn } as AgentProgram; // only these are asked of it
      const cli: IdeFinder = { ...finder, find: () => Promise.resolve({ ...found, agents: [agent] }) };
      await expect(readPlans(cli, clock, signal)).rejects.toMatchObject({ code: "ide_not_running", message });
    },
  );

  it.each([
    [false, "ide_not_running", "Devin Desktop 3.10 is installed, but does not run."],
    [
      true,
      "not_signed_in",
      "Devin Desktop 3.10 runs, but its language server was not found and no account is signed in.",
    ],
  ] as const)(
    "without a server, but with the agent of an app that runs (%s), says what the app lacks",
    async (running, code, message) => {
      const { finder } = finderOf([]);
      const found = await finder.find(signal);
      const agents = [{ product: "Devin Desktop 3.10", from: "app", signedIn: "editor" } as AgentProgram]; // as above
      const apps = [
        { product: "Devin Desktop 3.10", variant: "windsurf", version: "3.10", appRoot: "/", running },
      ] as const;
      const app: IdeFinder = { ...finder, find: () => Promise.resolve({ ...found, agents, apps }) };
      await expect(readPlans(app, clock, signal)).rejects.toMatchObject({ code, message });
    },
  );
});
