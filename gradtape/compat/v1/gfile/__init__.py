"""TensorFlow 1's `gfile`: files and directories of any file system."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.files.gfile import (
    GFile as GFile,
    copy as _copy,
    exists as _exists,
    glob as _glob,
    isdir as _isdir,
    listdir as _listdir,
    makedirs as _makedirs,
    mkdir as _mkdir,
    remove as _remove,
    rename as _rename,
    rmtree as _rmtree,
    stat as _stat,
    walk as _walk,
)

# Second names, assigned, as type checkers take `X as Y` for private
FastGFile = GFile
Open = GFile
Copy = _copy
Exists = _exists
Glob = _glob
IsDirectory = _isdir
ListDirectory = _listdir
MakeDirs = _makedirs
MkDir = _mkdir
Remove = _remove
Rename = _rename
DeleteRecursively = _rmtree
Stat = _stat
Walk = _walk

__getattr__ = _missing(__name__)
