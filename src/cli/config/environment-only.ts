/** Settings that only a variable sets: name, default, unit, meaning. The rest of docs/settings.md comes from the options. */
export const environmentOnly: readonly (readonly [name: string, initial: string, unit: string, summary: string])[] = [
  ["MILLRACE_HOME", "~/.millrace", "a folder", "where Millrace keeps its own files"],
  ["MILLRACE_KEY_FILE", "key in that folder", "a file", "another file for the gateway's key"],
  ["MILLRACE_LOG_KEY_FILE", "log-key in that folder", "a file", "another file for the key that seals the log"],
  ["MILLRACE_IDE_STATE_FILE", "found", "a file", "the state.vscdb to read the API key from"],
  ["MILLRACE_IDE_HOMES", "your home", "folders", "more home folders to look for an IDE in"],
  ["MILLRACE_OTLP_HEADERS", "none", "name=value, …", "headers for the receiver of `--otlp-endpoint`, such as its key"],
  ["MILLRACE_MODEL", "the account's default", "a model", "the model that chat and setup begin with"],
  ["MILLRACE_NO_RECORD", "off", "1, true, yes, on", "chat keeps no record of its question"],
  ["MILLRACE_ACCEPT", "off", "true, false", "agree, once, that prompts go to the IDE: as `serve --accept`"],
  ["MILLRACE_SIMULATOR_MODEL_URL", "none", "a URL", "an OpenAI-compatible server behind the stand-in IDE"],
];
