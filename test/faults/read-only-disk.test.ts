import { join } from "node:path";
import { expect, test } from "vitest";
import { type GatewayProcess, millrace } from "../support/gateway-process.ts";
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
  const asking = openai(target).chat.completions.create(ask(question), { headers, maxRetries: 0 });
  const { data, response } = await asking.withResponse();
  const header = (name: string) => response.headers.get(`x-millrace-${name}`);
  return { text: data.choices[0]?.message.content, joined: header("joined"), degraded: header("degraded") };
}

/** Mounting needs a right that not every user has: a reason to skip. */
for (const [fault, { begin, end }] of Object.entries(faults)) {
  test.skipIf(!mayMount)(
    `a gateway that was killed and starts on a ${fault} disk refuses what has a key, answers the rest from memory, and asks nothing twice`,
    async () => {
      const home = temporaryHome();
      const disk = smallDisk(16);
      const ide = await simulator({ home, turn: { rate: 800, size: 400 } });
      const env = { MILLRACE_HOME: join(disk.folder, "data") };
      const args = ["--continuity", "off"];
      const first = await gateway({ home, env, args });
      const before = await asked(first, "held", "held");
      await first.kill();

      begin(disk);
      const second = await gateway({ home, env, args });
      expect(await degradedGauge(second)).toBe(1);
      await expect(asked(second, "new", "new")).rejects.toMatchObject({ status: 503, code: "unavailable" });
      expect((await asked(second, "without a key")).degraded).toBe("true");
      const prompts = async () => (await ide.report()).messages.length;
      expect(await prompts()).toBe(2);

      end(disk);
      await expect.poll(() => degradedGauge(second), { timeout: patienceMs }).toBe(0);
      expect(await asked(second, "held", "held")).toMatchObject({ text: before.text, joined: "key" });
      expect(await asked(second, "new", "new")).toMatchObject({ joined: "no", degraded: "false" });
      expect(await prompts()).toBe(3);
    },
  );
}

test.skipIf(!mayMount)(
  "doctor says that a read-only home cannot be written, and promises nothing of a first start",
  async () => {
    const disk = smallDisk(16);
    disk.readOnly(true);
    const { stdout } = await millrace(["doctor"], { home: disk.folder });
    expect(stdout).toMatch(/✗ \S+ cannot be written: the disk is read-only/);
    expect(stdout).not.toContain("There is no store yet");
  },
);
