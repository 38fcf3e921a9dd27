/**
 * A program for 64-bit Windows, byte by byte, because nothing here compiles one: it makes an empty file, waits ten minutes and ends.
 * Source: the PE format of learn.microsoft.com; arguments of Windows x64 go into rcx, rdx, r8, r9, then onto the stack.
 */
export function waitingProgram(marker: string): Buffer {
  const file = Buffer.alloc(0x800);
  const put = (at: number, ...bytes: readonly number[]) => Buffer.from(bytes).copy(file, at);
  const u32 = (at: number, ...values: readonly number[]) =>
    values.forEach((value, n) => void file.writeUInt32LE(value, at + 4 * n));
  const u16 = (at: number, ...values: readonly number[]) =>
    values.forEach((value, n) => void file.writeUInt16LE(value, at + 2 * n));
  const text = (at: number, value: string) => void file.write(value, at, "latin1");

  text(0, "MZ");
  u32(0x3c, 0x40);
  text(0x40, "PE\0\0");
  u16(0x44, 0x8664, 1); // x64, one section
  u16(0x54, 0xf0, 0x22); // size of the optional header; a program that may use large addresses
  u16(0x58, 0x20b);
  u32(0x5c, 0x600, 0, 0, 0x1000, 0x1000); // sizes, entry point, base of the code
  u32(0x70, 0x400000, 0, 0x1000, 0x200); // image base, alignments in memory and in the file
  u16(0x80, 6, 0, 0, 0, 6, 0);
  u32(0x90, 0x2000, 0x200); // sizes of the image and its headers
  u16(0x9c, 3); // a console program
  u32(0xa0, 0x100000, 0, 0x1000, 0, 0x100000, 0, 0x1000, 0, 0, 16);
  u32(0xd0, 0x1100, 40); // the second directory: imports
  text(0x148, ".all");
  u32(0x150, 0x600, 0x1000, 0x600, 0x200);
  u32(0x16c, 0xe0000060); // code that may be read and written

  // offsets in the section; the file has it at 0x200, the memory at 0x1000
  const names = { CreateFileA: 0x200, Sleep: 0x220, ExitProcess: 0x240 };
  const [imports, list, table, library, path] = [0x100, 0x140, 0x180, 0x260, 0x300];
  u32(0x200 + imports, 0x1000 + list, 0, 0, 0x1000 + library, 0x1000 + table);
  text(0x200 + library, "KERNEL32.dll");
  text(0x200 + path, marker);
  Object.entries(names).forEach(([name, at], n) => {
    text(0x202 + at, name);
    for (const each of [list, table]) u32(0x200 + each + 8 * n, 0x1000 + at);
  });
  const call = (at: number, n: number) => {
    put(0x200 + at, 0xff, 0x15);
    file.writeInt32LE(table + 8 * n - (at + 6), 0x202 + at);
  };
  put(0x200, 0x48, 0x83, 0xec, 0x48); // sub rsp, 72
  put(0x204, 0x48, 0x8d, 0x0d); // lea rcx, [path]
  file.writeInt32LE(path - 0x0b, 0x207);
  put(0x20b, 0xba, 0, 0, 0, 0x40); // mov edx, GENERIC_WRITE
  put(0x210, 0x45, 0x31, 0xc0, 0x45, 0x31, 0xc9); // xor r8d, r8d; xor r9d, r9d
  put(0x216, 0x48, 0xc7, 0x44, 0x24, 0x20, 2, 0, 0, 0); // CREATE_ALWAYS
  put(0x21f, 0x48, 0xc7, 0x44, 0x24, 0x28, 0x80, 0, 0, 0); // FILE_ATTRIBUTE_NORMAL
  put(0x228, 0x48, 0xc7, 0x44, 0x24, 0x30, 0, 0, 0, 0); // no template
  call(0x31, 0);
  put(0x237, 0xb9, 0xc0, 0x27, 0x09, 0); // mov ecx, 600 000 ms
  call(0x3c, 1);
  put(0x242, 0x31, 0xc9); // xor ecx, ecx
  call(0x44, 2);
  return file;
}
