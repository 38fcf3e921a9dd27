import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { fakeAgent } from "../../ide/agent.fake.ts";
import type { DiscoveryResult, TraceEntry } from "../../ide/ide.ts";
import { windsurfFixture } from "../../usage/snapshot.fake.ts";
import { checkAgents } from "./check-agents.ts";

const nowMs = Date.UTC(2026, 10, 22);
const entry = (part: Partial<TraceEntry>): TraceEntry => ({
  stage: "credentials",
  subject: "",
  rule: "state-db",
  verdict: "kept",
  why: "",
  ...part,
});

function found(part: Partial<DiscoveryResult>): DiscoveryResult {
  return { ides: [], agents: [], apps: [], trace: [], atMs: 0, ...part };
}

describe("what doctor shows of what is installed", () => {
  it("names the agent that is asked, and why", () => {
    const agents = [fakeAgent({ from: "app", signedIn: "no" }), fakeAgent({})];
    expect(checkAgents(found({ agents }), [], nowMs).agents).toMatchObject([
      { from: "app", signed_in: "no", chosen: false, why: null },
      { from: "cli", signed_in: "own", chosen: true, why: "signed in by its own credentials; preferred to 1 other" },
    ]);
  });

  it("tells each data folder once, and which was taken", () => {
    const trace = [
      entry({ subject: "/h/.config/Devin/x", why: "holds an API key (devin-session); it changed last" }),
      entry({ subject: "/h/.config/Windsurf/x", verdict: "note", why: "holds an API key too, not used" }),
      entry({ subject: "/h/.config/Devin/x", why: "again, of a second window" }),
      entry({ subject: "API key", verdict: "rejected", why: "no file of this IDE holds one" }),
    ];
    expect(checkAgents(found({ trace }), [], nowMs).data_folders).toEqual([
      { file: "/h/.config/Devin/x", taken: true, why: "holds an API key (devin-session); it changed last" },
      { file: "/h/.config/Windsurf/x", taken: false, why: "holds an API key too, not used" },
    ]);
  });

  it.each([
    ["kept", true],
    ["note", false],
  ] as const)("says whether the CLI has credentials (%s): %s", (verdict, is) => {
    const trace = [entry({ stage: "agents", rule: "cli-credentials", subject: "/h/credentials.toml", verdict })];
    expect(checkAgents(found({ trace }), [], nowMs).cli_credentials).toEqual({
      found: is,
      file: "/h/credentials.toml",
    });
  });

  it("tells where the plan comes from, and why there is none", () => {
    const rows = {
      lastStartMs: nowMs,
      accountRows: ['{"weeklyRemainingPercent":5}'],
      oldRow: undefined,
      userStatus: undefined,
    };
    const error = new MillraceError("upstream_timeout", "It did not answer.");
    const { plans } = checkAgents(
      found({}),
      [
        { type: "saved", ide: "windsurf", build: "", rows },
        { type: "failed", ide: "windsurf", error },
        { type: "failed", ide: "antigravity", error },
        { type: "windsurf", ide: "windsurf-next", build: "", userStatus: windsurfFixture("quota") },
      ],
      nowMs,
    );
    expect(plans).toEqual([
      { variant: "windsurf", source: "saved_plan", read_at: "2026-11-22T00:00:00.000Z" },
      { variant: "antigravity", source: "none", read_at: null, problem: "It did not answer." },
      { variant: "windsurf-next", source: "language_server", read_at: "2026-11-22T00:00:00.000Z" },
    ]);
  });
});
