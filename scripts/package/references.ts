import ts from 'typescript';

/** A place in a module that names another file. */
export interface Reference {
  /** `import`: an import, an export from, or `import.meta.resolve`. `url`: `new URL('…', import.meta.url)`. */
  readonly kind: 'import' | 'url';
  readonly specifier: string;
  /** The position of the specifier, without its quotes. */
  readonly start: number;
}

/** Everything that a module of JavaScript names by a literal, in the order of the text. */
export function referencesIn(code: string): readonly Reference[] {
  const source = ts.createSourceFile('module.js', code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const found: Reference[] = [];
  const add = (kind: Reference['kind'], node: ts.Node | undefined): void => {
    if (node === undefined || !ts.isStringLiteralLike(node)) return;
    found.push({ kind, specifier: node.text, start: node.getStart(source) + 1 });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add('import', node.moduleSpecifier);
    else if (ts.isCallExpression(node) && isImport(node.expression, source)) add('import', node.arguments[0]);
    else if (ts.isNewExpression(node) && isOfModule(node, source)) add('url', node.arguments?.[0]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isImport(callee: ts.Expression, source: ts.SourceFile): boolean {
  return callee.kind === ts.SyntaxKind.ImportKeyword || callee.getText(source) === 'import.meta.resolve';
}

function isOfModule({ expression, arguments: given }: ts.NewExpression, source: ts.SourceFile): boolean {
  return expression.getText(source) === 'URL' && given?.[1]?.getText(source) === 'import.meta.url';
}
