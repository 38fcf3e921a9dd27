import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { ownProcess, type ProcessOwner, spellOwner } from "../../base/node/process-owner.ts";
import { type GatewayRecord, readGatewayFile, readGatewayRecord, writeGatewayFile } from "./gateway-file.ts";
import { type Home, takeHome } from "./home.ts";

const at = { url: "http://127.0.0.1:42100" };
const recordOf = (instance: string) => ({ pid: process.pid, instance, version: "0.1.0", startedAtMs: 1 });

/** A gateway file that is not there yet, and gateways that take its home. */
function place() {
  const folder = mkdtempSync(join(tmpdir(), "millrace-home-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "state", "gateway.json");
  const clock = new FakeClock();
  const notes: string[] = [];
  const take = async (instance: string): Promise<Home> => {
    const home = await takeHome(file, recordOf(instance), { clock, note: (text) => notes.push(text) }, never);
    onTestFinished(() => home.leave());
    return home;
  };
  return { file, clock, notes, take };
}

const never = new AbortController().signal;

function ownedBy(owner: Partial<ProcessOwner>): GatewayRecord {
  return { ...recordOf("other"), ...at, owner: spellOwner({ ...ownProcess(), ...owner }) };
}

test("a gateway that serves is found, only by its user; one that starts, stops or has left is not", async () => {
  const { file, take } = place();
  const home = await take("a");
  expect(readGatewayFile(file)).toBeUndefined();
  home.serves(at);
  expect(readGatewayFile(file)).toMatchObject({ ...at, instance: "a" });
  expect(modeOf(file, 0o600)).toBe(0o600);
  home.stops();
  expect([readGatewayFile(file), readGatewayRecord(file)?.instance]).toEqual([undefined, "a"]);
  home.leave();
  expect(existsSync(file)).toBe(false);
});

test("a second gateway is told where the first one is, from its start to its end", async () => {
  const { file, take } = place();
  const home = await take("a");
  const who = `(process ${process.pid}, started`;
  await expect(take("b")).rejects.toMatchObject({
    param: "port",
    message: expect.stringContaining(`is starting ${who}`),
  });
  home.serves(at);
  await expect(take("b")).rejects.toThrow(`already serves on ${at.url} ${who}`);
  home.serves({ socket: "/tmp/millrace.sock" });
  await expect(take("b")).rejects.toThrow(`already serves on /tmp/millrace.sock ${who}`);
  writeGatewayFile(file, { ...ownedBy({}), startedBy: "command" });
  await expect(take("b")).rejects.toMatchObject({ hint: expect.stringContaining("`millrace restart` lets it stay") });
  home.leave();
  rmSync(file, { force: true });
  (await take("b")).serves(at);
  expect(readGatewayFile(file)?.instance).toBe("b");
});

test("one that stops is waited for", async () => {
  const { clock, notes, take } = place();
  const first = await take("a");
  first.stops();
  const second = take("b");
  await clock.advance(1_000);
  expect(notes).toEqual([expect.stringContaining("is still stopping")]);
  first.leave();
  await clock.advance(1_000);
  expect((await second).instance).toBe("b");
});

test("one that stops without an end is named after half a minute", async () => {
  const { clock, take } = place();
  (await take("a")).stops();
  const second = take("b").catch((error: unknown) => error);
  await clock.advance(31_000);
  expect(await second).toMatchObject({ message: expect.stringContaining("is still stopping") });
});

const { pid: gone } = spawnSync(process.execPath, ["-e", ""]);
test.each([
  ["that was killed", { pid: gone }],
  ["whose pid another program has now", { started: "1" }],
  ["of before a power cut", { boot: "another" }],
])("a gateway %s has no home", async (_, owner) => {
  const { file, take } = place();
  writeGatewayFile(file, ownedBy(owner));
  (await take("a")).serves(at);
  expect(readGatewayFile(file)?.instance).toBe("a");
});

test("a gateway of another machine is asked through the file, and one that does not answer has no home", async () => {
  const { file, clock, notes, take } = place();
  writeGatewayFile(file, ownedBy({ machine: "another", boot: "another" }));
  const home = take("a");
  await clock.advance(13_000);
  expect((await home).instance).toBe("a");
  expect(notes).toEqual([expect.stringContaining("another machine or container")]);
});

test("a gateway of another machine that answers keeps its home", async () => {
  const { file, clock, take } = place();
  const there = await take("other"); // its keeper answers
  writeGatewayFile(file, ownedBy({ machine: "another", boot: "another" }));
  const second = take("b").catch((error: unknown) => error);
  await clock.advance(13_000);
  expect(await second).toMatchObject({ message: expect.stringContaining("of another machine or container") });
  expect(readGatewayRecord(file)?.instance).toBe("other");
  there.leave();
});

test("while its folder cannot be written the file is missing, which is reported once and leaves no drafts", async () => {
  const { file, clock, notes, take } = place();
  writeFileSync(dirname(file), "no folder");
  const home = await take("a");
  home.serves(at);
  await clock.advance(30_000);
  expect([readGatewayFile(file), notes.length]).toEqual([undefined, 1]);
  rmSync(dirname(file));
  mkdirSync(file, { recursive: true }); // takes a draft, but not its name
  await clock.advance(5_000);
  rmSync(file, { recursive: true });
  await clock.advance(5_000);
  expect(readGatewayFile(file)).toMatchObject(at);
  expect(readdirSync(dirname(file))).toEqual(["gateway.json"]);
});

test("a file that was removed is written again, and another gateway's file is neither changed nor removed", async () => {
  const { file, clock, take } = place();
  const home = await take("a");
  home.serves(at);
  rmSync(dirname(file), { recursive: true });
  await clock.advance(5_000);
  expect(readGatewayFile(file)).toMatchObject(at);
  writeGatewayFile(file, { ...ownedBy({}), instance: "b" });
  await clock.advance(60_000);
  home.leave();
  expect(readGatewayFile(file)?.instance).toBe("b");
});

test("a folder that was removed is not made again at the end", async () => {
  const { file, take } = place();
  const home = await take("a");
  rmSync(dirname(file), { recursive: true });
  home.leave();
  expect(existsSync(dirname(file))).toBe(false);
});
