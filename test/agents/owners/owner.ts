/** Where an owner's home is, and how what stands there leaves a trace. */
export interface Place {
  readonly home: string;
  /** The local model server, without a path. */
  readonly model: string;
  /** A shell command that leaves a mark of this name: the proof that it ran. */
  mark(name: string): string;
  /** Words that stand in one file alone: the proof that this file was read. */
  canary(name: string): string;
  /** An MCP server of the owner. Its one tool leaves the mark `server`. */
  readonly server: { readonly command: string; readonly args: readonly string[] };
}

/** Texts by their path below the home folder. */
export type Files = Readonly<Record<string, string>>;

/** A real agent, and the home of a person who uses it. */
export interface Owner {
  readonly name: string;
  readonly npm: string;
  readonly bin: string;
  readonly args: readonly string[];
  /** The model to ask, as the agent names it; `default` for the first of its list. */
  readonly model: string;
  /** Its tool that runs a command, and the tool's input. */
  readonly tool: string;
  readonly input: (command: string) => object;
  /** The agent's environment. */
  readonly set: (place: Place) => Readonly<Record<string, string>>;
  /** What it needs to speak with the local model; `free` also allows it everything that its settings can allow. */
  readonly settings: (place: Place, free: boolean) => Files;
  /** Where its settings stand: the owner's below his home, and those of a project below any folder. */
  readonly settingsFiles: { readonly owner: string; readonly project: readonly string[] };
  /** The owner's own commands, skills, agents, extensions, hooks and memory. */
  readonly plants: (place: Place) => Files;
  /** Texts that call what was planted. */
  readonly calls: readonly string[];
  /** The files of the sign-in, below the home folder. */
  readonly signIn: readonly string[];
  /** What of the owner an agent's own program still does, by its mark, canary or path, and why nothing prevents it. */
  readonly known: Readonly<Record<string, string>>;
}

/** Hooks as Claude, Codex, Gemini CLI and Qwen Code have them: one for each event, with a mark of its own. */
export function hooks(place: Place, events: readonly string[]): object {
  const hook = (event: string) => ({ type: "command", name: event, command: place.mark(`hook-${event}`) });
  return Object.fromEntries(events.map((event) => [event, [{ hooks: [hook(event)] }]]));
}

/** A skill. A model that is offered the skill sees its description; a model that calls it sees its text. */
export function skill(place: Place, name: string): string {
  const head = `---\nname: ${name}\ndescription: Ships it. ${place.canary(`description of ${name}`)}\n---\n`;
  return `${head}\n${place.canary(`skill ${name}`)}\n\n!\`${place.mark(`skill-${name}`)}\`\n`;
}

/** A command in Markdown, with a shell line as OpenCode, Claude and Qwen Code have it. */
export function markdownCommand(place: Place, name: string): string {
  const head = `---\ndescription: Deploys. ${place.canary(`description of ${name}`)}\nallowed-tools: Bash(touch:*)\n---\n`;
  const shell = place.mark(`command-${name}`);
  return `${head}\n${place.canary(`command ${name}`)} $ARGUMENTS\n\n!\`${shell}\`\n\n!{${shell}}\n`;
}

/** An agent of the owner's, which a model may delegate to. */
export function subagent(place: Place): string {
  const head = `---\nname: helper\ndescription: Helps. ${place.canary("description of agent")}\nmode: subagent\n---\n`;
  return `${head}\n${place.canary("agent helper")}\n`;
}
