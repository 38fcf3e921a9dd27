import { basename } from "node:path";
import { bestEffort } from "../base/async.ts";
import { isMillraceError } from "../base/errors.ts";
import { askGateway, attachOrStart, type FoundGateway, type GatewayHome, keepAwake } from "./gateway.ts";
import type { Hooks, OpenCodeConfig, PluginInput, ProviderConfig, Toast } from "./hooks.ts";
import { modelConfigs } from "./model-config.ts";
import { lowWindows, parseQuota, quotaText } from "./quota.ts";

/** The provider's name in OpenCode: models are `millrace/<name>`. */
export const providerId = "millrace";

const askMs = 20_000;
const quotaEveryMs = 5 * 60_000;

/** The plugin's hooks over a gateway that is found or started when it is first needed. Nothing here may break OpenCode. */
export function openPlugin({ client, worktree, directory }: PluginInput, home: GatewayHome): Hooks {
  let attached: Promise<FoundGateway> | undefined;
  let isAwake = false;
  let quotaAskedAtMs = Number.NEGATIVE_INFINITY;
  const told = new Set<string>();

  const gateway = (): Promise<FoundGateway> => {
    attached ??= attachOrStart(home).catch((error: unknown) => {
      attached = undefined; // the next one who needs it tries again
      throw error;
    });
    if (!isAwake) keepAwake(home);
    isAwake = true;
    return attached;
  };
  const ask = async (path: string, signal?: AbortSignal) => {
    await gateway(); // its start has a limit of its own
    return askGateway(home, path, signal ?? AbortSignal.timeout(askMs));
  };
  const toast = (body: Toast) => bestEffort(client.tui.showToast({ body: { title: "Millrace", ...body } }));
  const complain = async (error: unknown) => {
    const text = error instanceof Error ? error.message : "Something went wrong.";
    const message = isMillraceError(error) && error.hint ? `${text} ${error.hint}` : text;
    await bestEffort(client.app.log({ body: { service: "millrace", level: "warn", message } }));
    await toast({ message, variant: "warning" });
  };

  const warnOfLowQuota = async () => {
    for (const { key, text } of lowWindows(parseQuota(await ask("/v1/limits")))) {
      if (!told.has(key)) await toast({ message: text, variant: "warning", duration: 10_000 });
      told.add(key);
    }
  };

  return {
    async config(config) {
      try {
        const { url, key } = await gateway();
        addProvider(config, {
          npm: "@ai-sdk/openai-compatible",
          name: "Millrace",
          options: { baseURL: `${url}/v1`, apiKey: key.reveal(), includeUsage: true },
          models: modelConfigs(await ask("/v1/models")),
        });
      } catch (error) {
        void complain(error); // not awaited: OpenCode answers these calls only once its plugins are loaded
      }
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
              ({ key }) => ({ type: "success", key: key.reveal() }),
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
        execute: async (_, { abort }) =>
          quotaText(parseQuota(await ask("/v1/limits", AbortSignal.any([abort, AbortSignal.timeout(askMs)])))),
      },
    },
    async "chat.headers"({ model }, { headers }) {
      const project = basename(worktree === "/" ? directory : worktree).replace(/[^\w .-]/g, "_");
      if (model.providerID === providerId && project !== "") headers["x-millrace-project"] = project;
      return Promise.resolve();
    },
  };
}

/**
 * Adds the provider; the user's own settings win, key by key. The address and the key are ours alone: a project's configuration that named
 * another address would get the key.
 */
function addProvider(config: OpenCodeConfig, ours: Required<ProviderConfig>): void {
  const theirs = config.provider?.[providerId] ?? {};
  const { baseURL, apiKey } = ours.options;
  const models = { ...ours.models };
  const chosen = config.model?.startsWith(`${providerId}/`) ? config.model.slice(providerId.length + 1) : undefined;
  // OpenCode refuses a model that is not in the list; the gateway also knows short names, such as those of a setup without an IDE.
  if (chosen !== undefined) models[chosen] ??= { name: chosen, tool_call: true };
  for (const [id, model] of Object.entries(theirs.models ?? {})) models[id] = { ...models[id], ...model };
  config.provider = {
    ...config.provider,
    [providerId]: { ...ours, ...theirs, options: { ...ours.options, ...theirs.options, baseURL, apiKey }, models },
  };
}
