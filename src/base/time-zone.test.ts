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

test.each(["", "Nope/Zone", "+14", "<+14>-14", ":/etc/localtime"])("TZ=%j gives a zone that Intl knows", (TZ) => {
  const program = `import { localZone } from ${JSON.stringify(module)}; console.log(localZone().zone)`;
  const args = ["--experimental-strip-types", "--no-warnings", "--input-type=module", "-e", program];
  expect(execFileSync(process.execPath, args, { env: { TZ }, encoding: "utf8" }).trim()).toBe("UTC");
});
