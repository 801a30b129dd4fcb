"""Execute the notebooks beside this file and keep their outputs, without what differs each time.

    python examples/execute.py [NAME.ipynb ...]      # all of them by default
    python examples/execute.py --check [NAME ...]    # execute, compare, write nothing

Each notebook runs in an empty folder of its own. Cells tagged `varies` may print other figures
each time; all others must print what is kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
LONGEST = 1800  # seconds of a cell
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def execute(notebook: Any, folder: Path) -> Any:
    """Execute a copy of a notebook in a folder, and give it stripped."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # kernels inherit it: the same sums each time
    # kernels inherit them: a checkout's own `tests`, and this environment's commands
    for name, place in (("PYTHONPATH", HERE.parent), ("PATH", Path(sys.executable).parent)):
        os.environ[name] = os.pathsep.join(filter(None, (str(place), os.environ.get(name))))
    copy = nbformat.from_dict(notebook)
    client = NotebookClient(
        copy, timeout=LONGEST, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    for cell in copy.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "error":  # SystemExit does not stop a notebook
                raise RuntimeError(f"{output.ename}: {output.evalue}, in:\n{cell.source}")
    return strip(copy)


def strip(notebook: Any) -> Any:
    """Take out times, execution states and environments; number cells in their order."""
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict(
            {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        )
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = [one for one in map(_plain, _joined(cell.outputs)) if one is not None]
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = count
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """Join what a stream wrote in pieces: where it is cut depends on the moment."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == "stream" and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _plain(output: Any) -> Any:
    """Drop progress bars, warnings (standard error), blank text and widgets; keep the rest."""
    if output.output_type == "stream" and (output.name == "stderr" or not output.text.strip()):
        return None
    if "application/vnd.jupyter.widget-view+json" in output.get("data", {}):
        return None
    output.metadata = nbformat.from_dict({}) if "metadata" in output else output.get("metadata")
    if output.get("metadata", {}) is None:
        del output["metadata"]
    return output


def differing(kept: Any, now: Any) -> list[int]:
    """Give the numbers of the cells whose outputs are not what is kept, `varies` cells apart."""
    return [
        number
        for number, (old, new) in enumerate(zip(kept.cells, now.cells, strict=True))
        if old.cell_type == "code"
        and "varies" not in old.metadata.get("tags", [])
        and old.outputs != new.outputs
    ]


def main() -> int:
    """Execute, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="notebooks of this folder (default: all)")
    parser.add_argument("--check", action="store_true", help="compare with what is kept")
    args = parser.parse_args()
    status = 0
    for path in [HERE / name for name in args.names] or sorted(HERE.glob("*.ipynb")):
        kept = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            now = execute(kept, Path(folder))
        if args.check:
            cells = differing(kept, now)
            status |= bool(cells)
            print(f"{path.name}: {'cells ' + str(cells) + ' differ' if cells else 'as kept'}")
        else:
            nbformat.write(now, path)
            print(f"{path.name}: {len(now.cells)} cells")
    return status


if __name__ == "__main__":
    sys.exit(main())
