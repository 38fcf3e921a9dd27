import { join } from "node:path";
import { expect, test } from "vitest";
import { checkHosts } from "./check-agents.ts";

test("doctor says what an agent's end may leave, where the system does not tell whose a process is", async () => {
  const folder = join(import.meta.dirname, "no-such-folder");
  const said = async (platform: NodeJS.Platform) => JSON.stringify(await checkHosts(folder, platform));
  expect(await said("linux")).not.toContain("detaches");
  expect(await said("darwin")).toContain("detaches");
  expect(await said("win32")).toContain("detaches");
});
