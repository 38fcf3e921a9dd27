import { join } from "node:path";
import { type Client, exemptionNotes, exportKey, keyVariable, told } from "./client.ts";
import { type ManagedPaths, managedContents, refuseManaged } from "./managed.ts";

const systemVariable = "QWEN_CODE_SYSTEM_SETTINGS_PATH";
/** Settings of an administrator. Source: the settings page of qwen-code 0.24.4. */
const managedPaths: ManagedPaths = {
  linux: ["etc/qwen-code/settings.json"],
  darwin: ["Library/Application Support/QwenCode/settings.json"],
  win32: ["C:\\ProgramData\\qwen-code\\settings.json"],
};

/** qwen-code: one provider a model, whose key it reads from a variable that the provider names. Source: qwen-code 0.24.4. */
export const qwenCode: Client = {
  name: "qwen-code",
  title: "Qwen Code",
  programs: ["qwen"],
  install: "npm install --global @qwen-code/qwen-code",
  refused: /^--(?:openai-base-url|openaiBaseUrl|auth-type|authType|proxy)(?:=|$)/,
  edits: ({ url, model, models }, { homeFolder }) => [
    {
      kind: "json",
      file: join(homeFolder, ".qwen", "settings.json"),
      set: [
        ...models.map(({ id, name, contextTokens, maxOutputTokens }) => ({
          path: ["modelProviders", "openai"],
          key: "id",
          value: {
            id,
            name: `${name} (Millrace)`,
            baseUrl: `${url}/v1`,
            envKey: keyVariable,
            generationConfig: told({
              contextWindowSize: contextTokens,
              samplingParams: maxOutputTokens && { max_tokens: maxOutputTokens },
            }),
          },
        })),
        { path: ["security", "auth", "selectedType"], value: "openai" },
        { path: ["model", "name"], value: model },
      ],
    },
  ],
  notes: (target, env) => [
    `Before you start it: ${exportKey(target)}`,
    ...exemptionNotes("A settings file of Qwen Code", target, env),
  ],
  // A provider of the user's or the project's that has this model's name would win over the arguments; the system's settings win over it.
  launch: ({ url, model }, { variable, folder }, machine) => {
    const given = machine.env[systemVariable];
    const paths = given === undefined ? managedPaths : { linux: [given], darwin: [given], win32: [given] };
    const managed = given === undefined ? machine : { ...machine, systemFolder: "/" };
    refuseManaged(qwenCode, paths, ["modelProviders", "security.auth"], managed);
    const file = join(folder, "qwen.json");
    const provider = { id: model, name: model, baseUrl: `${url}/v1`, envKey: variable };
    const security = { auth: { selectedType: "openai", baseUrl: `${url}/v1` } };
    const own = { modelProviders: { openai: [provider] }, security };
    const text = `${JSON.stringify({ ...Object.assign({}, ...managedContents(paths, managed)), ...own }, null, 2)}\n`;
    return {
      args: ["--auth-type", "openai", "--openai-base-url", `${url}/v1`, "--model", model],
      env: { [systemVariable]: file },
      files: [{ file, text }],
    };
  },
};
