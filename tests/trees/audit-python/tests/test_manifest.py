import json
from pathlib import Path


def test_manifest():
    manifest = json.loads(Path("build/manifest.json").read_text())
    assert manifest["files"] == ["shop/__init__.py"]
