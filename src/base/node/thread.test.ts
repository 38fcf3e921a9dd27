import { execFileSync } from "node:child_process";
import { rmdirSync } from "node:fs";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";

test.skipIf(process.platform === "win32")("a thread starts also where the working folder was removed", () => {
  const gone = temporaryFolder();
  const program = `
    import { rmdirSync } from "node:fs";
    const { startThread } = await import(${JSON.stringify(new URL("thread.ts", import.meta.url).href)});
    rmdirSync(process.cwd());
    const thread = startThread("user", import.meta.resolve(${JSON.stringify(import.meta.url)}), { data: undefined, resourceLimits: {} });
    thread.on("error", (error) => console.log(error.message));
    thread.on("exit", (code) => console.log("ended with", code));
  `;
  const words = ["--no-warnings", "--experimental-strip-types", "--eval", program];
  expect(execFileSync(process.execPath, words, { cwd: gone, encoding: "utf8" })).toBe("ended with 0\n");
  expect(() => rmdirSync(gone)).toThrow(/ENOENT/);
});
