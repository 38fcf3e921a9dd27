import { basename } from "node:path";
import { bestEffort, deadline, timeLimit } from "../base/async.ts";
import { isMillraceError } from "../base/errors.ts";
import { loopbackFetch } from "../base/node/loopback.ts";
import { askGateway, attachOrStart, type FoundGateway, findGateway, type GatewayHome, keepAwake } from "./gateway.ts";
import type { Hooks, OpenCodeConfig, PluginInput, ProviderConfig, Toast } from "./hooks.ts";
import { modelConfigs } from "./model-config.ts";
import { lowWindows, parseQuota, quotaText } from "./quota.ts";

/** The provider's name in OpenCode: models are `millrace/<name>`. */
export const providerId = "millrace";

const askMs = 20_000;
const quotaEveryMs = 5 * 60_000;

/** The plugin's hooks over a gateway that is found or started when it is first needed. Nothing here may break OpenCode. */
export function openPlugin({ client, worktree, directory }: PluginInput, home: GatewayHome): Hooks {
  let starting: Promise<FoundGateway> | undefined;
  let isAwake = false;
  let quotaAskedAtMs = Number.NEGATIVE_INFINITY;
  /** The start of OpenCode, or the newest message of its user; epoch ms. */
  let askedAtMs = home.clock.now();
  const told = new Set<string>();

  /** The gateway that runs now, which proves itself each time: another program may have its port. Several who need one start it once. */
  const gateway = (): Promise<FoundGateway> => {
    starting ??= attachOrStart(home, askedAtMs).finally(() => {
      starting = undefined;
    });
    if (!isAwake) keepAwake(home);
    isAwake = true;
    return starting;
  };
  /** The limit begins once the gateway is there: its start has a limit of its own. */
  const ask = async (path: string, signal?: AbortSignal) =>
    askGateway(await gateway(), path, signal ?? timeLimit(askMs));
  /** OpenCode's requests for our models, each to the gateway that runs then. Where there is none, the answer is the reason, which OpenCode shows. */
  const send = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(String(input));
    try {
      const { url, key } = await gateway();
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${key.reveal()}`);
      const signal = init.signal ?? new AbortController().signal;
      const body = typeof init.body === "string" ? init.body : undefined; // the SDK sends JSON
      return await loopbackFetch(new URL(pathname + search, url), { method: init.method, headers, body, signal });
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      // 400, because a repeat by itself helps as little
      return Response.json({ error: { message: spell(error), type: "invalid_request_error" } }, { status: 400 });
    }
  };

  const toast = (body: Toast) => bestEffort(client.tui.showToast({ body: { title: "Millrace", ...body } }));
  const complain = async (error: unknown) => {
    const message = spell(error);
    await bestEffort(client.app.log({ body: { service: "millrace", level: "warn", message } }));
    await toast({ message, variant: "warning" });
  };

  const warnOfLowQuota = async () => {
    const found = await findGateway(home); // it starts none
    if (typeof found !== "object") return;
    const limits = await askGateway(found, "/v1/limits", timeLimit(askMs));
    for (const { key, text } of lowWindows(parseQuota(limits))) {
      if (!told.has(key)) await toast({ message: text, variant: "warning", duration: 10_000 });
      told.add(key);
    }
  };

  return {
    async config(config) {
      const models = await ask("/v1/models")
        .then(modelConfigs)
        .catch((error: unknown) => {
          void complain(error); // not awaited: OpenCode answers these calls only once its plugins are loaded
          return {};
        });
      addProvider(config, home.args ?? [], {
        npm: "@ai-sdk/openai-compatible",
        name: "Millrace",
        options: { baseURL: anyAddress, apiKey: noKey, includeUsage: true, fetch: send },
        models,
      });
    },

    "chat.message"() {
      askedAtMs = home.clock.now();
      return Promise.resolve();
    },

    async event({ event }) {
      if (event.type !== "session.idle" || home.clock.monotonic() - quotaAskedAtMs < quotaEveryMs) return;
      quotaAskedAtMs = home.clock.monotonic();
      await bestEffort(warnOfLowQuota());
    },
    auth: {
      provider: providerId,
      methods: [
        {
          type: "api",
          label: "Use the gateway on this machine",
          prompts: [],
          authorize: () =>
            gateway().then(
              () => ({ type: "success", key: noKey }), // OpenCode keeps it in a file, and gives it to any address of this provider
              () => ({ type: "failed" }),
            ),
        },
      ],
    },
    tool: {
      millrace_quota: {
        description:
          "Shows what is left of the plan (credits or quota) behind the Millrace models, and when it resets. Free to call.",
        args: {},
        execute: async (_, { abort }) => quotaText(parseQuota(await ask("/v1/limits", deadline(abort, askMs)))),
      },
    },
    async "chat.headers"({ model }, { headers }) {
      const project = basename(worktree === "/" ? directory : worktree).replace(/[^\w .-]/g, "_");
      if (model.providerID === providerId && project !== "") headers["x-millrace-project"] = project;
      return Promise.resolve();
    },
  };
}

/** The SDK wants an address; `send` puts that of the gateway in its place. */
const anyAddress = "http://127.0.0.1/v1";
/** And a key: `send` alone has the gateway's. */
const noKey = "in-the-request";

function spell(error: unknown): string {
  const text = error instanceof Error ? error.message : "Something went wrong.";
  return isMillraceError(error) && error.hint ? `${text} ${error.hint}` : text;
}

/**
 * Adds the provider; the user's own settings win, key by key. The address, the key and how a request is sent are ours alone: a project's
 * configuration that named another address would get the key. The models that the user chose, there or by OpenCode's arguments, are there
 * also where the list lacks them: a short name, one with a variant, or any where no gateway told its list. Without them OpenCode would take
 * another vendor's model, or know none.
 */
function addProvider(config: OpenCodeConfig, args: readonly string[], ours: Required<ProviderConfig>): void {
  const theirs = config.provider?.[providerId] ?? {};
  const { baseURL, apiKey, fetch } = ours.options;
  const models = { ...ours.models };
  for (const chosen of [config.model, config.small_model, ...args]) {
    const [, name] = /^(?:(?:-m|--model)=?)?millrace\/(.+)$/.exec(chosen ?? "") ?? [];
    if (name !== undefined) models[name] ??= { name, tool_call: true };
  }
  for (const [id, model] of Object.entries(theirs.models ?? {})) models[id] = { ...models[id], ...model };
  config.provider = {
    ...config.provider,
    [providerId]: {
      ...ours,
      ...theirs,
      options: { ...ours.options, ...theirs.options, baseURL, apiKey, fetch },
      models,
    },
  };
}
