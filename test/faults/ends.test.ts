import { join } from "node:path";
import { expect, test } from "vitest";
import type { Simulator } from "../../simulator/index.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { gateway, model as ideModel, openai, simulator } from "../support/world.ts";
import { ask, prompted } from "./acp-machine.ts";

/*
 * What happens around the end of an answer in an orderly life: a stop, a full disk. `MILLRACE_ENDS=25` tries 25 stops, of 200 answers over
 * an agent, 200 over a language server, and 150 that are cut; CI tries a few.
 */

type Served = Awaited<ReturnType<typeof gateway>>;
const rounds = Number(process.env["MILLRACE_ENDS"] ?? 5);
const size = 1_200;
/** Hundreds of turns would spend a plan; an agent has one model that costs nothing. */
const freeModel = "swe-1.6:slow";
const free = { plan: { unlimited: true } } as const;
/** 4,000 characters a second: 200 of them are 50 ms. */
const answer = { rate: 4_000, size };

function post({ url, key }: Served, name: string, model?: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": name },
    body: JSON.stringify({ ...ask(`write for ${name}`, model), stream: true }),
  });
}

/** An answer's text as far as it came, and whether it was said to be whole. `onText` gets its length so far. */
async function read(response: Response, onText: (length: number) => void = () => {}) {
  let body = "";
  const decoder = new TextDecoder();
  const content = () =>
    [...body.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, part = ""]) => JSON.parse(part) as string).join("");
  try {
    for await (const piece of response.body ?? []) {
      body += decoder.decode(piece, { stream: true });
      onText(body.includes('"finish_reason":"stop"') ? size : Math.min(size - 1, content().length));
    }
  } catch {
    // the gateway is gone
  }
  return { body, text: content(), isWhole: body.includes('"finish_reason":"stop"') && body.includes("[DONE]") };
}

/** When each round stops its gateway, from 50 ms before the end of the first answer to 50 ms after it; ms. */
const moments = Array.from({ length: rounds }, (_, round) => Math.round((round / Math.max(1, rounds - 1)) * 100) - 50);

const upstreams = [
  {
    name: "an agent",
    options: { profile: "devin-3" },
    model: freeModel,
    prompts: async (ide: Simulator) => prompted(ide),
  },
  {
    name: "a language server",
    options: {},
    model: ideModel,
    prompts: async (ide: Simulator) => (await ide.report()).messages.map(({ text }) => text),
  },
] as const;

test.runIf(process.platform !== "win32").each(upstreams)(
  "a gateway that is stopped around the end of eight answers of $name loses none and asks for none again",
  async ({ options, model, prompts }) => {
    const home = temporaryHome();
    const ide = await simulator({ home, ...options, ...free, turn: answer });
    const names: string[] = [];
    for (const [round, moment] of moments.entries()) {
      const eight = Array.from({ length: 8 }, (_, client) => `${round}-${client}.`);
      names.push(...eight);
      const first = await gateway({ home });
      let isStopped = false;
      const stopAt = (length: number) => {
        if (isStopped || length < Math.min(size, size + moment * 4)) return;
        isStopped = true;
        setTimeout(() => process.kill(first.pid, "SIGTERM"), Math.max(0, moment));
      };
      await Promise.all(eight.map(async (name) => read(await post(first, name, model), stopAt).catch(() => {})));
      stopAt(size);
      await first.ended;
      const second = await gateway({ home });
      const again = await Promise.all(eight.map(async (name) => read(await post(second, name, model))));
      expect([moment, ...again.map(({ text, isWhole }) => isWhole && text.length >= size)]).toEqual([
        moment,
        ...eight.map(() => true),
      ]);
      await second.stop();
    }
    const taken = await prompts(ide);
    const counts = names.map((name) => taken.filter((text) => text.includes(`write for ${name}`)).length);
    expect(counts).toEqual(names.map(() => 1));
  },
  60_000 + rounds * 60_000,
);

test.runIf(process.platform !== "win32")(
  "`stop --agents` in the middle of answers names the turns that it cuts, and none of them passes as whole",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home, profile: "devin-3", ...free, turn: { ...answer, holdAfter: 600 } });
    const names: string[] = [];
    for (let round = 0; round < rounds; round++) {
      await ide.setTurn({ ...answer, holdAfter: 600 });
      const six = Array.from({ length: 6 }, (_, client) => `cut-${round}-${client}.`);
      names.push(...six);
      const first = await gateway({ home });
      const opened = await Promise.all(six.map((name) => post(first, name, freeModel)));
      const begun = six.map(() => Promise.withResolvers<void>());
      const cut = opened.map((response, at) => read(response, () => begun[at]?.resolve()));
      await Promise.all(begun.map(({ promise }) => promise));
      const { stdout } = await millrace(["stop", "--agents"], { home });
      expect(stdout).toMatch(/Ended: devin \(process \d+, 6 prompts run\)/);
      for (const { headers } of opened) expect(stdout).toContain(headers.get("x-millrace-turn"));
      expect((await Promise.all(cut)).map(({ isWhole }) => isWhole)).toEqual(six.map(() => false));
      await ide.setTurn(answer);
      const second = await gateway({ home });
      const again = await Promise.all(six.map(async (name) => read(await post(second, name, freeModel))));
      for (const { body } of again) {
        expect(body).toContain('"error"'); // after which the stream is cut
        expect(body).not.toContain('"finish_reason":"stop"');
      }
      await second.stop();
    }
    const counts = names.map((name) => prompted(ide).filter((text) => text.includes(`write for ${name}`)).length);
    expect(counts).toEqual(names.map(() => 1));
  },
  60_000 + rounds * 60_000,
);

test.runIf(mayMount)(
  "in a home that cannot be written a request with tools is answered, with the tools in prose",
  async () => {
    const home = temporaryHome();
    const disk = smallDisk(40);
    const ide = await simulator({ home, profile: "devin-3", turn: answer });
    const env = { MILLRACE_HOME: join(disk.folder, "millrace") };
    const tools = [{ type: "function" as const, function: { name: "step", parameters: { type: "object" } } }];
    const asked = async (served: Served, name: string) => {
      const { choices } = await openai(served).chat.completions.create({ ...ask(`write for ${name}`), tools });
      return (choices[0]?.message.content ?? "").length;
    };
    const first = await gateway({ home, env });
    expect(await asked(first, "first")).toBeGreaterThan(0);
    await first.stop();
    await millrace(["stop", "--agents"], { home, env });
    disk.readOnly(true);
    const second = await gateway({ home, env });
    expect(await asked(second, "second")).toBeGreaterThan(0);
    expect(prompted(ide).at(-1)).toContain("# Tools");
  },
  120_000,
);
