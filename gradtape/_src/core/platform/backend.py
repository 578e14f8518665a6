"""The platform that programs run on, for rules of a CPU or a GPU."""

from __future__ import annotations

import functools
import os

import jax


@functools.cache
def platform() -> str:
    """Return the platform of the default device as JAX names it: "cpu", "gpu", "tpu".

    RuntimeError where JAX cannot start it: no plugin, no driver, one too old, or memory that another process holds.
    """
    try:
        return jax.default_backend()
    except (AssertionError, RuntimeError) as error:  # an AssertionError without a word where no plugin is installed
        asked = os.environ.get("JAX_PLATFORMS")
        why = str(error) or f"JAX has no plugin for {asked!r}"
        raise RuntimeError(
            f"JAX could not start a device{f' (JAX_PLATFORMS={asked})' if asked else ''}: {why}. Install the plugin "
            "(pip install 'jax[cuda13]') and a driver that it supports, end the process that holds the device's memory, or "
            "unset JAX_PLATFORMS to compute on the CPU."
        ) from None
