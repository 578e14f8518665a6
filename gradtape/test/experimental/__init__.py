"""Waiting for devices."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.testing.skipping import sync_devices as sync_devices

__getattr__ = _missing(__name__)
