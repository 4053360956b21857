# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rooms of src/, and what universal-ctags finds in them: for check-includes and check-names."""

import json
import pathlib
import re
import subprocess

# The engine is one layer in several rooms, which may use each other.
ENGINE = ["nic/engine", "nic/fast", "nic/queue", "nic/requester", "nic/responder", "nic/memory", "nic/congestion"]
NETWORK = ["fabric/network", "fabric/switch", "fabric/parts"]
SANITIZER = ["abi/check", "abi/rules"]
LAYERS = (ENGINE, NETWORK, SANITIZER)


def room_of(path):
    """The room of a file, by its path below src/."""
    return path.rsplit("/", 1)[0]


def layer_of(room):
    """The rooms of the room's layer."""
    return next((layer for layer in LAYERS if room in layer), [room])


def tags_of(folder, kinds):
    """Yields the tags of these kinds (`ctags --list-kinds=C`) below a folder, each with its path there."""
    run = subprocess.run(["ctags", "--output-format=json", "--languages=C", "--langmap=C:.c.h", f"--kinds-C={kinds}",
                          "--fields=+Sn", "--extras=+F", "-R", "-f", "-", "."],
                         cwd=folder, capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag":
            yield dict(tag, path=str(pathlib.PurePath(tag["path"])))


def is_static(tag):
    """True for functions and objects of one file. Of headers, all are."""
    before = tag["pattern"].split(tag["name"])[0]
    return bool(tag.get("file")) or tag["path"].endswith(".h") or bool(re.search(r"\b(static|INLINED)\b", before))


def write_tree(folder, texts):
    """Writes the files of a self-test."""
    for path, text in texts.items():
        place = pathlib.Path(folder) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
