import { once } from "node:events";
import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, simulator, world } from "../support/world.ts";

test("status answers what runs, who pays, what is left, what is set up and what failed last", async () => {
  const { home, client } = await world();
  await client.chat.completions.create(ask("Hello"));
  await client.chat.completions.create(ask("[[sim: error=quota]] Hello")).catch(() => undefined);
  await client.chat.completions.create(ask("Another question")).catch(() => undefined); // refused here: it becomes no turn
  const read = async () =>
    JSON.parse((await millrace(["status", "--json"], { home })).stdout) as {
      readonly gateway: { readonly ended: number };
    };
  await expect.poll(async () => (await read()).gateway.ended).toBe(2);
  expect(await read()).toMatchObject({
    gateway: {
      running: 0,
      waiting: 0,
      failed: 1,
      last_failure: { reason: "quota_exhausted" },
      refused: { requests: 1 },
    },
    paused: false,
    clients: [],
    service_installed: false,
  });
  const { code, stdout } = await millrace(["status"], { home });
  expect(code).toBe(0);
  const titles = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.slice(0, 12).trim());
  expect(titles).toEqual([
    "gateway",
    "account",
    "left",
    "prompts",
    "turns",
    "blocked",
    "refused",
    "clients",
    "service",
    "last failure",
  ]);
  expect(stdout).toMatch(/^left +Prompt credits: \d+ %/m);
  expect(stdout).toMatch(/^prompts +go to Devin Desktop 2\.2 \(formerly Windsurf\) \(Pro\)$/m);
  expect(stdout).toMatch(/^blocked +claude-sonnet-4\.6 until .* \(quota_exhausted, .* left\)$/m);
  expect(stdout).toMatch(/^refused +1 request became no turn \(1 of \w+: quota_exhausted\)$/m);
  expect(stdout).toMatch(/^last failure quota_exhausted, claude-sonnet-4\.6, .* ago \(`millrace tail \w+`\)$/m);
});

test("beside a stand-in, status names the account of the real IDE, to which prompts go", async () => {
  const home = temporaryHome();
  await simulator({ home });
  await simulator({ profile: "devin-3", home, unmarked: true });
  const { stdout } = await millrace(["status"], { home });
  expect(stdout).toMatch(
    /^account +.* in Devin Desktop 3\.\d+ \(formerly Windsurf\)$\n +.* in Devin Desktop \d\.\d \(formerly Windsurf\), a stand-in$/m,
  );
});

test("status shows a pause, in which chat says why it asks nothing; without a gateway how to start one, and what the last one read", async () => {
  const { home, ide, served } = await world();
  expect((await millrace(["pause"], { home })).code).toBe(0);
  const asked = await millrace(["chat", "Hello"], { home });
  expect(asked).toMatchObject({ code: 75, stdout: "" });
  expect(asked.stderr).toContain("error: Millrace is paused by its owner: no prompt is sent.\nhint: `millrace resume`");
  expect((await ide.report()).messages).toEqual([]);
  expect((await millrace(["status"], { home })).stdout).toContain("PAUSED");
  expect((await millrace(["usage"], { home })).code).toBe(0);
  await served.stop();
  const { code, stdout } = await millrace(["status"], { home });
  expect(code).toBe(69);
  expect(stdout).toMatch(/^gateway +does not run; `millrace serve --background` starts it$/m);
  expect(stdout).toMatch(/^account +\S.*, Pro in /m);
  expect(stdout).toMatch(/^left +Prompt credits: \d+ %.*; read \d+ s ago$/m);
});

test("status says what to do where no account is signed in", async () => {
  const { home } = await simulator({ profile: "devin-3", signedOut: true });
  await gateway({ home });
  const todo = /prompts +go to nothing yet: .* no account is signed in there\.\s+Sign in inside/s;
  expect((await millrace(["status"], { home })).stdout).toMatch(todo);
});

test("the owner finds a chat's question and answer, and a failed one's reason, also after a restart", async () => {
  const { home, ide, served } = await world({ args: ["--grace", "1s"] });
  const asked = await millrace(["chat", "What is a millrace?"], { home });
  expect(asked.code).toBe(0);
  expect((await millrace(["tail", "--list"], { home })).stdout).toContain("What is a millrace?");
  expect((await millrace(["tail"], { home })).stdout).toBe(asked.stdout);
  const failed = await millrace(["chat", "[[sim: error=quota]] Hello"], { home });
  expect(failed.code).toBe(75);
  expect(failed.stderr).toMatch(
    /hint: It resets in .* \(\d+ \w{3}\)\. Free, and can be asked now: swe-[^.]*\.\d\S*.*\n/,
  );
  await served.stop();
  await gateway({ home });
  const { code, stdout, stderr } = await millrace(["status"], { home });
  expect([code, stderr]).toEqual([0, ""]);
  const [, end = ""] = /^last failure quota_exhausted, .* ago \(`millrace tail (\w+)`\)$/m.exec(stdout) ?? [];
  const tailed = await millrace(["tail", end], { home });
  expect(tailed.stderr).toMatch(new RegExp(`turn_\\w*${end}`));
  expect(tailed.stderr).toContain("Failed: The plan's daily usage quota is used up.");
  expect((await ide.report()).messages).toHaveLength(2);
});

test("what one line of status cannot read costs no other line", async () => {
  const { home } = await simulator();
  const served = await gateway({ home });
  await served.kill();
  const port = Number(new URL(served.url).port);
  const stranger = createServer((_, response) => response.end("hello")).listen(port, "127.0.0.1");
  onTestFinished(() => void stranger.close());
  await once(stranger, "listening");
  const { code, stdout, stderr } = await millrace(["status"], { home });
  expect([code, stderr]).toEqual([69, ""]);
  expect(stdout).toMatch(/^gateway +Another program answers on port \d+, where your gateway was\. /m);
  expect(stdout).toMatch(/^left +cannot be read without the gateway$/m);
  expect(stdout).toMatch(/^account +.* in Devin Desktop/m);
  expect(stdout).toMatch(/^clients +none is set up/m);
  const json = JSON.parse((await millrace(["status", "--json"], { home })).stdout) as {
    readonly problems: readonly { readonly line: string }[];
  };
  expect(json.problems.map(({ line }) => line).toSorted()).toEqual(["gateway", "left"]);
});

test("with two IDEs each plan has its IDE's name, also where one of them was closed", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home, profile: "devin-3" });
  await simulator({ home, profile: "devin-next" });
  await gateway({ home });
  const both = (await millrace(["status"], { home })).stdout;
  expect(both).toMatch(/^left +Devin Desktop 3.*: \S.*\n +Devin Desktop Next .*: \S/m);
  await ide.stop();
  const { stdout } = await millrace(["status"], { home });
  expect(stdout).toMatch(/^left +Devin Desktop .*: \S/m);
  expect(stdout).not.toContain("signed in in");
});
