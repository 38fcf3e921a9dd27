import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { loadRedisLog } from "./load-redis-log.ts";
import { openRedisLog } from "./open-redis-log.ts";

test("the client that is installed is loaded", async () => {
  expect(await loadRedisLog()).toBe(openRedisLog);
});

test("without the client the error names the command that installs it", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-no-redis-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const missing = join(folder, "missing.mjs");
  writeFileSync(missing, 'import "redis";\n');
  const program = `
    import { loadRedisLog } from ${JSON.stringify(new URL("load-redis-log.ts", import.meta.url).href)};
    const error = await loadRedisLog(() => import(${JSON.stringify(pathToFileURL(missing).href)})).catch((error) => error);
    console.log(JSON.stringify(error.toRecord()));
  `; // Node itself says that the package is not there
  const said: unknown = JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }),
  );
  expect(said).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("`redis`"),
    hint: expect.stringContaining("npm install --global redis@6"),
  });
});

test("every other failure stays what it is", async () => {
  const failure = new SyntaxError("a broken file");
  await expect(loadRedisLog(() => Promise.reject(failure))).rejects.toBe(failure);
});
