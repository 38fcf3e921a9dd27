import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import type { GatewayLog } from "../../gateway/http/log.ts";
import { type LogLevel, openGatewayLog, peopleLine, withRequestIds } from "./gateway-log.ts";

const at = { atMs: new Date(2026, 10, 22, 14, 20, 31).getTime() };
const turn = {
  requestId: "req_1",
  turnId: "turn_1",
  client: "opencode",
  model: "claude-opus-4.5",
  promptTokens: 1234,
  completionTokens: 340,
  tokenSource: "estimated",
  ms: 4210,
  outcome: "finished",
  reason: "stop",
};

test("a turn is one line: time, client, model, tokens, seconds, outcome, request", () => {
  expect(peopleLine({ ...at, level: "info", event: "turn", fields: turn })).toBe(
    "14:20:31  opencode        claude-opus-4.5       ~1.2k in ~340 out     4.2 s  done  req_1",
  );
  const failed = { ...turn, outcome: "failed", reason: "rate_limited", tokenSource: "unknown" };
  expect(peopleLine({ ...at, level: "info", event: "turn", fields: failed })).toContain(
    "tokens unknown        4.2 s  failed: rate_limited  req_1",
  );
});

test("an IDE that was found has the product's name, not the one in its files", () => {
  const fields = { product: "Devin Desktop 3.10 (formerly Windsurf)", variant: "windsurf", build: "3.10.48", pid: 7 };
  expect(peopleLine({ ...at, level: "info", event: "ide_found", fields })).toBe(
    "14:20:31  Found Devin Desktop 3.10 (formerly Windsurf), process 7.",
  );
});

test("a request has a line where it was refused, and none where its turn has one", () => {
  const request = {
    requestId: "req_2",
    method: "POST",
    path: "/v1/messages",
    status: 401,
    ms: 3,
    code: "unauthenticated",
  };
  expect(peopleLine({ ...at, level: "info", event: "request", fields: request })).toBe(
    "14:20:31  unknown         POST /v1/messages  0.0 s  refused: 401 unauthenticated  req_2",
  );
  expect(peopleLine({ ...at, level: "info", event: "request", fields: { ...request, status: 200 } })).toBeUndefined();
});

test("warnings are sentences, and what a client calls itself cannot move the cursor", () => {
  const fields = { store: "turns.db", why: "The disk is full.", hint: "Make room." };
  expect(peopleLine({ ...at, level: "error", event: "store_degraded", fields })).toBe(
    "14:20:31  error: The log of turns cannot be written: The disk is full. Make room.",
  );
  const rude = peopleLine({ ...at, level: "info", event: "turn", fields: { ...turn, client: "\u001B[2Jx\n" } });
  expect(rude).toContain("?[2Jx?");
});

test("a terminal gets lines for people, a pipe JSON of warnings, and the background a file", () => {
  const folder = temporaryFolder();
  const written = (isTTY: boolean, level?: LogLevel, env = {}) => {
    const stderr = Object.assign(new PassThrough(), { isTTY });
    const log = openGatewayLog({ stderr, env, clock: new FakeClock() }, { folder }, level);
    log.write("info", "turn", turn);
    return String(stderr.read() ?? "");
  };
  expect(written(true)).toContain("opencode        claude-opus-4.5");
  expect(written(false)).toBe("");
  expect(JSON.parse(written(false, "info"))).toMatchObject({ event: "turn", requestId: "req_1" });
  expect(written(true, undefined, { MILLRACE_STARTED_BY: "service" })).toBe("");
  const line: unknown = JSON.parse(readFileSync(join(folder, "logs/gateway.log"), "utf8"));
  expect(line).toMatchObject({ level: "info", event: "turn" });
});

test("a line that names only a turn gets the id of the request that began it", () => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const sink: GatewayLog = { write: (_level, _event, fields) => void lines.push(fields) };
  const log = withRequestIds(sink);
  log.write("debug", "turn requested", { requestId: "req_1", turnId: "turn_1" });
  log.write("debug", "turn requested", { requestId: "req_2", turnId: "turn_1" });
  log.write("info", "turn", { turnId: "turn_1" });
  expect(lines.at(-1)).toEqual({ requestId: "req_1", turnId: "turn_1" });
});
