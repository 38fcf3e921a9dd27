import { strict as assert } from "node:assert";
import { ask, newPerson, output, serve, startAgent } from "./product.ts";
import type { Checks } from "./run.ts";

const text = Array.from({ length: 60 }, (_, n) => `Sentence ${n} of the answer.`).join(" ");
const limit = () => AbortSignal.timeout(120_000);

function noPrompt(answer: object): never {
  throw new Error(`The answer ended before the agent got a prompt: ${JSON.stringify(answer)}`);
}

/** An agent in its host, over a named pipe, and what dies in the middle of an answer. */
export const agentChecks: Checks = {
  async "a gateway that is killed in the middle of an answer costs no second prompt, and the answer comes whole"() {
    const person = newPerson("Ann");
    const ide = await startAgent(person, text);
    await ide.setTurn({ text, rate: "instant", holdAfter: 400 });
    const first = await serve(person);
    const headers = { "idempotency-key": "one" };
    const cut = ask(first, "Say it.", headers);
    await Promise.race([ide.untilAgent(({ prompts }) => prompts.length === 1, limit()), cut.then(noPrompt)]);
    await first.kill();
    assert.equal((await cut).whole, false);
    const second = await serve(person);
    const again = ask(second, "Say it.", headers);
    await ide.release();
    assert.deepEqual(await again, { text, whole: true });
    assert.equal(ide.prompts().length, 1);
    await output(person, "stop", "--agents");
    await ide.stop();
  },

  async "an agent that is killed in the middle of an answer gives the whole answer or a failure by name, and at most one more prompt"() {
    const person = newPerson("Ann");
    const ide = await startAgent(person, text);
    await ide.setTurn({ text, rate: "instant", holdAfter: 400 });
    const gateway = await serve(person);
    const answer = ask(gateway, "Say it.");
    const prompted = ide.untilAgent(({ prompts }) => prompts.length === 1, limit());
    const report = await Promise.race([prompted, answer.then(noPrompt)]);
    await ide.setTurn({ text, rate: "instant" });
    process.kill(report.prompts[0]?.pid ?? 0, "SIGKILL");
    const { text: got, whole } = await answer;
    assert.ok(got === text ? whole : text.startsWith(got) || /error/.test(got), `came: ${got}`);
    assert.equal(ide.prompts().length, 1);
    await output(person, "stop", "--agents");
    await ide.stop();
  },
};
