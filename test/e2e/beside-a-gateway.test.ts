import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { gateway, simulator } from "../support/world.ts";

test("commands beside a gateway look where it looks, and refuse an option that it would ignore", async () => {
  const ide = await simulator({ profile: "devin-cli" });
  const { home } = ide;
  // No IDE is found there: only the gateway's own option names the agent.
  const env = { MILLRACE_IDE_ONLY_HOME: temporaryHome() };
  const run = (...args: readonly string[]) => millrace(args, { home, env });
  await gateway({ home, env, args: ["--acp-command", `"${ide.cliPath ?? ""}" acp`] });
  const models = await run("models", "--json");
  expect([models.code, models.stderr]).toEqual([0, ""]);
  expect((JSON.parse(models.stdout) as { readonly data: readonly object[] }).data.length).toBeGreaterThan(0);
  const doctor = JSON.parse((await run("doctor", "--json")).stdout) as object;
  expect(doctor).toMatchObject({ backend: { kind: "acp" } });
  const refused = await run("chat", "--ide", "devin-next", "Hello");
  expect([refused.code, refused.stdout]).toEqual([64, ""]);
  expect(refused.stderr).toContain("The running gateway has no --ide, so --ide devin-next would have no effect.");
  expect(refused.stderr).toContain("millrace restart --ide devin-next");
  expect(ide.prompts()).toEqual([]);
});
