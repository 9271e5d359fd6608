import json
from pathlib import Path

notes = Path("NOTES.txt").read_text()
Path("build").mkdir(exist_ok=True)
files = sorted(str(path) for path in Path("shop").glob("*.py"))
Path("build/manifest.json").write_text(json.dumps({"files": files, "notes": notes}))
