import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, gateway, simulator, world } from "../support/world.ts";

test("top prints one picture of the running gateway in a pipe, and one reading as JSON", async () => {
  const { home, client } = await world();
  await client.chat.completions.create(ask("Hello"));
  const read = async () =>
    JSON.parse((await millrace(["top", "--json"], { home })).stdout) as { readonly ended: number };
  await expect.poll(async () => (await read()).ended).toBe(1);
  expect(await read()).toMatchObject({ running: 0, waiting: 0, failed: 0, paused: false });
  expect((await millrace(["pause"], { home })).code).toBe(0);
  const { code, stdout } = await millrace(["top"], { home });
  expect(code).toBe(0);
  expect(stdout).toContain("PAUSED");
  expect(stdout).toMatch(/turn_\w+ +finished .*claude-sonnet-4\.6 +openai-chat/);
  expect(stdout).not.toContain("\u001B");
});

test("chat in a pause says why at once, and status says so too", async () => {
  const { home, ide } = await world();
  expect((await millrace(["pause"], { home })).code).toBe(0);
  const asked = await millrace(["chat", "Hello"], { home });
  expect(asked).toMatchObject({ code: 75, stdout: "" });
  expect(asked.stderr).toContain("error: Millrace is paused by its owner: no prompt is sent.\nhint: `millrace resume`");
  expect((await ide.report()).messages).toEqual([]);
  expect((await millrace(["status"], { home })).stdout).toContain("PAUSED");
});

test("status and top say what to do where no account is signed in", async () => {
  const { home } = await simulator({ profile: "devin-3", signedOut: true });
  await gateway({ home });
  const todo = /prompts go to +nothing yet: .* no account is signed in there\.\s+Sign in inside/s;
  expect((await millrace(["status"], { home })).stdout).toMatch(todo);
  expect((await millrace(["top"], { home })).stdout).toMatch(todo);
});

test("a failed turn of chat is shown with its reason by the end of its id, although it is encrypted", async () => {
  const { home } = await world();
  expect((await millrace(["chat", "[[sim: error=quota]] Hello"], { home })).stderr).toMatch(
    /hint: .* Ask again after 60 s\.\n/,
  );
  const { stdout } = await millrace(["tail", "--list", "--json"], { home });
  const [{ id }] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly id: string }) as [{ readonly id: string }];
  const shown = await millrace(["tail", id.slice(-8)], { home });
  expect(shown.stderr).toContain(`error: The turn ${id} failed: quota_exhausted.`);
  expect(shown.stderr).toContain("hint: ");
});
