"""Files and directories of any file system: local ones, and by their schemes those that fsspec knows."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.files.gfile import (
    GFile as GFile,
    copy as copy,
    exists as exists,
    get_registered_schemes as get_registered_schemes,
    glob as glob,
    isdir as isdir,
    join as join,
    listdir as listdir,
    makedirs as makedirs,
    mkdir as mkdir,
    remove as remove,
    rename as rename,
    rmtree as rmtree,
    stat as stat,
    walk as walk,
)

__getattr__ = _missing(__name__)
