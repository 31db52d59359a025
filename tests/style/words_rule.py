#!/usr/bin/env python3
"""Comments have at most 100 columns; comments, identifiers and file names use no retired words.

Usage: words_rule.py ROOT FOLDER... Prints violations as FILE:LINE: sentence; exits 1 if any.

Reads C, C++, CUDA and Python sources, and the names of all files. A retired word is a private word
for which a standard term exists (retired_words.txt). An identifier contains a word if the word is
one of its parts between underscores.
"""
import collections
import io
import pathlib
import re
import sys
import tokenize

COLUMNS = 100
C_LIKE = {'.c', '.h', '.cu', '.cuh', '.cpp', '.hpp'}
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*', re.DOTALL)
WORD = re.compile(r'\w+')
DIRECTIVE = re.compile(r'# *(type:|noqa)')  # read by tools, at the end of a line of code
LIST = pathlib.Path(__file__).with_name('retired_words.txt')

Found = collections.namedtuple('Found', 'line text is_comment')


def read_list():
    """Two dicts from a retired word to a standard term: of words everywhere, and of names only."""
    everywhere, names = {}, {}
    for line in LIST.read_text(encoding='utf-8').splitlines():
        word, _, standard = line.partition(': ')
        if not line.startswith('#'):
            (names if word.startswith('name ') else everywhere)[word.split()[-1]] = standard
    return everywhere, names


RETIRED, RETIRED_NAMES = read_list()


def c_tokens(text):
    """The comments and identifiers of a C-like source."""
    for match in C_TOKEN.finditer(text):
        token = match.group()
        if token[0] not in '"\'':
            yield Found(text.count('\n', 0, match.start()) + 1, token, token.startswith(('//', '/*')))


def python_tokens(text):
    """The comments, docstrings and identifiers of a Python source."""
    at_start = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if DIRECTIVE.match(token.string):
            continue
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and at_start):
            yield Found(token.start[0], token.string, True)
        elif token.type == tokenize.NAME:
            yield Found(token.start[0], token.string, False)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def words_of(found):
    """The words in a comment, with their lines, or those of an identifier."""
    if not found.is_comment:
        return [(found.line, word.lower()) for word in found.text.split('_')]
    return [(found.line + found.text.count('\n', 0, match.start()), match.group().lower())
            for match in WORD.finditer(found.text)]


def problems_of(path, text):
    """Pairs of a line number and a sentence."""
    lines, seen = text.split('\n'), set()
    for found in python_tokens(text) if path.suffix == '.py' else c_tokens(text):
        if found.is_comment:
            for number in range(found.line, found.line + found.text.count('\n') + 1):
                if len(lines[number - 1]) > COLUMNS and number not in seen:
                    seen.add(number)
                    yield number, f'a comment line of {len(lines[number - 1])} columns: at most {COLUMNS}'
        for number, word in words_of(found):
            standard = RETIRED.get(word) or (None if found.is_comment else RETIRED_NAMES.get(word))
            if standard and (number, word) not in seen:
                seen.add((number, word))
                where = 'a comment' if found.is_comment else found.text
                yield number, f'"{word}" in {where}: write "{standard}" or another standard term'


def problems_of_name(path):
    """A pair of line 1 and a sentence for each retired word in a file's name."""
    retired = {**RETIRED, **RETIRED_NAMES}
    return [(1, f'"{word}" in the name of the file: write "{retired[word]}" or another standard term')
            for word in re.split(r'[._-]', path.name) if word in retired]


def violations(root, folders):
    """A list of sentences, one for each violation in these folders and those below them.

    Raises ValueError if nothing would be checked: without folders, or if one does not exist."""
    root = pathlib.Path(root).resolve()
    missing = [folder for folder in folders if not (root / folder).is_dir()]
    if missing or not folders:
        raise ValueError(f'{missing[0]} is no folder of {root}' if missing else 'no folders are given: nothing would be checked')
    found = []
    for path in (path for folder in folders for path in sorted((root / folder).rglob('*')) if path.is_file()):
        problems = problems_of_name(path)
        if path.suffix in C_LIKE | {'.py'}:
            problems += problems_of(path, path.read_text(encoding='utf-8'))
        found += [f'{path.relative_to(root)}:{number}: {problem}' for number, problem in problems]
    return found


if __name__ == '__main__':
    try:
        found = violations(sys.argv[1], sys.argv[2:])
    except (IndexError, ValueError) as error:
        sys.exit(f'words_rule.py ROOT FOLDER...: {error}')
    print('\n'.join(found) or 'comments are at most 100 columns wide, and no retired word is used')
    sys.exit(1 if found else 0)
