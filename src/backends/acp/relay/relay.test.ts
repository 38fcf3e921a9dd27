import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../../base/clock.fake.ts";
import { doorKinds } from "../../../base/node/door.fake.ts";
import { type Doors, dial, openDoor } from "../../../base/node/door.ts";
import { shortPath } from "../../../base/node/socket-address.ts";
import { PlayedProcess } from "../session/session.fake.ts";
import { Session } from "../session/session.ts";
import { SessionTools } from "../session/session-tools.ts";
import { given } from "../session/states.ts";
import { longestLine } from "../wire/lines.ts";
import { RelayHub } from "./relay-hub.ts";

const tool = { name: "step", description: "A step.", inputSchema: { type: "object" } };

/** Gateways of one home, with this kind of doors. */
function hubs(doors: Doors): { readonly open: () => RelayHub } {
  const folder = mkdtempSync(join(tmpdir(), "relay-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return {
    open() {
      const hub = new RelayHub(folder, doors);
      onTestFinished(() => hub.close());
      return hub;
    },
  };
}

type RelayCommand = Awaited<ReturnType<RelayHub["open"]>>["server"];

/** The tools of a session that is about to be opened, and its server. */
async function offering(hub: RelayHub) {
  const { door, server } = await hub.open();
  const tools = new SessionTools(door, "mill");
  tools.offer([tool]);
  const session = new PlayedProcess().open("s", tools);
  session.take();
  session.send([]);
  return { tools, session, server: server satisfies RelayCommand };
}

/** The relay as an agent starts it. */
class Relay {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #replies = new Map<number, (reply: Readonly<Record<string, unknown>>) => void>();
  #lastId = 0;

  constructor({ command, args, env }: RelayCommand) {
    const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    this.child = spawn(command, [...args], { env: { ...process.env, ...added } });
    onTestFinished(() => void this.child.kill());
    let half = "";
    this.child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (half + chunk).split("\n");
      half = lines.pop() ?? "";
      for (const line of lines) {
        const message = JSON.parse(line) as { readonly id: number } & Readonly<Record<string, unknown>>; // our own program
        this.#replies.get(message.id)?.(message);
      }
    });
  }

  ask(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#lastId;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve) => this.#replies.set(id, resolve));
  }
}

/** A door that passes its connections on to another one until they are cut. */
async function cuttable(target: string, doors: Doors): Promise<{ readonly path: string; readonly cut: () => void }> {
  const path = `${target}.between`;
  const sockets = new Set<Socket>();
  const passOn = async (socket: Socket) => {
    const onward = await dial(target);
    for (const each of [socket, onward]) sockets.add(each);
    socket.pipe(onward).pipe(socket);
  };
  const door = openDoor(path, doors, (socket) => void passOn(socket));
  onTestFinished(() => door.close());
  await door.opened;
  return { path, cut: () => sockets.forEach((socket) => void socket.destroy()) };
}

describe.each(doorKinds)("over $kind", ({ doors }) => {
  test("the relay lists the tools, passes a call on, and its answer back; it ends with its agent", async () => {
    const { tools, session, server } = await offering(hubs(doors).open());
    const relay = new Relay(server);
    const asked = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    expect(await relay.ask("initialize", asked)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
    expect(await relay.ask("tools/list")).toMatchObject({ result: { tools: [tool] } });
    expect(await tools.areListed(new FakeClock())).toBe(true);
    const called = relay.ask("tools/call", { name: "step", arguments: { n: 1 } });
    await expect.poll(() => session.fresh).toMatchObject([{ name: "step", arguments: { n: 1 } }]);
    const { fresh } = session;
    session.give(fresh);
    expect([session.fresh, given(session.state)]).toEqual([[], fresh.map(({ callId }) => callId)]);
    const content = [{ type: "text" as const, text: "done" }];
    const result = { callId: fresh[0]?.callId ?? "", content, isError: false };
    session.answer([result, result]);
    expect(await called).toMatchObject({ result: { content, isError: false } });
    expect(await relay.ask("tools/call", { name: "other" })).toMatchObject({ result: { isError: true } });
    relay.child.stdin.end();
    await once(relay.child, "exit");
  });

  test("a call and a result over the bound are errors by name, and the session goes on", async () => {
    const { session, server } = await offering(hubs(doors).open());
    const relay = new Relay(server);
    const text = "x".repeat(longestLine);
    const tooLong = {
      result: { isError: true, content: [{ text: expect.stringMatching(/16|15 million characters/) }] },
    };
    expect(await relay.ask("tools/call", { name: "step", arguments: { text } })).toMatchObject(tooLong);
    const half = { text: text.slice(longestLine / 2) };
    const first = relay.ask("tools/call", { name: "step", arguments: half });
    expect(await relay.ask("tools/call", { name: "step", arguments: half })).toMatchObject(tooLong); // with the first one
    await expect.poll(() => session.fresh.length).toBe(1);
    session.give(session.fresh);
    session.answer([{ callId: given(session.state)[0] ?? "", content: [{ type: "text", text }], isError: false }]);
    expect(await first).toMatchObject(tooLong);
    const next = relay.ask("tools/call", { name: "step", arguments: { n: 2 } });
    await expect.poll(() => session.fresh.length).toBe(1);
    expect(session.fresh).toMatchObject([{ arguments: { n: 2 } }]);
    session.answer([{ callId: session.fresh[0]?.callId ?? "", content: [], isError: false }]);
    expect(await next).toMatchObject({ result: { content: [] } });
  });

  test("a call that waits is announced again after a lost connection, and an answer that was lost with it is given again", async () => {
    const { session, server } = await offering(hubs(doors).open());
    const [address] = server.env;
    const between = await cuttable(address?.value ?? "", doors);
    const env = server.env.map((entry) => (entry === address ? { ...entry, value: between.path } : entry));
    const relay = new Relay({ ...server, env });
    const called = relay.ask("tools/call", { name: "step" });
    await expect.poll(() => session.fresh.length).toBe(1);
    session.give(session.fresh);
    between.cut();
    session.answer([{ callId: given(session.state)[0] ?? "", content: [], isError: false }]);
    expect(await called).toMatchObject({ result: { content: [] } });
    expect(session.fresh).toEqual([]);
  });

  test("a call that waits when its gateway leaves goes to the next one, which listens behind the same file", async () => {
    const gateways = hubs(doors);
    const first = gateways.open();
    const { tools, session, server } = await offering(first);
    const relay = new Relay(server);
    const called = relay.ask("tools/call", { name: "step" });
    await expect.poll(() => session.fresh.length).toBe(1);
    const kept = { ...session.note, tools: { ...tools.address, given: [], offered: [tool] } };
    first.close();
    const parts = { tools: new SessionTools(gateways.open().restore(tools.address), "mill", [tool]), lost: undefined };
    const next = Session.adopt(new PlayedProcess(), kept, parts);
    next.step({ type: "resumed" });
    await expect.poll(() => next.fresh.length).toBe(1);
    next.answer([{ callId: next.fresh[0]?.callId ?? "", content: [], isError: false }]);
    expect(await called).toMatchObject({ result: { content: [] } });
  });

  test("the doors of gateways that were killed are removed, and none at which a gateway listens", async () => {
    const folder = mkdtempSync(join(tmpdir(), "relay-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, "relay-old.sock");
    const door = openDoor(path, doors, () => {});
    await door.opened;
    renameSync(path, `${path}.kept`);
    door.close();
    renameSync(`${path}.kept`, path);
    const [hub, other] = [new RelayHub(folder, doors), new RelayHub(folder, doors)];
    onTestFinished(() => {
      hub.close();
      other.close();
    });
    await Promise.all([hub, other].map((each) => offering(each)));
    await hub.sweep();
    const names = readdirSync(folder).filter((name) => name.endsWith(".sock"));
    expect([names.includes("relay-old.sock"), names.length]).toEqual([false, 2]);
  });

  test("a relay finds its gateway in a folder whose path is too long for a socket", async () => {
    const folder = join(mkdtempSync(join(tmpdir(), "relay-")), "x".repeat(100));
    const hub = new RelayHub(folder, doors);
    onTestFinished(() => {
      hub.close();
      for (const path of [dirname(folder), shortPath(join(folder, "any")).link ?? ""])
        rmSync(path, { recursive: true, force: true });
    });
    const { tools, server } = await offering(hub);
    expect(await new Relay(server).ask("tools/list")).toMatchObject({ result: { tools: [tool] } });
    expect(await tools.areListed(new FakeClock())).toBe(true);
  });

  test("the secret is in a file of its user, and not in what an agent may write into a command line", async () => {
    const { tools, server } = await offering(hubs(doors).open());
    const { secret, socket } = tools.address;
    expect(JSON.stringify(server)).not.toContain(secret);
    const file = server.env.find(({ value }) => value !== socket)?.value ?? "";
    expect(readFileSync(file, "utf8")).toBe(secret);
    const forOthers = process.platform === "win32" ? 0 : statSync(file).mode & 0o077; // Windows has no such modes
    expect(forOthers).toBe(0);
    tools.close();
    expect(existsSync(file)).toBe(false);
  });

  test("a connection without a session's secret is closed", async () => {
    const { server } = await offering(hubs(doors).open());
    const socket = await dial(server.env[0]?.value ?? "");
    socket.write(`${JSON.stringify({ type: "hello", secret: "guessed", listed: true, calls: [] })}\n`);
    expect(await once(socket, "close")).toEqual([false]);
  });
});
