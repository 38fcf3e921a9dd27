import { displayWidth } from "./display-width.ts";
import type { Output } from "./output.ts";

/** To the start of the line `rows` rows up, and away with everything below it. */
const redraw = (rows: number) => `${rows > 0 ? `\u001B[${rows}A` : ""}\r\u001B[J`;

/**
 * Prints Markdown on a terminal as it arrives: text appears at once without styles, and each line is drawn again with its styles
 * when it is complete. Elsewhere (a pipe, NO_COLOR) the text is printed unchanged.
 */
export class MarkdownPrinter {
  readonly #out: Output;
  readonly #isStyled: boolean;
  #line = "";
  #isFenced = false;
  #breaks: number;

  constructor(out: Output) {
    this.#out = out;
    this.#isStyled = out.canRedraw && out.style("bold", "x") !== "x";
    this.#breaks = out.breaks;
  }

  add(delta: string): void {
    if (!this.#isStyled) return this.#out.write(delta);
    const [first = "", ...rest] = delta.split("\n");
    this.#grow(first);
    for (const next of rest) {
      this.#complete();
      this.#grow(next);
    }
  }

  /** Draws the last line, which has no line end. */
  end(): void {
    if (this.#isStyled && this.#line !== "") this.#draw();
    this.#line = "";
    this.#isFenced = false;
  }

  #grow(text: string): void {
    if (text === "") return;
    this.#out.write(text);
    this.#line += text;
  }

  #complete(): void {
    if (this.#line !== "") this.#draw();
    this.#out.write("\n");
    this.#line = "";
  }

  #draw(): void {
    const { columns, rows = 24 } = this.#out;
    const styled = styleLine(this.#line, this.#isFenced, (name, text) => this.#out.style(name, text));
    if (isFence(this.#line)) this.#isFenced = !this.#isFenced;
    const height = Math.ceil(displayWidth(this.#line) / columns) - 1;
    const wasBroken = this.#out.breaks !== this.#breaks; // a note stands between its parts
    this.#breaks = this.#out.breaks;
    if (styled === this.#line || wasBroken || height >= rows - 1) return;
    this.#out.write(redraw(height) + styled);
  }
}

const isFence = (line: string) => /^ {0,3}(?:```|~~~)/.test(line);

/** A whole line of Markdown with terminal styles in place of its marks; a line inside a code block keeps its text. */
export function styleLine(line: string, isFenced: boolean, style: Output["style"]): string {
  if (isFence(line)) return style("dim", line);
  if (isFenced) return style("cyan", line);
  const heading = /^ {0,3}#{1,6} +(.+?)(?: +#+)?$/.exec(line);
  if (heading?.[1] !== undefined) return style("bold", heading[1].replaceAll("**", ""));
  if (/^ {0,3}([-*_])(?: *\1){2,} *$/.test(line)) return style("dim", line);
  const quote = /^ {0,3}> ?(.*)$/.exec(line);
  if (quote?.[1] !== undefined) return `${style("dim", "│")} ${styleSpans(quote[1], style)}`;
  const bullet = /^(\s*)[-*+] (.*)$/.exec(line);
  if (bullet) return `${bullet[1]}• ${styleSpans(bullet[2] ?? "", style)}`;
  return styleSpans(line, style);
}

/** Code spans and bold text; other marks stay as they are, because in code and names they mean themselves. */
function styleSpans(text: string, style: Output["style"]): string {
  return text.replace(/(`+)(.+?)\1(?!`)|\*\*(?=\S)([^*]+?)(?<=\S)\*\*/g, (_, _ticks, code?: string, bold?: string) =>
    code === undefined ? style("bold", bold ?? "") : style("cyan", code),
  );
}
