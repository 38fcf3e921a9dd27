import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modeOf } from "../../test/support/file-mode.ts";
import { readGatewayFile, writeGatewayFile } from "./gateway-file.ts";

const file = () => join(mkdtempSync(join(tmpdir(), "millrace-file-")), "state", "gateway.json");
const address = { url: "http://127.0.0.1:42100", pid: 1, instance: "a", version: "0.1.0", startedAtMs: 1 };

test("what a gateway wrote is read back, only by its user, and gone when it stops", () => {
  const path = file();
  const remove = writeGatewayFile(path, address);
  expect(readGatewayFile(path)).toEqual(address);
  expect(modeOf(path, 0o600)).toBe(0o600);
  remove();
  expect(readGatewayFile(path)).toBeUndefined();
});

test("a gateway that stops leaves the file of the one that came after it", () => {
  const path = file();
  const removeFirst = writeGatewayFile(path, address);
  writeGatewayFile(path, { ...address, instance: "b" });
  removeFirst();
  expect(readGatewayFile(path)?.instance).toBe("b");
});

test("half a file, or somebody else's, is none", () => {
  const path = file();
  writeGatewayFile(path, address);
  for (const content of ["", "{", "[]", '{"url":"nowhere"}']) {
    writeFileSync(path, content);
    expect(readGatewayFile(path)).toBeUndefined();
  }
});
