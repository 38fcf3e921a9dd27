import { expect, it } from "vitest";
import { collect, world } from "../support/world.ts";

// Every API, machine and death over the agent: test/faults/acp.test.ts.
it("an answer of the IDE's agent program is streamed, for one prompt", async () => {
  const { ide, client } = await world({ simulator: { profile: "devin-3" } });
  const messages = [{ role: "user" as const, content: "count to 7" }];
  const chat = client.chat.completions.create({ model: "swe-2:high", messages, stream: true });
  const { data, response } = await chat.withResponse();
  expect(response.headers.get("x-millrace-backend")).toBe("acp");
  expect(await collect(data)).toEqual({ text: "1, 2, 3, 4, 5, 6, 7", reason: "stop" });
  expect(ide.prompts().map(({ text }) => text)).toEqual(["count to 7"]);
});
