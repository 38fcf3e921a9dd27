import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { mounts, temporaryHome } from "../support/home.ts";
import { ask, openai, patience, simulator } from "../support/world.ts";

/** A process whose machine has another name; it needs a right that not every user has: a reason to skip. */
const named = (name: string) => ["unshare", "--uts", "sh", "-c", `hostname ${name} && exec "$@"`, "sh"];
const [program = "", ...rest] = named("a-new-name");
const mayRename = process.platform === "linux" && spawnSync(program, [...rest, "true"]).status === 0;

/** A process whose machine has another id. */
const identified = (id: string, home: string) => {
  const file = join(home, `machine-${id}`);
  writeFileSync(file, `${id.repeat(32)}\n`);
  return ["unshare", "-m", "sh", "-c", `mount --bind ${file} /etc/machine-id && exec "$@"`, "sh"];
};

const changes = [
  { what: "was renamed", may: mayRename, under: named },
  { what: "got another machine id", may: mounts, under: identified },
].filter(({ may }) => may);

test.runIf(changes.length > 0).each(changes)(
  "a gateway on a computer that $what takes its turns over at once, with one prompt",
  async ({ under }) => {
    const home = temporaryHome();
    const ide = await simulator({ home, turn: { rate: 1_000, size: 200, holdAfter: 60 } });
    const first = await startGatewayProcess({ home, under: under("a", home) });
    const headers = { "idempotency-key": "renamed" };
    const asked = openai(first).chat.completions.create(ask("go on"), { headers });
    const lost = asked.catch(() => undefined);
    await ide.until(({ messages }) => messages.length === 1, patience());
    await first.kill();
    await lost;
    await ide.release();
    const second = await startGatewayProcess({ home, under: under("b", home) });
    try {
      const { choices } = await openai(second).chat.completions.create(ask("go on"), { headers });
      expect(choices[0]?.message.content).toHaveLength(200);
      expect((await ide.report()).messages).toHaveLength(1);
    } finally {
      await second.stop();
    }
  },
);
