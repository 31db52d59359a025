#!/usr/bin/env python3
"""Documents agree with sources: cited documents exist; figures and versions equal the code's. Their
lines have at most 100 columns, except rows of tables.

Usage: documents.py ROOT. Prints each violation as FILE:LINE: sentence and exits 1 if there is one.
"""
import pathlib
import re
import sys

FOLDERS = ['src', 'cache', 'include', 'kernel_templates', 'bench', 'examples', 'python', 'install', 'tests', 'docs', '.ci']
SUFFIXES = {'.c', '.h', '.cu', '.cuh', '.cpp', '.hpp', '.py', '.sh', '.md', '.build'}
COLUMNS = 100
CITED = re.compile(r'[\w./-]*\w\.md\b')


def texts(root):
    for path in sorted(root.glob('*.md')):
        yield path, path.read_text()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob('*')):
            if path.is_file() and path.suffix in SUFFIXES and path.name != 'test_rules.py':
                yield path, path.read_text(errors='replace')


def missing_documents(root):
    """A cited path is relative to the root or to the citing file's folder, or the end of a path."""
    documents = [path.relative_to(root).as_posix() for path, _ in texts(root) if path.suffix == '.md']
    for path, text in texts(root):
        for match in CITED.finditer(text):
            cited = match.group()
            sibling = (path.parent / cited).resolve()
            if sibling.exists() or any(d == cited or d.endswith('/' + cited) for d in documents):
                continue
            yield f'{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: there is no {cited}'


def wide_lines(root):
    for path, text in texts(root):
        for number, line in enumerate(text.split('\n') if path.suffix == '.md' else [], 1):
            if len(line) > COLUMNS and not line.startswith('|'):
                yield f'{path.relative_to(root)}:{number}: a line of {len(line)} columns: at most {COLUMNS}'


def number(path, pattern):
    found = re.search(pattern, path.read_text())
    return int(found.group(1)) if found else None


def wrong_figures(root):
    """A line of wisdom has as many values as a candidate."""
    values = number(root / 'src/plan/strategy.h', r'#define STN_CANDIDATE_VALUES (\d+)')
    format_of = root / 'cache/FORMAT.md'
    last, said = number(format_of, r'V0 \.\.\. V(\d+)'), number(format_of, r'(\d+)\s+parameters\s+of\s+the\s+candidate')
    if values is None or last is None or said is None:
        yield 'cache/FORMAT.md:1: the values of a candidate are not found there or in src/plan/strategy.h'
    elif (last + 1, said) != (values, values):
        yield f'cache/FORMAT.md:1: a candidate has {values} values, not V0 ... V{last} and {said}'


# The files other than meson.build that name the version, and a pattern for each.
VERSIONS = {
    'CITATION.cff': r'^version: (\S+)$',
    'docs/CHANGELOG.md': r'^## (\d\S+)',
    'include/stentor.h': r'^#define STN_VERSION_MAJOR (\d+)\n#define STN_VERSION_MINOR (\d+)\n#define STN_VERSION_PATCH (\d+)$',
    'install/conda/meta.yaml': r'set version = "([^"]+)"',
    'install/debian/changelog': r'\Astentor \(([^-]+)-\d+\)',
    'install/debian/control': r'^Package: libstentor(\S+)$',
    'install/stentor.1': r'"Stentor (\S+)"',
    'tests/install/consumer/CMakeLists.txt': r'find_package\(stentor (\S+) ',
}


def wrong_versions(root):
    """Files that name another version than meson.build; a soname has only its first two numbers."""
    version = re.search(r"version: '([^']+)'", (root / 'meson.build').read_text()).group(1)
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (root / name).read_text(), re.MULTILINE)
        said = '.'.join(found.groups()) if found else 'none'
        if said not in (version, version.rpartition('.')[0]):
            yield f'{name}:1: the version is {version}, not {said}'


def missing_launchers(root):
    """Assertions of kernels name the function that must agree: "function of folder/file.c"."""
    for path in sorted((root / 'kernel_templates').rglob('*.cu*')):
        for name, file in re.findall(r'"(\w+) of ([\w/]+\.[ch])"', path.read_text()):
            source = root / 'src/strategies' / file
            if not source.is_file() or not re.search(rf'\b{name}\b', source.read_text()):
                yield f'{path.relative_to(root)}:1: there is no {name} in src/strategies/{file}'


def check(root):
    return [*missing_documents(root), *wide_lines(root), *wrong_figures(root), *wrong_versions(root),
            *missing_launchers(root)]


def main():
    problems = check(pathlib.Path(sys.argv[1]).resolve())
    for problem in problems:
        print(problem)
    print(f'{len(problems)} violations')
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
