import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { localZone } from "./time-zone.ts";

test.each([
  [undefined, "UTC", true],
  ["", "UTC", true],
  ["Etc/Unknown", "UTC", true],
  ["Nowhere/Land", "UTC", true],
  ["Etc/GMT-14", "Etc/GMT-14", false],
  ["Pacific/Kiritimati", "Pacific/Kiritimati", false],
])("Intl's %j is %s", (named, zone, isFallback) => {
  // a default would be this machine's zone
  const told = named === undefined ? localZone("") : localZone(named);
  expect(told).toEqual({ zone, isFallback });
});

const module = pathToFileURL(join(import.meta.dirname, "time-zone.ts")).href;

test("a TZ that is no zone gives one that Intl knows", () => {
  const zones = ["Nope/Zone", "+14", "<+14>-14", ":/etc/localtime"];
  const program = `import { localZone } from ${JSON.stringify(module)}; const found = [localZone().zone];
    for (const zone of ${JSON.stringify(zones)}) { process.env.TZ = zone; found.push(localZone().zone); }
    console.log(JSON.stringify(found))`;
  const args = ["--experimental-strip-types", "--no-warnings", "--input-type=module", "-e", program];
  const found: unknown = JSON.parse(execFileSync(process.execPath, args, { env: { TZ: "" }, encoding: "utf8" }));
  expect(found).toEqual(Array.from({ length: 5 }, () => "UTC"));
});
