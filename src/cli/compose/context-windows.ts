import type { Model, Models } from "../../models/model.ts";

/** Models, and the window of each model that was listed or resolved. */
export interface ModelsWithWindows {
  readonly models: Models;
  /** Tokens; undefined where nothing is known of the model yet. */
  readonly contextTokens: (modelUid: string) => number | undefined;
}

/** Wraps models so that the window of each one that is read is remembered. */
export function rememberWindows(models: Models): ModelsWithWindows {
  const windows = new Map<string, number | undefined>();
  const remember = ({ uid, contextTokens }: Model) => windows.set(uid, contextTokens);
  return {
    contextTokens: (uid) => windows.get(uid),
    models: {
      nameOf: (uid) => models.nameOf(uid),
      async list(options, signal) {
        const list = await models.list(options, signal);
        for (const model of list) remember(model);
        return list;
      },
      async resolve(name, effort, signal) {
        const resolution = await models.resolve(name, effort, signal);
        remember(resolution.model);
        return resolution;
      },
    },
  };
}
