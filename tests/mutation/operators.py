"""The places of a C file that can be changed, and what they are changed to.

Tokens are enough for that: what the compiler does not take is not counted. Only bodies of functions
are looked at, without assert(), attributes, logging and calls whose absence nobody can see.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<blank>\s+|/\*.*?\*/|//[^\n]*)
      | (?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\.)*)
      | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL,
)

SWAPS = {
    "==": ["!="],
    "!=": ["=="],
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "&&": ["||"],
    "||": ["&&"],
    "+": ["-"],
    "-": ["+"],
    "++": ["--"],
    "--": ["++"],
    "+=": ["-="],
    "-=": ["+="],
    "true": ["false"],
    "false": ["true"],
    "break": ["continue"],
    "continue": ["break"],
}
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}

# Their arguments are no decisions: declarations, limits of buffers, what the compiler or a log reads.
SKIPPED_CALLS = re.compile(
    r"assert|static_assert|_Static_assert|__attribute__|_cleanup_|_printf_|sizeof|offsetof|"
    r"va_start|va_end|va_arg|log_\w+|TEXT_INIT|NEAREST_INIT"
)
DECLARES = re.compile(
    r"const|static|struct|enum|union|unsigned|signed|int|long|short|char|bool|float|double|void|"
    r"\w+_t|_cleanup_\w*|__\w+|json_auto_t"
)
CONTROL = {"if", "else", "for", "while", "do", "switch", "case", "default", "return", "goto", "break",
           "continue"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self):
        return self.start + len(self.text)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change of one file. Its key has no line number, so that a judgement survives edits."""

    path: str
    function: str
    line: int
    original: str  # the line, without indentation
    changed: str  # that line after the change; "(removed)" for a statement
    source: str = dataclasses.field(repr=False, compare=False)  # the whole file

    @property
    def key(self):
        return (f"{self.path} {self.function}", self.original, self.changed)


def tokens_of(source):
    """Tokens that matter, in order."""
    found = []
    for match in TOKEN.finditer(source):
        if match.lastgroup not in ("blank", "directive"):
            found.append(Token(match.lastgroup, match.group(), match.start()))
    return found


def closing(tokens, index):
    """Index of the bracket that closes the one at @index."""
    depth = 0
    for i in range(index, len(tokens)):
        if tokens[i].text in "([{":
            depth += 1
        elif tokens[i].text in ")]}":
            depth -= 1
            if depth == 0:
                return i
    raise ValueError("a bracket is not closed")


def functions_of(tokens):
    """(name, index of '{', index of '}') of every function."""
    i = 0
    while i < len(tokens):
        if tokens[i].text == "(" and tokens[i - 1].kind == "name":
            end = closing(tokens, i)
            if end + 1 < len(tokens) and tokens[end + 1].text == "{":
                last = closing(tokens, end + 1)
                yield tokens[i - 1].text, end + 1, last
                end = last
            i = end + 1
        elif tokens[i].text == "{":
            i = closing(tokens, i) + 1  # a struct or a table
        else:
            i += 1


def skipped_tokens(tokens, first, last):
    """Indices inside of calls that are not changed."""
    skipped = set()
    for i in range(first, last):
        if tokens[i].kind == "name" and tokens[i + 1].text == "(" and SKIPPED_CALLS.fullmatch(tokens[i].text):
            skipped.update(range(i, closing(tokens, i + 1) + 1))
    return skipped


def is_binary(tokens, index):
    before = tokens[index - 1]
    return before.kind in ("name", "number", "text") and before.text not in CONTROL or before.text in (")", "]")


def number_changes(tokens, index):
    """0 and 1 for each other, others by one more; 'return 0' becomes 'return -1' and back."""
    text = tokens[index].text
    before = tokens[index - 1].text
    if before == "{" and tokens[index + 1].text == "}":
        return []  # {0}
    if before in ("<", ">="):
        return []  # the same as '<=' and '>'
    if before == "return" and text == "0":
        return ["-1"]
    if text in ("0", "1"):
        return ["1" if text == "0" else "0"]
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[1-9][0-9]*)([uUlL]*)", text)
    return [f"{int(match[1], 0) + 1}{match[2]}"] if match else []


def statement_starts(tokens, index):
    """Whether a statement begins at @index, which is not inside of brackets."""
    before = tokens[index - 1].text
    if before == ")":
        return opens_with_keyword(tokens, index - 1)
    if before == ":":
        return ends_case(tokens, index - 1)
    return before in (";", "{", "}", "else")


def ends_case(tokens, colon):
    for i in range(colon, -1, -1):
        if tokens[i].text in (";", "{", "}", "?"):
            return False
        if tokens[i].text in ("case", "default"):
            return True
    return False


def opens_with_keyword(tokens, close):
    """Whether the ')' at @close ends the head of an if, for or while."""
    depth = 0
    for i in range(close, -1, -1):
        depth += {")": 1, "(": -1}.get(tokens[i].text, 0)
        if depth == 0:
            name = tokens[i - 1].text
            return name in ("if", "for", "while", "switch") or "_foreach" in name
    return False


def is_declaration(tokens, index):
    """Whether the statement that starts at @index declares something."""
    if tokens[index].kind != "name":
        return False
    if DECLARES.fullmatch(tokens[index].text):
        return True
    i = index + 1
    while tokens[i].text == "*":
        i += 1
    return tokens[i].kind == "name"


def statement_end(tokens, index, last):
    """Index of the ';' that ends the expression statement at @index; None if it is none."""
    head = tokens[index]
    if head.text in CONTROL or is_declaration(tokens, index):
        return None
    if not (head.kind == "name" or head.text in ("*", "(", "++", "--")):
        return None
    i = index
    while i < last and tokens[i].text != ";":
        if tokens[i].text in "([{":
            i = closing(tokens, i)
        elif tokens[i].text in (":", "}"):
            return None  # a label, or the end of an enclosing block
        i += 1
    return i if i < last else None


class Finder:
    """Collects the mutants of one function."""

    def __init__(self, path, source, tokens, function):
        self.path = path
        self.source = source
        self.tokens = tokens
        self.name, self.first, self.last = function
        self.skipped = skipped_tokens(tokens, self.first, self.last)
        self.nested = self.nested_tokens()
        self.found = []

    def nested_tokens(self):
        """Indices inside of round and square brackets and of initialisers: no statement begins there."""
        nested = set()
        for i in range(self.first + 1, self.last):
            before = self.tokens[i - 1].text
            is_value = self.tokens[i].text == "{" and (before in ("=", ",", "(") or before == ")" and
                                                       not opens_with_keyword(self.tokens, i - 1))
            if self.tokens[i].text in "([" or is_value:
                nested.update(range(i + 1, closing(self.tokens, i) + 1))
        return nested

    def add(self, start, end, replacement, changed=None):
        source = self.source[:start] + replacement + self.source[end:]
        line = self.source.count("\n", 0, start) + 1
        # a removed statement leaves its line breaks, and no line a different number
        lost = self.source.count("\n", start, end) - replacement.count("\n")
        if lost:
            source = self.source[:start] + replacement + "\n" * lost + self.source[end:]
        text = source.split("\n")[line - 1].strip()
        original = self.source.split("\n")[line - 1].strip()
        self.found.append(Mutant(self.path, self.name, line, original, changed or text, source))

    def swap(self, index):
        token = self.tokens[index]
        if token.kind == "number":
            changes = number_changes(self.tokens, index)
        else:
            changes = SWAPS.get(token.text, [])
        if token.text in ("+", "-") and not is_binary(self.tokens, index):
            # only -1, which functions that fail return
            is_failure = self.tokens[index - 1].text == "return" and self.tokens[index + 1].text == "1"
            if is_failure and token.text == "-":
                self.add(token.start, self.tokens[index + 1].end, "0")
            return
        if token.text == "1" and self.tokens[index - 1].text == "-" and not is_binary(self.tokens, index - 1):
            return
        for change in changes:
            self.add(token.start, token.end, change)

    def negate(self, index):
        """if (a) becomes if (!(a)), unless changing its only operator says the same."""
        tokens = self.tokens
        close = closing(tokens, index + 1)
        inside = [t.text for t in tokens[index + 2 : close]]
        signs = [t for t in inside if t in COMPARISONS or t in ("&&", "||", "?")]
        if len(signs) == 1 and signs[0] in COMPARISONS:
            return
        start, end = tokens[index + 1].end, tokens[close].start
        self.add(start, end, f"!({self.source[start:end]})")

    def remove(self, index):
        end = statement_end(self.tokens, index, self.last)
        if end is not None:
            self.add(self.tokens[index].start, self.tokens[end].start, "", "(removed)")

    def run(self):
        for i in range(self.first + 1, self.last):
            if i in self.skipped:
                continue
            if i not in self.nested and statement_starts(self.tokens, i):
                self.remove(i)
            if self.tokens[i].text == "if":
                self.negate(i)
            self.swap(i)
        return self.found


def mutants_of(path, source):
    """All mutants of a file."""
    tokens = tokens_of(source)
    found = []
    for function in functions_of(tokens):
        found += Finder(path, source, tokens, function).run()
    return found
