import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { takeLock } from "../../base/node/system-lock.ts";
import { readSettings } from "../settings.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { environmentOptions } from "./gateway-options.ts";
import { refuseOtherOptions, spellOptions, typedWords } from "./running-options.ts";

function beside(running: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder();
  const gateway = { url: "http://127.0.0.1:1", pid: process.pid, instance: "a", version: "1", startedAtMs: 0 };
  writeFileSync(join(folder, "gateway.json"), JSON.stringify({ ...gateway, options: running }));
  const giveBack = takeLock(join(folder, "gateway.held"));
  onTestFinished(() => giveBack?.());
  const io = fakeIo({ homeFolder: folder, env: { MILLRACE_IDE_ONLY_HOME: "", MILLRACE_HOME: folder, ...env } });
  return { io, settings: readSettings(io) };
}

const options = (env: Readonly<Record<string, string>>) => environmentOptions(env);

test("an option that the running gateway has is no change, and any other one is refused with the command that applies it", () => {
  const next = options({ MILLRACE_IDE_VARIANT: "devin-next", MILLRACE_GRACE: "3m" });
  const typed = new Set(["ide"]);
  expect(() => refuseOtherOptions(next, { ...beside({ ide: "devin-next" }), typed })).not.toThrow();
  expect(() => refuseOtherOptions(next, { ...beside({ ide: "devin" }), typed })).toThrow(
    expect.objectContaining({
      message: "The running gateway has --ide devin, so --ide devin-next would have no effect.",
      hint: "Leave it out, or type `millrace restart --ide devin-next` first.",
    }),
  );
  expect(() => refuseOtherOptions(next, { ...beside({}), typed })).toThrow("has no --ide");
  expect(() => refuseOtherOptions(next, { ...beside({}), typed: new Set(["grace"]) })).toThrow("--grace");
});

test("a variable counts where it says who answers; one of another kind is for the next start", () => {
  const env = { MILLRACE_IDE_VARIANT: "devin-next", MILLRACE_GRACE: "3m" };
  expect(() => refuseOtherOptions(options(env), beside({}, env))).toThrow("--ide devin-next");
  const { MILLRACE_GRACE } = env;
  expect(() => refuseOtherOptions(options({ MILLRACE_GRACE }), beside({}, { MILLRACE_GRACE }))).not.toThrow();
});

test("typed options become words that the next gateway reads as they were meant", () => {
  const given = options({
    MILLRACE_GRACE: "90s",
    MILLRACE_RETENTION: "2d",
    MILLRACE_ACCEPT: "1",
    MILLRACE_ACP_COMMAND: "node '/a b/agent.js' acp",
    MILLRACE_REDIS_URL: "redis://me:secret@127.0.0.1:1",
  });
  const typed = new Set(["grace", "retention", "accept", "acpCommand", "redisUrl", "model"]);
  const words = typedWords(given, typed);
  expect(words).toContain("--accept");
  expect(words).toEqual(expect.arrayContaining(["--grace=90s", "--retention=2d"]));
  expect(words).toContain('--acp-command=node "/a b/agent.js" acp');
  expect(words).toContain("--redis-url=redis://me:secret@127.0.0.1:1");
  expect(words).toHaveLength(5);
  expect(typedWords(given)).toEqual([]);
});

test("options are noted as they would be typed, without a password", () => {
  const noted = spellOptions(
    options({ MILLRACE_ACP_COMMAND: "node '/a b/agent.js' acp", MILLRACE_REDIS_URL: "redis://me:secret@127.0.0.1:1" }),
  );
  expect(noted).toMatchObject({ acpCommand: 'node "/a b/agent.js" acp', redisUrl: "redis://127.0.0.1:1" });
  expect(JSON.stringify(noted)).not.toContain("secret");
});
