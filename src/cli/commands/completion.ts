import { MillraceError } from "../../base/errors.ts";
import { type Command, defineCommand } from "../command.ts";
import { outlines } from "../outlines.ts";
import { completionScripts, type Shell } from "../terminal/completion-scripts.ts";

const shells: readonly string[] = Object.keys(completionScripts);

/** `millrace completion`: the completions come from the commands' own data. */
export function completionCommand(loadAll: () => Promise<readonly Command[]>): Command {
  return defineCommand({
    ...outlines.completion,
    description:
      "Prints a script that completes commands, options and their values. Load it in the shell's start file, so that it is up to date after each update.",
    options: {},
    examples: [
      ['eval "$(millrace completion bash)"', "in ~/.bashrc"],
      ['eval "$(millrace completion zsh)"', "in ~/.zshrc, after compinit"],
      ["millrace completion fish | source", "in ~/.config/fish/config.fish"],
      ["millrace completion powershell | Out-String | Invoke-Expression", "in $PROFILE"],
    ],
    async run({ args }, { out }) {
      const shell = args[0] ?? "";
      if (!isShell(shell)) {
        throw new MillraceError("invalid_request", `There is no completion for ${JSON.stringify(shell)}.`, {
          hint: `One of: ${shells.join(", ")}.`,
        });
      }
      out.write(completionScripts[shell](await loadAll()));
    },
  });
}

function isShell(name: string): name is Shell {
  return shells.includes(name);
}
