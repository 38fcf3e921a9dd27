import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { dial } from "../../../base/node/door.ts";
import { longestContent } from "../wire/lines.ts";
import { RelayHub } from "./relay-hub.ts";
import type { FromRelay } from "./relay-wire.ts";

/** A session's door, and its relay as a test plays it. */
async function opened() {
  const folder = mkdtempSync(join(tmpdir(), "hub-"));
  const hub = new RelayHub(folder);
  onTestFinished(() => {
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { door } = await hub.open();
  const heard: FromRelay["type"][] = [];
  let lost = 0;
  door.onMessage = ({ type }) => heard.push(type);
  door.onLost = () => void lost++;
  const relay = async (secret = door.address.secret) => {
    const socket = await dial(door.address.socket);
    onTestFinished(() => void socket.destroy());
    socket.setEncoding("utf8");
    socket.write(`${JSON.stringify({ type: "hello", secret, listed: true, calls: [] })}\n`);
    return socket;
  };
  return { folder, hub, door, heard, relay, lost: () => lost };
}

const line = async (socket: Socket) => {
  let said = "";
  for (; !said.endsWith("\n"); said += String((await once(socket, "data"))[0]));
  return JSON.parse(said) as Readonly<Record<string, unknown>>;
};

test.skipIf(process.platform === "win32")(
  "a session's door and secret are its user's alone, and both are gone once it closes",
  async () => {
    const { folder, door } = await opened();
    const files = readdirSync(folder);
    expect(files).toHaveLength(2);
    const secret = files.find((name) => name.endsWith(".secret")) ?? "";
    expect(statSync(join(folder, secret)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, secret), "utf8")).toBe(door.address.secret);
    door.close();
    await expect.poll(() => readdirSync(folder)).toEqual([]);
  },
);

test("only who says the secret first is the relay, and the one that dialled last is told", async () => {
  const { door, heard, relay, lost } = await opened();
  const stranger = await relay("a guess");
  await once(stranger, "close");
  expect([heard, door.isConnected]).toEqual([[], false]);
  const first = await relay();
  await expect.poll(() => heard).toEqual(["hello"]);
  const second = await relay();
  await expect.poll(() => heard).toEqual(["hello", "hello"]);
  first.destroy();
  await expect.poll(() => first.closed).toBe(true);
  const answered = line(second);
  door.tell({ type: "answer", callId: "c", content: [{ type: "text", text: "Done" }], isError: false });
  expect(await answered).toMatchObject({ callId: "c", isError: false });
  expect([door.isConnected, lost()]).toEqual([true, 0]);
  second.destroy();
  await expect.poll(() => [door.isConnected, lost()]).toEqual([false, 1]);
});

test("a result that no hop can carry becomes an error that says so", async () => {
  const { door, heard, relay } = await opened();
  const socket = await relay();
  await expect.poll(() => heard).toEqual(["hello"]);
  const answered = line(socket);
  door.tell({
    type: "answer",
    callId: "c",
    content: [{ type: "text", text: "x".repeat(longestContent) }],
    isError: false,
  });
  expect(await answered).toMatchObject({ callId: "c", isError: true });
});

test("a sweep removes what killed gateways left, and nothing of a session that is open", async () => {
  const { folder, hub, door } = await opened();
  const others = new RelayHub(folder);
  const left = (await others.open()).door;
  const kept = [door, left].map(({ address }) => existsSync(address.socket));
  expect(kept).toEqual([true, true]);
  left.leave();
  await hub.sweep();
  expect(existsSync(door.address.socket)).toBe(true);
  await expect.poll(() => readdirSync(folder).length).toBe(2);
});
