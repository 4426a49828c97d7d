/** The first syntax error of a JSON text. */
export interface SyntaxProblem {
  /** Index into the text; its length when the text ends too early. */
  readonly index: number;
  readonly expected: string;
}

const HEX = /[0-9a-fA-F]/;
const LITERALS = ['true', 'false', 'null'];

/**
 * Finds the first syntax error of a JSON text (RFC 8259), or returns `null`. It is used for the message only:
 * JSON.parse decides, but does not always report the position. It uses its own stack, so that deep nesting cannot
 * overflow the call stack.
 */
export function findSyntaxProblem(text: string): SyntaxProblem | null {
  const closers: string[] = [];
  let at = 0;

  const problem = (expected: string): SyntaxProblem => ({ index: at, expected });
  const skipWhiteSpace = () => {
    while (isWhiteSpace(text.charCodeAt(at))) at++;
  };
  const skipDigits = () => {
    const from = at;
    while (isDigit(text.charCodeAt(at))) at++;
    return at > from;
  };

  function string(): SyntaxProblem | null {
    at++;
    for (; at < text.length; at++) {
      const char = text[at]!;
      if (char === '"') {
        at++;
        return null;
      }
      if (char < ' ') return problem('an escape such as \\n in place of a control character');
      if (char !== '\\') continue;
      at++;
      if (at >= text.length) break;
      if (text[at] === 'u') {
        for (let digits = 0; digits < 4; digits++) {
          at++;
          if (at >= text.length || !HEX.test(text[at]!)) return problem('four hexadecimal digits after \\u');
        }
      } else if (!'"\\/bfnrt'.includes(text[at]!)) return problem('one of "\\/bfnrtu after \\');
    }
    return problem('the closing quote of a text');
  }

  function number(): SyntaxProblem | null {
    if (text[at] === '-') at++;
    if (text[at] === '0') at++;
    else if (!skipDigits()) return problem('a digit');
    if (text[at] === '.') {
      at++;
      if (!skipDigits()) return problem('a digit after the decimal point');
    }
    if (text[at] === 'e' || text[at] === 'E') {
      at++;
      if (text[at] === '+' || text[at] === '-') at++;
      if (!skipDigits()) return problem('a digit of the exponent');
    }
    return null;
  }

  function scalar(): SyntaxProblem | null {
    const char = text[at];
    if (char === '"') return string();
    if (char === '-' || isDigit(text.charCodeAt(at))) return number();
    for (const literal of LITERALS) {
      if (text.startsWith(literal, at)) {
        at += literal.length;
        return null;
      }
    }
    return problem('a value');
  }

  function key(): SyntaxProblem | null {
    skipWhiteSpace();
    if (text[at] !== '"') return problem('a field name in double quotes');
    const bad = string();
    if (bad !== null) return bad;
    skipWhiteSpace();
    if (text[at] !== ':') return problem('":" after the field name');
    at++;
    return null;
  }

  for (;;) {
    // A value begins here.
    skipWhiteSpace();
    const opener = text[at];
    if (opener === '{' || opener === '[') {
      const closer = opener === '{' ? '}' : ']';
      at++;
      skipWhiteSpace();
      if (text[at] === closer) at++;
      else {
        closers.push(closer);
        const bad = closer === '}' ? key() : null;
        if (bad !== null) return bad;
        continue;
      }
    } else {
      const bad = scalar();
      if (bad !== null) return bad;
    }
    // A value has ended: close the arrays and objects that end with it, then continue with the next value.
    for (;;) {
      skipWhiteSpace();
      const closer = closers.at(-1);
      if (closer === undefined) return at === text.length ? null : problem('the end of the payload');
      if (text[at] === closer) {
        at++;
        closers.pop();
        continue;
      }
      if (text[at] !== ',') return problem(`"," or "${closer}"`);
      at++;
      const bad = closer === '}' ? key() : null;
      if (bad !== null) return bad;
      break;
    }
  }
}

function isWhiteSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
