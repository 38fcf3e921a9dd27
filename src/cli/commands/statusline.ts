import { statusLineFormats } from "../../usage/status-line.ts";
import { defineCommand } from "../command.ts";
import { choice, ideChoice, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { drawStatusLine } from "../statusline-fast.ts";

export const statuslineCommand = defineCommand({
  ...outlines.statusline,
  description:
    "Prints what the running gateway last read, within a few milliseconds, without asking an IDE. The limit that will run out first has the time of its end or reset; an old reading has its age. A template shows only that limit: {ide} {plan} {window} {label} {left} {percent_left} {percent_used} {remaining} {limit} {resets_in} {verdict} {stale} (`~` if the reading is old).",
  options: {
    format: choice("program that shows the line", statusLineFormats, "plain"),
    template: text("text with placeholders to print instead", "<text>"),
    ide: ideChoice("show only this IDE", ["devin", "devin-next", "antigravity"]),
    window: text("show only this limit, by its name in `millrace usage`", "<id>"),
  },
  examples: [
    ["millrace statusline --format claude-code", "as `statusLine` command in Claude Code's settings"],
    ["set -g status-right '#(millrace statusline --format tmux)'", "in tmux.conf"],
    ["millrace setup statusline", "writes it for Claude Code, tmux and your shell; `--undo` takes it back"],
    ['millrace statusline --template "{percent_left}% {resets_in}"', "in your own words"],
  ],
  run({ options }, { out, settings, io }) {
    const line = drawStatusLine(settings.folder, options, io.clock.now());
    if (line !== "") out.write(`${line}\n`); // some forms are coloured
    return Promise.resolve();
  },
});
