import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serveSettings } from "../src/cli/commands/config.ts";
import { serveCommand } from "../src/cli/commands/serve.ts";
import { loadAll } from "../src/cli/main.ts";
import { kebab } from "../src/cli/options.ts";
import { defaultPort, gatewayOptions } from "../src/cli/serve/gateway-options.ts";
import { readSettings } from "../src/cli/settings.ts";
import { exitCodes } from "../src/cli/terminal/exit-codes.ts";
import { lowWindows } from "../src/opencode/quota.ts";
import { spendDimensions } from "../src/usage/history/history.ts";
import { statusLineFormats } from "../src/usage/status-line.ts";
import { lowFrom } from "../src/usage/window-words.ts";

/**
 * Facts that stand in more than one place because the places cannot import each other: an old Node, a plugin's bundle, a published
 * client, prose. Each is compared with its home.
 */
const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const sources = globSync("src/**/*.ts", { cwd: root })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => !/\.(?:test|fake|conformance)\.ts$|^src\/proto\//.test(file));
const pages = ["README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md", { cwd: root })];

test("the oldest Node is that of package.json, wherever it is named", () => {
  const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
  const oldest = engines.node.replace(">=", "");
  const said = [...sources, ...pages, "scripts/run.mjs"].flatMap((file) =>
    [...read(file).matchAll(/Node (\d+\.\d+) or newer|older than (\d+\.\d+)[:,]/g)].map(([, a, b]) => [file, a ?? b]),
  );
  expect(said.length).toBeGreaterThan(5);
  const program = "docs/stream-protocol.md"; // a `.mts` file needs a newer Node than Millrace
  expect(said.filter(([file, version]) => version !== oldest && file !== program)).toEqual([]);
  const [major, minor] = oldest.split(".");
  expect(read("src/cli/bin.ts")).toContain(`major < ${major} || (major === ${major} && minor < ${minor})`);
});

test("the port is that of `serve`, wherever an address of the gateway is written", () => {
  const said = [...sources, ...pages, "scripts/docs/client-table.ts"].flatMap((file) =>
    [...read(file).matchAll(/http:\/\/127\.0\.0\.1:(421\d\d)\b/g)].map(([, port]) => [file, port]),
  );
  expect(said.length).toBeGreaterThan(5);
  expect(said.filter(([, port]) => port !== String(defaultPort))).toEqual([]);
});

test("the exit codes of the entry, which loads nothing first, are those of the commands", () => {
  const used = [...read("src/cli/bin.ts").matchAll(/process\.exit\((\d+)\)/g)].map(([, code]) => Number(code));
  expect(used).toEqual([
    exitCodes.unavailable,
    exitCodes.unavailable,
    exitCodes.unavailable,
    exitCodes.ok,
    exitCodes.cannotCreate,
    exitCodes.interrupted,
  ]);
});

test("the OpenCode plugin looks for the files where the commands put them, and warns where they do", () => {
  const { folder, keyFile, gatewayFile } = readSettings({ env: {}, homeFolder: "/home/me" });
  const [plugin, gateway] = [read("src/opencode/plugin.ts"), read("src/opencode/gateway.ts")];
  const nameIn = (path: string, parent: string) => path.slice(parent.length + 1);
  expect(plugin).toContain(`"${nameIn(folder, "/home/me")}"`);
  for (const file of [keyFile, gatewayFile]) expect(gateway).toContain(`home.folder, "${nameIn(file, folder)}"`);
  const named = [...plugin.matchAll(/env\["(\w+)"\]/g)].map(([, name]) => name ?? "");
  const moved = readSettings({ env: Object.fromEntries(named.map((name) => [name, "/else"])), homeFolder: "/home/me" });
  expect([moved.folder, moved.keyFile]).toEqual(["/else", "/else"]);
  const at = (utilization: number) =>
    lowWindows({ data: [{ ...plan, windows: [{ ...window, utilization }] }], errors: [] }).length;
  expect([at(lowFrom - 0.01), at(lowFrom)]).toEqual([0, 1]);
});
const plan = { ide: "devin", plan_name: null, fetched_at: "", stale: false };
const window = {
  id: "w",
  label: "W",
  unit: "percent",
  state: "metered",
  used: 0,
  limit: 100,
  remaining: 100,
  resets_at: null,
};

test("the reliable client and `chat` name the gateway's own retention, and both sides the same tool of the protocol", () => {
  const { retention } = gatewayOptions;
  expect(read("src/client/stream/open-stream.ts").replaceAll("_", "")).toContain(`keptMs = ${retention.initial};`);
  expect(read("src/cli/chat/pick-turn.ts")).toContain(`?? "${retention.defaultText}"`);
  const tools = ["src/client/stream/messages.ts", "src/gateway/dialects/idempotent/encode.ts"].map(
    (file) => /const ownTool = (\d+);/.exec(read(file))?.[1],
  );
  expect(tools).toEqual([expect.any(String), tools[0]]);
});

test("docs/dev/turn-machine.md and the sources name each other", () => {
  const rows = [...read("docs/dev/turn-machine.md").matchAll(/^- (`[\w/.-]+`(?:, `[\w/.-]+`)*): /gm)].flatMap(
    ([, cell = ""]) => [...cell.matchAll(/`([\w/.-]+\/[\w.-]+)`/g)].map(([, file]) => `src/${file}`),
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  const citing = sources.filter((file) => /rows? (?:of|in) `?docs\/dev\/turn-machine\.md/i.test(read(file)));
  expect(citing.filter((file) => !rows.includes(file) && file !== "src/base/retry.ts")).toEqual([]);
});

test("every file of the sources that a page names is there, and has the name behind it", () => {
  const named = [...pages, "AGENTS.md", "SECURITY.md"].flatMap((page) =>
    [...read(page).matchAll(/`([\w./-]+\/[\w.-]+\.(?:tsx?|mjs|txt))`(?: `(\w+)`)?/g)].map(
      ([, file = "", name = ""]) => {
        const path = [file, `src/${file}`].find((each) => existsSync(join(root, each)));
        return { said: `${page}: ${file} ${name}`, isThere: path !== undefined && read(path).includes(name) };
      },
    ),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ isThere }) => !isThere).map(({ said }) => said)).toEqual([]);
});

test("docs/usage.md names the limits, the formats and the sums that the program has", () => {
  const page = read("docs/usage.md");
  const meters = sources
    .filter((file) => file.startsWith("src/usage/"))
    .map(read)
    .join("\n");
  const windows = /^The windows of a plan: ([\s\S]*?)\n\n/m.exec(page)?.[1] ?? "";
  const ids = [...windows.matchAll(/`([a-z0-9-]+)`/g)].map(([, id = ""]) => id);
  expect(ids.length).toBeGreaterThan(8);
  expect(
    ids.filter((id) => !meters.includes(`"${id}"`) && !meters.includes(`"${id.replace(/^(?:gemini|3p)-/, "")}`)),
  ).toEqual([]);
  const formats = [...page.matchAll(/--format ([\w-]+)/g)].map(([, format]) => format);
  expect(new Set(formats)).toEqual(new Set(statusLineFormats.filter((format) => format !== "plain")));
  const [, by = "", more = ""] = /--by (\w+)` \(([^)]*)\)/.exec(page) ?? [];
  expect(
    new Set([by, ...more.matchAll(/`(\w+)`/g)].map((each) => (typeof each === "string" ? each : each[1]))),
  ).toEqual(new Set(spendDimensions));
});

test("every command, option, setting and variable that a page or a sentence of the program names exists", async () => {
  const commands = await loadAll();
  const all = commands.flatMap((command) => [command, ...(command.subcommands ?? [])]);
  const options = new Set([
    "--help",
    "--version",
    "--debug",
    "--all",
    ...all.flatMap((each) => Object.keys(each.options).map((name) => `--${kebab(name)}`)),
  ]);
  const names = new Set([...commands.map(({ name }) => name), "help"]);
  const settings = new Set(serveSettings(serveCommand).map(({ key }) => key.replace("serve.", "")));
  const wrong: string[] = [];
  for (const file of [...pages, ...sources]) {
    for (const [line, name = "", rest = ""] of read(file).matchAll(/`(?:\$ )?millrace ([a-z][\w-]*)([^`\n]*)`/g)) {
      const isRun = name === "run" || name === "setup"; // what follows may be the client's own
      const given = [...rest.matchAll(/(?<= )--[a-z][\w-]*/g)].map(([word]) => word.replace(/^--no-(?!record)/, "--"));
      if (rest.startsWith(" ${")) continue; // no command: the text that a digest is made of
      if (!names.has(name) || (!isRun && given.some((word) => !options.has(word)))) wrong.push(`${file}: ${line}`);
      const [, key] = /^ (?:set|get) (?:serve\.)?([a-z_]+)/.exec(rest) ?? [];
      if (name === "config" && key !== undefined && !settings.has(key)) wrong.push(`${file}: ${line}`);
    }
  }
  expect(wrong).toEqual([]);
});

/** Times and limits that a page tells: its words, and the constant that has the number, which they cannot import. */
const told: readonly (readonly [page: string, words: RegExp, file: string, constant: RegExp])[] = [
  ["agents", /stops after (five) idle (minute)s/, "backends/acp/agent.ts", /warmMs = ([^,]+)/],
  ["agents", /No request comes for (10) (minute)s/, "cli/serve/gateway-options.ts", /continuityIdleMs = ([^;]+)/],
  ["agents", /in its first (20) (minute)s/, "backends/backend.ts", /longestCallMs = ([^;]+)/],
  ["agents", /ends (ten) (minute)s after its last answer/, "backends/acp/host/hosts.ts", /aloneMs = ([\d_]+)/],
  ["agents", /at most after (an) (hour)/, "backends/acp/host/host.ts", /longestAloneMs = ([^;]+)/],
  ["agents", /does not ask for its tools within (3) (s)/, "backends/acp/session/session-tools.ts", /listMs = ([^;]+)/],
  ["agents", /wrote nothing for (10) (s)/, "backends/acp/process/agent-starter.ts", /silentMs = ([^;]+)/],
  ["agents", /after (a) (minute) in any case/, "backends/acp/process/agent-starter.ts", /longestMs = ([^;]+)/],
  ["agents", /it fails after (5) (minute)s/, "backends/acp/agent.ts", /silenceMs = ([^,]+)/],
  ["agents", /after (30) (s) in the middle of a line/, "backends/acp/turn/drain.ts", /halfLineMs = ([^;]+)/],
  ["help", /goes on for (two) (minute)s/, "cli/serve/gateway-options.ts", /client disconnects", ([\d_]+)/],
  ["help", /encrypted, for (two) (hour)s/, "log/store.ts", /keptMs: (2 \* hourMs)/],
  ["http-api", /After (10) (s) of silence/, "gateway/http/timing.ts", /heartbeatMs: ([\d_]+)/],
  ["http-api", /for up to (5) (s); then the stream opens/, "gateway/http/timing.ts", /commitMs: ([\d_]+)/],
  [
    "reference",
    /ends after (ten) (minute)s without a connection/,
    "cli/gateway-process/idle-end.ts",
    /idleMs: ([^}]+) }/,
  ],
  ["reference", /`stop` waits up to (30) (s)/, "cli/gateway-process/home.ts", /stopMs = ([^;]+)/],
  ["reference", /home is gone for (two) (minute)s/, "log/redis/redis-rows.ts", /homeMs = ([^;]+)/],
  ["reliability", /is leaving gets (250) (ms)/, "turns/readers.ts", /leavingMs = ([^;]+)/],
  ["reliability", /answers `expired` for (a) (day)/, "log/store.ts", /tombstoneMs: (24 \* hourMs)/],
  ["stream-protocol", /no request within (8) (s)/, "gateway/streams/session.ts", /firstMessageMs = ([^;]+)/],
  ["stream-protocol", /After (45) (s) without one/, "client/link/backoff.ts", /stallMs: ([\d_]+)/],
  ["stream-protocol", /an append waits (5) (minute)s/, "gateway/streams/carriers/appends.ts", /keepMs: ([\d_]+)/],
  ["stream-protocol", /or waits up to (15) (s)/, "gateway/streams/carriers/poll.ts", /waitMs = ([^;]+)/],
  ["stream-protocol", /without a poll for (30) (s)/, "gateway/streams/carriers/poll.ts", /idleMs = ([^;]+)/],
  ["usage", /every (five) (minute)s at most/, "usage/meter.ts", /refreshMs: ([\d_]+)/],
  ["usage", /within the (last) (hour)/, "usage/meter.ts", /askedMs: ([\d_]+)/],
  ["usage", /at most every (ten) (second)s/, "usage/meter.ts", /shortestGapMs: ([\d_]+)/],
  ["dev/turn-machine", /a reader elsewhere: every (20) (s)/, "log/homes.ts", /lookEveryMs = ([^;]+)/],
  ["dev/turn-machine", /turn waits (a) (minute) for an IDE/, "turns/adopt.ts", /waitForIdeMs = ([^;]+)/],
  ["dev/turn-machine", /counts for (30) (s)/, "turns/readers.ts", /firstReadMs = ([^;]+)/],
  ["dev/turn-machine", /for its IDE: (45) (s)/, "backends/cascade/poll-schedule.ts", /outageMs: ([\d_]+)/],
  ["dev/turn-machine", /is away: (5) (s)/, "cli/compose/starting-ide.ts", /startsWithinMs = ([^;]+)/],
  ["dev/turn-machine", /an old service: (40) (s)/, "cli/service/service-plan.ts", /askEveryMs\] = \[([\d_]+)/],
  ["dev/turn-machine", /a request waits (5) (s)/, "backends/acp/process/process-pool.ts", /patienceMs = ([^;]+)/],
  ["dev/turn-machine", /does not call gone: (1) (min)/, "backends/acp/turn/held-session.ts", /reachMs = ([^;]+)/],
  ["dev/turn-machine", /of a locked session: (a) (minute)/, "backends/acp/agent.ts", /lockedMs = ([^,]+)/],
  [
    "agents",
    /more than (16) prompts of an agent wait/,
    "backends/acp/session/kept-sessions.ts",
    /mostParked = ([^;]+)/,
  ],
  ["agents", /keeps (64) (MB) of lines/, "backends/acp/host/host.ts", /mostBytes = ([^;]+)/],
  ["agents", /lines, (16) (MB) where/, "backends/acp/host/host.ts", /mostMemoryBytes = ([^;]+)/],
  ["agents", /a line of 16 million characters or (1,000) levels/, "backends/acp/wire/lines.ts", /deepest = ([^;]+)/],
  ["help", /without texts, for (400) days/, "usage/history/retention.ts", /keptDays = ([^;]+)/],
  ["usage", /(400) days\. If the file/, "usage/history/retention.ts", /keptDays = ([^;]+)/],
  ["dev/turn-machine", /the newest (1,000) bodies/, "turns/back-off.ts", /mostBodies = ([^;]+)/],
  [
    "dev/turn-machine",
    /an orphaned conversation: (5) refusals/,
    "turns/continuity/orphaned-trajectories.ts",
    /mostRefusals = ([^;]+)/,
  ],
  ["dev/turn-machine", /at its cursor: (60) in a row/, "client/link/backoff.ts", /budget: ([\d_]+)/],
  ["dev/turn-machine", /so do (15) (minute)s without a failure/, "turns/back-off.ts", /seriesMs = ([^;]+)/],
];

test.each(told)("docs/%s.md tells the number of the code: %s", (page, words, file, constant) => {
  const [, count = "", unit = "one"] = words.exec(read(`docs/${page}.md`)) ?? [];
  const number = { a: 1, an: 1, last: 1, two: 2, three: 3, five: 5, ten: 10 }[count] ?? Number(count.replace(",", ""));
  const each = {
    ms: 1,
    s: 1_000,
    second: 1_000,
    min: 60_000,
    minute: 60_000,
    hour: 3_600_000,
    day: 86_400_000,
    one: 1,
    MB: 1_048_576,
  }[unit];
  const [, product = ""] = constant.exec(read(`src/${file}`)) ?? [];
  const named = { hourMs: 3_600_000, second: 1_000 };
  const factors = product
    .split("*")
    .map((text) => named[text.trim() as keyof typeof named] ?? Number(text.replaceAll("_", "")));
  expect(factors.reduce((all, factor) => all * factor, 1)).toBe(number * (each ?? Number.NaN));
});
