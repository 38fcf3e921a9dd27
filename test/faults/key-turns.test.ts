import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, gateway, patienceMs, world } from "../support/world.ts";

test(
  "of twelve requests at once, a key with three turns a day starts exactly three, also after a restart",
  async () => {
    const { home, ide, served } = await world({});
    const key = (await millrace(["keys", "create", "ci", "--turns-per-day", "3"], { home })).stdout.trim();
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const send = async ({ url }: { readonly url: string }, text: string) => {
      const body = JSON.stringify(ask(text));
      const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
      return { status: answer.status, text: await answer.text() };
    };

    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => send(served, `question ${i}`)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(9);
    for (const { text } of refused) expect(text).toMatch(/start turns again at \d{4}-\d\d-\d\dT00:00:00/);
    expect((await ide.report()).messages).toHaveLength(3);

    await served.stop();
    expect((await send(await gateway({ home }), "after the restart")).status).toBe(429);
  },
  patienceMs,
);
