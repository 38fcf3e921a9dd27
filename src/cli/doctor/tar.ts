import { gzipSync } from "node:zlib";

// Not `tar-stream`: it needs more stream libraries, and a few small texts need only 30 lines.

/** A file of an archive; its name is relative, at most 100 ASCII characters. */
export interface TarEntry {
  readonly name: string;
  readonly text: string;
}

const blockBytes = 512;

/** A gzipped POSIX (ustar) archive of text files; every machine can open it. `atMs` is the files' time. */
export function tarGzip(entries: readonly TarEntry[], atMs: number): Buffer {
  const blocks = entries.flatMap(({ name, text }) => {
    const content = Buffer.from(text, "utf8");
    return [header(name, content.length, atMs), content, Buffer.alloc(padding(content.length))];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]));
}

function padding(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}

/** Source: POSIX.1-2017, pax, "ustar Interchange Format". Numbers are octal text. */
function header(name: string, bytes: number, atMs: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  const put = (text: string, at: number, length: number) => block.write(text.slice(0, length), at, "latin1");
  const octal = (value: number, width: number) => value.toString(8).padStart(width - 1, "0");
  put(name, 0, 100);
  put(octal(0o600, 8), 100, 8);
  put(octal(0, 8), 108, 8);
  put(octal(0, 8), 116, 8);
  put(octal(bytes, 12), 124, 12);
  put(octal(Math.floor(atMs / 1000), 12), 136, 12);
  put(" ".repeat(8), 148, 8); // the checksum counts itself as blanks
  put("0", 156, 1);
  put("ustar\u000000", 257, 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${octal(sum, 7)}\u0000 `, 148, 8);
  return block;
}
