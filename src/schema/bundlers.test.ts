import { describe, expect, it } from "vitest";
import { readSchema, registryOf } from "./read-schema.ts";

const fields = (mood: string, image: string) =>
  `r.proto3.util.newFieldList(()=>[{no:1,name:"mood",kind:"enum",T:r.proto3.getEnumType(${mood})},{no:2,name:"image",kind:"message",T:${image}}])`;
const note = (mood: string, image: string) =>
  `class q extends r.Message{constructor(t){super(),r.proto3.util.initPartial(t,this)}static typeName="exa.a_pb.Note";static fields=${fields(mood, image)}}`;
const image =
  'class I extends r.Message{static typeName="exa.b_pb.Image";static fields=r.proto3.util.newFieldList(()=>[])}';
const members = '(function(e){e[e.UNSPECIFIED=0]="UNSPECIFIED",e[e.CALM=1]="CALM"})';
const mood = (target: string) =>
  `r.proto3.util.setEnumType(${target},"exa.b_pb.Mood",[{no:0,name:"MOOD_UNSPECIFIED"},{no:1,name:"MOOD_CALM"}]);`;
/** Two more types by the same names in a package of their own, so that a name alone says nothing. */
const namesakes = `var M9;${members}(M9||(M9={}));r.proto3.util.setEnumType(M9,"exa.c_pb.Mood",[{no:0,name:"MOOD_NONE"}]);class I9 extends r.Message{static typeName="exa.c_pb.Image";static fields=r.proto3.util.newFieldList(()=>[])}`;
const webpack = (modules: string) =>
  `(()=>{var e={${modules},9:(e,t,i)=>{${namesakes}}};function i(n){return e[n](0,{},i)}})();`;

describe("an enum and a message of another module are found", () => {
  it.each([
    [
      "in webpack's modules, with names kept",
      webpack(
        `99:(e,t,i)=>{"use strict";i.d(t,{Mood:()=>M,Image:()=>I});var M;${members}(M||(M={}));${mood("M")}${image}},1:(e,t,i)=>{var n=i(99);${note("n.Mood", "n.Image")}}`,
      ),
    ],
    [
      "in webpack's modules, with names shortened",
      webpack(
        `99:(e,t,i)=>{i.d(t,{o:()=>M,k:()=>I});var M;${members}(M||(M={}));${mood("M")}${image}},1:(e,t,i)=>{const n=i(99);${note("n.o", "n.k")}}`,
      ),
    ],
    [
      "in the modules of webpack 4",
      webpack(
        `99:function(e,t,i){i.d(t,"a",(function(){return M})),i.d(t,"b",(function(){return I}));var M;${members}(M||(M={}));${mood("M")}${image}},1:function(e,t,i){var n=i(99);${note("n.a", "n.b")}}`,
      ),
    ],
    [
      "through a module that only hands them on",
      webpack(
        `99:(e,t,i)=>{i.d(t,{Mood:()=>M,Image:()=>I});var M;${members}(M||(M={}));${mood("M")}${image}},50:(e,t,i)=>{i.d(t,{x:()=>n.Mood,y:()=>n.Image});var n=i(99)},1:(e,t,i)=>{var n=i(50);${note("n.x", "n.y")}}`,
      ),
    ],
    [
      "in CommonJS modules, the enum made in place",
      webpack(
        `99:(e,t,i)=>{Object.defineProperty(t,"__esModule",{value:!0}),t.Image=t.Mood=void 0;var M;${members}(M||(t.Mood=M={})),${mood("M")}${image}t.Image=I},1:(e,t,i)=>{const n=i(99);${note("n.Mood", "n.Image")}}`,
      ),
    ],
    [
      "in CommonJS modules of an older compiler",
      webpack(
        `99:(e,t,i)=>{var M;${members}(M=t.Mood||(t.Mood={}));${mood("M")}${image}t.Image=I},1:(e,t,i)=>{const n=i(99);${note("n.Mood", "n.Image")}}`,
      ),
    ],
    [
      "in CommonJS modules whose enum has no name of its own",
      webpack(
        `99:(e,t,i)=>{${members}(t.Mood||(t.Mood={}));${mood("t.Mood")}t.Image=${image}},1:(e,t,i)=>{const n=i(99);${note("n.Mood", "n.Image")}}`,
      ),
    ],
    [
      "through what a compiler wraps around an import",
      webpack(
        `99:(e,t,i)=>{var M;${members}(M||(t.Mood=M={}));${mood("M")}${image}t.Image=I},1:(e,t,i)=>{const n=o(i(99),1);${note("n.Mood", "n.Image")}}`,
      ),
    ],
    [
      "through getters and stars of CommonJS",
      webpack(
        `99:(e,t,i)=>{var M;${members}(M||(t.Mood=M={}));${mood("M")}${image}t.Image=I},50:(e,t,i)=>{var a=i(99);Object.defineProperty(t,"Mood",{enumerable:!0,get:function(){return a.Mood}});s(i(99),t)},1:(e,t,i)=>{const n=i(50);${note("n.Mood", "n.Image")}}`,
      ),
    ],
    [
      "in esbuild's CommonJS modules",
      `var x=v((t,e)=>{var M;${members}(M||(t.Mood=M={}));${mood("M")}${image}t.Image=I});var y=v({"src/a.js"(t,e){var n=x();${note("n.Mood", "n.Image")}t.Note=q}});var z=v((t,e)=>{${namesakes}});`,
    ],
    [
      "in esbuild's modules that are made when they are needed, and under a namespace",
      `var M,I,q,ns={};p(ns,{Mood:()=>M,Image:()=>I});var a=k(()=>{${members}(M||(M={}));${mood("M")}I=${image.replace("class I", "class")}});var b=k(()=>{a();q=${note("ns.Mood", "ns.Image")}});${namesakes}`,
    ],
  ])("%s", (_, source) => {
    const { set, problems } = readSchema(source);
    expect(problems).toEqual([]);
    const found = registryOf({ set }).getMessage("exa.a_pb.Note");
    expect(found?.field["mood"]?.enum?.typeName).toBe("exa.b_pb.Mood");
    expect(found?.field["image"]?.message?.typeName).toBe("exa.b_pb.Image");
  });
});

it("a type that is known by its name only is reported once, however many fields refer to it", () => {
  const twice = `{no:1,name:"a",kind:"message",T:n.Image},{no:2,name:"b",kind:"message",T:n.Image,repeated:!0}`;
  const { set, problems } = readSchema(
    `${image}var q=class{static typeName="exa.a_pb.Note";static fields=r.newFieldList(()=>[${twice}])}`,
  );
  expect(registryOf({ set }).getMessage("exa.a_pb.Note")?.fields).toHaveLength(2);
  expect(problems).toEqual([
    { where: "exa.b_pb.Image", what: "2 fields refer to it by its name only, exa.a_pb.Note.a first" },
  ]);
});
