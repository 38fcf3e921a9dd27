import { expect, test } from "vitest";
import { ideSystemPrompt } from "../../simulator/parts.ts";
import { model, world } from "../support/world.ts";

test("nothing of the IDE's own prompt, its folders or its steps reaches a client, on any surface", async () => {
  const { home, served } = await world({
    simulator: { workspace: "/home/canary-of-a-folder/project", turn: { rate: "instant" } },
  });
  const headers = { authorization: `Bearer ${served.key}`, "content-type": "application/json" };
  const question = "[[sim: thinking=200]] echo-prompt";
  const bodies = {
    "/v1/chat/completions": { messages: [{ role: "user", content: question }] },
    "/v1/responses": { input: question },
    "/v1/messages": { max_tokens: 2_000, messages: [{ role: "user", content: question }] },
  };
  const seen: string[] = [];
  for (const more of ["", "[[sim: error=internal]]", "[[sim: tools=2 tool-only]]"]) {
    for (const [path, body] of Object.entries(bodies)) {
      const json = JSON.stringify({ model, stream: more === "", ...body }).replace(
        "echo-prompt",
        `echo-prompt ${more}`,
      );
      const response = await fetch(served.url + path, { method: "POST", headers, body: json });
      seen.push(JSON.stringify([...response.headers]), await response.text());
    }
  }
  const everything = seen.join("\n");
  expect(everything).toContain("echo-prompt"); // the model told all that reached it
  for (const own of [ideSystemPrompt, "canary-of-a-folder", home, "CORTEX_STEP_TYPE", "=== MESSAGE"])
    expect(everything).not.toContain(own);
});
