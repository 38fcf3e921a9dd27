import { mkdirSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listening, temporaryFolder } from "../../../test/support/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import type { CascadeId, ModelUid } from "../../base/ids.ts";
import { gatewayProof, proofHeader } from "../../base/node/gateway-proof.ts";
import { Secret } from "../../base/secret.ts";
import { fakeGateway, fakeKey } from "../../gateway/gateway.fake.ts";
import type { TurnEventBody } from "../../log/event.ts";
import { turnFake } from "../../usage/history/history.fake.ts";
import { openHistory } from "../../usage/history/sqlite-history.ts";
import { openMeter } from "../../usage/meter.ts";
import { writeGatewayFile } from "../gateway-process/gateway-file.ts";
import { main } from "../main.ts";
import { runMain } from "../run-main.fake.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { tailCommand } from "./tail.ts";

const answer: readonly TurnEventBody[] = [
  { type: "started", modelUid: "uid" as ModelUid, backend: "cascade", cascadeId: "c-1" as CascadeId },
  { type: "thinking", delta: "hm" },
  { type: "text", delta: "Hello " },
  { type: "tool_call", callId: "call-1", name: "look", argumentsDelta: '{"at":', done: false },
  { type: "tool_call", callId: "call-1", name: "look", argumentsDelta: "1}", done: true },
  { type: "text", delta: "there." },
];
const finished: TurnEventBody = { type: "finished", reason: { unified: "stop", raw: undefined }, text: "Hello there." };

/** A proxy that cuts the nth stream of events (from 0) after so many bytes. */
async function cuttingProxy(
  port: number,
  cutsAfter: readonly number[],
): Promise<{ readonly url: string; streams(): number }> {
  let streams = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let left = Infinity;
    client.on("data", (chunk) => {
      const challenge = /^x-millrace-challenge: (.+)\r$/im.exec(chunk.toString("latin1"))?.[1];
      if (challenge !== undefined) return void client.end(provenHealth(challenge));
      if (chunk.includes("/events")) left = cutsAfter[streams++] ?? Infinity;
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      client.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) client.destroySoon();
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  const own = await listening(server);
  /** The gateway's own proof names its own port, so the proxy makes one of its own. */
  function provenHealth(challenge: string): string {
    const at = { port: own, instance: "instance-test" };
    const proof = gatewayProof(new Secret(fakeKey), challenge, at);
    return `HTTP/1.1 200 OK\r\n${proofHeader}: ${proof}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`;
  }
  return { url: `http://127.0.0.1:${own}`, streams: () => streams };
}

/** A gateway with one turn, behind a proxy, and a home that leads there. */
async function begin(
  options: {
    readonly says?: readonly TurnEventBody[];
    readonly ends?: TurnEventBody;
    readonly cutsAfter?: readonly number[];
    /** Turns that the usage history has, and the log no longer. */
    readonly deleted?: readonly string[];
  } = {},
) {
  const home = temporaryFolder();
  const history = openHistory({ file: ":memory:" });
  onTestFinished(() => history.close());
  for (const turnId of options.deleted ?? [])
    history.addTurn(turnFake({ turnId, endedAtMs: systemClock.now() - 86_400_000 }));
  const meter = openMeter({ readPlan: () => Promise.resolve([]), history, clock: systemClock });
  const { gateway, turns, request } = fakeGateway({ clock: systemClock, meter });
  turns.script = () => [...answer, ...(options.says ?? []), ...(options.ends === undefined ? [] : [options.ends])];
  const listening = await gateway.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => listening.close());
  const proxy = await cuttingProxy(Number(new URL(listening.url).port), options.cutsAfter ?? []);
  mkdirSync(join(home, ".millrace"), { mode: 0o700 });
  writeFileSync(join(home, ".millrace", "key"), `${fakeKey}\n`, { mode: 0o600 });
  const address = { url: proxy.url, pid: process.pid, instance: "instance-test", version: "0", startedAtMs: 0 };
  writeGatewayFile(join(home, ".millrace", "gateway.json"), address);
  const json = { model: "test-model", messages: [{ role: "user", content: "Hello" }] };
  const asked = request("/v1/chat/completions", { json: { ...json, stream: true } });
  const turnId = (await asked).headers.get("x-millrace-turn") ?? "";
  return { home, turns, turnId, proxy };
}

const tail = (homeFolder: string, ...argv: readonly string[]) =>
  runMain(["tail", ...argv], [tailCommand], { homeFolder });

describe("millrace tail", () => {
  test("shows a turn on a terminal without what its model and its error wrote for the terminal", async () => {
    const attack = "\u001B]52;c;cm0=\u0007\u001B]8;;x\u001B\\\u001BP+q\u001B\\\u009B2Jsafe\rEVIL\u001B]0;t\u0007";
    const { home } = await begin({
      says: [
        { type: "thinking", delta: attack },
        { type: "text", delta: attack },
        { type: "tool_call", callId: "call-9", name: attack, argumentsDelta: attack, done: true },
      ],
      ends: { type: "failed", error: { code: "upstream_failed", message: attack, hint: attack } },
    });
    for (const more of [[], ["--json"], ["--list"], ["--list", "--json"]]) {
      const io = fakeIo({ homeFolder: home });
      const screen = {
        ...io,
        stdout: Object.assign(io.stdout, { isTTY: true, columns: 400 }),
        stderr: Object.assign(io.stderr, { isTTY: true }),
      };
      await main(["tail", ...more], screen, [tailCommand]);
      const shown = io.written.stdout() + io.written.stderr();
      const own = new RegExp(String.raw`\u001B\[(?:\d*m|2K)|\r(?=\u001B\[2K)`, "g");
      expect(shown.replaceAll(own, "").replaceAll("\n", "")).not.toMatch(/\p{Control}/u);
    }
  });

  test("shows the newest turn: the answer on stdout, the rest on stderr", async () => {
    const { home, turnId } = await begin({ ends: finished });
    const { code, stdout, stderr } = await tail(home);
    expect([code, stdout]).toEqual([0, "Hello there.\n"]);
    expect(stderr).not.toContain("still runs");
    expect(stderr.split("\n").slice(0, 4)).toEqual([
      `${turnId}  test-model  unknown client  finished`,
      "hm",
      "",
      '[calls look {"at":1}]',
    ]);
  });

  test("stops at what there is now, and with --follow at the end", async () => {
    const { home, turns, turnId } = await begin();
    const part = await tail(home, turnId);
    expect(part).toMatchObject({ code: 0, stdout: "Hello there.\n" });
    expect(part.stderr).toContain(`It still runs. To follow it: \`millrace tail ${turnId.slice(-8)} --follow\``);
    const followed = tail(home, turnId, "--follow");
    turns.emit(turnId as Parameters<typeof turns.emit>[0], { type: "text", delta: " You." }, finished);
    expect(await followed).toMatchObject({ code: 0, stdout: "Hello there. You.\n" });
  });

  test("continues from its cursor over any number of broken connections, and prints each event once", async () => {
    const { home, proxy } = await begin({ ends: finished, cutsAfter: [0, 700, 400, 900] });
    const { code, stdout } = await tail(home, "--follow", "--json");
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly event_id: string; readonly type: string });
    expect(code).toBe(0);
    expect(events.map(({ event_id: id }) => id)).toEqual(["a1", "a2", "a3", "a4", "a5", "a6", "a7"]);
    expect(proxy.streams()).toBe(5);
  });

  test("answers 1 for a turn that failed, and says why", async () => {
    const error = { code: "rate_limited", message: "Too fast.", hint: "Wait." } as const;
    const { home } = await begin({ ends: { type: "failed", error } });
    const { code, stderr } = await tail(home);
    expect(code).toBe(1);
    expect(stderr).toContain("Failed: Too fast. Wait.");
  });

  test("lists turns by the end of their ids, with their questions, also those whose texts are deleted, and says so", async () => {
    const { home, turnId } = await begin({ ends: finished, deleted: ["turn_of_yesterday_0123"] });
    const { code, stdout, stderr } = await tail(home, "--list");
    expect(code).toBe(0);
    const [, newest, older] = stdout.split("\n");
    expect(newest).toMatch(new RegExp(`^${turnId.slice(-8)} .* finished .*test-model +Hello$`));
    expect(older).toMatch(/^day_0123 .*\(deleted\)$/);
    expect(stderr).toContain("the gateway keeps texts for 2h");
    expect(stderr).toContain("millrace config set retention 7d");
    const { data } = JSON.parse((await tail(home, "--list", "--json")).stdout) as { data: readonly object[] };
    expect(data).toMatchObject([{ id: turnId }, { id: "turn_of_yesterday_0123", expired: true }]);
    expect(await tail(home, "day_0123")).toMatchObject({ code: 69, stderr: expect.stringContaining("are deleted") });
  });

  test("--search finds words of questions and answers, shows where, and says what it could not look at", async () => {
    const { home, turnId } = await begin({ ends: finished, deleted: ["turn_of_yesterday_0123"] });
    const found = await tail(home, "--search", "THERE.");
    expect(found).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${turnId.slice(-8)} .*there\\.`, "m")),
    });
    expect(found.stderr).toContain("Searched 1 turn. Not searched: 1 turn whose texts are deleted");
    expect(await tail(home, "--search", "no such word")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Nothing was found."),
    });
    expect(await tail(home, "--search", " ")).toMatchObject({ code: 64 });
    expect(await tail(home, "--search", "a", "--list")).toMatchObject({ code: 64 });
  });

  test("says what to do without a gateway, with an unknown id, with two turns, and with none", async () => {
    const nowhere = temporaryFolder();
    expect(await tail(nowhere)).toMatchObject({ code: 69, stderr: expect.stringContaining("millrace serve") });
    const { home } = await begin();
    expect(await tail(home, "turn_unknown")).toMatchObject({
      code: 64,
      stderr: expect.stringContaining("millrace tail --list"),
    });
    expect(await tail(home, "turn_x", "--list")).toMatchObject({ code: 64 });
  });
});
