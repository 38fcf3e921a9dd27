import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { openWindowsHost } from "./host.ts";

const netstat = readFileSync(new URL("fixtures/netstat-german.txt", import.meta.url), "utf8");

test.each([
  ["netstat answers", netstat, ["netstat"]],
  ["netstat shows nothing", "", ["netstat", "powershell"]],
])("the ports of a server, where %s", async (_, stdout, programs) => {
  const ran: string[] = [];
  const host = openWindowsHost({
    home: "C:\\Users\\Ada",
    systemRoot: undefined,
    clock: systemClock,
    run: (program) => {
      ran.push(program);
      return Promise.resolve({ ok: true, value: { stdout: program === "netstat" ? stdout : "[]", exitCode: 0 } });
    },
  });
  const found = await host.listListening(4242, new AbortController().signal);
  expect(ran).toEqual(programs);
  expect(found.ok && found.value.map(({ port }) => port)).toEqual(stdout === "" ? [] : [49_154, 49_155]);
});
