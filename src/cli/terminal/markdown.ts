import { displayWidth, wrapLine } from "./display-width.ts";
import { visible } from "./foreign-text.ts";
import type { Output } from "./output.ts";

/**
 * Prints Markdown on a terminal as it arrives: text appears at once without styles and breaks between words, and each line is drawn
 * again with its styles when it is complete. Elsewhere (a pipe, NO_COLOR) the text is printed unchanged.
 */
export class MarkdownPrinter {
  readonly #out: Output;
  readonly #isStyled: boolean;
  #line = "";
  /** The line on the screen, row by row. */
  #rows: readonly string[] = [""];
  /** How many rows of the screen its last one is below its first; a row of code that is too long takes several. */
  #height = 0;
  /** False once a note stands between the parts of the line, or its start has left the screen: it cannot be drawn again. */
  #canRedraw = true;
  #isFenced = false;
  #breaks: number;

  constructor(out: Output) {
    this.#out = out;
    this.#isStyled = out.canRedraw && out.style("bold", "x") !== "x";
    this.#breaks = out.breaks;
  }

  add(delta: string): void {
    if (!this.#isStyled) return this.#out.write(delta);
    const [first = "", ...rest] = visible(delta).split("\n");
    this.#grow(first);
    for (const next of rest) {
      this.#complete();
      this.#grow(next);
    }
  }

  /** Draws the last line, which has no line end. */
  end(): void {
    if (this.#isStyled && this.#line !== "") this.#style();
    this.#begin();
    this.#isFenced = false;
  }

  #begin(): void {
    this.#line = "";
    this.#rows = [""];
    this.#height = 0;
    this.#canRedraw = true;
    this.#breaks = this.#out.breaks;
  }

  #grow(text: string): void {
    if (text === "") return;
    const isFirst = this.#line === "";
    this.#line += text;
    this.#canRedraw &&= isFirst || this.#breaks === this.#out.breaks;
    if (this.#canRedraw) this.#show(this.#wrapped(this.#line));
    else this.#out.write(text);
    if (isFirst) this.#breaks = this.#out.breaks; // the line's own start may have ended a line of talk
  }

  #complete(): void {
    if (this.#line !== "") this.#style();
    this.#out.write("\n");
    this.#begin();
  }

  #style(): void {
    const styled = styleLine(this.#line, this.#isFenced, (name, text) => this.#out.style(name, text));
    if (this.#canRedraw && this.#breaks === this.#out.breaks && styled !== this.#line)
      this.#show(this.#wrapped(styled));
    if (isFence(this.#line)) this.#isFenced = !this.#isFenced;
  }

  /** Writes the additions of the rows to those on the screen, or draws all rows again. */
  #show(rows: readonly string[]): void {
    const at = this.#rows.length - 1;
    const last = this.#rows[at] ?? "";
    const goesOn =
      rows.length === this.#rows.length && rows[at]?.startsWith(last) === true && isSame(rows, this.#rows, at);
    if (goesOn) this.#out.write(rows[at]?.slice(last.length) ?? "");
    else this.#out.redraw(this.#height, rows.join("\n"));
    this.#rows = rows;
    this.#height = rows.reduce((sum, row) => sum + Math.max(1, Math.ceil(displayWidth(row) / this.#out.columns)), -1);
    this.#canRedraw = this.#height < (this.#out.rows ?? 24) - 1;
  }

  /** Code keeps its lines, so that it can be copied; the terminal itself breaks those that are too long. */
  #wrapped(line: string): readonly string[] {
    const { columns } = this.#out;
    if (this.#isFenced || isFence(line)) return [line];
    const lead = /^ *(?:[-*+•]|\d+[.)]) +(?=\S)/.exec(line)?.[0] ?? "";
    if (lead.length > columns / 2) return wrapLine(line, columns);
    const [first = "", ...others] = wrapLine(line.slice(lead.length), columns - lead.length);
    return [lead + first, ...others.map((row) => " ".repeat(lead.length) + row)];
  }
}

const isSame = (a: readonly string[], b: readonly string[], until: number) =>
  a.slice(0, until).every((row, at) => row === b[at]);

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
