#!/usr/bin/env python3
"""House rules of the repository that a compiler does not check.

1. A file of src/ROOM includes only from its own room and those to its left in ASMEVO_ROOMS (cmake/rooms.cmake).
2. Only src/cli prints or ends the process.
3. No committed file names a path of the machine it was written on, is a binary object, or is larger than 1 MiB.

Usage: room_order_test.py REPOSITORY
"""

import re
import subprocess
import sys
from pathlib import Path

SOURCE_SUFFIXES = {".h", ".cpp", ".def", ".inc"}
PRINTS_OR_EXITS = re.compile(
    r"std::(cout|cerr|clog|puts|putchar|exit|quick_exit|abort|terminate)\b"
    r"|\bfmt::print(ln)?\b"
    r"|\bllvm::(outs|errs)\s*\("
    r"|(?<![\w:>.])(f|v|vf|d)?printf\s*\("
    r"|(?<![\w:>.])(puts|fputs|putchar|exit|_exit|_Exit|quick_exit|abort)\s*\("
)
# Written so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:wor[k]|hom[e]|roo[t]|tm[p]/(?:cor[p]|b_|asmev[o]))(?:/|\b)")
MAX_BYTES = 1 << 20
BINARY_SUFFIXES = {".o", ".a", ".so"}


def without_comments_and_strings(text):
    """The text with comments and literals blanked; line numbers stay."""
    token = re.compile(
        r'R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S
    )
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def room_list(repository):
    text = (repository / "cmake/rooms.cmake").read_text()
    return re.search(r"set\(ASMEVO_ROOMS ([^)]*)\)", text).group(1).split()


def check_sources(repository):
    findings = []
    rooms = room_list(repository)
    checked = 0
    for path in sorted((repository / "src").rglob("*")):
        if path.suffix not in SOURCE_SUFFIXES:
            continue
        checked += 1
        where = path.relative_to(repository)
        room = where.parts[1]
        if room not in rooms:
            findings.append(f"{where}: '{room}' is no room of cmake/rooms.cmake")
            continue
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            included = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not included:
                continue
            other = included.group(1).split("/")[0]
            if other in rooms and rooms.index(other) > rooms.index(room):
                findings.append(f"{where}:{number}: {room} includes {included.group(1)} from a room to its right")
            elif other not in rooms and not (path.parent / included.group(1)).exists():
                findings.append(f"{where}:{number}: {included.group(1)} is in no room")
        if room == "cli":
            continue
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            match = PRINTS_OR_EXITS.search(line)
            if match:
                findings.append(f"{where}:{number}: '{match.group().strip()}' outside the cli room")
    if checked == 0:
        findings.append("src: no source found")
    return findings


def committed_files(repository):
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={repository}", "-C", str(repository), "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        return [repository / name for name in listing.stdout.decode().split("\0") if name]
    # A source archive: everything but build trees and caches.
    return [p for p in repository.rglob("*") if not p.relative_to(repository).parts[0].startswith((".cache", "build"))]


def check_files(repository):
    findings = []
    for path in sorted(committed_files(repository)):
        if not path.is_file() or path.is_symlink():
            continue
        where = path.relative_to(repository)
        if path.suffix in BINARY_SUFFIXES:
            findings.append(f"{where}: a binary object")
        if path.stat().st_size > MAX_BYTES:
            findings.append(f"{where}: {path.stat().st_size} bytes, more than {MAX_BYTES}")
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            match = MACHINE_PATH.search(line)
            if match:
                findings.append(f"{where}:{number}: machine path '{match.group()}'")
    return findings


def check_self():
    """The patterns must still catch what they are for."""
    caught = ["  std::cout << x;", "  exit(1);", 'fmt::print("x");', "  abort();", "std::exit(0);", "printf(x);"]
    passed = ["  on_exit(1);", "snprintf(b, 1, x);", "// exit(1)", 'f("abort()");', "object.exit();", "int exit = 0;"]
    wrong = [c for c in caught if not PRINTS_OR_EXITS.search(without_comments_and_strings(c))]
    wrong += [p for p in passed if PRINTS_OR_EXITS.search(without_comments_and_strings(p))]
    machine = ["/" + "work/main/x", " /" + "home/me/x", "=/" + "root/x", '"/' + 'tmp/corp/x"']
    wrong += [m for m in machine if not MACHINE_PATH.search(m)]
    wrong += [m for m in ["some/work/x", "$HOME/work", "frame" + "work/", "/usr/lib"] if MACHINE_PATH.search(m)]
    return [f"pattern check: {w}" for w in wrong]


def main():
    repository = Path(sys.argv[1]).resolve()
    findings = check_self() + check_sources(repository) + check_files(repository)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
