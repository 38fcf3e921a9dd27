import { expect, it } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import { Secret } from "../../base/secret.ts";
import { fakeAgent } from "../../ide/agent.fake.ts";
import type { AgentProgram, DiscoveryResult } from "../../ide/ide.ts";
import { promptAccount } from "./prompt-account.ts";
import { promptServers } from "./prompt-servers.ts";

const readApiKey = (key: string) => () => Promise.resolve(new Secret(key));
const first = fakeAgent({ readApiKey: readApiKey("one's key") });
const inUse = fakeAgent({ home: "/home/another", readApiKey: readApiKey("another's key") });

/** The account on a machine with these agents and no IDE, after prompts went to `used`. */
function accountWith(agents: readonly AgentProgram[], used?: AgentProgram): Promise<string | undefined> {
  const result: DiscoveryResult = { ides: [], agents, trace: [], atMs: 0 };
  const finder = {
    find: () => Promise.resolve(result),
    connect: () => Promise.reject(new Error("no IDE")),
    invalidate: () => {},
  };
  const servers = promptServers(finder);
  if (used !== undefined) servers.noteAgent(used);
  return promptAccount(finder, servers, new FakeClock())();
}

it("is that of the agent program in use, also where another one is found first", async () => {
  expect(await accountWith([first, inUse], inUse)).toBe(await accountWith([inUse]));
  expect(await accountWith([first, inUse])).toBe(await accountWith([first]));
  expect(await accountWith([first])).not.toBe(await accountWith([inUse]));
});

it("is unknown while the agent program in use is away", async () => {
  expect(await accountWith([first], inUse)).toBeUndefined();
});
