import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { openFileRecordStore } from "../../src/client/node/file-record-store.ts";
import { nodeLink } from "../../src/client/node/node-link.ts";
import { observe } from "../../src/client/stream/observe.ts";
import { autoResume, startReliableStream } from "../../src/client/stream/open-stream.ts";
import type { StreamEvent } from "../../src/client/stream/stream-event.ts";
import { millrace, spawnMillrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { gateway, model, patience, simulator, world } from "../support/world.ts";

const script = join(import.meta.dirname, "../support/stream-client.ts");
const size = 900;
/** An answer that stops in its middle until it is released: whatever happens there has all the time it takes. */
const question = `[[sim: size=${size} rate=500 hold-after=450 thinking=0]] at length`;
const request = { model, messages: [{ role: "user" as const, text: question }] };
const newFolder = () => temporaryFolder();

/** Holds what every reader of a whole answer must have, in pieces or not: all of it, each event once, in order. */
function expectWhole(events: readonly StreamEvent[]): void {
  const ids = events.map(({ eventId }) => eventId);
  expect(events.at(-1)).toMatchObject({ type: "end", outcome: "finished" });
  expect(textOf(events)).toHaveLength(size);
  expect(ids).toEqual([...new Set(ids)].sort());
}

/** What the text events of a stream say together. */
const textOf = (events: readonly StreamEvent[]) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("");

/** An application in its own process that is killed once it has printed so much text; answers its events, and where its records are. */
async function killedAfter(characters: number, { url, key }: { readonly url: string; readonly key: string }) {
  const folder = newFolder();
  const child = spawn(process.execPath, [script, url, key, folder, model, question], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const seen: StreamEvent[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as StreamEvent | { readonly type: "stored" }; // the script's own lines
    if (event.type !== "stored") seen.push(event);
    if (textOf(seen).length >= characters) break;
  }
  child.kill("SIGKILL");
  await closed;
  return { folder, seen };
}

test("an answer survives when its gateway and its client are killed, and costs one prompt", async () => {
  const home = temporaryHome();
  const ide = await simulator({ home });
  const args = ["--continuity", "off"];
  const first = await gateway({ home, args });

  // Killed before anything was sent, after the first text, and in the middle; gone on with from the file.
  const dead = await Promise.all([0, 1, 300].map((characters) => killedAfter(characters, first)));
  const allSent = ide.until(({ messages }) => messages.length === 3, patience()).then(() => ide.release());
  await Promise.all(
    dead.map(async ({ folder, seen }) => {
      const options = { gateway: nodeLink(first), store: await openFileRecordStore({ folder }) };
      const { streams } = await autoResume({ ...options, after: seen.at(-1)?.eventId ?? "0" }, patience());
      expect(streams).toHaveLength(1);
      for (const stream of streams) for await (const event of stream.events) seen.push(event);
      expectWhole(seen);
      expect(readdirSync(folder)).toEqual(["records.key"]);
    }),
  );
  await allSent;
  expect((await ide.report()).messages).toHaveLength(3);

  // A chat and a stream on each tier are in the middle of their answers when the gateway is killed; it comes back on its port.
  const chat = spawnMillrace(["chat", "-m", model, question], { home });
  const closed = once(chat, "close");
  let shown = "";
  chat.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  await Promise.race([once(chat.stdout, "data"), closed]);
  const begun: Promise<void>[] = [];
  const whole: Promise<StreamEvent[]>[] = [];
  const lookOn: (() => Promise<readonly string[]>)[] = [];
  for (const tier of ["bidi", "sse", "poll"] as const) {
    const options = { gateway: nodeLink(first, { tiers: [tier] }) };
    const stream = await startReliableStream(request, options, patience());
    lookOn.push(async () => {
      const seen: string[] = [];
      for await (const event of observe(stream.pass, options, patience())) seen.push(JSON.stringify(event));
      return seen;
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    begun.push(promise);
    whole.push(
      (async () => {
        const events: StreamEvent[] = [];
        for await (const event of stream.events) if (events.push(event) > 1) resolve();
        return events;
      })(),
    );
  }
  await Promise.race([Promise.all(begun), Promise.all(whole)]);
  const looked = lookOn.map((look) => look());
  await first.kill();
  await gateway({ home, args: [...args, "--port", new URL(first.url).port] });
  await ide.release();
  for (const events of await Promise.all(whole)) expectWhole(events);
  for (const [index, seen] of (await Promise.all(looked)).entries())
    expect(seen).toEqual((await whole[index])?.map((event) => JSON.stringify(event)));
  await closed;
  expect(shown.trimEnd()).toHaveLength(size);

  // A chat is killed itself: `tail` shows its answer.
  const cutOff = spawnMillrace(["chat", "-m", model, question], { home });
  const isOver = once(cutOff, "close");
  let before = "";
  for await (const chunk of cutOff.stdout) if ((before += String(chunk)).length > 100) break;
  cutOff.kill("SIGKILL");
  await isOver;
  const following = spawnMillrace(["tail", "--follow"], { home }); // sees the rest, which nobody else waits for
  const followed = once(following, "close");
  let seen = "";
  following.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()));
  await Promise.race([once(following.stdout, "data"), followed]);
  await ide.release();
  expect([await followed, seen]).toEqual([[0, null], shown]);
  const [, newest = ""] = (await millrace(["tail", "--list"], { home })).stdout.split("\n");
  const [turnId = ""] = newest.split(" "); // the end of its id
  expect((await millrace(["tail", turnId, "--json"], { home })).stdout).toContain('{"type":"finished"');
  expect(shown.startsWith(before)).toBe(true);
  const own = await millrace(["tail", turnId], { home });
  expect([own.code, own.stdout.trimEnd()]).toEqual([0, shown.trimEnd()]);
  expect((await ide.report()).messages).toHaveLength(8);
});

test("the programs of examples/client run as they stand", async () => {
  const { served, ide } = await world({ simulator: { turn: { agent: "once" } } });
  const examples = join(import.meta.dirname, "../../examples/client");
  const source = (module: string) => pathToFileURL(join(import.meta.dirname, "../../src/client", module)).href;
  const env = { ...process.env, GATEWAY_URL: served.url, GATEWAY_KEY: served.key, MODEL: model };
  const running = ["ask", "tool-and-restart", "browser", "look-on", "failure"].map(async (name) => {
    const program = readFileSync(join(examples, `${name}.ts`), "utf8");
    const cwd = newFolder();
    const linked = program
      .replace('"millrace/client/node"', JSON.stringify(source("node/index.ts")))
      .replace('"millrace/client"', JSON.stringify(source("index.ts")));
    writeFileSync(join(cwd, "program.mts"), linked);
    const child = spawn(process.execPath, ["program.mts"], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let told = "";
    for (const output of [child.stdout, child.stderr]) output.on("data", (chunk: Buffer) => (told += chunk.toString()));
    expect(await once(child, "close")).toEqual([name === "failure" ? 1 : 0, null]);
    return told;
  });
  const [smallest, withTool, inBrowser, lookingOn, failing] = await Promise.all(running);
  expect(failing).toMatch(/^unknown_model: .*no-such-model.*millrace models/);
  expect(smallest).toContain("What is a millrace?");
  expect(withTool).toMatch(/It is sunny there\.[\s\S]*finished: stop\n$/);
  expect([inBrowser, lookingOn]).toEqual(["", ""]); // a function, and nobody left a stream
  expect((await ide.report()).messages).toHaveLength(3);
});
