#!/usr/bin/env python3
"""Rules for every source file: an opening comment, no unfinished work, pure templates, secure getenv.

Usage: source_rules.py ROOT. Prints each violation as FILE:LINE: sentence and exits 1 if there is one.
"""
import pathlib
import re
import sys

FOLDERS = ['src', 'cache', 'include', 'kernel_templates', 'bench', 'examples', 'tests']
C_LIKE = {'.c', '.h', '.cu', '.cuh', '.cpp', '.hpp'}
SCRIPTS = {'.py', '.sh'}
TOO_LONG = 400
LONGER_BY_NATURE = {'include/stentor.h'}  # the manual
UNFINISHED = re.compile(r'\b(TO' r'DO|FIX' r'ME|X' r'XX)\b')
SYSTEM_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\s*<', re.MULTILINE)
INLINE_ASSEMBLY = re.compile(r'\b(?:asm|__asm__)\b(?:\s+volatile)?\s*\(')
PTX_WORD = re.compile(r'__forceinline__\s+[\w:<>,\s]*?(\w+)\s*\(')
PLAIN_GETENV = re.compile(r'(?<![A-Za-z0-9_])getenv\s*\(')
TWINS = 'tests/emulator/shim/device'
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.DOTALL)


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob('*')):
            if path.is_file() and path.suffix in C_LIKE | SCRIPTS:
                yield path


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def without_comments(text):
    """The code without comments; line numbers stay."""
    return COMMENT.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)


def opening_problem(path, text):
    """A file opens with a comment."""
    body = text[text.find('\n') + 1:] if text.startswith('#!') else text
    opening = ('/*', '//') if path.suffix in C_LIKE else ('"""', "'''", '#')
    return None if body.lstrip().startswith(opening) else '1: does not open with a comment that says what it is for'


def template_problems(path, text):
    """Templates compile with NVRTC alone, and inline PTX is only where the emulator replaces it."""
    code = without_comments(text)
    for match in SYSTEM_INCLUDE.finditer(code):
        yield f'{line_of(code, match.start())}: a template includes a system header: there is none where it is compiled'
    if not (path.parent.name == 'device' and path.name.startswith('ptx') and path.suffix == '.cuh'):
        for match in INLINE_ASSEMBLY.finditer(code):
            yield f'{line_of(code, match.start())}: inline PTX outside device/ptx*.cuh: the emulator has no twin of it'


def twin_problems(root):
    """Functions of device/ptx*.cuh that the emulator lacks."""
    for path in sorted((root / 'kernel_templates' / 'device').glob('ptx*.cuh')):
        twin = root / TWINS / path.name
        known = twin.read_text(encoding='utf-8') if twin.is_file() else ''
        text = without_comments(path.read_text(encoding='utf-8'))
        seen = set()
        for match in PTX_WORD.finditer(text):
            word = match.group(1)
            if word not in seen and not re.search(rf'\b{word}\b', known):
                yield f'{path.relative_to(root)}:{line_of(text, match.start())}: {word} has no twin in {TWINS}/{path.name}'
            seen.add(word)


def environment_problems(path, text):
    """A set-user-id program must not trust its caller's environment."""
    code = without_comments(text)
    for match in PLAIN_GETENV.finditer(code):
        yield f'{line_of(code, match.start())}: calls getenv: the library reads the environment by secure_getenv'


def violations(root):
    """A list of sentences, one for each violation."""
    root = pathlib.Path(root).resolve()
    found = list(twin_problems(root))
    for path in sources(root):
        name, text = str(path.relative_to(root)), path.read_text(encoding='utf-8')
        problems = [opening_problem(path, text)] if text.strip() else []
        problems += [f'{line_of(text, match.start())}: says "{match.group()}": finish it or file it'
                     for match in UNFINISHED.finditer(text)]
        if name.startswith('kernel_templates/') and path.suffix in C_LIKE:
            problems += template_problems(path, text)
        if name.startswith(('src/', 'cache/')) and path.suffix in C_LIKE:
            problems += environment_problems(path, text)
        found += [f'{name}:{problem}' for problem in problems if problem]
        length = text.count('\n')
        if length > TOO_LONG and name not in LONGER_BY_NATURE:
            found.append(f'{name}:{length}: longer than {TOO_LONG} lines: split it by concept')
    return found


if __name__ == '__main__':
    problems = violations(sys.argv[1])
    print('\n'.join(problems) or 'every source file keeps the rules')
    sys.exit(1 if problems else 0)
