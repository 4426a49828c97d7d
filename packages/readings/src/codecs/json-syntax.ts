/** The first syntax error of a JSON text. */
export interface SyntaxProblem {
  /** Index into the text; its length when the text ends too early. */
  readonly index: number;
  readonly expected: string;
}

const HEX = /[0-9a-fA-F]/;
const CLOSING_QUOTE = 'the closing quote of a text';
const LITERALS = ['true', 'false', 'null'];
const CLOSERS: ReadonlyMap<string | undefined, string> = new Map([
  ['{', '}'],
  ['[', ']'],
]);

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
  const skipOneOf = (chars: string) => {
    const isOne = at < text.length && chars.includes(text[at]!);
    if (isOne) at++;
    return isOne;
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
      const bad = char === '\\' ? escaped() : null;
      if (bad !== null) return bad;
    }
    return problem(CLOSING_QUOTE);
  }

  /** Checks the character after a backslash, and the digits of `\u`. */
  function escaped(): SyntaxProblem | null {
    at++;
    if (at >= text.length) return problem(CLOSING_QUOTE);
    if (text[at] !== 'u')
      return '"\\/bfnrt'.includes(text[at]!) ? null : problem('one of "\\/bfnrtu after \\');
    for (let digits = 0; digits < 4; digits++) {
      at++;
      if (at >= text.length || !HEX.test(text[at]!)) return problem('four hexadecimal digits after \\u');
    }
    return null;
  }

  function number(): SyntaxProblem | null {
    skipOneOf('-');
    if (!skipOneOf('0') && !skipDigits()) return problem('a digit');
    if (skipOneOf('.') && !skipDigits()) return problem('a digit after the decimal point');
    if (!skipOneOf('eE')) return null;
    skipOneOf('+-');
    return skipDigits() ? null : problem('a digit of the exponent');
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

  /** Reads a scalar or an empty array or object, after the arrays and objects that begin with it. */
  function value(): SyntaxProblem | null {
    for (;;) {
      skipWhiteSpace();
      const closer = CLOSERS.get(text[at]);
      if (closer === undefined) return scalar();
      at++;
      skipWhiteSpace();
      if (text[at] === closer) {
        at++;
        return null;
      }
      closers.push(closer);
      const bad = closer === '}' ? key() : null;
      if (bad !== null) return bad;
    }
  }

  /** Closes the arrays and objects that end after a value, up to the next value or the end of the text. */
  function close(): SyntaxProblem | null {
    skipWhiteSpace();
    while (closers.length > 0 && text[at] === closers.at(-1)) {
      at++;
      closers.pop();
      skipWhiteSpace();
    }
    const closer = closers.at(-1);
    if (closer === undefined) return at === text.length ? null : problem('the end of the payload');
    if (text[at] !== ',') return problem(`"," or "${closer}"`);
    at++;
    return closer === '}' ? key() : null;
  }

  do {
    const bad = value() ?? close();
    if (bad !== null) return bad;
  } while (closers.length > 0);
  return null;
}

function isWhiteSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
