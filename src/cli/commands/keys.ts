import { MillraceError } from "../../base/errors.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { RedisAddress } from "../compose/redis-address.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { readHealth } from "../gateway-process/read-health.ts";
import { createKey, revokeKey, rotateKey } from "../keys/change-keys.ts";
import { type KeyRecord, keyState } from "../keys/key-record.ts";
import type { KeyStore } from "../keys/key-store.ts";
import { openKeyStore } from "../keys/open-key-store.ts";
import { parseApis, parseBudget, parseExpiry } from "../keys/parse-limits.ts";
import { sharedMost, spellTurnLimit } from "../keys/turn-limit.ts";
import { explainedBy, flag, integer, text, texts } from "../options.ts";
import { outlines } from "../outlines.ts";
import { storeOptions } from "../store-options.ts";
import { type Column, printTable } from "../terminal/table.ts";

const json = flag("print JSON");
/** Where the gateway keeps its keys: with a shared store, in it. */
const where = explainedBy("serve", storeOptions);
const nameArgument = { name: "name", summary: "name of the key", required: true, variadic: false } as const;

const createCommand = defineCommand({
  name: "create",
  summary: "Make a key for another person or program, and print it once",
  description:
    "Millrace keeps only a hash of the key, so it cannot show the key again. A running gateway accepts the key at once. A client with this key can start turns within the key's limits, and sees only its own turns.",
  group: "Set up",
  arguments: [nameArgument],
  options: {
    model: texts("a model that it may use; any model without this option", "<model>"),
    api: texts("an API that it may use (openai-chat, anthropic-messages, ...); any API without this option", "<api>"),
    budget: text('how much it may use: "50 turns/day", "2000000 tokens/month", "12.5 credits/day"', "<budget>"),
    maxTurns: integer("how many of its turns may run at the same time; the others wait", "<number>", {
      min: 1,
      max: 10_000,
      initial: undefined,
    }),
    expires: text("when it ends: 30d, or the last day such as 2027-01-31", "<time>", { defaultText: "never" }),
    ...where,
    json,
  },
  examples: [
    ["millrace keys create ci --budget '200 turns/day' --expires 90d", "for a build server"],
    ["millrace keys create ada --model claude-sonnet-4.6 --api anthropic-messages", "for one model and one API"],
  ],
  async run({ options, args }, context) {
    const { io, out } = context;
    const nowMs = io.clock.now();
    const name = nameOf(args);
    const limits = {
      models: [...options.model],
      apis: parseApis(options.api),
      ...(options.budget === undefined ? {} : { budget: parseBudget(options.budget) }),
      ...(options.maxTurns === undefined ? {} : { maxTurns: options.maxTurns }),
      ...(options.expires === undefined ? {} : { expiresAtMs: parseExpiry(options.expires, nowMs) }),
    };
    const { key, isFirst } = await withKeys(options, context, async (keys) => {
      const others = (await keys.read()).filter((each) => keyState(each, nowMs) === "works");
      return { key: await createKey(keys, name, limits, nowMs), isFirst: others.length === 0 };
    });
    if (options.json) return out.json({ name, key: key.reveal() });
    out.line(key.reveal());
    out.note("Save it now: Millrace stores only its hash.");
    if (isFirst)
      out.note(
        `While a key for others works, at most ${sharedMost} turns run at once in one IDE and the others wait, unless you set \`serve.max_turns\`.`,
      );
  },
});

const listCommand = defineCommand({
  name: "list",
  summary: "List the keys and their limits",
  group: "Look",
  options: {
    all: flag("show revoked keys too"),
    wide: flag("show every column, however narrow the terminal is"),
    ...where,
    json,
  },
  examples: [["millrace keys list", "those that work, and those that have expired"]],
  async run({ options }, context) {
    const { io, out } = context;
    const nowMs = io.clock.now();
    const every = await withKeys(options, context, (keys) => keys.read());
    const keys = every.filter(({ revokedAtMs }) => options.all || revokedAtMs === undefined);
    if (options.json) return out.json({ data: keys.map((key) => shown(key, nowMs)) });
    if (keys.length === 0) {
      out.line("There are no keys for others.");
      out.note("`millrace keys create <name>` makes one.");
      return;
    }
    const columns: readonly Column[] = [
      { title: "NAME", whole: true },
      { title: "STATE" },
      { title: "BUDGET", drop: 1 },
      { title: "AT ONCE", drop: 3, align: "right" },
      { title: "MODELS", drop: 2 },
      { title: "APIS", drop: 3 },
      { title: "EXPIRES", drop: 4 },
    ];
    const rows = keys.map((key) => [
      key.name,
      keyState(key, nowMs),
      spellBudget(key) ?? "",
      key.maxTurns === undefined ? "" : String(key.maxTurns),
      key.models.join(", "),
      key.apis.join(", "),
      key.expiresAtMs === undefined ? "" : new Date(key.expiresAtMs).toISOString().slice(0, 16).replace("T", " "),
    ]);
    printTable(columns, rows, out, options.wide);
    const gateway = await findGateway(context.settings, context.signal);
    const limit = gateway && (await readHealth(gateway, context.signal)).turn_limit;
    if (limit !== undefined) out.note(`Turns of all keys in the running gateway: ${spellTurnLimit(limit)}.`);
  },
});

const revokeCommand = defineCommand({
  name: "revoke",
  summary: "End a key: it stops working at once",
  group: "Set up",
  arguments: [nameArgument],
  description:
    "A gateway that runs refuses the key from its next request on. With --store redis that holds for every gateway of the store, within a second.",
  options: { ...where, json },
  examples: [["millrace keys revoke ci", "the history keeps its name"]],
  async run({ options, args }, context) {
    const { io, out } = context;
    const name = nameOf(args);
    await withKeys(options, context, (keys) => revokeKey(keys, name, io.clock.now()));
    if (options.json) out.json({ name, revoked: true });
    else out.line(`The key ${name} no longer works. Running answers continue.`);
  },
});

const rotateCommand = defineCommand({
  name: "rotate",
  summary: "Give a key a new value, and print it once",
  description: "The old value stops working at once. The key keeps its turns, its limits and its used budget.",
  group: "Set up",
  arguments: [nameArgument],
  options: { ...where, json },
  examples: [["millrace keys rotate ci", "after others have seen its value"]],
  async run({ options, args }, context) {
    const { out } = context;
    const name = nameOf(args);
    const key = await withKeys(options, context, (keys) => rotateKey(keys, name));
    if (options.json) return out.json({ name, key: key.reveal() });
    out.line(key.reveal());
    out.note("Save it now: Millrace stores only its hash. The old value no longer works.");
  },
});

/** `millrace keys`: keys for others, beside the owner's. It works where they are kept, with or without a gateway. */
export const keysCommand = defineCommand({
  ...outlines.keys,
  options: { ...where },
  subcommands: [createCommand, listCommand, revokeCommand, rotateCommand],
  examples: [["millrace keys create ci --budget '200 turns/day'", "a key for a build server"]],
  run: (input, context: CommandContext) =>
    listCommand.run({ ...input, options: { ...input.options, all: false, wide: false, json: false } }, context),
});

/** Runs the work on the keys in the place that these options name, and returns its result. */
async function withKeys<T>(
  { store, redisUrl }: { readonly store: string; readonly redisUrl: RedisAddress },
  { out, settings }: CommandContext,
  work: (keys: KeyStore) => Promise<T>,
): Promise<T> {
  const redis = store === "redis" ? redisUrl : undefined;
  const keys = await openKeyStore({ ...settings, redis, onProblem: ({ message }) => out.note(message) });
  try {
    return await work(keys);
  } finally {
    await keys.close();
  }
}

function nameOf([name]: readonly string[]): string {
  if (name === undefined) throw new MillraceError("invalid_request", "The name of the key is missing.");
  return name;
}

function spellBudget({ budget }: KeyRecord): string | undefined {
  return budget && `${budget.most} ${budget.unit}/${budget.period}`;
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
    budget: spellBudget(key) ?? null,
    models: key.models,
    apis: key.apis,
    max_turns: key.maxTurns ?? null,
  };
}
