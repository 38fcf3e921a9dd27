import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { serveCommand } from "../commands/serve.ts";
import { openReload } from "./reload.ts";

/** A gateway that was started with `text` in its file, `argv` and `env`; `to` changes the file and reloads. */
function running(text: string, argv: readonly string[] = [], env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-reload-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "config.toml");
  writeFileSync(file, text);
  const applied: unknown[] = [];
  let isUsable = true;
  const initial = Object.fromEntries(Object.entries(serveCommand.options).map(([name, spec]) => [name, spec.initial]));
  const options = { ...initial, port: 42_200, maxTurns: 2, ...(argv.length > 0 ? { logLevel: "error" } : {}) };
  const reload = openReload({ command: serveCommand, argv: ["serve", ...argv], io: { env }, file, options }, [
    { of: ["logLevel"], apply: ({ logLevel }) => applied.push(logLevel) },
    {
      of: ["maxTurns"],
      apply({ maxTurns }) {
        if (!isUsable) throw new MillraceError("invalid_request", "No.", { hint: "Why." });
        applied.push(maxTurns);
      },
    },
  ]);
  const to = async (changed: string) => {
    writeFileSync(file, changed);
    return (await reload()).join("\n").replaceAll(file, "FILE");
  };
  return { to, applied, fail: (fails: boolean) => (isUsable = !fails) };
}

const before = "[serve]\nport = 42200\nmax_turns = 2\n";

test("what can change in a running gateway changes at once, and the rest is named", async () => {
  const { to, applied } = running(before);
  expect(await to(before)).toBe("FILE sets nothing that the gateway does not have already.");
  expect(
    await to(
      '[serve]\nport = 42300\nmax_turns = 5\nlog_level = "debug"\nsocket = "a.sock"\n[[agents]]\nname = "a"\ncommand = "a"\n',
    ),
  ).toBe(
    "FILE was read again. In effect now: log_level, max_turns.\nRestart the gateway to change: port, socket, [agents]. Its turns go on after the restart.",
  );
  expect(applied).toEqual(["debug", 5]);
});

test("a line that is taken out gives the default back", async () => {
  const { to, applied } = running(before);
  expect(await to("[serve]\nport = 42200\n")).toBe("FILE was read again. In effect now: max_turns.");
  expect(applied).toEqual([undefined]);
});

test("the command line and the environment win over the file, and that is said", async () => {
  const { to, applied } = running(before, ["--log-level", "error"], { MILLRACE_MAX_TURNS: "2" });
  expect(await to('[serve]\nport = 42200\nmax_turns = 9\nlog_level = "debug"\n')).toBe(
    "The command line or the environment sets max_turns, log_level, and wins over FILE.",
  );
  expect(applied).toEqual([]);
});

test("a file that is wrong changes nothing", async () => {
  const { to, applied } = running(before);
  expect(await to("[serve]\nprot = 1\n")).toBe(
    'FILE: [serve] has no setting "prot". Did you mean "port"? The gateway keeps its settings from before.',
  );
  expect(applied).toEqual([]);
});

test("a value that cannot be used is repeated at the next reload, until it can", async () => {
  const { to, applied, fail } = running(before);
  fail(true);
  const changed = "[serve]\nport = 42200\nmax_turns = 3\n";
  expect(await to(changed)).toBe("No. Why. The gateway keeps its settings from before.");
  fail(false);
  expect(await to(changed)).toBe("FILE was read again. In effect now: max_turns.");
  expect(applied).toEqual([3]);
});
