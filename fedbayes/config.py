"""Where the configuration lives and what it may hold."""

from pathlib import Path


def conf_directory() -> Path:
    """Folder of the Hydra configuration: inside an installed wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"
