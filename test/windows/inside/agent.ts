import { strict as assert } from "node:assert";
import { ask, type Gateway, modelOf, newPerson, output, type Person, progress, serve, startAgent } from "./product.ts";
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
async function killTenTimes(find: (person: Person, agentPid: number) => number | Promise<number>): Promise<void> {
  const person = newPerson("Ann");
  const ide = await startAgent(person, text);
  const gateway = await serve(person);
  for (let n = 1; n <= kills; n++) {
    progress.at = `(kill ${n})`;
    const { answer, pid } = await held(ide, gateway, `kill-${n}`);
    await ide.setTurn({ text, rate: "instant" });
    process.kill(await find(person, pid), "SIGKILL");
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

const loopQuestion = "[[sim: agent=loop]] Look.";
const tool = { name: "bash", parameters: { type: "object", properties: { command: { type: "string" } } } };

interface Message {
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string }[];
}

/** An agent whose answers follow the script that the question names. */
async function startLooping(person: Person): Promise<Agent> {
  const ide = await startAgent(person, text);
  await ide.setTurn({ rate: "instant" });
  return ide;
}

/** One round of a loop of tool calls, and how the tools reached the agent. */
async function round({ url, key }: Gateway, messages: readonly object[]) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: await modelOf({ url, key }),
      messages,
      tools: [{ type: "function", function: tool }],
    }),
    signal: limit(),
  });
  const body = await response.text();
  assert.equal(response.status, 200, body);
  const [choice] = (JSON.parse(body) as { readonly choices: readonly { readonly message: Message }[] }).choices;
  assert.ok(choice);
  return { way: response.headers.get("x-millrace-tools"), message: choice.message };
}

/** The host that keeps this agent. */
async function hostPid(person: Person, agentPid: number): Promise<number> {
  const status = JSON.parse(await output(person, "status", "--json")) as {
    readonly agents: readonly { readonly pid: number; readonly host_pid: number }[];
  };
  const host = status.agents.find(({ pid }) => pid === agentPid);
  assert.ok(host, JSON.stringify(status.agents));
  return host.host_pid;
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
    await killTenTimes((_, agentPid) => agentPid);
  },

  async "each of ten hosts that are killed in the middle of an answer gives it whole or a failure by name, with one prompt"() {
    await killTenTimes(hostPid);
  },

  async "a loop of tool calls is one prompt, though its gateway is killed after each round"() {
    const person = newPerson("Ann");
    const ide = await startLooping(person);
    const next = async (gateway: Gateway | undefined) => {
      await gateway?.kill();
      return await serve(person);
    };
    let gateway = await next(undefined);
    const messages: object[] = [{ role: "user", content: loopQuestion }];
    const rounds: string[] = [];
    for (let result = 1; rounds.length < 3; gateway = await next(gateway)) {
      const { way, message } = await round(gateway, messages);
      assert.equal(way, "native");
      rounds.push(message.content ?? "");
      messages.push(message);
      for (const { id } of message.tool_calls ?? [])
        messages.push({ role: "tool", tool_call_id: id, content: `r${result++}` });
    }
    assert.equal(rounds.at(-1), "All done. The tools said: r1 | r2 | r3");
    assert.equal(ide.prompts().length, 1);
    await end(person, ide);
  },

  async "a host that is killed while its prompt waits for results: the history goes into one new prompt"() {
    const person = newPerson("Ann");
    const ide = await startLooping(person);
    const gateway = await serve(person);
    const question = { role: "user", content: loopQuestion };
    const { message } = await round(gateway, [question]);
    const [pid = 0] = ide.agentReport().processes.flatMap(({ pid, running }) => (running ? [pid] : []));
    process.kill(await hostPid(person, pid), "SIGKILL");
    const results = (message.tool_calls ?? []).map(({ id }) => ({ role: "tool", tool_call_id: id, content: "r" }));
    assert.ok(results.length > 0);
    const after = await round(gateway, [question, message, ...results]);
    assert.ok((after.message.tool_calls ?? []).length > 0 || after.message.content);
    assert.equal(ide.prompts().length, 2);
    await end(person, ide);
  },
};
