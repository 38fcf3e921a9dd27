import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary.ts";

test("started from inside a zip file, as Yarn's PnP does, it says what to type", () => {
  const folder = temporaryFolder();
  const inside = join(folder, "millrace.zip");
  mkdirSync(inside);
  writeFileSync(join(inside, "package.json"), '{"type":"module"}');
  copyFileSync(join(import.meta.dirname, "bin.ts"), join(inside, "bin.ts"));
  const args = ["--experimental-strip-types", "--no-warnings", join(inside, "bin.ts"), "demo"];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect({ status, stderr }).toEqual({
    status: 69,
    stderr:
      "Millrace cannot start its helpers from inside a zip file, where Yarn keeps it. Type: yarn unplug millrace\n",
  });
});

test("under Deno, whose permissions its helpers would not get, it says what to type", () => {
  const isDeno = "process.versions=Object.assign({},process.versions,{deno:'2.5.0'})";
  const preload = `data:text/javascript,Object.defineProperty(process,'versions',{writable:true});${isDeno}`;
  const args = ["--experimental-strip-types", "--no-warnings", "--import", preload];
  const { status, stderr } = spawnSync(process.execPath, [...args, join(import.meta.dirname, "bin.ts"), "demo"], {
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({
    status: 69,
    stderr: "Millrace needs Node: Deno gives the programs that it starts no permission. Type: npx millrace\n",
  });
});
