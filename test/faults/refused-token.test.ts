import { expect, test } from "vitest";
import { ask, patienceMs, world } from "../support/world.ts";

const send = "SendUserCascadeMessage";
/** How often the IDE refuses the prompt's CSRF token, as one that restarted after the conversation began. */
const refusing = (times: number) => ({ rpc: send, csrf: true as const, times });

test(
  "an IDE that refuses the CSRF token once as the prompt is sent costs nothing: the prompt arrives once",
  async () => {
    const { client, ide } = await world();
    await ide.setFaults([refusing(1)]);
    const headers = { "idempotency-key": "k" };
    const answer = await client.chat.completions.create(ask("count to 3"), { headers });
    expect(answer.choices[0]?.message.content).toBe("1, 2, 3");
    expect((await ide.report()).messages).toHaveLength(1);
  },
  patienceMs,
);

test(
  "one that refuses it twice fails the turn as the IDE's failure, not as a wrong key, and the Idempotency-Key stays unspent",
  async () => {
    const { client, ide } = await world();
    await ide.setFaults([refusing(2)]);
    const headers = { "idempotency-key": "k" };
    const failing = client.chat.completions.create(ask("count to 3"), { headers });
    await expect(failing).rejects.toMatchObject({
      status: 502,
      code: "upstream_failed",
      message: expect.not.stringMatching(/spent/) as string,
    });
    const answer = await client.chat.completions.create(ask("count to 3"), { headers });
    expect(answer.choices[0]?.message.content).toBe("1, 2, 3");
    expect((await ide.report()).messages).toHaveLength(1);
  },
  patienceMs,
);
