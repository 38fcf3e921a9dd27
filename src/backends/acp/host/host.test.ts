import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { systemClock } from "../../../base/clock.ts";
import { doorKinds } from "./door.fake.ts";
import { AgentHost } from "./host.ts";
import { HostedChild, lookAtHosts } from "./hosted-child.ts";
import { LineLog } from "./line-log.ts";
import type { GatewayRole } from "./wire.ts";

const aloneMs = 600_000;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
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
    const state = { over: false, held: false, say: (_text: string) => {}, reads: Promise.withResolvers<void>() };
    const child = {
      pid: 1,
      write: () => {},
      onText: (listener: (text: string) => void) => (state.say = listener),
      caughtUp: () => state.reads.promise,
      onErrors: () => {},
      errorTail: () => "",
      hold: (isHeld: boolean) => void (state.held = isHeld),
      end: async () => exited.resolve("exit code 0"),
      exited: exited.promise,
    };
    const orders = {
      launch: { command: "", args: [], environment: {}, cwd: "" },
      agent: "played",
      door,
      doors,
      aloneMs,
    };
    const log = new LineLog(`${door}.lines`);
    const onOver = () => (state.over = true);
    const host = new AgentHost({
      orders,
      child,
      log,
      clock,
      onOver,
      ...(mostBytes === undefined ? {} : { mostBytes }),
    });
    await host.listen();
    const gateway = (role: GatewayRole = { role: "starter" }) => HostedChild.open(door, role, systemClock);
    /** The gateway leaves, and the host has noticed. */
    const leave = async (child: HostedChild) => {
      await child.leave();
      await expect.poll(async () => (await lookAtHosts(folder)).map(({ served }) => served)).toEqual([false]);
    };
    return { door, clock, state, log, gateway, leave };
  }

  test("a host ends with its agent once no gateway was there for its time and no prompt runs", async () => {
    const { door, clock, state, gateway, leave } = await hosting();
    await clock.advance(aloneMs - 20_000);
    const child = await gateway();
    await clock.advance(3 * aloneMs); // a gateway is there
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
      child.note({ state: "{}", keep: 0, running: [7], sessions: [] });
      await leave(child);
      await clock.advance(2 * aloneMs);
      if (answers) state.say(line({ id: 7, result: {} }));
      await clock.advance(aloneMs);
      expect([answers, state.over]).toEqual([answers, false]);
      await clock.advance(answers ? 10_000 : 3 * aloneMs + 10_000);
      expect([answers, state.over]).toEqual([answers, true]);
    }
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
    child.note({ state: "{}", keep: kept, running: [], sessions: [] });
    await expect.poll(() => [state.held, log.bytes]).toEqual([false, 0]);
    child.note({ state: "{}", keep: kept, running: [7], sessions: [] }); // the next gateway wants all lines from here on
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

  test("a gateway that needs a session gets the agent from one that does not need it, and from no other", async () => {
    const { gateway } = await hosting();
    const finder = (session: string) => gateway({ role: "finder", session });
    const first = await gateway();
    await expect(finder("a")).rejects.toMatchObject({ why: "stranger" });
    first.onText(() => {});
    first.note({ state: "kept", keep: 0, running: [], sessions: ["a"] });
    await expect.poll(() => finder("a").catch(({ why }: { why: string }) => why)).toBe("busy"); // it keeps what it needs
    await expect(finder("b")).rejects.toMatchObject({ why: "stranger" });
    first.onWanted = () => {
      void first.leave();
      return true;
    };
    const second = await finder("a");
    expect(second.state).toBe("kept");
    await expect(first.exited).resolves.toBe("its host ended");
    second.onText(() => {});
    second.onWanted = () => false;
    await expect(gateway({ role: "finder", session: "a" })).rejects.toMatchObject({ why: "busy" });
  });
});
