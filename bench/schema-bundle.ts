import type { DescFile } from "@bufbuild/protobuf";
import { LanguageServerService } from "../src/proto/windsurf/exa/language_server_pb.ts";
import { usualSpelling, writeBundle } from "../src/schema/bundle.fake.ts";

/**
 * A bundle of `length` characters in the form of a real extension: `protobufLength` of them are generated code (our own schema, again and again under other
 * package names), the rest is minified code of the usual kinds, from a seed.
 */
export function exampleBundle(length: number, protobufLength: number): string {
  const parts: string[] = ['"use strict";'];
  let written = 0;
  for (let copy = 0; written < protobufLength; copy++) {
    const names = (text: string) => text.replaceAll(/\$([0-9a-z]+)/g, `$$${copy}_$1`).replace(/^#!.*\n/, "");
    const part = names(writeBundle(files, "static", usualSpelling)).replaceAll(
      "exa.",
      copy === 0 ? "exa." : `exa${copy}.`,
    );
    parts.push(part);
    written += part.length;
  }
  const random = numbers(1);
  for (let n = 0; written < length; n++) {
    const part = statement(random, n);
    parts.push(part);
    written += part.length;
  }
  return parts.join("\n");
}

const files = closure(LanguageServerService.file);

function closure(file: DescFile, seen = new Set<DescFile>()): readonly DescFile[] {
  if (seen.has(file) || file.proto.package.startsWith("google.")) return [];
  seen.add(file);
  return [...file.dependencies.flatMap((dependency) => closure(dependency, seen)), file];
}

/** A linear congruence: the same numbers on every machine. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

type Random = ReturnType<typeof numbers>;

/** One statement of the outermost level, some hundred to some thousand characters. */
function statement(random: Random, n: number): string {
  const body = () => Array.from({ length: 3 + random(12) }, () => line(random)).join("");
  switch (random(5)) {
    case 0:
      return `function F${n}(e,t,n){${body()}return e}`;
    case 1:
      return `var C${n}=class extends B{constructor(e){super(e),this.a=e;${body()}}run(e){${body()}}get b(){return this.a}static of(e){${body()}}};`;
    case 2:
      return `var M${n}=w((e,t)=>{"use strict";${body()}function i(n){${body()}}e.run=i;t.exports=e});`;
    case 3:
      return `var O${n}={a:${random(999)},b:"${"x".repeat(random(60))}",c:[${Array.from({ length: random(30) }, () => random(999)).join(",")}],d(e){${body()}}};`;
    default:
      return `async function*G${n}({a:e,...t}={}){for await(let n of e){${body()}yield n}}`;
  }
}

function line(random: Random): string {
  const name = () => "abcdefghijklmnopqrstuvwxyz"[random(26)] ?? "a";
  switch (random(8)) {
    case 0:
      return `if(${name()}.${name()}&&!${name()}){let r=${name()}(${random(999)});return r===void 0?${name()}:r+${random(9)}}`;
    case 1:
      return `${name()}.on("${name()}${random(99)}",(o,s)=>{o.${name()}=s/${1 + random(9)},${name()}(o,{k:s,v:[o]})});`;
    case 2:
      return `for(let o=0;o<${name()}.length;o++)${name()}[o]=${name()}.get(o)??${name()}?.[o];`;
    case 3:
      return `try{await1(${name()})}catch(o){throw new Error(\`no \${o.message} in \${${name()}}\`)}`;
    case 4:
      return `switch(${name()}){case ${random(9)}:case "${name()}":${name()}++;break;default:${name()}=/^[a-z/]+\\/${random(99)}$/gi.test(${name()})}`;
    case 5:
      return `let{x:u${random(999)},y:l=${random(9)}}=${name()},c${random(999)}=[...${name()},...Object.keys(${name()})].map(o=>o*2).filter(Boolean);`;
    case 6:
      return `${name()}=(${name()},${name()}||${name()}(function(o){return o.${name()}(this)}));`;
    default:
      return (
        `return void 0;`.repeat(random(2)) +
        `${name()}.${name()}=${name()}>${random(999)}?"${"y".repeat(random(40))}":null;`
      );
  }
}
