const subjects = ["The channel", "A steady stream", "The wheel", "Each stone", "The miller", "Clear water"];
const verbs = ["carries", "turns", "feeds", "follows", "measures", "moves"];
const objects = [
  "the old mill",
  "a heavy beam",
  "the lower gate",
  "every sack of grain",
  "the quiet pond",
  "its own weight",
];

/** Sentences without end, always the same ones. */
function sentence(i: number): string {
  const subject = subjects[i % subjects.length] ?? "";
  const verb = verbs[(i * 5 + Math.floor(i / 6)) % verbs.length] ?? "";
  const object = objects[(i * 7 + Math.floor(i / 36)) % objects.length] ?? "";
  return `${subject} ${verb} ${object}.`;
}

/** Plain prose of exactly `length` characters. */
export function prose(length: number): string {
  const parts: string[] = [];
  for (let size = 0, i = 0; size <= length; i++) {
    const next = sentence(i);
    parts.push(next);
    size += next.length + 1;
  }
  return parts.join(" ").slice(0, length);
}

/** A Markdown page of about `length` characters: headings, a list, a table, a code block, whole lines only. */
export function markdown(length: number): string {
  const lines = ["# The millrace", ""];
  let size = lines.join("\n").length;
  for (let i = 0; size < length; i++) {
    const block = markdownBlock(i);
    lines.push(...block, "");
    size += block.join("\n").length + 2;
  }
  return lines.join("\n").trimEnd();
}

function markdownBlock(i: number): string[] {
  switch (i % 4) {
    case 0:
      return [`## Part ${i / 4 + 1}`, "", `${sentence(i)} **${sentence(i + 1)}**`];
    case 1:
      return [`- ${sentence(i)}`, `- \`gate ${i}\`: ${sentence(i + 2)}`, `- ${sentence(i + 3)}`];
    case 2:
      return ["| gate | flow |", "| --- | ---: |", `| upper | ${i * 3} |`, `| lower | ${i * 2} |`];
    default:
      return ["```ts", `const flow = ${i} * 3;`, "```"];
  }
}

const typescript = (i: number) => `export function gate${i}(flow: number): number {\n  return flow * ${i + 1};\n}\n`;

const functions = new Map([
  ["python", (i: number) => `def gate_${i}(flow: int) -> int:\n    return flow * ${i + 1}\n`],
  ["rust", (i: number) => `fn gate_${i}(flow: u64) -> u64 {\n    flow * ${i + 1}\n}\n`],
  ["go", (i: number) => `func gate${i}(flow int) int {\n\treturn flow * ${i + 1}\n}\n`],
  ["typescript", typescript],
]);

/** A fenced code block of `lines` lines in a language that is known here; TypeScript otherwise. */
export function code(language: string, lines: number): string {
  const write = functions.get(language) ?? typescript;
  const out: string[] = [];
  for (let i = 0; out.length < lines; i++) out.push(...write(i).split("\n"));
  const fence = functions.has(language) ? language : "typescript";
  return `\`\`\`${fence}\n${out.slice(0, lines).join("\n")}\n\`\`\``;
}
