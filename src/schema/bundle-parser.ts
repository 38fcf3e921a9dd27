import {
  type AnyNode,
  type CallExpression,
  type ClassBody,
  type Expression,
  type Function as FunctionNode,
  type Options,
  Parser,
  type Program,
  tokTypes,
} from "acorn";
import {
  type DefinitionNode,
  fieldList,
  gettersOf,
  handedOn,
  isKept,
  moduleMadeBy,
  requiredBy,
} from "./bundle-forms.ts";
import { lastName, lastOf, propertiesOf, propertyKeyOf, returnedBy, stringOf } from "./literals.ts";
import type { RawBundle, RawEnum, RawMessage, Reference, Scope } from "./raw-bundle.ts";
import { rawFields, rawValues } from "./raw-field.ts";
import { createSkipper, type Skipper } from "./skip-block.ts";

/** acorn's parser as its plugins see it. Source: acorn/src/{parser,scope,statement,node}.js, 8.19. */
interface ParserInternals {
  parse(): Program;
  readonly input: string;
  readonly type: unknown;
  readonly start: number;
  pos: number;
  next(): void;
  parseFunctionBody(node: FunctionNode, isArrow: boolean, isMethod: boolean, forInit: unknown): void;
  enterScope(flags: number): void;
  exitScope(): void;
  scopeStack: (Scope & { readonly flags: number; parent?: Scope | undefined })[];
  currentScope(): Scope;
  currentVarScope(): Scope;
  currentThisScope(): { readonly flags: number };
  finishNode(node: AnyNode, type: string): AnyNode;
  parseClass(node: AnyNode, isStatement: boolean): AnyNode;
}
type InternalParser = new (options: Options, input: string) => ParserInternals;

/** How many functions stand around a module of a bundle: the bundler's own. */
const deepestModule = 2;
/** A function that hands on a type is shorter than this, in characters. */
const longestGetter = 256;
const bindVar = 1;
const classStaticBlock = 256;

const options: Options = {
  ecmaVersion: "latest",
  sourceType: "script",
  allowHashBang: true,
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
};

/**
 * Reads a whole bundle with a real parser and keeps what concerns protobuf. The tree is freed after each statement, so
 * that 10 MB need about 150 MB and not 500. Names are recorded per scope, so that short names can be resolved.
 *
 * @throws SyntaxError with the offset, as acorn does; RangeError where code nests deeper than the stack.
 * Source: docs/dev/wire/extension-bundle.md, "Generated code".
 */
export function parseBundle(source: string): RawBundle {
  const raw: RawBundle = {
    messages: [],
    enums: [],
    services: [],
    parts: [],
    bindings: [],
    exports: [],
    stars: [],
    modules: new Map(),
    moduleScopes: new Set(),
    fileDescriptors: [],
  };
  const Collector = Parser.extend(
    (base) => collecting(base as unknown as InternalParser, raw, createSkipper(source)) as unknown as typeof Parser, // a plugin sees the internals
  );
  Collector.parse(source, options);
  return raw;
}

// acorn's plugins are subclasses: the one place where we inherit.
/** One class of hooks, longer than 300 lines in all because the hooks of acorn's parser share the state of one parse. */
function collecting(Base: InternalParser, raw: RawBundle, skipper: Skipper): InternalParser {
  return class extends Base {
    readonly #classes: { readonly message: RawMessage; readonly depth: number }[] = [];
    /** The number of open functions around the current position. */
    #depth = 0;
    #lastScope: Scope | undefined;

    override enterScope(flags: number): void {
      const parent = this.scopeStack.at(-1);
      super.enterScope(flags);
      const scope = this.scopeStack.at(-1);
      if (scope !== undefined) scope.parent = parent;
    }

    override exitScope(): void {
      this.#lastScope = this.scopeStack.at(-1);
      super.exitScope();
    }

    /** Instead of the check for double declarations, which is quadratic in a bundle's outermost scope. */
    declareName(name: string, bindingType: number): void {
      const scope = bindingType === bindVar ? this.currentVarScope() : this.currentScope();
      scope.var.push(name);
    }

    /** Not our business, and a tenth of the time. */
    checkUnreserved(): void {}
    checkLocalExport(): void {}

    override parseClass(node: AnyNode, isStatement: boolean): AnyNode {
      const message: RawMessage = { at: node.start };
      this.#classes.push({ message, depth: this.#depth });
      const parsed = super.parseClass(node, isStatement);
      this.#classes.pop();
      this.#finishClass(parsed, message, isStatement);
      return parsed;
    }

    /**
     * Skips a body without a word of generated code: nothing in it has a meaning outside. A body that may be a module is not skipped,
     * because it could re-export types of other modules.
     */
    override parseFunctionBody(node: FunctionNode, isArrow: boolean, isMethod: boolean, forInit: unknown): void {
      const isDeclared = node.id != null || (isMethod && this.#classes.at(-1)?.depth === this.#depth);
      const isBlock = this.type === tokTypes.braceL && (isDeclared || this.#depth >= deepestModule);
      const end = isBlock ? skipper.endOf(this.start) : undefined;
      const mayGive = !isDeclared && node.params.length === 0; // `T: function () { return Note }`
      if (end === undefined || (mayGive && end - this.start < longestGetter)) {
        this.#depth++;
        super.parseFunctionBody(node, isArrow, isMethod, forInit);
        this.#depth--;
        return;
      }
      node.body = { type: "BlockStatement", start: this.start, end: end + 1, body: [] };
      this.pos = end;
      this.next(); // reads the closing brace
      this.next();
      node.expression = false;
      this.exitScope();
    }

    override finishNode(node: AnyNode, type: string): AnyNode {
      const finished = super.finishNode(node, type);
      if (finished.type === "CallExpression") this.#finishCall(finished.callee, finished.arguments, finished);
      else if (finished.type === "ObjectExpression") this.#finishObject(finished);
      else if (finished.type === "FunctionExpression" || finished.type === "ArrowFunctionExpression") {
        if (this.#lastScope !== undefined) (finished as DefinitionNode).scope = this.#lastScope;
      } else if (finished.type === "AssignmentExpression") {
        if (finished.operator === "=") this.#finishAssignment(finished.left, finished.right);
      } else if (finished.type === "VariableDeclarator" && finished.init != null) {
        this.#bind(finished.id, finished.init);
        finished.init = null;
      } else if (finished.type === "ExpressionStatement") finished.expression = nothing;
      else if (finished.type === "BlockStatement") finished.body = finished.body.filter(isKept);
      else if (finished.type === "Program") finished.body = [];
      return finished;
    }

    #finishClass(node: AnyNode, message: RawMessage, isStatement: boolean): void {
      if (node.type !== "ClassExpression" && node.type !== "ClassDeclaration") return;
      message.innerName = node.id?.name;
      for (const element of node.body.body) {
        if (element.type === "PropertyDefinition" && element.static && !element.computed) {
          this.#part(message, propertyKeyOf(element.key), element.value);
        }
      }
      node.body = { ...node.body, body: [] } satisfies ClassBody;
      if (message.typeName === undefined && message.fields === undefined) return;
      raw.messages.push(message);
      (node as DefinitionNode).definition = message;
      if (isStatement && node.id != null) this.#name(node.id, message);
    }

    /** `typeName` or `fields` of a message, however it is attached. */
    #part(message: RawMessage, key: string | undefined, value: AnyNode | null | undefined): boolean {
      if (key === "typeName") {
        const typeName = stringOf(value);
        if (typeName === undefined) return false;
        message.typeName = typeName;
        return true;
      }
      const list = key === "fields" ? fieldList(value) : undefined;
      if (list === undefined) return false;
      message.fields = { list: rawFields(list), scope: this.currentScope() };
      return true;
    }

    #finishAssignment(left: AnyNode, right: Expression): void {
      if (left.type !== "MemberExpression") {
        this.#bind(left, right);
        // `M = t.Mood || (t.Mood = {})`
        const exported = right.type === "LogicalExpression" ? lastName(right.left) : undefined;
        if (exported !== undefined && /^[A-Z]/.test(exported) && left.type === "Identifier")
          this.#exported(exported, left);
        return;
      }
      const key = lastName(left);
      if (key === undefined) return;
      if (key === "typeName" || key === "fields") this.#attach(left.object, key, right);
      else if (/^[A-Z]/.test(key) && left.object.type === "Identifier") this.#exported(key, right);
    }

    /** `q.typeName = …`, `this.typeName = …` in a static block, `helper(q, "typeName", …)`. */
    #attach(target: AnyNode, key: string, value: AnyNode): void {
      const part: RawMessage = { at: value.start };
      if (!this.#part(part, key, value)) return;
      if (target.type === "ThisExpression") {
        const current = this.#classes.at(-1)?.message;
        if (current !== undefined && (this.currentThisScope().flags & classStaticBlock) !== 0)
          Object.assign(current, { ...part, at: current.at });
        return;
      }
      raw.parts.push({ target: this.#reference(target), at: value.start, part });
    }

    /** `exports.Note = q`, `exports.Note = class …`, `exports.Mood = M = {}`. */
    #exported(key: string, value: AnyNode): void {
      if (value.type === "AssignmentExpression") {
        this.#exported(key, value.left);
        return;
      }
      const definition = (value as DefinitionNode).definition;
      const scope = this.currentScope();
      if (value.type !== "Identifier" && value.type !== "MemberExpression" && definition === undefined) return;
      const reference = { node: value, scope };
      raw.exports.push({ holder: undefined, scope, getters: new Map([[key, reference]]) });
    }

    #finishCall(callee: AnyNode, args: readonly AnyNode[], call: AnyNode): void {
      const [first, second, third] = args;
      if (first === undefined) return;
      if (second === undefined) {
        if (first.type === "Literal" && typeof first.value === "string" && lastName(callee) === "fileDesc") {
          raw.fileDescriptors.push(first.value);
        }
        return;
      }
      const exported = second.type === "ObjectExpression" ? gettersOf(second) : undefined;
      if (exported !== undefined) {
        const scope = this.currentScope();
        const getters = new Map([...exported].map(([key, node]) => [key, { node, scope }]));
        raw.exports.push({ holder: this.#reference(first), scope, getters });
        return;
      }
      switch (lastName(callee) ?? "") {
        case "setEnumType":
          this.#enumType(second, third, first);
          return;
        case "makeEnum":
          this.#madeEnum(first, second, call);
          return;
        case "makeMessageType":
          this.#madeMessage(first, second, call);
          return;
        case "fileDesc":
          if (stringOf(first) !== undefined) raw.fileDescriptors.push(stringOf(first) ?? "");
          return;
        default:
          if (third !== undefined) this.#finishDefinition(callee, first, second, third);
          else if (second.type === "Identifier") this.#star(first);
      }
    }

    /** `helper(q, "typeName", …)`, `i.d(t, "Note", …)`. */
    #finishDefinition(callee: AnyNode, target: AnyNode, name: AnyNode, value: AnyNode): void {
      const key = stringOf(name);
      if (key === "typeName" || key === "fields") this.#attach(target, key, value);
      const handed = handedOn(callee, name, value);
      if (handed !== undefined) this.#exported(...handed);
    }

    #star(from: AnyNode): void {
      const scope = this.currentScope();
      const required = requiredBy(from, scope);
      if (required !== undefined) raw.stars.push({ scope, required });
    }

    #enumType(name: AnyNode, values: AnyNode | undefined, target: AnyNode | undefined): RawEnum | undefined {
      const typeName = stringOf(name);
      if (typeName === undefined || values?.type !== "ArrayExpression") return undefined;
      const definition: RawEnum = { at: name.start, typeName, values: rawValues(values) };
      raw.enums.push(definition);
      if (target !== undefined) this.#name(target, definition);
      if (target?.type === "MemberExpression") {
        const key = lastName(target);
        if (key !== undefined) this.#exported(key, { ...name, definition } as AnyNode & DefinitionNode);
      }
      return definition;
    }

    #madeEnum(name: AnyNode, values: AnyNode, call: AnyNode): void {
      const definition = this.#enumType(name, values, undefined);
      if (definition !== undefined) (call as DefinitionNode).definition = definition;
    }

    #madeMessage(name: AnyNode, fields: AnyNode, call: AnyNode): void {
      const typeName = stringOf(name);
      const list = fields.type === "ArrayExpression" ? fields : returnedBy(fields);
      if (typeName === undefined || list?.type !== "ArrayExpression") return;
      const fieldsRead = { list: rawFields(list), scope: this.currentScope() };
      const definition: RawMessage = { at: name.start, typeName, fields: fieldsRead };
      raw.messages.push(definition);
      (call as DefinitionNode).definition = definition;
    }

    #finishObject(node: AnyNode & { readonly type: "ObjectExpression" }): void {
      for (const property of node.properties) {
        if (property.type !== "Property" || property.computed) continue;
        const { value } = property;
        if (
          (value.type === "ArrowFunctionExpression" || value.type === "FunctionExpression") &&
          value.params.length > 0
        ) {
          const id = propertyKeyOf(property.key);
          const { scope } = value as DefinitionNode;
          if (id === undefined || scope === undefined) continue;
          raw.modules.set(id, scope);
          raw.moduleScopes.add(scope);
        } else if (property.key.type === "Identifier" && property.key.name === "typeName") {
          this.#service(node);
        }
      }
    }

    #service(node: AnyNode & { readonly type: "ObjectExpression" }): void {
      const properties = propertiesOf(node);
      const typeName = stringOf(properties.get("typeName"));
      const methods = properties.get("methods");
      if (typeName === undefined || methods?.type !== "ObjectExpression") return;
      raw.services.push({ at: node.start, typeName, methods, scope: this.currentScope() });
    }

    /** Names the value of an expression: a message, an enum, another name, a module. */
    #bind(target: AnyNode, value: AnyNode): void {
      if (target.type !== "Identifier") return;
      const expression = lastOf(value);
      const { definition } = expression as DefinitionNode;
      const scope = this.currentScope();
      if (definition !== undefined) this.#name(target, definition);
      else if (expression.type === "Identifier")
        (scope.aliases ??= new Map()).set(target.name, { node: expression, scope });
      else if (expression.type === "AssignmentExpression") this.#bind(target, expression.right);
      else if (expression.type === "CallExpression") this.#bindCall(target.name, expression);
    }

    #bindCall(name: string, call: CallExpression): void {
      const scope = this.currentScope();
      const { callee } = call;
      const returned = returnedBy(callee);
      const inner = (callee as DefinitionNode).scope;
      if (returned !== undefined && inner !== undefined) {
        (scope.aliases ??= new Map()).set(name, { node: returned, scope: inner });
        return;
      }
      const required = requiredBy(call, scope);
      if (required !== undefined) (scope.requires ??= new Map()).set(name, required);
      const module = moduleMadeBy(call.arguments);
      if (module === undefined) return;
      (scope.modules ??= new Map()).set(name, module);
      raw.moduleScopes.add(module);
    }

    #name(target: AnyNode, definition: RawMessage | RawEnum): void {
      raw.bindings.push({ target: this.#reference(target), definition });
    }

    #reference(node: AnyNode): Reference {
      return { node, scope: this.currentScope() };
    }
  };
}

const nothing: Expression = { type: "Identifier", name: "", start: 0, end: 0 };
