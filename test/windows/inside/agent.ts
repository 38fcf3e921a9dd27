import { strict as assert } from "node:assert";
import { ask, type Gateway, newPerson, output, type Person, progress, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

const text = Array.from({ length: 60 }, (_, n) => `Sentence ${n} of the answer.`).join(" ");
const kills = 10;
const limit = () => AbortSignal.timeout(60_000);

type Agent = Awaited<ReturnType<typeof startAgent>>;

function noPrompt(answer: object): never {
  throw new Error(`The answer ended before the agent got a prompt: ${JSON.stringify(answer)}`);
}

/** Asks a question whose answer holds in its middle. `answer` is what comes of it, `pid` the agent that has the prompt. */
async function held(ide: Agent, gateway: Gateway, key: string) {
  const before = ide.prompts().length;
  await ide.setTurn({ text, rate: "instant", holdAfter: 400 });
  const answer = ask(gateway, `Say it: ${key}.`, { "idempotency-key": key });
  const prompted = ide.untilAgent(({ prompts }) => prompts.length === before + 1, limit());
  const { prompts } = await Promise.race([prompted, answer.then(noPrompt)]);
  return { answer, pid: prompts.at(-1)?.pid ?? 0 };
}

/** Ends one process in the middle of each of ten answers: each comes whole, or ends with a failure, with one prompt. */
async function killTenTimes(
  find: (world: { readonly ide: Agent; readonly gateway: Gateway; readonly agentPid: number }) => number,
): Promise<void> {
  const person = newPerson("Ann");
  const ide = await startAgent(person, text);
  const gateway = await serve(person);
  for (let n = 1; n <= kills; n++) {
    progress.at = `(kill ${n})`;
    const { answer, pid } = await held(ide, gateway, `kill-${n}`);
    await ide.setTurn({ text, rate: "instant" });
    process.kill(find({ ide, gateway, agentPid: pid }), "SIGKILL");
    const { text: got, whole } = await answer;
    assert.ok(got === text ? whole : text.startsWith(got) || /error/.test(got), `kill ${n}: came: ${got}`);
    assert.equal(ide.prompts().length, n);
  }
  await end(person, ide);
}

async function end(person: Person, ide: Agent): Promise<void> {
  await output(person, "stop", "--agents");
  await ide.stop();
}

/** An agent in its host, over a named pipe, and what dies in the middle of an answer. */
export const agentChecks: Checks = {
  async "each of ten gateways that are killed in the middle of an answer costs no second prompt, and the answer comes whole"() {
    const person = newPerson("Ann");
    const ide = await startAgent(person, text);
    let gateway = await serve(person);
    for (let n = 1; n <= kills; n++) {
      progress.at = `(kill ${n})`;
      const key = `gateway-${n}`;
      const { answer } = await held(ide, gateway, key);
      await gateway.kill();
      assert.equal((await answer).whole, false);
      gateway = await serve(person);
      const again = ask(gateway, `Say it: ${key}.`, { "idempotency-key": key });
      await ide.release();
      assert.deepEqual(await again, { text, whole: true }, `kill ${n}`);
      assert.equal(ide.prompts().length, n);
    }
    await end(person, ide);
  },

  async "each of ten agents that are killed in the middle of an answer gives it whole or a failure by name, with one prompt"() {
    await killTenTimes(({ agentPid }) => agentPid);
  },
};
