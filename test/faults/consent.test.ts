import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, simulator } from "../support/world.ts";

/** A stand-in that nothing tells from a real IDE, and a gateway. */
async function realWorld(args: readonly string[] = []) {
  const home = temporaryHome();
  const ide = await simulator({ home, unmarked: true });
  const served = await gateway({ home, args });
  const prompts = async () => (await ide.report()).messages.length;
  return { home, served, client: openai(served), prompts };
}

test("no prompt goes to an IDE before its user agreed, and one command is enough", async () => {
  const { home, client, served, prompts } = await realWorld();
  const refused = client.chat.completions.create(ask("May I?"));
  await expect(refused).rejects.toMatchObject({
    status: 403,
    code: "consent_needed",
    message: expect.stringContaining("`millrace init --accept`"),
  });
  expect(await prompts()).toBe(0);
  expect((await client.models.list()).data.length).toBeGreaterThan(0); // reading needs no consent
  const accepted = await millrace(["init", "--accept"], { home });
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining("They use the plan of the account") });
  await client.chat.completions.create(ask("May I?"));
  expect(await prompts()).toBe(1);

  await served.stop();
  const next = await gateway({ home });
  await openai(next).chat.completions.create(ask("And after a restart?"));
  expect(await prompts()).toBe(2);

  expect((await millrace(["init", "--undo"], { home })).code).toBe(0);
  await expect(openai(next).chat.completions.create(ask("And now?"))).rejects.toMatchObject({ status: 403 });
  expect(await prompts()).toBe(2);
});

test("the dashboard says that consent is missing and gives it, for its session and not for a page or program that knows the port only", async () => {
  const { home, served, client, prompts } = await realWorld();
  const authorization = `Bearer ${served.key}`;
  const linked = await fetch(`${served.url}/dashboard/api/link`, { method: "POST", headers: { authorization } });
  const { path } = (await linked.json()) as { readonly path: string };
  const signIn = served.url + path.replace("/#/sign-in/", "/sign-in?code=");
  const { session } = (await (await fetch(signIn, { method: "POST" })).json()) as { readonly session: string };
  const type = { "content-type": "application/json" };
  const own = { ...type, "x-millrace-session": session };
  const listed = async () =>
    (await (await fetch(`${served.url}/dashboard/api/consents`, { headers: own })).json()) as {
      readonly data: readonly { readonly ide: string; readonly accepted_at: string | null }[];
    };
  expect((await listed()).data).toMatchObject([{ ide: "devin", accepted_at: null }]);
  const agree = (headers: Readonly<Record<string, string>>) =>
    fetch(`${served.url}/dashboard/api/consents`, {
      method: "POST",
      headers,
      body: JSON.stringify({ ide: "windsurf", agree: true }),
    });
  expect((await agree({ ...type, cookie: `millrace_session=${session}` })).status).toBe(401);
  expect((await agree({ ...own, origin: "http://127.0.0.1:9999" })).status).toBe(403);
  await expect(client.chat.completions.create(ask("May I?"))).rejects.toMatchObject({ code: "consent_needed" });
  expect((await agree(own)).status).toBe(200);
  expect((await listed()).data[0]?.accepted_at).not.toBeNull();
  expect(existsSync(join(home, ".millrace/consent/windsurf"))).toBe(true);
  await client.chat.completions.create(ask("And now?"));
  expect(await prompts()).toBe(1);
});

test("serve --accept agrees beforehand, and it is remembered", async () => {
  const { home, client } = await realWorld(["--accept"]);
  await client.chat.completions.create(ask("In a script?"));
  expect(existsSync(join(home, ".millrace/consent/windsurf"))).toBe(true);
});

test("chat without a terminal is told what to type, and --accept does it", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, unmarked: true });
  const refused = await millrace(["chat", "Hello"], { home });
  expect(refused.code).toBe(77);
  expect(refused.stderr).toContain("Run `millrace init --accept`, once.");
  expect((await millrace(["chat", "--accept", "Hello"], { home })).code).toBe(0);
  expect((await millrace(["chat", "Hello again"], { home })).code).toBe(0);
  expect((await ide.report()).messages).toHaveLength(2);
});

test("a stand-in, and a command line program of one, need no consent", async () => {
  for (const profile of ["windsurf-2", "devin-cli", "devin-3"] as const) {
    const home = temporaryHome();
    await simulator({ home, profile });
    expect((await millrace(["chat", "Hello"], { home })).code).toBe(0);
    expect(existsSync(join(home, ".millrace/consent"))).toBe(false);
    const accept = await millrace(["init", "--accept"], { home });
    expect(accept.code).not.toBe(0);
  }
});
