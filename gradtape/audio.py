"""Sounds as bytes and as samples."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.files.sounds import decode_wav as decode_wav, encode_wav as encode_wav

__getattr__ = _missing(__name__)
