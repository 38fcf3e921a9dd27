import { renameSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { readGatewayFile } from "../../src/cli/gateway-process/gateway-file.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { agentLoop, chatLoop } from "../support/tool-loop.ts";
import { gateway, openai, patienceMs, simulator } from "../support/world.ts";
import { ask } from "./acp-machine.ts";

const turn = { rate: "instant", firstMs: 5, inputMs: 5 } as const;

/** Takes a file away, as an update or a sign-out does for a moment; the result puts it back. */
function away(file: string): () => void {
  renameSync(file, `${file}.away`);
  return () => renameSync(`${file}.away`, file);
}

const timeout = 2 * patienceMs;

test.each(["the IDE does not run", "the IDE runs"])(
  "an agent program that is being updated is waited for, and the one of another product is not asked in its place, while %s",
  { timeout },
  async (how) => {
    const home = temporaryHome();
    const other = await simulator({ home, turn, profile: "devin-next" });
    const used = await simulator({ home, turn, profile: "devin-3" }); // the last one counts the prompts of both
    if (how === "the IDE does not run") for (const { pid } of [other, used]) process.kill(pid, "SIGKILL");
    const served = await gateway({ home });
    const asked = async (target = served) =>
      (await openai(target).chat.completions.create(ask("hello")).withResponse()).response.headers.get(
        "x-millrace-ide",
      );
    expect(await asked()).toBe("devin");
    const putBack = away(used.agentPath ?? "");
    const refusal = {
      status: 424,
      code: "ide_not_running",
      message: expect.stringMatching(/Devin Desktop 3.*, whose agent prompts went to/) as string,
    };
    await expect(asked()).rejects.toMatchObject(refusal);
    expect(used.prompts()).toHaveLength(1);
    const status = async () => (await millrace(["status"], { home })).stdout;
    await expect.poll(status, { timeout: patienceMs }).toMatch(/^prompts .*whose agent prompts went to/m);
    await served.stop();
    const next = await gateway({ home }); // an update of the whole machine forgets nothing
    await expect(asked(next)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringMatching(/millrace restart --ide devin-next/) as string,
    });
    putBack();
    expect(await asked(next)).toBe("devin");
    expect(used.prompts()).toHaveLength(2);
    await next.stop();
    away(used.agentPath ?? "");
    const moved = asked(await gateway({ home, args: ["--ide", "devin-next"] }));
    await expect(moved).rejects.toThrow(/agent "devin-next" is not signed in/); // the stand-in has one account
  },
);

test("an agent that is signed out is waited for, and the account of the app is not asked in its place", {
  timeout,
}, async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn, profile: "devin-3", agent: { cli: true } });
  let served = await gateway({ home });
  const asked = () => openai(served).chat.completions.create(ask("hello"));
  await asked();
  const putBack = away(join(ide.layout.cliData, "credentials.toml"));
  await served.stop();
  served = await gateway({ home }); // without a word of what it found before
  await expect(asked()).rejects.toMatchObject({
    code: "not_signed_in",
    message: expect.stringMatching(/whose agent prompts went to, is signed out/) as string,
  });
  expect(ide.prompts()).toHaveLength(1);
  putBack();
  await asked();
  expect(ide.prompts()).toHaveLength(2);
  await served.stop();
  served = await gateway({ home, args: ["--ide", "devin"] });
  await asked();
  away(join(ide.layout.cliData, "credentials.toml"));
  onTestFinished(async () => void (await millrace(["stop"], { home })));
  expect((await millrace(["restart", "--ide", "devin"], { home })).code).toBe(0);
  const { url = "" } = readGatewayFile(join(home, ".millrace/gateway.json")) ?? {};
  await openai({ ...served, url }).chat.completions.create(ask("hello")); // the user said so
  expect(ide.prompts()).toHaveLength(4);
});

test("a sign-in of the agent's own is the user's word, and another program of the same account is asked at once", {
  timeout,
}, async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, turn, profile: "devin-3", agent: { cli: true } });
  const putBack = away(join(ide.layout.cliData, "credentials.toml"));
  const served = await gateway({ home });
  const asked = () => openai(served).chat.completions.create(ask("hello"));
  await asked();
  putBack();
  await asked();
  away(ide.agentPath ?? "");
  await asked();
  expect(ide.prompts()).toHaveLength(3);
});

test("an agent program that is being updated is waited for where it is the only one, and a tool loop goes on in its prompt", {
  timeout,
}, async () => {
  const home = temporaryHome();
  const used = await simulator({ home, turn, profile: "devin-3" });
  const served = await gateway({ home });
  const { model, tool, question, text } = agentLoop;
  const messages: object[] = [{ role: "user", content: question }];
  const first = await chatLoop.ask(served, model, messages, tool);
  messages.push(...first.messages, ...chatLoop.results(first.calls.map(({ id }, n) => ({ id, text: `r${n + 1}` }))));
  const putBack = away(used.agentPath ?? "");
  const refusal = { status: 424, code: "ide_not_running" };
  await expect(openai(served).chat.completions.create(ask("hello"))).rejects.toMatchObject(refusal);
  await expect(chatLoop.ask(served, model, messages, tool)).rejects.toThrow(/ide_not_running/);
  putBack();
  const second = await chatLoop.ask(served, model, messages, tool);
  messages.push(...second.messages, ...chatLoop.results(second.calls.map(({ id }) => ({ id, text: "r3" }))));
  expect((await chatLoop.ask(served, model, messages, tool)).text).toBe(text);
  expect(used.prompts()).toHaveLength(1);
});
