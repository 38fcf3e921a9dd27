import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { mostTurns, newestTurns } from "../chat/pick-turn.ts";
import { clients } from "../clients/clients.ts";
import { listModels } from "../clients/target.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { findGateway } from "../gateway-process/gateway-client.ts";
import { type Completable, choice, completables, kebab } from "../options.ts";
import { outlines } from "../outlines.ts";

/** Each is run by a test, but for PowerShell's: a grammar reads that one. */
const shells = ["bash", "zsh", "fish", "powershell"] as const;

/** `millrace completion`: the completions come from the commands' own data. */
export function completionCommand(loadAll: () => Promise<readonly Command[]>): Command {
  return defineCommand({
    ...outlines.completion,
    description:
      "Prints a script that completes commands, options and their values, also the names of clients, models and turns; for the last two a gateway must run. Load it in the shell's start file, so that it is up to date after each update.",
    options: {
      list: choice("print the names of this kind that exist here, one a line", completables, undefined),
    },
    examples: [
      ['eval "$(millrace completion bash)"', "in ~/.bashrc"],
      ['eval "$(millrace completion zsh)"', "in ~/.zshrc, after compinit"],
      ["millrace completion fish | source", "in ~/.config/fish/config.fish"],
      ["millrace.cmd completion powershell | Out-String | Invoke-Expression", "in the file that $PROFILE names"],
    ],
    async run({ options, args }, context) {
      const { out } = context;
      if (options.list !== undefined) {
        for (const name of await namesOf(options.list, context)) out.line(name);
        return;
      }
      const shell = shells.find((each) => each === args[0]);
      if (shell === undefined) {
        const message = args[0] === undefined ? "The shell is missing." : `There is no completion for "${args[0]}".`;
        throw new MillraceError("invalid_request", message, {
          hint: `One of: ${shells.join(", ")}.`,
        });
      }
      out.write(completionScripts[shell](await loadAll()));
    },
  });
}

/** The names that only this machine knows. A gateway that does not answer has none: a shell cannot show an error. */
async function namesOf(what: Completable, { settings, signal }: CommandContext): Promise<readonly string[]> {
  if (what === "clients") return clients.map(({ name }) => name);
  const gateway = await findGateway(settings, signal).catch(() => undefined);
  if (gateway === undefined) return [];
  try {
    if (what === "models") return (await listModels(gateway, signal)).map(({ id }) => id);
    return (await newestTurns(gateway, mostTurns, signal)).map(({ id }) => id.slice(-8));
  } catch (error) {
    if (isMillraceError(error)) return [];
    throw error;
  }
}

type Shell = (typeof shells)[number];

/** The script of each shell. Pure: the commands in, text out. */
const completionScripts: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = {
  bash: (commands) => bash(placesOf(commands)),
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bash(placesOf(commands))}`,
  fish: (commands) => fish(placesOf(commands)),
  powershell: (commands) => powershell(placesOf(commands)),
};

type Level = ReturnType<typeof placesOf>[number];

/** The completions after the words of each command. `path` is such as `config set`; empty for the program itself. */
function placesOf(commands: readonly Command[]) {
  const placeOf = (path: string, { subcommands = [], options = {}, arguments: args = [] }: Partial<Command>) => ({
    path,
    /** What the next argument names. */
    completes: args.find(({ completes }) => completes !== undefined)?.completes,
    words: subcommands.map(({ name, summary }) => ({ word: name, summary })),
    options: Object.entries(options).map(([name, { summary, short, value, choices = [], completes }]) => ({
      word: `--${kebab(name)}`,
      short,
      summary,
      takesValue: value !== undefined,
      choices,
      completes,
    })),
  });
  const within = (command: Command, path: string): readonly ReturnType<typeof placeOf>[] => [
    placeOf(path, command),
    ...(command.subcommands ?? []).flatMap((each) => within(each, `${path} ${each.name}`)),
  ];
  return [placeOf("", { subcommands: commands }), ...commands.flatMap((command) => within(command, command.name))];
}

/** In double quotes or alone: the names of this kind, asked for when the user completes. */
const listed = (what: Completable) => `$(millrace completion --list ${what} 2>/dev/null)`;

/** Cases on the path of commands that was typed, and on the option before the cursor. Works in bash 3.2, which macOS has. */
function bash(places: readonly Level[]): string {
  const paths = places.filter(({ path }) => path !== "").map(({ path }) => `"${path}"`);
  const values = places.flatMap(({ path, options }) =>
    options.flatMap(({ word, short, takesValue, choices, completes }) => {
      const words = [...choices, ...(completes === undefined ? [] : [listed(completes)])].join(" ");
      const names = [word, ...(short === undefined ? [] : [`-${short}`])].map((name) => `"${path} ${name}"`);
      return takesValue ? [`    ${names.join("|")}) words="${words}"; value=1 ;;`] : [];
    }),
  );
  const follow = places.map(
    ({ path, words, options, completes }) =>
      `    "${path}") words="${[...words, ...options].map(({ word }) => word).join(" ")} --help${completes === undefined ? "" : ` ${listed(completes)}`}" ;;`,
  );
  return `# Completion of millrace. Generated by: millrace completion
_millrace() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" value="" word next at
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    next="\${path:+$path }$word"
    case "$next" in
      ${paths.join("|")}) path="$next" ;;
    esac
  done
  case "$path $before" in
${values.join("\n")}
  esac
  if [ -z "$value" ]; then
    case "$path" in
${follow.join("\n")}
    esac
  elif [ -z "$words" ]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _millrace millrace
`;
}

/** Each line holds only where the commands that were typed are exactly its path: `restart` is a command and one of `service`. */
function fish(places: readonly Level[]): string {
  const paths = places.filter(({ path }) => path !== "").map(({ path }) => quote(path));
  const lines = places.flatMap(({ path, words, options, completes }) => {
    const here = `complete -c millrace -n ${quote(`__millrace_at ${quote(path)}`)}`;
    return [
      ...(completes === undefined ? [] : [`${here} -f -a '(millrace completion --list ${completes} 2>/dev/null)'`]),
      ...words.map(({ word, summary }) => `${here} -f -a ${word} -d ${quote(summary)}`),
      ...options.map(({ word, short, summary, takesValue, choices, completes: names }) =>
        [
          `${here} -l ${word.slice(2)}${short === undefined ? "" : ` -s ${short}`} -d ${quote(summary)}`,
          takesValue ? " -r" : "",
          choices.length > 0 ? ` -f -a ${quote(choices.join(" "))}` : "",
          names === undefined ? "" : ` -f -a '(millrace completion --list ${names} 2>/dev/null)'`,
        ].join(""),
      ),
    ];
  });
  return `# Completion of millrace. Generated by: millrace completion fish
function __millrace_at
  set -l path ''
  set -l typed (commandline -opc)
  set -e typed[1]
  for word in $typed
    set -l next (string trim -- "$path $word")
    if contains -- "$next" ${paths.join(" ")}
      set path $next
    end
  end
  test "$path" = "$argv[1]"
end
${lines.join("\n")}
complete -c millrace -l help -d 'show help'
`;
}

/** Tables by the path that was typed, or by it and the option before the cursor. For Windows PowerShell 5.1 too. */
function powershell(places: readonly Level[]): string {
  const row = (key: string, words: readonly string[]) =>
    `    ${quotedTwice(key)} = @(${words.map(quotedTwice).join(", ")})`;
  const values = places.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ word, short, choices, completes }) =>
        [word, ...(short === undefined ? [] : [`-${short}`])].map((name) => ({
          key: `${path} ${name}`,
          choices,
          completes,
        })),
      ),
  );
  const listed = [...places.map(({ path, completes }) => ({ key: path, completes })), ...values].flatMap(
    ({ key, completes }) => (completes === undefined ? [] : [`    ${quotedTwice(key)} = ${quotedTwice(completes)}`]),
  );
  return `# Completion of millrace. Generated by: millrace completion powershell
Register-ArgumentCompleter -Native -CommandName @('millrace', 'millrace.cmd') -ScriptBlock {
  param($current, $line, $cursor)
  $follow = @{
${places.map(({ path, words, options }) => row(path, [...[...words, ...options].map(({ word }) => word), "--help"])).join("\n")}
  }
  $values = @{
${values.map(({ key, choices }) => row(key, choices)).join("\n")}
  }
  $listed = @{
${listed.join("\n")}
  }
  $path = ''
  $before = ''
  foreach ($element in @($line.CommandElements | Select-Object -Skip 1)) {
    if ($current -and $element.Extent.EndOffset -ge $cursor) { break }
    $before = $element.Extent.Text
    $next = "$path $before".Trim()
    if ($follow.ContainsKey($next)) { $path = $next }
  }
  $at = "$path $before".Trim()
  if ($values.ContainsKey($at)) { $words = $values[$at] } else { $at = $path; $words = $follow[$path] }
  if ($listed.ContainsKey($at)) {
    $program = if ($env:OS -eq 'Windows_NT') { 'millrace.cmd' } else { 'millrace' }
    $words = @($words) + @(& $program completion --list $listed[$at] 2>$null)
  }
  $words | Where-Object { $_ -like "$current*" } | ForEach-Object {
    [Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`;
}

/** In single quotes, for PowerShell. */
function quotedTwice(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** In single quotes, for fish. */
function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
