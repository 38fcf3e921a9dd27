import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bestEffort } from "../../base/async.ts";
import { MillraceError } from "../../base/errors.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { remove } from "../../base/node/move-file.ts";
import { tellsUserOfClient } from "../../base/node/socket-owner.ts";
import { startable } from "../../base/node/startable.ts";
import { Secret } from "../../base/secret.ts";
import { doorHeader } from "../../gateway/routes/run-key-route.ts";
import type { Client, ClientStart } from "../clients/client.ts";
import { clients, findClient } from "../clients/clients.ts";
import { isInstalled, pickClients } from "../clients/installed.ts";
import { startOf } from "../clients/managed.ts";
import { readTarget } from "../clients/target.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { withGateway } from "../compose/use-gateway.ts";
import { callGateway, findGateway, type GatewayClient } from "../gateway-process/gateway-client.ts";
import { lettersOf, variableOf } from "../keys/client-key.ts";
import { doorUrl } from "../keys/doors.ts";
import { modelOption } from "../options.ts";
import { outlines } from "../outlines.ts";
import { ownGatewayOptions } from "../serve/gateway-options.ts";
import { exitCodes } from "../terminal/exit-codes.ts";
import { printVariable, shellOf } from "../terminal/shell.ts";

const runnable = clients.filter(({ launch }) => launch !== undefined);
const names = runnable.map(({ name }) => name).join(", ");

export const runCommand = defineCommand({
  ...outlines.run,
  description: `Starts the client with variables and arguments that point it at the gateway. The client's configuration is not changed. It uses the running gateway, or starts one in the background that ends ten idle minutes after the client. Clients: ${names}.`,
  options: {
    model: modelOption("model that the client starts with"),
    ...ownGatewayOptions,
  },
  passThrough: true,
  examples: [
    ["millrace run opencode", "OpenCode, on the account's models"],
    ['millrace run -m claude-opus claude-code -p "What is new here?"', "one question to Claude Code"],
  ],
  async run({ options, args }, context) {
    const [name, ...rest] = args;
    const [client] = name === undefined ? await pickOne(context) : [findClient(name, runnable)];
    if (client === undefined) return exitCodes.ok;
    if (client.launch === undefined) {
      throw new MillraceError("invalid_request", `${client.title} cannot be started from here.`, {
        hint: `\`millrace setup ${client.name}\` points it at the gateway. One of: ${names}.`,
      });
    }
    if (client.takesDoor && !tellsUserOfClient(context.io.platform))
      throw new MillraceError("invalid_request", `${client.title} cannot be started from here on this system.`, {
        hint: `It reads its key under a name that a project can guess. \`millrace setup ${client.name}\` points it at the gateway.`,
      });
    const own = rest[0] === "--" ? rest.slice(1) : rest; // as `npm run` and others have it
    refuseElsewhere(client, own);
    return withGateway(options, context, async (gateway) => {
      const { io, settings, signal } = context;
      const target = await readTarget(gateway, gateway.url, options.model, { shell: shellOf(io), signal });
      if (target.why !== undefined) context.out.note(target.why);
      const place = { ...io, ownFolder: settings.folder };
      const over = new AbortController();
      let folder: string | undefined;
      try {
        const { run, ofRun, url } = await keyOfRun(client, gateway, AbortSignal.any([signal, over.signal]), context);
        folder = run.folder;
        const start = startOf(client, { ...target, url }, run, place);
        const env = { ...withoutKeys(io.env, gateway.key.reveal()), ...ofRun, ...start.env };
        return await untilEnded(client, { ...start, env }, own, context);
      } finally {
        over.abort();
        if (folder !== undefined) await bestEffort(remove(folder, { recursive: true }));
      }
    });
  },
});

/** Throws `invalid_request` for an argument with which the client would not ask this gateway. What follows `--` is a prompt. */
function refuseElsewhere({ title, refused }: Client, args: readonly string[]): void {
  const end = args.indexOf("--");
  const found = args.slice(0, end < 0 ? undefined : end).find((arg) => refused?.test(arg));
  if (found === undefined) return;
  const name = /^[\w-]+/.exec(found)?.[0] ?? found;
  throw new MillraceError(
    "invalid_request",
    `${title} was not started: ${name} would lead it to another server than this gateway.`,
    {
      hint: `Leave ${name} out, or start ${title} without Millrace.`,
    },
  );
}

/** What a client sends to a door where it must send a key. */
const noKey = "millrace";

/**
 * A key for this run alone, or a door that stands for it, and the gateway's address for the client. Both end when this process ends, however
 * that may be, because the gateway's answer that holds them does.
 */
async function keyOfRun(
  { name, title, takesDoor }: Client,
  gateway: GatewayClient,
  over: AbortSignal,
  context: CommandContext,
) {
  const { io, settings } = context;
  const key = new Secret(`mrr_${randomBytes(32).toString("base64url")}`);
  const [value, variable] = [key.reveal(), variableOf(key)];
  const folder = join(settings.folder, "run", lettersOf(key).toLowerCase());
  const port = await holdKey(
    gateway,
    { client: name, key: value, door: takesDoor === undefined ? undefined : 0 },
    over,
    context,
  );
  if (takesDoor !== undefined && port === undefined)
    throw new MillraceError("unavailable", `${title} cannot be started: the gateway is of an older build.`, {
      hint: "`millrace restart` starts this one.",
    });
  const run = { value, variable, command: printVariable(variable, io.platform), folder };
  return port === undefined
    ? { run, ofRun: { [variable]: value }, url: gateway.url }
    : { run: { ...run, value: noKey }, ofRun: {}, url: doorUrl(port) };
}

/** How often a run looks for the gateway that takes the place of its own; ms. */
const lookEveryMs = 500;

/** Resolves once the gateway holds the key, with the port of its door, and holds both until the signal aborts, also in a gateway that takes the place of this one. */
async function holdKey(
  gateway: GatewayClient,
  lent: { readonly client: string; readonly key: string; readonly door: number | undefined },
  signal: AbortSignal,
  { io, settings }: CommandContext,
): Promise<number | undefined> {
  const headers = { "content-type": "application/json" };
  let { door } = lent;
  const hold = (at: GatewayClient) => {
    const body = JSON.stringify({ ...lent, door });
    return callGateway(at, "/dashboard/api/run-key", { method: "POST", headers, body, signal });
  };
  const keep = async (first: Response) => {
    for (let held: Response | undefined = first; !signal.aborted; ) {
      await bestEffort(held?.text() ?? io.clock.sleep(lookEveryMs, signal));
      held = await findGateway(settings, signal)
        .then((found) => (found === undefined ? undefined : hold(found)))
        .catch(() => undefined);
    }
  };
  const first = await hold(gateway);
  door = Number(first.headers.get(doorHeader)) || undefined; // a gateway of an older build says none
  void keep(first);
  return door;
}

/** What takes each Millrace key out of the client's environment: a project's file can name the variable of the user's own. */
function withoutKeys(env: CommandContext["io"]["env"], own: string): Readonly<Record<string, undefined>> {
  const isKey = (value = "") => value.includes(own) || /mr[kr]?_[\w-]{43}/.test(value);
  const names = Object.keys(env).filter((name) => name.toUpperCase() === "MILLRACE_API_KEY" || isKey(env[name]));
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

/** The installed client that the user picks, if any. */
function pickOne(context: CommandContext): Promise<readonly Client[]> {
  const machine = { ...context.io, ownFolder: context.settings.folder };
  const found = runnable.filter((each) => isInstalled(each, machine));
  return pickClients(found, { command: "run", title: "Found here", one: true }, context);
}

/** Runs the client on this terminal; answers its exit code. A Ctrl-C is the client's own: it gets it from the terminal. */
async function untilEnded(
  { title, programs: [command = ""], install }: Client,
  { args: before = [], env = {}, files = [] }: ClientStart,
  args: readonly string[],
  { io }: CommandContext,
): Promise<number> {
  for (const { file, text } of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
  }
  const whole = childEnvironment("own", io.env, io.platform, { set: env });
  const {
    command: program,
    args: given,
    ...how
  } = startable(command, [...before, ...args], { env: whole, platform: io.platform });
  try {
    const child = spawn(program, given, { stdio: "inherit", env: whole, ...how }); // throws itself where the file is no program
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? exitCodes.interrupted;
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException; // Node throws nothing else
    const [why, hint] =
      code === "ENOENT"
        ? [
            `there is no \`${command}\` on the PATH.`,
            `Install ${title} first${install === undefined ? "" : `: \`${install}\``}.`,
          ]
        : [`the system refused \`${command}\` (${code}).`, `See whether \`${command} --version\` works.`];
    throw new MillraceError("invalid_request", `${title} could not be started: ${why}`, { hint, cause: error });
  }
}
