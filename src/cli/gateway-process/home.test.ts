import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { readGatewayFile, readGatewayRecord, writeGatewayFile } from "./gateway-file.ts";
import { askHolder, type Home, holderOf, takeHome } from "./home.ts";

const at = { url: "http://127.0.0.1:42100" };
const recordOf = (instance: string) => ({ pid: process.pid, instance, version: "0.1.0", startedAtMs: 1 });

/** A gateway file that is not there yet, and gateways that take its home. */
function place() {
  const folder = temporaryFolder();
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
  writeGatewayFile(file, { ...recordOf("a"), ...at, startedBy: "command" });
  await expect(take("b")).rejects.toMatchObject({
    hint: expect.stringContaining("`millrace serve --background` lets it stay"),
  });
  home.leave();
  (await take("b")).serves(at);
  expect(readGatewayFile(file)?.instance).toBe("b");
});

test("one that has just taken the home has a moment to say who it is", async () => {
  const { file, clock, take } = place();
  await take("a");
  rmSync(file);
  const say = async () => {
    await clock.advance(1_000);
    writeGatewayFile(file, recordOf("a"));
    await clock.advance(100);
  };
  const who = `is starting (process ${process.pid}, started`;
  await Promise.all([expect(take("b")).rejects.toThrow(who), say()]);
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

test("the record of an ended gateway holds no home, also where another process has its pid", async () => {
  const { file, take } = place();
  writeGatewayFile(file, { ...recordOf("other"), ...at, pid: process.ppid });
  expect(holderOf(file)).toBeUndefined();
  (await take("a")).serves(at);
  expect(readGatewayFile(file)?.instance).toBe("a");
});

test("the home's id is made once", async () => {
  const { take } = place();
  const first = await take("a");
  first.leave();
  expect((await take("b")).id).toBe(first.id);
});

test("a command asks the gateway at its door to stop, and one that has ended answers nobody", async () => {
  const { file, take } = place();
  const home = await take("a");
  await vi.waitFor(async () => expect(await askHolder(file, "stop")).toBe(true));
  expect(home.asked.aborted).toBe(true);
  home.leave();
  expect(await askHolder(file, "stop")).toBe(false);
});

test("while its file cannot be written it is missing, which is reported once and leaves no drafts", async () => {
  const { file, clock, notes, take } = place();
  mkdirSync(file, { recursive: true }); // takes a draft, but not its name
  const home = await take("a");
  home.serves(at);
  await clock.advance(30_000);
  expect([readGatewayFile(file), notes.length]).toEqual([undefined, 1]);
  expect(holderOf(file)?.pid).toBe(0);
  await Promise.all([expect(take("b")).rejects.toThrow("Your gateway is starting."), clock.advance(2_100)]);
  rmSync(file, { recursive: true });
  await clock.advance(30_000);
  expect(readGatewayFile(file)).toMatchObject(at);
  expect(readdirSync(dirname(file)).toSorted()).toEqual(["gateway.door", "gateway.held", "gateway.json", "home-id"]);
});

test("a home that cannot be locked is told, and has a gateway all the same", async () => {
  const { file, notes, take } = place();
  writeFileSync(dirname(file), "no folder");
  const home = await take("a");
  expect(notes[0]).toContain("cannot be locked");
  expect(home.id).not.toBe("");
});

test("a file that was removed is written again, and a folder that was moved away is not made again", async () => {
  const { file, clock, take } = place();
  const home = await take("a");
  home.serves(at);
  rmSync(file);
  await clock.advance(30_000);
  expect(readGatewayFile(file)).toMatchObject(at);
  renameSync(dirname(file), `${dirname(file)}-away`);
  await clock.advance(60_000);
  expect(existsSync(dirname(file))).toBe(false);
  mkdirSync(dirname(file));
  await clock.advance(60_000);
  expect(readdirSync(dirname(file))).toEqual([]);
  await take("b");
  await vi.waitFor(async () => expect(await askHolder(file, "stop")).toBe(true));
  home.leave();
  expect(await askHolder(file, "stop")).toBe(true);
});

test("a gateway that a command started stays when it is asked to, and says so in its record", async () => {
  const { file, take } = place();
  const home = await take("a");
  home.serves(at);
  expect(home.stays.aborted).toBe(false);
  await vi.waitFor(async () => expect(await askHolder(file, "stay")).toBe(true));
  expect([home.stays.aborted, home.asked.aborted]).toEqual([true, false]);
  expect(readGatewayFile(file)).toMatchObject({ ...at, startedBy: "background" });
  home.serves(at);
  expect(readGatewayFile(file)?.startedBy).toBe("background");
});
