import { join } from "node:path";
import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { gateway, openai, simulator } from "../support/world.ts";
import { ask, prompted } from "./acp-machine.ts";

/* What happens around the end of an agent's answer in an orderly life: a stop, a full disk. */

type Served = Awaited<ReturnType<typeof gateway>>;
const size = 1_200;
const answer = { rate: 4_000, size };

function post({ url, key }: Served, name: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": name },
    body: JSON.stringify({ ...ask(`write for ${name}`), stream: true }),
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
  return { text: content(), isWhole: body.includes('"finish_reason":"stop"') && body.includes("[DONE]") };
}

/** 4,000 characters a second: 200 of them are 50 ms. */
const moments = [size - 200, size - 80, size - 20, size - 1, size];

test.runIf(process.platform !== "win32")(
  "a gateway that is stopped around the end of eight answers loses none and asks for none again",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home, profile: "devin-3", turn: answer });
    const names: string[] = [];
    for (const [round, moment] of moments.entries()) {
      const eight = Array.from({ length: 8 }, (_, client) => `${round}-${client}.`);
      names.push(...eight);
      const first = await gateway({ home });
      let isStopped = false;
      const stopAt = (length: number) => {
        if (isStopped || length < moment) return;
        isStopped = true;
        process.kill(first.pid, "SIGTERM");
      };
      await Promise.all(eight.map(async (name) => read(await post(first, name), stopAt).catch(() => {})));
      await first.ended;
      const second = await gateway({ home });
      const again = await Promise.all(eight.map(async (name) => read(await post(second, name))));
      expect(again.map(({ text, isWhole }) => [isWhole, text.length >= size])).toEqual(eight.map(() => [true, true]));
      await second.stop();
    }
    const counts = names.map((name) => prompted(ide).filter((text) => text.includes(`write for ${name}`)).length);
    expect(counts).toEqual(names.map(() => 1));
  },
  600_000,
);

test.runIf(process.platform !== "win32")(
  "`stop --agents` in the middle of answers names the turns that it cuts, and none of them passes as whole",
  async () => {
    const home = temporaryHome();
    const ide = await simulator({ home, profile: "devin-3", turn: { ...answer, holdAfter: 600 } });
    const first = await gateway({ home });
    const open = await post(first, "cut");
    const begun = Promise.withResolvers<void>();
    const cut = read(open, () => begun.resolve());
    await begun.promise;
    const { stdout } = await millrace(["stop", "--agents"], { home });
    expect(stdout).toMatch(/Ended: devin \(process \d+, 1 prompt runs\)/);
    expect(stdout).toContain(`Their answers are cut: ${open.headers.get("x-millrace-turn")}.`);
    expect((await cut).isWhole).toBe(false);
    await ide.setTurn(answer);
    const again = await (await post(await gateway({ home }), "cut")).text();
    expect(again).toContain('"error"');
    expect(again).not.toContain('"finish_reason":"stop"');
    expect(prompted(ide).filter((text) => text.includes("write for cut"))).toHaveLength(1);
  },
  120_000,
);

test.runIf(mayMount)(
  "a disk that fills up in the middle of answers ends none of them",
  async () => {
    const home = temporaryHome();
    const disk = smallDisk(40);
    const ide = await simulator({ home, profile: "devin-3", turn: { ...answer, holdAfter: 600 } });
    const served = await gateway({ home, env: { MILLRACE_HOME: join(disk.folder, "millrace") } });
    const begun = Array.from({ length: 20 }, () => Promise.withResolvers<void>());
    const reads = begun.map(async ({ resolve }, at) => read(await post(served, `disk-${at}.`), () => resolve()));
    await Promise.all(begun.map(({ promise }) => promise));
    disk.fill();
    await ide.release();
    const whole = (await Promise.all(reads)).filter(({ text, isWhole }) => isWhole && text.length >= size);
    expect(whole).toHaveLength(20);
    disk.free();
  },
  120_000,
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
