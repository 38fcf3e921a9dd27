import { writeJson } from "../../../base/json.ts";
import { type KnownAgent, noMemory } from "./known-agent.ts";
import { serverName } from "./tool-names.ts";

export const gemini: KnownAgent = {
  name: /gemini/,
  servesSince: "0.61",
  // it checks a call of a server a second time under another name of the server, so a rule cannot name ours
  args: (file) => ["--admin-policy", file, "--allowed-mcp-server-names", serverName, "--extensions", "none"],
  // it starts no server of a session, and reads no settings of a folder, that it does not trust
  environment: () => ({ GEMINI_CLI_TRUST_WORKSPACE: "true" }),
  inFolder: () => ({
    ".gemini/settings.json": writeJson({
      hooksConfig: { enabled: false },
      skills: { enabled: false },
      experimental: { enableAgents: false },
      // in place of its owner's names, but GEMINI.md stays one of them; without a marker it looks in no folder above
      context: { fileName: [noMemory], memoryBoundaryMarkers: [] },
    }),
  }),
  file: `[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n\n[[rule]]\nmcpName = "*"\ntoolName = "*"\ndecision = "allow"\npriority = 999\n`,
};
