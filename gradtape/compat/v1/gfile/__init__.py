"""TensorFlow 1's `gfile`: files and directories of any file system."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.files.gfile import (
    GFile as FastGFile,
    GFile as GFile,
    GFile as Open,
    copy as Copy,
    exists as Exists,
    glob as Glob,
    isdir as IsDirectory,
    listdir as ListDirectory,
    makedirs as MakeDirs,
    mkdir as MkDir,
    remove as Remove,
    rename as Rename,
    rmtree as DeleteRecursively,
    stat as Stat,
    walk as Walk,
)

__getattr__ = _missing(__name__)
