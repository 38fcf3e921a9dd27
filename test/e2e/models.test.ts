import { expect, it } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { world } from "../support/world.ts";

it("lists the families of a large account, and finds models by words", async () => {
  const { home } = await world({ simulator: { models: 385 } });
  const all = await millrace(["models"], { home });
  expect(all.code).toBe(0);
  expect(all.stdout).toMatch(/^gpt-6-sol .* 24 variants/m);
  expect(all.stdout).toMatch(/^claude-opus-5\.5 .* 24 variants/m);
  expect(all.stdout).not.toMatch(/^(?:gpt-6|claude-opus-5\.5)\S*:/m);

  const found = await millrace(["models", "OPUS", "5.5", "high-thinking", "--json"], { home });
  const { data } = JSON.parse(found.stdout) as { data: readonly { readonly name: string }[] };
  expect(data.map(({ name }) => name)).toContain("claude-opus-5.5:high-thinking");
  expect(data.filter(({ name }) => !name.startsWith("claude-opus"))).toEqual([]);
  expect((await millrace(["models", "opuss"], { home })).stderr).toMatch(/no model "opuss".*Nearest: claude-opus/);
  const free = await millrace(["models", "--free", "no-such-word"], { home });
  expect(free.stderr).toContain("No such model is known to be free. `millrace models`");
});

it("a name that fits no model is refused by each command that would write it down or start a client with it", async () => {
  const { home } = await world();
  for (const argv of [
    ["setup", "claude-code", "--dry-run", "--model", "claude-opus-99"],
    ["run", "--model", "claude-opus-99", "claude-code"],
    ["config", "set", "model", "claude-opus-99"],
  ]) {
    const { code, stdout, stderr } = await millrace(argv, { home });
    expect([argv[0], code, stdout]).toEqual([argv[0], 64, ""]);
    expect(stderr).toContain('The account has no model "claude-opus-99". Nearest: claude-opus-');
  }
  const named = await millrace(["setup", "codex", "--dry-run", "--model", "claude-opus"], { home });
  expect(named.stdout).toMatch(/model = "claude-opus-\d/);
});
