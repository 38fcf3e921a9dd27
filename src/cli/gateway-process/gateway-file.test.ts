import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { modeOf } from "../../../test/support/file-mode.ts";
import { FakeClock } from "../../base/clock.fake.ts";
import { keepGatewayFile, readGatewayFile, writeGatewayFile } from "./gateway-file.ts";

const file = () => join(mkdtempSync(join(tmpdir(), "millrace-file-")), "state", "gateway.json");
const address = { url: "http://127.0.0.1:42100", pid: 1, instance: "a", version: "0.1.0", startedAtMs: 1 };

/** A gateway that keeps its file, what it said, and how it stops. */
function keeping(path: string) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const told: unknown[] = [];
  const kept = keepGatewayFile(path, address, { clock, onProblem: (error) => told.push(error) }, stop.signal);
  const end = () => {
    stop.abort();
    return kept;
  };
  return { clock, told, end };
}

test("what a gateway wrote is read back, only by its user, and gone when it stops", async () => {
  const path = file();
  const { end } = keeping(path);
  expect(readGatewayFile(path)).toEqual(address);
  expect(modeOf(path, 0o600)).toBe(0o600);
  await end();
  expect(readGatewayFile(path)).toBeUndefined();
});

test("while its folder cannot be written the file is missing, which is reported once and leaves no drafts", async () => {
  const path = file();
  writeFileSync(dirname(path), "no folder");
  const { clock, told, end } = keeping(path);
  await clock.advance(30_000);
  expect([readGatewayFile(path), told.length]).toEqual([undefined, 1]);
  rmSync(dirname(path));
  mkdirSync(path, { recursive: true }); // takes a draft, but not its name
  await clock.advance(5_000);
  rmSync(path, { recursive: true });
  await clock.advance(5_000);
  expect(readGatewayFile(path)).toEqual(address);
  expect(readdirSync(dirname(path))).toEqual(["gateway.json"]);
  await end();
});

test("a file that was removed is written again, and another gateway's file is not changed", async () => {
  const path = file();
  const { clock, end } = keeping(path);
  rmSync(dirname(path), { recursive: true });
  await clock.advance(5_000);
  expect(readGatewayFile(path)).toEqual(address);
  writeGatewayFile(path, { ...address, instance: "b" });
  await clock.advance(60_000);
  expect(readGatewayFile(path)?.instance).toBe("b");
  await end();
});

test("a gateway that stops leaves the file of the one that came after it", async () => {
  const path = file();
  const { end } = keeping(path);
  writeGatewayFile(path, { ...address, instance: "b" });
  await end();
  expect(readGatewayFile(path)?.instance).toBe("b");
});

test("half a file, and another program's file, count as none", () => {
  const path = file();
  writeGatewayFile(path, address);
  for (const content of ["", "{", "[]", '{"url":"nowhere"}']) {
    writeFileSync(path, content);
    expect(readGatewayFile(path)).toBeUndefined();
  }
});
