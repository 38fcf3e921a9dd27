import { describe, expect, it } from "vitest";
import { fakeAgent } from "../../ide/agent.fake.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import { checkInstalled } from "./check-agents.ts";

function found(part: Partial<DiscoveryResult>): DiscoveryResult {
  return { ides: [], agents: [], apps: [], trace: [], atMs: 0, ...part };
}

describe("what doctor shows of what is installed", () => {
  it("names the agent that is asked, and why", () => {
    const agents = [fakeAgent({ from: "app", signedIn: "no" }), fakeAgent({})];
    expect(checkInstalled(found({ agents })).agents).toMatchObject([
      { from: "app", signed_in: "no", why: null },
      { from: "cli", signed_in: "own", why: "signed in by its own credentials; preferred to 1 other" },
    ]);
  });
});
