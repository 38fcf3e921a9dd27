import { statusLineFormats } from "../../usage/status-line.ts";
import { defineCommand } from "../command.ts";
import { choice, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { drawStatusLine } from "../terminal/draw-status-line.ts";

export const statuslineCommand = defineCommand({
  ...outlines.statusline,
  description:
    "Draws from what the running gateway last read, in a few milliseconds; an IDE is never asked. `~` after a name: the reading is not fresh. A template is filled in for the limit that is nearest to its end: {ide} {plan} {window} {label} {left} {percent_left} {percent_used} {remaining} {limit} {resets_in} {verdict} {stale}.",
  options: {
    format: choice("who shows the line", statusLineFormats, "plain"),
    template: text("print this instead, filled in", "<text>"),
    ide: text("only this IDE: windsurf, windsurf-next or antigravity", "<ide>"),
    window: text("only this limit, as `millrace usage` names it", "<id>"),
  },
  examples: [
    ["millrace statusline --format claude-code", "as `statusLine` command in Claude Code's settings"],
    ["set -g status-right '#(millrace statusline --format tmux)'", "in tmux.conf"],
    ['millrace statusline --template "{percent_left}% {resets_in}"', "in your own words"],
  ],
  run({ options }, { out, settings, io }) {
    const line = drawStatusLine(settings.folder, options, io.clock.now());
    if (line !== "") out.line(line);
    return Promise.resolve();
  },
});
