"""Each release: version, license, citation, address, size and checksum; and its download."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from twowiki.data.configs import (
    GENERATED_CONFIG,
    HOTPOT_CONFIG,
    LAYOUT_CONFIG,
    PAGES_CONFIG,
    WORLD_CONFIG,
)
from twowiki.data.splits import splits_in_zip
from twowiki.errors import DataError
from twowiki.io.files import sha256_of


class Archive(NamedTuple):
    """A published archive; size (bytes) and SHA-256 where they are known."""

    url: str
    size: int | None = None
    sha256: str | None = None


ARCHIVES = {
    "data_ids_april7": Archive(
        "https://www.dropbox.com/s/ms2m13252h6xubs/data_ids_april7.zip?dl=1",
        258_968_175,
        "95df2bf56fdabe034e27aebc580e02264232203cf52552f9efe8a919e5529eef",
    ),
    "data_ids": Archive("https://www.dropbox.com/s/7ep3h8unu2njfxv/data_ids.zip?dl=1"),
    "data": Archive("https://www.dropbox.com/s/npidmtadreo6df2/data.zip?dl=1"),
}
CONFIG_VERSIONS = {
    "data_ids_april7": "1.2.0",
    "data_ids": "1.1.0",
    "data": "1.0.0",
    HOTPOT_CONFIG: "1.0.0",
    "arc_da": "1.1.0",
    WORLD_CONFIG: "1.1.0",
    GENERATED_CONFIG: "1.0.0",
    LAYOUT_CONFIG: "1.0.0",
    PAGES_CONFIG: "1.0.0",
    "world_corpus": "1.0.0",
}
DESCRIPTIONS = {
    "data_ids_april7": "2WikiMultiHopQA, release of April 2021: Wikidata ids, corrected sentences.",
    "data_ids": "2WikiMultiHopQA, release of December 2020: Wikidata ids.",
    "data": "2WikiMultiHopQA, first release: no ids.",
    HOTPOT_CONFIG: "HotpotQA's own files in the same columns; no evidence triples.",
    "arc_da": "ARC-DA v1.1: science questions with direct answers.",
    WORLD_CONFIG: "Questions about a fictional world, made when it is loaded: people=, films=, "
    "seed=.",
    GENERATED_CONFIG: "Questions generated from dumps of Wikidata and Wikipedia.",
    PAGES_CONFIG: "The authors' Wikipedia summaries with their links: a corpus for retrieval.",
    LAYOUT_CONFIG: "Multi-hop questions in the layout of another tool: FlashRAG, LongBench, IRCoT, "
    "HippoRAG, MuSiQue.",
    "world_corpus": "All pages of a fictional world, and the questions each is relevant for.",
}
TWO_WIKI_CITATION = """\
@inproceedings{ho-etal-2020-constructing,
  title = {Constructing A Multi-hop {QA} Dataset for Comprehensive Evaluation of Reasoning Steps},
  author = {Ho, Xanh and Duong Nguyen, Anh-Khoa and Sugawara, Saku and Aizawa, Akiko},
  booktitle = {Proceedings of the 28th International Conference on Computational Linguistics},
  year = {2020},
  pages = {6609--6625},
}"""
HOTPOT_CITATION = """\
@inproceedings{yang-etal-2018-hotpotqa,
  title = {{HotpotQA}: A Dataset for Diverse, Explainable Multi-hop Question Answering},
  author = {Yang, Zhilin and Qi, Peng and Zhang, Saizheng and Bengio, Yoshua and Cohen, William W.
            and Salakhutdinov, Ruslan and Manning, Christopher D.},
  booktitle = {Proceedings of EMNLP},
  year = {2018},
}"""
ARC_DA_CITATION = """\
@article{bhakthavatsalam-etal-2021-arcda,
  title = {Think you have Solved Direct-Answer Question Answering? Try {ARC-DA}, the
           Direct-Answer {AI2} Reasoning Challenge},
  author = {Bhakthavatsalam, Sumithra and Khashabi, Daniel and Khot, Tushar and
            Dalvi Mishra, Bhavana and Richardson, Kyle and Sabharwal, Ashish and
            Schoenick, Carissa and Tafjord, Oyvind and Clark, Peter},
  journal = {arXiv:2102.03315},
  year = {2021},
}"""
CITATIONS = {
    **dict.fromkeys(ARCHIVES, TWO_WIKI_CITATION),
    HOTPOT_CONFIG: HOTPOT_CITATION,
    "arc_da": ARC_DA_CITATION,
    **dict.fromkeys(
        (WORLD_CONFIG, GENERATED_CONFIG, PAGES_CONFIG, "world_corpus"), TWO_WIKI_CITATION
    ),
    LAYOUT_CONFIG: "",
}
LICENSES = {**dict.fromkeys(ARCHIVES, "apache-2.0"), HOTPOT_CONFIG: "cc-by-sa-4.0", "arc_da": "",
            WORLD_CONFIG: "apache-2.0", GENERATED_CONFIG: "cc-by-sa-4.0",
            PAGES_CONFIG: "cc-by-sa-4.0", LAYOUT_CONFIG: "",
            "world_corpus": "apache-2.0"}  # fmt: skip
HOMEPAGES = {
    **dict.fromkeys((*ARCHIVES, PAGES_CONFIG), "https://github.com/Alab-NII/2wikimultihop"),
    HOTPOT_CONFIG: "https://hotpotqa.github.io",
    "arc_da": "https://allenai.org/data/arc-da",
    **dict.fromkeys((WORLD_CONFIG, GENERATED_CONFIG, LAYOUT_CONFIG, "world_corpus"), ""),
}


def fetch(config: str, dl_manager: Any) -> dict[str, list[str]]:
    """Download a release's archive and check it; a bad download does not stay in the cache.

    Args:
        config: a release of 2WikiMultiHopQA.
        dl_manager: a `datasets.DownloadManager`, which shows progress and caches.

    Returns:
        Split name to the archive that holds it.

    Raises:
        DataError: no known address, no network, or not the published archive.
    """
    archive = ARCHIVES.get(config)
    if archive is None:
        raise DataError(
            f"no download is known for the config {config!r}",
            remedy="Download its files by hand and pass their folder: "
            f"twowiki.load_dataset({config!r}, data_dir=...)",
        )
    by_hand = (
        f"Download {archive.url} by hand and pass its path: "
        f'twowiki.load_dataset("{config}", data_dir="path/to/{config}.zip")'
    )
    try:
        path = Path(str(dl_manager.download(archive.url)))
    except Exception as error:  # each transport raises its own kinds
        for leftover in _cache_of(dl_manager).glob(_cached_name(archive.url) + "*.incomplete"):
            leftover.unlink(missing_ok=True)
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise DataError(f"cannot download the release ({reason})", remedy=by_hand) from None
    try:
        return {split: [str(path)] for split in _checked_splits(path, archive)}
    except DataError as error:
        for name in (path, path.with_name(path.name + ".json")):
            name.unlink(missing_ok=True)
        raise DataError(
            f"the download from {archive.url} is not the release: {error.problem}; it was removed",
            remedy=by_hand,
        ) from None


def _cache_of(dl_manager: Any) -> Path:
    """Return the folder that a manager downloads into."""
    from datasets import config

    settings = getattr(dl_manager, "download_config", None)
    return Path(getattr(settings, "cache_dir", None) or config.DOWNLOADED_DATASETS_PATH)


def _cached_name(url: str) -> str:
    """Return the file name under which `datasets` caches an address."""
    return hashlib.sha256(url.encode()).hexdigest()


def _checked_splits(path: Path, archive: Archive) -> list[str]:
    """Return the splits of an archive; raise if it is not what was published."""
    splits = splits_in_zip(path)
    size = path.stat().st_size
    if archive.size is not None and size != archive.size:
        raise DataError(f"it has {size:,} bytes instead of {archive.size:,}")
    found = None if archive.sha256 is None else sha256_of(path)
    if found != archive.sha256:
        raise DataError(f"its SHA-256 is {found} instead of {archive.sha256}")
    return splits
