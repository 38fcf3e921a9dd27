import { expect, test } from "vitest";
import { inMemory } from "./in-memory.ts";

test("a handler sees that its client has left, before it was asked or later", async () => {
  const client = new AbortController();
  const seen: boolean[] = [];
  const ask = inMemory(async (_request, response) => {
    seen.push(response.destroyed);
    client.abort();
    seen.push(response.destroyed);
  });
  const request = () => new Request("http://gateway/v1", { signal: client.signal });
  await expect(ask(request())).rejects.toThrow("the client left");
  await expect(ask(request())).rejects.toThrow("the client left");
  expect(seen).toEqual([false, true, true, true]);
});

test("an answer comes as its client reads it, and one that breaks is no whole one", async () => {
  const ask = inMemory(async ({ url }, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("half");
    if (url === "/whole") response.end("whole");
    else response.destroy(new Error("broke"));
  });
  expect(await (await ask(new Request("http://gateway/whole"))).text()).toBe("halfwhole");
  await expect(ask(new Request("http://gateway/cut")).then((response) => response.text())).rejects.toThrow("cut");
});
