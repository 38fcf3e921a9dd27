import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { writeJson } from "../../base/json.ts";
import { answerResponse, send } from "./reply.ts";

test.each([
  ["short texts", { text: 'a "quoted"\u2028 line\n', n: 1 }],
  [
    "long texts",
    { a: `"\\\u2028😀`.repeat(60_000), b: ["x".repeat(200_000), { c: "half \ud83d".repeat(20_000) }], d: null },
  ],
])("an answer with %s is the JSON of its value, and its end is told", async (_, answer) => {
  const taken: boolean[] = [];
  const server = createServer((__, response) => {
    void send(
      answerResponse(answer, { "x-one": "1" }, async (isTaken) => taken.push(isTaken)),
      response,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect([response.status, response.headers.get("x-one")]).toEqual([200, "1"]);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect((await response.text()) === writeJson(answer)).toBe(true);
  await expect.poll(() => taken).toEqual([true]);
});
