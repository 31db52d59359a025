#!/usr/bin/env python3
"""Rules for source files: an opening comment, no unfinished work, pure templates, secure getenv.

Usage: source_rules.py ROOT. Prints violations as FILE:LINE: sentence; exits 1 if there is one.
"""
import pathlib
import re
import sys

FOLDERS = ['src', 'cache', 'include', 'kernel_templates', 'bench', 'examples', 'tests']
C_LIKE = {'.c', '.h', '.cu', '.cuh', '.cpp', '.hpp'}
SCRIPTS = {'.py', '.sh'}
TOO_LONG = 1000  # lines: a warning
UNFINISHED = re.compile(r'\b(TO' r'DO|FIX' r'ME|X' r'XX)\b')
SYSTEM_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\s*<', re.MULTILINE)
INLINE_ASSEMBLY = re.compile(r'\b(?:asm|__asm__)\b(?:\s+volatile)?\s*\(')
PTX_WORD = re.compile(r'__forceinline__\s+[\w:<>,\s]*?(\w+)\s*\(')
PLAIN_GETENV = re.compile(r'(?<![A-Za-z0-9_])getenv\s*\(')
EMULATED = 'tests/emulator/shim/device'
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
    if body.lstrip().startswith(opening):
        return None
    return '1: does not open with a comment that says what it is for'


def template_problems(path, text):
    """Templates compile with NVRTC alone, and inline PTX is only where the emulator replaces it."""
    code = without_comments(text)
    for match in SYSTEM_INCLUDE.finditer(code):
        yield (f'{line_of(code, match.start())}: a template includes a system header: NVRTC has '
               'none')
    if not (path.parent.name == 'device' and path.name.startswith('ptx') and path.suffix == '.cuh'):
        for match in INLINE_ASSEMBLY.finditer(code):
            yield (f'{line_of(code, match.start())}: inline PTX outside device/ptx*.cuh: the '
                   'emulator cannot replace it')


def emulator_problems(root):
    """Functions of device/ptx*.cuh that the emulator lacks."""
    for path in sorted((root / 'kernel_templates' / 'device').glob('ptx*.cuh')):
        emulated = root / EMULATED / path.name
        known = emulated.read_text(encoding='utf-8') if emulated.is_file() else ''
        text = without_comments(path.read_text(encoding='utf-8'))
        seen = set()
        for match in PTX_WORD.finditer(text):
            word = match.group(1)
            if word not in seen and not re.search(rf'\b{word}\b', known):
                place = f'{path.relative_to(root)}:{line_of(text, match.start())}'
                yield f'{place}: {word} is missing in {EMULATED}/{path.name}'
            seen.add(word)


def environment_problems(path, text):
    """A set-user-id program must not trust its caller's environment."""
    code = without_comments(text)
    for match in PLAIN_GETENV.finditer(code):
        yield (f'{line_of(code, match.start())}: calls getenv: the library reads the environment '
               'by secure_getenv')


def violations(root):
    """A list of sentences, one for each violation."""
    root = pathlib.Path(root).resolve()
    found = list(emulator_problems(root))
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
    return found


def warnings(root):
    """A list of sentences, one for each very long file."""
    root = pathlib.Path(root).resolve()
    lengths = {path: path.read_text(encoding='utf-8').count('\n') for path in sources(root)}
    return [f'{path.relative_to(root)}:{length}: warning: longer than {TOO_LONG} lines'
            for path, length in lengths.items() if length > TOO_LONG]


if __name__ == '__main__':
    problems = violations(sys.argv[1])
    print(''.join(line + '\n' for line in warnings(sys.argv[1])), end='')
    print('\n'.join(problems) or 'every source file keeps the rules')
    sys.exit(1 if problems else 0)
