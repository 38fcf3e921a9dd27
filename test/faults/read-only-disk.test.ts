import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { GatewayProcess } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, smallDisk } from "../support/small-disk.ts";
import { ask, degradedGauge, gateway, openai, patienceMs, simulator } from "../support/world.ts";

const faults = {
  full: {
    begin: (disk: ReturnType<typeof smallDisk>) => disk.fill(),
    end: (disk: ReturnType<typeof smallDisk>) => disk.free(),
  },
  "read-only": {
    begin: (disk: ReturnType<typeof smallDisk>) => disk.readOnly(true),
    end: (disk: ReturnType<typeof smallDisk>) => disk.readOnly(false),
  },
};

async function asked(target: GatewayProcess, question: string, key?: string) {
  const headers = key === undefined ? {} : { "idempotency-key": key };
  const { data, response } = await openai(target).chat.completions.create(ask(question), { headers }).withResponse();
  const header = (name: string) => response.headers.get(`x-millrace-${name}`);
  return { text: data.choices[0]?.message.content, joined: header("joined"), degraded: header("degraded") };
}

/** Mounting needs a right that not every user has: a reason to skip. */
for (const [fault, { begin, end }] of Object.entries(faults)) {
  for (const how of ["stopped", "killed"] as const) {
    test.skipIf(!mayMount)(
      `a gateway that was ${how} and starts on a ${fault} disk answers for what it holds, asks nothing twice, and stores what came since once it can`,
      async () => {
        const home = temporaryHome();
        const disk = smallDisk(16);
        const ide = await simulator({ home, turn: { rate: 800, size: 400 } });
        const env = { MILLRACE_HOME: join(disk.folder, "data") };
        const args = ["--continuity", "off"];
        const first = await gateway({ home, env, args });
        const before = await asked(first, "held", "held");
        await (how === "killed" ? first.kill() : first.stop());

        begin(disk);
        const second = await gateway({ home, env, args });
        expect(await degradedGauge(second)).toBe(1);
        expect(await asked(second, "held", "held")).toMatchObject({ text: before.text, joined: "key" });
        const prompts = async () => (await ide.report()).messages.length;
        expect(await prompts()).toBe(1);
        const fresh = await asked(second, "new", "new");
        expect(fresh).toMatchObject({ joined: "no", degraded: "true" });
        expect(await asked(second, "new", "new")).toMatchObject({ text: fresh.text, joined: "key" });
        expect((await asked(second, "without a key")).degraded).toBe("true");
        expect(await prompts()).toBe(3);

        end(disk);
        await expect.poll(() => degradedGauge(second), { timeout: patienceMs }).toBe(0);
        await second.kill();
        const third = await gateway({ home, env, args });
        expect(await asked(third, "held", "held")).toMatchObject({
          text: before.text,
          joined: "key",
          degraded: "false",
        });
        expect(await asked(third, "new", "new")).toMatchObject({ text: fresh.text, joined: "key", degraded: "false" });
        expect(await prompts()).toBe(3);
      },
    );
  }
}

test.skipIf(!mayMount)(
  "a key whose answer expired is refused by a log that can only be read, and sends no second prompt",
  async () => {
    const home = temporaryHome();
    const disk = smallDisk(16);
    const ide = await simulator({ home, turn: { rate: "instant", size: 40 } });
    const folder = join(disk.folder, "data");
    const start = () => gateway({ home, env: { MILLRACE_HOME: folder }, args: ["--continuity", "off"] });
    const first = await start();
    await asked(first, "held", "held");
    await first.stop();
    const database = new DatabaseSync(join(folder, "turns.db")); // as if two hours had gone by
    database.exec("UPDATE turns SET expires_at_ms = 1");
    database.close();

    disk.readOnly(true);
    const second = await start();
    await expect(asked(second, "held", "held")).rejects.toMatchObject({ status: 410, code: "expired" });
    expect((await ide.report()).messages).toHaveLength(1);
  },
);
