import { describe, expect, it } from "vitest";
import { FakeClock } from "../base/clock.fake.ts";
import { MillraceError } from "../base/errors.ts";
import { Secret } from "../base/secret.ts";
import type { Ide, IdeFinder } from "../ide/ide.ts";
import type { IdeVariant } from "../language-server/endpoint.ts";
import type { LanguageServer } from "../language-server/language-server.ts";
import { windsurfFixture } from "../usage/snapshot.fake.ts";
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
    invalidate: ({ id }) => void invalidated.push(id),
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

  it("says that none runs", async () => {
    await expect(readPlans(finderOf([]).finder, clock, signal)).rejects.toMatchObject({ code: "ide_not_running" });
  });
});
