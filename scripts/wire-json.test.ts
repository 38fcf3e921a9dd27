import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".ts") && !/\.(?:test|fake|conformance)\.ts$/.test(file));

/** Folders and files whose JSON goes to clients, agents, hosts and relays, or is read a line at a time. */
const wires = [/^gateway\//, /^backends\//, /^turns\//, /^log\/turn-row\.ts$/, /^ide\/cascades\/cascade-journal\.ts$/];
/** Its program is a text that another process runs, and has no imports. */
const alone = "backends/acp/host/spawn-child.ts";

it("on the wire, one function reads JSON and one writes it: `src/base/json.ts`", () => {
  const found = files.filter(
    (file) =>
      file !== alone &&
      wires.some((wire) => wire.test(file)) &&
      /\bJSON\.(?:parse|stringify)\b/.test(
        readFileSync(`${src}/${file}`, "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, ""),
      ),
  );
  expect(found).toEqual([]);
});

it("no file of the product writes a line of JSON in another way", () => {
  const line = /JSON\.stringify\((?!.*(?:, 2|undefined, 2)\)).*\)\}\\n`/;
  const found = files.filter((file) => line.test(readFileSync(`${src}/${file}`, "utf8")));
  expect(found).toEqual([]);
});
