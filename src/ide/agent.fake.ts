import type { AgentProgram } from "./ide.ts";

/** The Devin CLI, signed in by its own credentials, unless the part says otherwise. */
export function fakeAgent(part: Partial<AgentProgram> = {}): AgentProgram {
  return {
    variant: "windsurf",
    product: "Devin CLI",
    path: "/home/me/.local/bin/devin",
    from: "cli",
    version: undefined,
    signedIn: "own",
    home: "/home/me",
    readApiKey: () => Promise.reject(new Error("nothing here needs the key")),
    ...part,
  };
}
