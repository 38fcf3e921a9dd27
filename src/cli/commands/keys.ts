import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { claudeElsewhere } from "../clients/claude-code.ts";
import { findClient } from "../clients/clients.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { readOrMakeKey, replaceKey } from "../gateway-process/key-file.ts";
import { readClientKey } from "../keys/client-key.ts";
import { doorPort, doorUrl } from "../keys/doors.ts";
import {
  createKey,
  dayOf,
  type KeyRecord,
  keyState,
  readKeys,
  revokeKey,
  sharedMost,
  spellTurnLimit,
  startedOn,
  turnLimit,
} from "../keys/key-record.ts";
import { flag, integer, parseDuration, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { type Column, printTable } from "../terminal/table.ts";

const json = flag("print JSON");
const nameArgument = { name: "name", summary: "name of the key", required: true, variadic: false } as const;

const createCommand = defineCommand({
  name: "create",
  alias: "add",
  summary: "Make a key for another program, and print it once",
  description:
    "Millrace keeps only a hash of the key, so it cannot show the key again. A running gateway accepts the key at once. A client with this key can start turns within the key's limits, and sees only its own turns. For a program that can be given only an address, --door prints one: programs of your user need no key there.",
  arguments: [nameArgument],
  options: {
    model: texts("a model that it may use, or a family (`claude-opus`); any model without this option", "<model>"),
    turnsPerDay: integer("how many turns it may start on one day of UTC", "<number>", {
      min: 1,
      max: 1_000_000,
      initial: undefined,
    }),
    door: integer("open an address of its own for this key, on this port or a free one", "[port]", {
      min: 0,
      max: 65_535,
      initial: undefined,
    }),
    expires: text("when it ends: 30d, or its last day of UTC such as 2027-01-31", "<time>", { defaultText: "never" }),
    json,
  },
  examples: [
    ["millrace keys create ci --turns-per-day 200 --expires 90d", "for a build server"],
    ["millrace keys create notes --model claude-sonnet-4.6", "for one model"],
    ["millrace keys add home --door 11434", "for programs that look for Ollama"],
  ],
  async run({ options, args }, context) {
    const { io, out, settings } = context;
    const nowMs = io.clock.now();
    const name = nameOf(args);
    const limits = {
      models: [...options.model],
      ...(options.turnsPerDay === undefined ? {} : { turnsPerDay: options.turnsPerDay }),
      ...(options.expires === undefined ? {} : { expiresAtMs: parseExpiry(options.expires, nowMs) }),
      ...(options.door === undefined ? {} : { door: await doorPort(options.door, io.platform) }),
    };
    for (const model of limits.models) await checkModel(model, context);
    const isFirst = turnLimit(undefined, readKeys(settings.keysFile), nowMs).why === "alone";
    const key = createKey(settings.keysFile, name, limits, nowMs);
    const { door } = limits;
    if (door !== undefined) {
      const problems = await adjustDoors(context);
      if (!options.json) out.line(doorUrl(door));
      else out.json({ name, door: doorUrl(door) });
      for (const problem of problems) out.note(problem);
    } else if (options.json) out.json({ name, key: key.reveal() });
    else out.line(key.reveal());
    if (options.json) return;
    if (limits.expiresAtMs !== undefined) out.note(`It works until ${spellUtc(limits.expiresAtMs)} UTC.`);
    if (door === undefined) out.note("Save it now: Millrace stores only its hash.");
    else out.note(`Every program of your user can ask there, until \`millrace keys revoke ${name}\`.`);
    if (isFirst)
      out.note(
        `While a key for others works, at most ${sharedMost} turns run at once in one IDE and the others wait, unless you set \`serve.max_turns\`.`,
      );
  },
});

/** Throws `unknown_model` with the nearest names where a gateway runs and knows no such model; a key for it would start nothing. */
async function checkModel(model: string, { settings, signal }: CommandContext): Promise<void> {
  const { findGateway } = await import("../gateway-process/gateway-client.ts");
  const gateway = await findGateway(settings, signal);
  if (gateway === undefined) return;
  const { idOf } = await import("../clients/target.ts");
  await idOf(gateway, model, signal).catch((error: unknown) => {
    if (isMillraceError(error) && error.code === "unknown_model") throw error;
  });
}

/** Makes a running gateway open and close doors as the list of keys says now; answers what stands in the way. */
async function adjustDoors({ settings, signal }: CommandContext): Promise<readonly string[]> {
  const { askGateway, findGateway } = await import("../gateway-process/gateway-client.ts");
  const gateway = await findGateway(settings, signal);
  if (gateway === undefined) return ["Doors open when the gateway runs: `millrace serve --background`."];
  const answer = z.object({ problems: z.array(z.string()) });
  return (await askGateway(gateway, "/dashboard/api/doors", answer, { method: "POST", signal })).problems;
}

async function list(
  own: { readonly file: string; readonly key?: string },
  options: { readonly all: boolean; readonly wide: boolean; readonly json: boolean },
  context: CommandContext,
): Promise<void> {
  const { io, out, settings, signal } = context;
  const nowMs = io.clock.now();
  const every = readKeys(settings.keysFile);
  const keys = every.filter(({ revokedAtMs }) => options.all || revokedAtMs === undefined);
  if (options.json) return out.json({ own, data: keys.map((key) => shown(key, nowMs)) });
  out.line(`Your own key is in ${own.file}`);
  if (keys.length === 0) return out.note("There are no other keys. `millrace keys create <name>` makes one.");
  printKeys(keys, { nowMs, wide: options.wide }, out);
  if (keys.some((key) => key.door !== undefined)) for (const problem of await adjustDoors(context)) out.note(problem);
  const { findGateway, readHealth } = await import("../gateway-process/gateway-client.ts");
  const gateway = await findGateway(settings, signal);
  const limit = gateway && (await readHealth(gateway, signal)).turn_limit;
  if (limit !== undefined) out.note(`Turns of all keys in the running gateway: ${spellTurnLimit(limit)}.`);
}

function printKeys(
  keys: readonly KeyRecord[],
  { nowMs, wide }: { readonly nowMs: number; readonly wide: boolean },
  out: CommandContext["out"],
): void {
  const columns: readonly Column[] = [
    { title: "NAME", narrow: 16 },
    { title: "STATE", whole: true },
    { title: "TODAY (UTC)", whole: true, drop: 2 },
    { title: "MODELS", narrow: 12, drop: 3 },
    { title: "DOOR", whole: true, drop: 4 },
    { title: "EXPIRES (UTC)", whole: true, drop: 1 },
  ];
  const rows = keys.map((key) => [
    key.client === true ? `${key.name} (setup)` : key.name,
    keyState(key, nowMs),
    spellTurns(key, nowMs),
    key.models.join(", "),
    key.door === undefined ? "" : doorUrl(key.door),
    key.expiresAtMs === undefined ? "" : spellUtc(key.expiresAtMs),
  ]);
  printTable(columns, rows, out, wide);
}

const revokeCommand = defineCommand({
  name: "revoke",
  summary: "End a key: it stops working at once",
  arguments: [nameArgument],
  description: "A gateway that runs refuses the key from its next request on.",
  options: { json },
  examples: [["millrace keys revoke ci", "the history keeps its name"]],
  async run({ options, args }, context) {
    const { io, out, settings } = context;
    const name = nameOf(args);
    const door = revokeKey(settings.keysFile, name, io.clock.now())?.door;
    if (door !== undefined) await bestEffort(adjustDoors(context)); // a gateway that does not hear it refuses the door's requests
    if (options.json) out.json({ name, revoked: true });
    else out.line(`The key ${name} no longer works. Running answers continue.`);
  },
});

/** `millrace keys`: the owner's key, and keys for other programs. It works on their files, with or without a gateway. */
export const keysCommand = defineCommand({
  ...outlines.keys,
  description:
    "Lists the keys, and names the file of your own one. `--value` prints your own key. `--new` replaces it: the old one and every session of the dashboard end at once, also in a running gateway. Clients that you set up have keys of their own.",
  options: {
    value: flag("print your own key itself"),
    for: text("with --value: the key of a client that was set up", "<client>", { defaultText: "your own" }),
    at: text("with --for claude-code: only if Claude Code, started in this folder, asks this address", "<url>", {
      defaultText: "always",
    }),
    new: flag("replace your own key by a new one; the old one ends at once"),
    all: flag("show revoked keys too"),
    wide: flag("show every column, however narrow the terminal is"),
    json,
  },
  subcommands: [createCommand, revokeCommand],
  examples: [
    ["millrace keys", "your own key's file, and the keys of other programs"],
    ["export OPENAI_API_KEY=$(millrace keys --value)", "for a tool that reads the key from a variable"],
    ["millrace keys --new", "after others have seen the key"],
    ["millrace keys create ci --turns-per-day 200", "a key for a build server"],
  ],
  async run({ options }, context) {
    const { io, out, settings } = context;
    if (options.at !== undefined) refuseElsewhere(options.at, io);
    if (options.value && options.for !== undefined) return out.line(keyOfClient(options.for, settings));
    const key = options.new ? replaceKey(settings.keyFile) : readOrMakeKey(settings.keyFile);
    if (options.new) out.note("The old key no longer works. Clients that you set up have keys of their own.");
    if (options.value && !options.json) return out.line(key.reveal());
    const own = { file: settings.keyFile, ...(options.value ? { key: key.reveal() } : {}) };
    if (options.new && !options.json) return out.line(settings.keyFile);
    await list(own, options, context);
  },
});

/** Throws `invalid_request` where the client was not set up, or its key was revoked. */
function keyOfClient(typed: string, settings: CommandContext["settings"]): string {
  const { name, title } = findClient(typed);
  const key = readClientKey(settings, name);
  if (key !== undefined) return key.reveal();
  throw new MillraceError("invalid_request", `${title} has no key here.`, {
    hint: `\`millrace setup ${name}\` makes one.`,
  });
}

/** Throws `invalid_request` where Claude Code would send the key to another server than `url`. */
function refuseElsewhere(url: string, io: CommandContext["io"]): void {
  const found = claudeElsewhere(url, { ...io, folder: process.cwd() });
  if (found === undefined) return;
  throw new MillraceError("invalid_request", `Claude Code gets no key here: ${found} leads it to another server.`, {
    hint: "`millrace run claude-code` always asks this gateway, also in this project. Beside a proxy, `NO_PROXY` must name 127.0.0.1.",
  });
}

function nameOf([name]: readonly string[]): string {
  if (name === undefined) throw new MillraceError("invalid_request", "The name of the key is missing.");
  return name;
}

/** `2027-02-01 00:00`. */
function spellUtc(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 16).replace("T", " ");
}

function spellTurns(key: KeyRecord, nowMs: number): string {
  const used = startedOn(dayOf(nowMs).day, key);
  return key.turnsPerDay === undefined ? "" : `${used} of ${key.turnsPerDay} turns`;
}

/** A key as JSON; never its hash. */
function shown(key: KeyRecord, nowMs: number): unknown {
  const instant = (atMs: number | undefined) => (atMs === undefined ? null : new Date(atMs).toISOString());
  return {
    name: key.name,
    state: keyState(key, nowMs),
    created_at: instant(key.createdAtMs),
    expires_at: instant(key.expiresAtMs),
    revoked_at: instant(key.revokedAtMs),
    turns_per_day: key.turnsPerDay ?? null,
    models: key.models,
    client: key.client === true,
    door: key.door === undefined ? null : doorUrl(key.door),
  };
}

/** `30d`, or a day of UTC such as `2027-01-31` (to its end), as epoch ms. The future only. Throws `invalid_request`. */
export function parseExpiry(raw: string, nowMs: number): number {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(raw)) {
    const ms = parseDuration(raw);
    if (ms > 0) return nowMs + ms;
    throw wrong(raw, "an expiry");
  }
  const beginMs = Date.parse(`${raw}T00:00:00Z`);
  const exists = Number.isFinite(beginMs) && new Date(beginMs).toISOString().startsWith(raw);
  const { endsAtMs } = dayOf(exists ? beginMs : 0);
  if (!exists || endsAtMs <= nowMs) throw wrong(raw, "a day of the future");
  return endsAtMs;
}

function wrong(raw: string, what: string): MillraceError {
  return new MillraceError("invalid_request", `${JSON.stringify(raw)} is not ${what}.`, {
    hint: "Give a time such as 30d or 2027-01-31.",
  });
}
