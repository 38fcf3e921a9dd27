import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { openFileRecordStore } from "../node/file-record-store.ts";
import { FakeStreamServer } from "../stream-server.fake.ts";
import { startReliableStream } from "./open-stream.ts";
import type { ConnectionChange } from "./stream-options.ts";
import { never, optionsFor, plain, request, withTools } from "./stream-world.fake.ts";

/** A stream with records in a folder, and what its application was told of the connection. */
async function streamIn(folder: string, server: FakeStreamServer, cutAt = Infinity) {
  const told: ConnectionChange[] = [];
  const cuts = optionsFor(server, (attach) => (attach === 0 ? { down: cutAt } : undefined));
  const store = await openFileRecordStore({ folder });
  const options = { ...cuts, store, onConnection: (change: ConnectionChange) => told.push(change) };
  const stream = await startReliableStream(request, options, never);
  return { stream, told };
}
const newFolder = () => temporaryFolder();
const loseAll = (folder: string) => rmSync(folder, { recursive: true });
const loseFiles = (folder: string) => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
};

describe("a stream whose record is lost in its answer", () => {
  test.each([
    ["its folder is removed", loseAll],
    ["the files in it are removed", loseFiles],
  ])("is read to its end, over a new connection too, and says that it does not survive: %s", async (_, lose) => {
    const folder = newFolder();
    const server = new FakeStreamServer(plain);
    const { stream, told } = await streamIn(folder, server, 3);
    const seen: string[] = [];
    for await (const event of stream.events) {
      if (seen.length === 0) lose(folder);
      seen.push(event.type);
    }
    expect(seen).toEqual(["thinking", "text", "text", "text", "rewritten", "text", "end"]);
    const lost = told.filter((change) => change.state === "attached" && change.degraded);
    expect(lost.at(-1)).toMatchObject({ why: expect.stringMatching(/cannot be kept.*folder/s) });
    expect(server.prompts).toBe(1);
  });

  test("sends nothing that it cannot keep: the tool is not run, and reading goes on", async () => {
    const folder = newFolder();
    const server = new FakeStreamServer(withTools);
    const { stream } = await streamIn(folder, server);
    const ran: string[] = [];
    const refused: unknown[] = [];
    for await (const event of stream.events) {
      if (event.type !== "tool_call") continue;
      if (refused.length === 0) loseAll(folder);
      const run = () => Promise.resolve({ text: String(ran.push(event.callId)) });
      await stream.runTool(event, run).catch((error: unknown) => refused.push(error));
      if (refused.length === 2) break;
    }
    expect(refused).toMatchObject([{ code: "degraded" }, { code: "degraded" }]);
    expect([ran, server.only.accepted.length]).toEqual([[], 1]);
  });

  test("and whose folder is gone cannot be started, and says what to do", async () => {
    const folder = newFolder();
    const store = await openFileRecordStore({ folder });
    loseAll(folder);
    const options = { ...optionsFor(new FakeStreamServer(plain)), store };
    const words = { code: "degraded", hint: expect.stringContaining("folder") };
    await expect(startReliableStream(request, options, never)).rejects.toMatchObject(words);
    await expect(store.list()).rejects.toMatchObject(words);
  });
});
