import { MillraceError } from "../../base/errors.ts";
import { clients } from "../clients/clients.ts";
import { type Command, defineCommand } from "../command.ts";
import { kebab } from "../options.ts";
import { outlines } from "../outlines.ts";

/** The script of each shell: it asks Millrace for the words that can follow those before the cursor, and files where there are none. */
const scripts = {
  bash: `_millrace() {
  local IFS=$'\\n'
  local offered="$(millrace completion words -- "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$offered" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _millrace millrace
`,
  fish: `function __millrace
  set -l offered (millrace completion words -- (commandline -opc)[2..-1] 2>/dev/null)
  if set -q offered[1]
    printf '%s\\n' $offered
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c millrace -f -a '(__millrace)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName @('millrace', 'millrace.cmd') -ScriptBlock {
  param($current, $line, $cursor)
  $program = if ($env:OS -eq 'Windows_NT') { 'millrace.cmd' } else { 'millrace' }
  $before = @($line.CommandElements | Select-Object -Skip 1 | Where-Object { -not $current -or $_.Extent.EndOffset -lt $cursor })
  $typed = @($before | ForEach-Object { $_.Extent.Text })
  & $program completion words '--' @typed 2>$null | Where-Object { $_ -like "$current*" } | ForEach-Object {
    [Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
} as const;

const scriptOf = new Map(
  Object.entries({ ...scripts, zsh: `autoload -U +X bashcompinit && bashcompinit\n${scripts.bash}` }),
);

/** `millrace completion`: the words come from the commands' own data. */
export function completionCommand(load: (argv: readonly string[]) => Promise<readonly Command[]>): Command {
  return defineCommand({
    ...outlines.completion,
    description:
      "Prints a script that completes commands, options and their values, and the names of clients. Load it in the shell's start file.",
    options: {},
    examples: [
      ['eval "$(millrace completion bash)"', "in ~/.bashrc"],
      ['eval "$(millrace completion zsh)"', "in ~/.zshrc, after compinit"],
      ["millrace completion fish | source", "in ~/.config/fish/config.fish"],
      ["millrace.cmd completion powershell | Out-String | Invoke-Expression", "in the file that $PROFILE names"],
    ],
    async run({ args: [shell, ...typed] }, { out }) {
      if (shell === "words") {
        for (const word of wordsAfter(typed, await load(typed))) out.line(word);
        return;
      }
      const script = scriptOf.get(shell ?? "");
      if (script !== undefined) return out.write(script);
      const message = shell === undefined ? "The shell is missing." : `There is no completion for "${shell}".`;
      throw new MillraceError("invalid_request", message, { hint: "One of: bash, zsh, fish, powershell." });
    },
  });
}

/** The words that can follow: the values of the option before, else subcommands, options, and what the next argument names. */
function wordsAfter(typed: readonly string[], commands: readonly Command[]): readonly string[] {
  let at: Partial<Command> = { subcommands: commands };
  for (const word of typed) at = at.subcommands?.find(({ name }) => name === word) ?? at;
  const options = Object.entries(at.options ?? {}).map(([name, spec]) => ({ ...spec, name: `--${kebab(name)}` }));
  const before = options.find(
    ({ name, short, value }) => value !== undefined && [name, `-${short}`].includes(typed.at(-1) ?? ""),
  );
  if (before !== undefined) return before.choices ?? [];
  const takesClient = at.arguments?.some(({ name }) => name === "client") === true;
  const own = [...(at.subcommands ?? []), ...options].map(({ name }) => name);
  return [...own, "--help", ...(takesClient ? clients.map(({ name }) => name) : [])];
}
