"""Prints stentor.h as Doxygen reads it: its plain comments become documentation comments, and what
they say stays as it is laid out, since the header is meant to be read as text."""
import re
import sys

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*(.*?)\*/', re.S)


def documentation(match, text):
    """A comment after code on its line documents what stands before it, any other what follows."""
    if match.group(1) is None:
        return match.group()
    before = text[text.rfind('\n', 0, match.start()) + 1:match.start()]
    lines = [re.sub(r'^\s*\* ?', '', line) for line in match.group(1).split('\n')]
    said = '\n'.join(lines).strip('\n ')
    mark = '/**< ' if before.strip() else '/** '
    return f'{mark}@verbatim\n{said}\n@endverbatim */' if said else ''


with open(sys.argv[1], encoding='utf-8') as header:
    source = header.read()
print(COMMENT.sub(lambda match: documentation(match, source), source))
