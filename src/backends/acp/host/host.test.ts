import { existsSync, mkdtempSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { systemClock } from "../../../base/clock.ts";
import { doorKinds } from "../../../base/node/door.fake.ts";
import { AgentHost } from "./host.ts";
import { HostedChild } from "./hosted-child.ts";
import { lookAtHosts } from "./hosts.ts";
import { LineLog } from "./line-log.ts";
import type { GatewayRole } from "./wire.ts";

const aloneMs = 600_000;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const note = (state: string, parts: Readonly<Record<string, string>> = {}) => ({
  state,
  parts,
  keep: 0,
  running: [],
});
const line = (message: object) => `${JSON.stringify(message)}\n`;

describe.each(doorKinds)("over $kind", ({ doors }) => {
  /** A host in this process, of an agent that a test plays. */
  async function hosting(mostBytes?: number) {
    const folder = mkdtempSync(join(tmpdir(), "millrace-host-"));
    folders.push(folder);
    const door = join(folder, "00000000-00000001.agent");
    const clock = new FakeClock();
    const exited = Promise.withResolvers<string>();
    const written: string[] = [];
    const state = {
      over: false,
      held: false,
      written,
      say: (_text: string) => {},
      reads: Promise.withResolvers<void>(),
    };
    const child = {
      pid: 1,
      write: (text: string) => void written.push(text),
      onText: (listener: (text: string) => void) => (state.say = listener),
      caughtUp: () => state.reads.promise,
      onErrors: () => {},
      errorTail: () => "",
      hold: (isHeld: boolean) => void (state.held = isHeld),
      end: async () => exited.resolve("exit code 0"),
      exited: exited.promise,
    };
    const options = {
      launch: { command: "", args: [], environment: {}, cwd: "" },
      agent: "played",
      door,
      doors,
      aloneMs,
    };
    const disk = { isFull: false };
    const write = (...given: Parameters<typeof writeSync>) => {
      if (disk.isFull) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
      return writeSync(...given);
    };
    const log = new LineLog(`${door}.lines`, write as typeof writeSync);
    const onOver = () => (state.over = true);
    const host = new AgentHost({
      options,
      child,
      log,
      clock,
      onOver,
      ...(mostBytes === undefined ? {} : { mostBytes }),
    });
    await host.listen();
    const gateway = (role: GatewayRole = "starter") => HostedChild.open(door, role, systemClock);
    /** The gateway leaves, and the host has noticed. */
    const leave = async (child: HostedChild) => {
      await child.leave();
      await expect.poll(async () => (await lookAtHosts(folder)).map(({ served }) => served)).toEqual([false]);
    };
    return { host, door, clock, state, log, disk, gateway, leave, exit: () => exited.resolve("exit code 1") };
  }

  test("a host ends with its agent once no gateway was there for its time and no prompt runs", async () => {
    const { door, clock, state, gateway, leave } = await hosting();
    await clock.advance(aloneMs - 20_000);
    const child = await gateway();
    await clock.advance(3 * aloneMs); // a gateway is there
    child.note(note("{}"));
    await leave(child);
    await clock.advance(aloneMs);
    expect(state.over).toBe(false);
    await clock.advance(10_000);
    expect([state.over, existsSync(door)]).toEqual([true, false]);
  });

  test("a prompt that runs keeps it, its answer waits as long for a gateway, and an hour alone ends it in any case", async () => {
    for (const answers of [true, false]) {
      const { clock, state, gateway, leave } = await hosting();
      const child = await gateway();
      child.note({ parts: {}, state: "{}", keep: 0, running: [7] });
      await leave(child);
      await clock.advance(2 * aloneMs);
      if (answers) state.say(line({ id: 7, result: {} }));
      await clock.advance(aloneMs);
      expect([answers, state.over]).toEqual([answers, false]);
      await clock.advance(answers ? 10_000 : 3 * aloneMs + 10_000);
      expect([answers, state.over]).toEqual([answers, true]);
    }
  });

  test("the answer of an agent that died after it waits for a gateway, and the host ends once it is read", async () => {
    const { clock, state, exit, gateway, leave } = await hosting();
    const first = await gateway();
    first.note({ parts: {}, state: "{}", keep: 0, running: [7] });
    await leave(first);
    state.say(line({ id: 7, result: {} }));
    exit();
    await clock.advance(20_000);
    expect(state.over).toBe(false);
    const next = await gateway("successor");
    const read = new Promise<string>((resolve) => next.onText(resolve));
    expect(await read).toBe(line({ id: 7, result: {} }));
    await next.exited;
    next.note(note("{}"));
    await next.leave();
    await expect.poll(() => state.over).toBe(true);
  });

  test("a host ends at once where its starter is gone before it came, or has left an agent that it never greeted", async () => {
    const { host, state } = await hosting();
    host.starterLeft();
    await expect.poll(() => state.over).toBe(true);
    const second = await hosting();
    const child = await second.gateway();
    second.host.starterLeft(); // it is here
    child.onText(() => {});
    expect(second.state.over).toBe(false);
    await child.leave();
    await expect.poll(() => second.state.over).toBe(true);
  });

  test("the parts of a note stay until they are told anew, and the next gateway gets all of them", async () => {
    const { gateway, leave } = await hosting();
    const child = await gateway();
    child.note(note("{}", { a: "1", b: "1" }));
    await Promise.resolve();
    child.note(note("{}", { a: "1", c: "2" }));
    await leave(child);
    expect((await gateway("successor")).parts).toEqual({ a: "1", c: "2" });
  });

  test("lines that the disk does not take stay in memory, and those that are given up are told to the next gateway", async () => {
    const { state, log, disk, gateway, leave } = await hosting();
    const first = await gateway();
    let read = "";
    first.onText((part) => (read += part));
    first.note(note("{}"));
    state.say(line({ params: "on disk" }));
    disk.isFull = true;
    const text = line({ params: "x".repeat(1_000_000) });
    state.say(text.repeat(3));
    await expect.poll(() => read.length).toBeGreaterThan(3_000_000);
    await leave(first);
    const second = await gateway("successor");
    let again = "";
    second.onText((part) => (again += part));
    await expect.poll(() => again.length).toBe(read.length);
    expect([second.lost, log.memoryBytes > 3_000_000]).toEqual([undefined, true]);
    for (let at = 0; at < 15; at++) state.say(text);
    await expect.poll(() => again.length).toBe(read.length + 15 * text.length);
    await expect.poll(() => [state.held, log.memoryBytes < 16_000_000]).toEqual([false, true]);
    await leave(second);
    expect((await gateway("successor")).lost).toBe("disk_full");
  });

  test("a host whose folder is removed ends", async () => {
    const { door, clock, state } = await hosting();
    await clock.advance(10_000);
    expect(state.over).toBe(false);
    rmSync(door);
    await clock.advance(10_000);
    expect(state.over).toBe(true);
  });

  test("what it keeps is bounded: the agent waits until a gateway has read it, and what that one has read is dropped", async () => {
    const { state, log, gateway, leave } = await hosting(1_000);
    const text = line({ params: "x".repeat(200) });
    while (!state.held) state.say(text);
    const kept = log.next;
    expect([log.first, log.bytes > 1_000, log.bytes < 1_500]).toEqual([0, true, true]);
    const child = await gateway();
    let read = "";
    child.onText((part) => (read += part));
    await expect.poll(() => read).toBe(text.repeat(kept));
    child.note({ parts: {}, state: "{}", keep: kept, running: [] });
    await expect.poll(() => [state.held, log.bytes]).toEqual([false, 0]);
    child.note({ parts: {}, state: "{}", keep: kept, running: [7] }); // the next gateway wants all lines from here on
    for (let lines = 0; lines < 50; lines++) state.say(text);
    expect(log.bytes).toBeLessThan(1_500);
    await expect.poll(() => read).toBe(text.repeat(kept + 50));
    await leave(child);
    expect([state.held, log.next]).toEqual([false, kept + 50]);
  });

  test("a gateway that catches up has read all that the agent wrote before, also what the host had not read", async () => {
    const { state, gateway } = await hosting();
    const child = await gateway();
    let read = "";
    child.onText((part) => (read += part));
    const caughtUp = child.caughtUp().then(() => read);
    state.say("first\n");
    await expect.poll(() => read).toBe("first\n");
    state.say("second\n");
    state.reads.resolve();
    expect(await caughtUp).toBe("first\nsecond\n");
  });

  test("an answer that came while a gateway was there, and that it did not read, waits for the next one", async () => {
    const { clock, state, exit, gateway, leave } = await hosting();
    const first = await gateway(); // it reads nothing
    first.note({ parts: {}, state: "{}", keep: 0, running: [7] });
    await Promise.resolve();
    state.say(line({ id: 7, result: {} }));
    exit();
    await leave(first);
    await clock.advance(20_000);
    expect(state.over).toBe(false);
    const next = await gateway("successor");
    expect(await new Promise<string>((resolve) => next.onText(resolve))).toBe(line({ id: 7, result: {} }));
  });

  test("what a gateway answered to a line is not answered again by one that reads the line again, however many did", async () => {
    const { state, gateway, leave } = await hosting();
    const answering = (child: HostedChild) =>
      new Promise<void>((resolve) =>
        child.onText((text) => {
          child.write(`answer to ${text}`);
          if (text === "2\n") resolve();
        }),
      );
    const first = await gateway();
    const read = answering(first);
    state.say("1\n2\n");
    await read;
    first.note(note("{}"));
    await leave(first);
    expect(state.written).toEqual(["answer to 1\n", "answer to 2\n"]);
    const idle = await gateway("successor"); // it reads nothing
    idle.note(note("{}"));
    await leave(idle);
    const third = await gateway("successor");
    await answering(third);
    state.say("3\n");
    await expect.poll(() => state.written).toEqual(["answer to 1\n", "answer to 2\n", "answer to 3\n"]);
  });

  test("who waits for an agent that ends waits no longer, and no two gateways have the same ids", async () => {
    const { gateway, leave, exit } = await hosting();
    const first = await gateway();
    first.note(note("{}"));
    await leave(first);
    const second = await gateway("successor");
    expect(second.firstId - first.firstId).toBeGreaterThanOrEqual(1_000_000);
    second.onText(() => {});
    const caughtUp = second.caughtUp();
    exit();
    expect(await second.exited).toBe("exit code 1");
    await caughtUp;
  });

  test("a gateway that starts is refused while the one before is there", async () => {
    const { gateway, leave } = await hosting();
    const first = await gateway();
    first.onText(() => {});
    first.note(note("kept"));
    await expect(gateway("successor")).rejects.toMatchObject({ why: "busy" });
    await leave(first);
    expect((await gateway("successor")).state).toBe("kept");
  });
});
