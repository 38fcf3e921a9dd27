import { type AnyNode, type ClassBody, type Expression, type Options, Parser, type Program } from "acorn";
import { keyOf, lastName, lastOf, propertiesOf, returnedBy, stringOf } from "./literals.ts";
import type { RawBundle, RawEnum, RawMessage, Reference, Scope } from "./raw-bundle.ts";

/** acorn's parser as its plugins see it. Source: acorn/src/{parser,scope,statement,node}.js, 8.19. */
interface ParserInternals {
  parse(): Program;
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
 * Reads a whole bundle with a real parser and keeps what concerns protobuf. The tree is let go of statement by statement, so
 * that 10 MB need some 150 MB and not 500; names are recorded per scope, so that what a short name stands for can be said.
 *
 * @throws SyntaxError with the offset, as acorn does; RangeError where code nests deeper than the stack.
 * Source: facts/language-server.md, 7.1.
 */
export function parseBundle(source: string): RawBundle {
  const raw: RawBundle = {
    messages: [],
    enums: [],
    services: [],
    parts: [],
    bindings: [],
    exports: [],
    modules: new Map(),
    fileDescriptors: [],
  };
  const Collector = Parser.extend(
    (base) => collecting(base as unknown as InternalParser, raw) as unknown as typeof Parser, // a plugin sees the internals
  );
  Collector.parse(source, options);
  return raw;
}

/** Nodes that carry what was found in them up to the statement that gives it a name. */
interface Carrying {
  definition?: RawMessage | RawEnum;
  scope?: Scope;
}

// acorn's plugins are subclasses: the one place where we inherit.
function collecting(Base: InternalParser, raw: RawBundle): InternalParser {
  return class extends Base {
    readonly #classes: RawMessage[] = [];
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
      this.#classes.push(message);
      const parsed = super.parseClass(node, isStatement);
      this.#classes.pop();
      this.#finishClass(parsed, message, isStatement);
      return parsed;
    }

    override finishNode(node: AnyNode, type: string): AnyNode {
      const finished = super.finishNode(node, type);
      if (finished.type === "CallExpression") this.#finishCall(finished.callee, finished.arguments, finished);
      else if (finished.type === "ObjectExpression") this.#finishObject(finished);
      else if (finished.type === "FunctionExpression" || finished.type === "ArrowFunctionExpression") {
        if (this.#lastScope !== undefined) (finished as Carrying).scope = this.#lastScope;
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
          this.#part(message, keyOf(element.key), element.value);
        }
      }
      node.body = { ...node.body, body: [] } satisfies ClassBody;
      if (message.typeName === undefined && message.fields === undefined) return;
      raw.messages.push(message);
      (node as Carrying).definition = message;
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
      message.fields = { list, scope: this.currentScope() };
      return true;
    }

    #finishAssignment(left: AnyNode, right: Expression): void {
      if (left.type !== "MemberExpression") {
        this.#bind(left, right);
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
        const current = this.#classes.at(-1);
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
      const definition = (value as Carrying).definition;
      const scope = this.currentScope();
      if (value.type !== "Identifier" && definition === undefined) return;
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
        default: {
          const key = third === undefined ? undefined : stringOf(second);
          if ((key === "typeName" || key === "fields") && third !== undefined) this.#attach(first, key, third);
        }
      }
    }

    #enumType(name: AnyNode, values: AnyNode | undefined, target: AnyNode | undefined): RawEnum | undefined {
      const typeName = stringOf(name);
      if (typeName === undefined || values?.type !== "ArrayExpression") return undefined;
      const definition: RawEnum = { at: name.start, typeName, values };
      raw.enums.push(definition);
      if (target !== undefined) this.#name(target, definition);
      return definition;
    }

    #madeEnum(name: AnyNode, values: AnyNode, call: AnyNode): void {
      const definition = this.#enumType(name, values, undefined);
      if (definition !== undefined) (call as Carrying).definition = definition;
    }

    #madeMessage(name: AnyNode, fields: AnyNode, call: AnyNode): void {
      const typeName = stringOf(name);
      const list = fields.type === "ArrayExpression" ? fields : returnedBy(fields);
      if (typeName === undefined || list?.type !== "ArrayExpression") return;
      const definition: RawMessage = { at: name.start, typeName, fields: { list, scope: this.currentScope() } };
      raw.messages.push(definition);
      (call as Carrying).definition = definition;
    }

    #finishObject(node: AnyNode & { readonly type: "ObjectExpression" }): void {
      for (const property of node.properties) {
        if (property.type !== "Property" || property.computed) continue;
        const { value } = property;
        if (
          (value.type === "ArrowFunctionExpression" || value.type === "FunctionExpression") &&
          value.params.length > 0
        ) {
          const id = keyOf(property.key);
          const { scope } = value as Carrying;
          if (id !== undefined && scope !== undefined) raw.modules.set(id, scope);
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

    /** Gives a name to what an expression holds: a message, an enum, another name, a module. */
    #bind(target: AnyNode, value: AnyNode): void {
      if (target.type !== "Identifier") return;
      const expression = lastOf(value);
      const { definition } = expression as Carrying;
      const scope = this.currentScope();
      if (definition !== undefined) this.#name(target, definition);
      else if (expression.type === "Identifier")
        (scope.aliases ??= new Map()).set(target.name, { node: expression, scope });
      else if (expression.type === "AssignmentExpression") this.#bind(target, expression.right);
      else if (expression.type === "CallExpression")
        this.#bindCall(target.name, expression.callee, expression.arguments);
    }

    #bindCall(name: string, callee: AnyNode, args: readonly AnyNode[]): void {
      const scope = this.currentScope();
      const [first, second] = args;
      const returned = returnedBy(callee);
      const inner = (callee as Carrying).scope;
      if (returned !== undefined && inner !== undefined) {
        (scope.aliases ??= new Map()).set(name, { node: returned, scope: inner });
      } else if (first?.type === "Literal" && second === undefined && callee.type === "Identifier") {
        (scope.requires ??= new Map()).set(name, String(first.value));
      }
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

/** What a block still has to give once it is parsed: a list of fields, or the name of a class made inside. */
function isKept(statement: AnyNode): boolean {
  if (statement.type !== "ReturnStatement" || statement.argument == null) return false;
  const argument = lastOf(statement.argument);
  const { type } = argument;
  return type === "ArrayExpression" || type === "Identifier" || (argument as Carrying).definition !== undefined;
}

/** The array of `newFieldList(() => […])`. */
function fieldList(node: AnyNode | null | undefined) {
  if (node?.type !== "CallExpression" || lastName(node.callee) !== "newFieldList") return undefined;
  const [argument] = node.arguments;
  if (argument === undefined) return undefined;
  const list = argument.type === "ArrayExpression" ? argument : returnedBy(argument);
  return list?.type === "ArrayExpression" ? list : undefined;
}

/** `{Note: () => q, …}`: at least one getter, and nothing else. */
function gettersOf(node: AnyNode & { readonly type: "ObjectExpression" }): Map<string, AnyNode> | undefined {
  const getters = new Map<string, AnyNode>();
  for (const [key, value] of propertiesOf(node)) {
    const returned = returnedBy(value);
    if (returned === undefined) return undefined;
    if (returned.type === "Identifier" || returned.type === "MemberExpression") getters.set(key, returned);
  }
  return getters.size === 0 ? undefined : getters;
}
