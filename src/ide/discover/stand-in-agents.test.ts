import { expect, it } from "vitest";
import { FakeHost } from "../host/host.fake.ts";
import { discover } from "./discover.ts";
import { type IdeOverrides, noOverrides } from "./overrides.ts";

const real = "/usr/share/devin-desktop/resources/app";
const standIn = "/home/me/apps/Devin/resources/app";
const agentOf = (root: string) => `${root}/extensions/windsurf/devin/bin/devin`;

async function agentsOf(
  apps: Readonly<Record<string, object>>,
  overrides: Partial<IdeOverrides> = {},
): Promise<readonly string[]> {
  const host = new FakeHost();
  for (const [root, marks] of Object.entries(apps)) {
    host.texts.set(
      `${root}/product.json`,
      JSON.stringify({ nameShort: "Devin", windsurfVersion: "3.10.48", ...marks }),
    );
    host.files.set(agentOf(root), {});
  }
  const probe = () => Promise.reject(new Error("nothing is probed"));
  const options = { host, probe, overrides: { ...noOverrides, ...overrides }, lastGood: new Map() };
  const { agents } = await discover(options, new AbortController().signal);
  return agents.map(({ path }) => path);
}

it("the agent of a stand-in is never used beside a real one, and is used alone", async () => {
  const marks = { millraceStandIn: true };
  expect(await agentsOf({ [standIn]: marks, [real]: {} })).toEqual([agentOf(real)]);
  expect(await agentsOf({ [standIn]: marks })).toEqual([agentOf(standIn)]);
});

it("no agent is used in place of an IDE that the user named by its process and that has ended", async () => {
  expect(await agentsOf({ [real]: {} }, { pid: 10 })).toEqual([]);
});
