import { displayWidth } from "../../src/cli/terminal/display-width.ts";
import type { Row, Run } from "./screen.ts";

/** What a screen shows, and for how long, ms. */
export interface Frame {
  readonly rows: readonly Row[];
  readonly ms: number;
}

const [charWidth, lineHeight, padding, bar] = [8.4, 19, 14, 30];
/** The first sixteen colours of a terminal, on a dark ground. */
const palette =
  "#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 #6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #ffffff".split(
    " ",
  );

/**
 * The frames as one SVG that plays by itself, again and again. It begins with the last frame, because the first one is empty. A row that
 * several frames share is in it once. For readers who prefer no motion, and where nothing moves, it
 * shows the last frame.
 */
export function terminalSvg(frames: readonly Frame[], { columns, title }: { columns: number; title: string }): string {
  const height = Math.max(...frames.map(({ rows }) => rows.length));
  const width = Math.ceil(columns * charWidth + 2 * padding);
  const tall = height * lineHeight + 2 * padding + bar;
  const rows = new Map<string, string>();
  const drawn = frames.map(({ rows: shown }) =>
    shown
      .map((row, y) => {
        if (row.length === 0) return "";
        const text = drawRow(row);
        const id = rows.get(text) ?? `r${rows.size}`;
        rows.set(text, id);
        return `<use href="#${id}" y="${y * lineHeight}"/>`;
      })
      .join(""),
  );
  const total = frames.reduce((sum, { ms }) => sum + ms, 0);
  const leadMs = total - (frames.at(-1)?.ms ?? 0);
  let at = 0;
  const rules = frames.map(({ ms }, index) => {
    const [from, to] = [(at / total) * 100, ((at + ms) / total) * 100];
    at += ms;
    return frames.length === 1 ? "" : keyframes(index, [from, to], total, leadMs);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${tall}" width="${width}" height="${tall}" role="img" aria-label="${escape(title)}">
<title>${escape(title)}</title>
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}.b{font-weight:700}.d{opacity:.6}${palette.map((colour, index) => `.c${index}{fill:${colour}}`).join("")}
.f{visibility:hidden}.f:last-of-type{visibility:visible}
@media (prefers-reduced-motion:no-preference){
${rules.filter((rule) => rule !== "").join("\n")}
}</style>
<defs>${[...rows].map(([text, id]) => `<text id="${id}">${text}</text>`).join("\n")}</defs>
<rect width="${width}" height="${tall}" rx="8" fill="#0d1117"/>
<circle cx="18" cy="16" r="5" fill="#ff5f57"/><circle cx="36" cy="16" r="5" fill="#febc2e"/><circle cx="54" cy="16" r="5" fill="#28c840"/>
<g transform="translate(${padding} ${padding + bar})">
${drawn.map((uses, index) => `<g class="f" id="f${index}">${uses}</g>`).join("\n")}
</g></svg>
`;
}

/** Shows a frame from one share of the time to another, in per cent; the time begins at `leadMs`. */
function keyframes(index: number, [from, to]: readonly [number, number], total: number, leadMs: number): string {
  const [start, end] = [from.toFixed(2), to.toFixed(2)];
  const before = from === 0 ? "" : `0%{visibility:hidden}`;
  const after = to > 99.99 ? "" : `${end}%,100%{visibility:hidden}`;
  const shown = to > 99.99 ? `${start}%,100%` : `${start}%`;
  return `#f${index}{animation:k${index} ${(total / 1000).toFixed(1)}s step-end -${(leadMs / 1000).toFixed(1)}s infinite}@keyframes k${index}{${before}${shown}{visibility:visible}${after}}`;
}

function drawRow(row: Row): string {
  let x = 0;
  return row
    .map((run) => {
      const at = x;
      x += displayWidth(run.text);
      return run.text.trim() === "" ? "" : drawRun(run, at);
    })
    .join("");
}

/** Each run has its place and its length, so that columns stay aligned in any font. */
function drawRun({ text, colour, bold, dim }: Run, at: number): string {
  const classes = [
    ...(colour === undefined || colour > 15 ? [] : [`c${colour}`]),
    ...(bold ? ["b"] : []),
    ...(dim ? ["d"] : []),
  ];
  const length = displayWidth(text);
  const named = classes.length === 0 ? "" : ` class="${classes.join(" ")}"`;
  return `<tspan x="${(at * charWidth).toFixed(1)}" textLength="${(length * charWidth).toFixed(1)}"${named}>${escape(text)}</tspan>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
