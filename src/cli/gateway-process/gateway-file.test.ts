import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { readGatewayFile, writeGatewayFile } from "./gateway-file.ts";

const file = () => join(temporaryFolder(), "state", "gateway.json");
const address = { url: "http://127.0.0.1:42100", pid: 1, instance: "a", version: "0.1.0", startedAtMs: 1 };

test("half a file, and another program's file, count as none", () => {
  const path = file();
  writeGatewayFile(path, address);
  for (const content of ["", "{", "[]", '{"url":"nowhere"}']) {
    writeFileSync(path, content);
    expect(readGatewayFile(path)).toBeUndefined();
  }
});
