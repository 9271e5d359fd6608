"""Every line has at most 100 columns and no blank at its end."""
import sys

bad = [
    f"{name}:{number}: {what}"
    for name in sys.argv[1:]
    for number, line in enumerate(open(name, encoding="utf-8"), 1)
    for what, wrong in (("too long", len(line) > 101), ("blank at the end", line.rstrip("\n") != line.rstrip("\n").rstrip()))
    if wrong
]
print("\n".join(bad), file=sys.stderr)
sys.exit(bool(bad))
